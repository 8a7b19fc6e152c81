# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets of swhca, which not every build has.
if SWHCA
FUZZ_TARGETS += fuzz_swhca_wqe
fuzz_swhca_wqe_SOURCES = %D%/fuzz_swhca_wqe.cpp
fuzz_swhca_wqe_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_swhca_wqe_LDADD = $(FUZZ_LIBS) libswhca_model.la libucs_int.la libufx_ucs.la
FUZZ_TARGETS += fuzz_swhca_command
fuzz_swhca_command_SOURCES = %D%/fuzz_swhca_command.cpp
fuzz_swhca_command_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_swhca_command_LDADD = $(FUZZ_LIBS) libswhca_model.la libucs_int.la libufx_ucs.la
endif
