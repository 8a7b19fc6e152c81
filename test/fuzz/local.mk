# SPDX-License-Identifier: BSD-3-Clause
# Fuzz targets. A target is test/fuzz/fuzz_x.cpp, which defines LLVMFuzzerTestOneInput, with a seed
# of every kind of input in test/fuzz/seeds/x/. It is added like this:
#
#     FUZZ_TARGETS += fuzz_x
#     fuzz_x_SOURCES = %D%/fuzz_x.cpp
#     fuzz_x_LDFLAGS = $(FUZZ_LINK_WITH)
#     fuzz_x_LDADD = $(FUZZ_LIBS) libucs_int.la libufx_ucs.la
#
# In an ordinary build a target replays its seeds, as part of make check. `make fuzz`, which is part
# of make check-long, runs each for FUZZ_SECONDS with clang's libFuzzer: in this folder if it was
# configured with --enable-fuzz, else in fuzz-build, which it configures so. (Libraries that are built
# for libFuzzer cannot be preloaded into other programs: most tests of the software HCA fail there.)
FUZZ_TARGETS =
FUZZ_SECONDS = 60
CHECK_LONG += fuzz
if FUZZ
FUZZ_LINK_WITH = $(AM_LDFLAGS) -fsanitize=fuzzer
FUZZ_LIBS =
else
FUZZ_LINK_WITH = $(AM_LDFLAGS)
FUZZ_LIBS = libfuzz_replay.la
check_LTLIBRARIES += libfuzz_replay.la
libfuzz_replay_la_SOURCES = %D%/replay.cpp
TESTS += %D%/replay_seeds.sh
SANITIZED_TESTS += %D%/replay_seeds.sh
endif
FUZZ_TARGETS += fuzz_config
fuzz_config_SOURCES = %D%/fuzz_config.cpp
fuzz_config_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_config_LDADD = $(FUZZ_LIBS) libucs_int.la libufx_ucs.la
FUZZ_TARGETS += fuzz_tcp_frames
fuzz_tcp_frames_SOURCES = %D%/fuzz_tcp_frames.cpp
fuzz_tcp_frames_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_tcp_frames_LDADD = $(FUZZ_LIBS) libuct_tcp.la libuct_base.la libucs_int.la libufx_ucs.la
FUZZ_TARGETS += fuzz_tcp_peer
fuzz_tcp_peer_SOURCES = %D%/fuzz_tcp_peer.cpp
fuzz_tcp_peer_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_tcp_peer_LDADD = $(FUZZ_LIBS) libuct_tcp.la libuct_base.la libucs_int.la libufx_ucs.la
FUZZ_TARGETS += fuzz_am_wire
fuzz_am_wire_SOURCES = %D%/fuzz_am_wire.cpp
fuzz_am_wire_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_am_wire_LDADD = $(FUZZ_LIBS) libucp_int.la libucp_core.la libucs_int.la libufx_uct.la \
	libufx_ucs.la
FUZZ_TARGETS += fuzz_am_peer
fuzz_am_peer_SOURCES = %D%/fuzz_am_peer.cpp
fuzz_am_peer_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_am_peer_LDADD = $(FUZZ_LIBS) libucp_int.la libucp_core.la libuct_fake.la libuct_base.la \
	libucs_int.la libufx_uct.la libufx_ucs.la

FUZZ_TARGETS += fuzz_control
fuzz_control_SOURCES = %D%/fuzz_control.cpp
fuzz_control_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_control_LDADD = $(FUZZ_LIBS) libucp_core.la libucs_int.la libufx_ucs.la
FUZZ_TARGETS += fuzz_control_parts
fuzz_control_parts_SOURCES = %D%/fuzz_control_parts.cpp
fuzz_control_parts_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_control_parts_LDADD = $(FUZZ_LIBS) libucp_int.la libucp_core.la libucs_int.la libufx_uct.la \
	libufx_ucs.la

FUZZ_TARGETS += fuzz_control_session
fuzz_control_session_SOURCES = %D%/fuzz_control_session.cpp
fuzz_control_session_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_control_session_LDADD = $(FUZZ_LIBS) libucp_core.la libucs_int.la libufx_ucs.la
FUZZ_TARGETS += fuzz_address
fuzz_address_SOURCES = %D%/fuzz_address.cpp
fuzz_address_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_address_LDADD = $(FUZZ_LIBS) libucp_int.la libucp_core.la libucs_int.la libufx_uct.la \
	libufx_ucs.la

if IB
FUZZ_TARGETS += fuzz_ib_address
fuzz_ib_address_SOURCES = %D%/fuzz_ib_address.cpp
fuzz_ib_address_LDFLAGS = $(FUZZ_LINK_WITH)
fuzz_ib_address_LDADD = $(FUZZ_LIBS) libuct_ib.la libuct_base.la libucs_int.la libufx_ucs.la \
	libufx_uct.la $(IBVERBS_LIBS) $(UFX_SYS_LIBS)
endif

include $(srcdir)/test/fuzz/swhca.mk

check_PROGRAMS += $(FUZZ_TARGETS)
dist_noinst_SCRIPTS += %D%/replay_seeds.sh %D%/fuzz_all.sh
EXTRA_DIST += %D%/seeds

if FUZZ
fuzz: $(FUZZ_TARGETS)
	$(srcdir)/test/fuzz/fuzz_all.sh $(srcdir)/test/fuzz/seeds $(FUZZ_SECONDS) $(FUZZ_TARGETS)
else
fuzz:
	$(srcdir)/contrib/prepare fuzz-build --clang --enable-fuzz
	$(MAKE) -C fuzz-build fuzz FUZZ_SECONDS=$(FUZZ_SECONDS)
endif
.PHONY: fuzz

distclean-local:
	rm -rf fuzz-build fuzz-corpus fuzz-crash
