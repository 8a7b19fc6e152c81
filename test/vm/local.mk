# SPDX-License-Identifier: BSD-3-Clause
# rc_verbs on the kernel's soft-RoCE in a guest of QEMU. It takes minutes, so CI leaves it out;
# docs/verification.md says how long it takes.
dist_noinst_SCRIPTS += %D%/check_vm.py %D%/guest_init.sh %D%/guest.sh
if IB
if HAVE_CATCH2
check-vm: all test_ib test_uct
	@UFX_TEST_SRCDIR='$(abs_top_srcdir)' UFX_TEST_BUILDDIR='$(abs_top_builddir)' \
	$(srcdir)/test/vm/check_vm.py
.PHONY: check-vm
clean-local-vm:
	-rm -rf vm ib_mutants
.PHONY: clean-local-vm
clean-local: clean-local-vm
endif
endif
