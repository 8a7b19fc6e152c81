# SPDX-License-Identifier: BSD-3-Clause
# swhca: the software ConnectX. libswhca_model.la is the device model, a plain library that tests
# step; libufx_swhca.so is the same with the shim, to be preloaded; ufx_swhca starts and steers it.
if SWHCA
noinst_LTLIBRARIES += libswhca_model.la
UNIT_swhca_base = %D%/engine/address_space.cpp %D%/engine/guarded_copy.cpp \
	%D%/engine/process_memory.cpp %D%/fabric/fabric.cpp %D%/fabric/liveness.cpp %D%/fabric/port_files.cpp \
	%D%/fabric/repair.cpp %D%/fabric/wakeup.cpp %D%/wire/cqe.cpp \
	%D%/wire/wqe.cpp
UNIT_swhca_faults = %D%/faults/rule_text.cpp %D%/faults/schedule.cpp %D%/faults/vocabulary.cpp
UNIT_swhca_model = %D%/model/completion_queue.cpp %D%/model/datagram.cpp %D%/model/device.cpp \
	%D%/model/events.cpp %D%/model/payload.cpp %D%/model/queue_pair.cpp \
	%D%/model/receive_queue.cpp %D%/model/verbs.cpp %D%/model/verbs_qp.cpp
UNIT_swhca_protocol = %D%/engine/engine.cpp %D%/engine/link.cpp %D%/engine/membership.cpp \
	%D%/engine/settle.cpp \
	 %D%/faults/faults.cpp \
	%D%/model/requester.cpp %D%/model/requester_answers.cpp %D%/model/responder.cpp \
	%D%/model/responder_reads.cpp %D%/model/responder_verdict.cpp \
	%D%/model/send_queue.cpp %D%/model/send_ring.cpp
UNIT_swhca_abi = %D%/abi/command.cpp %D%/abi/event_pipe.cpp %D%/abi/uverbs_file.cpp \
	%D%/abi/uverbs_objects.cpp %D%/abi/uverbs_qp.cpp
SWHCA_MODEL_SOURCES = $(UNIT_swhca_base) $(UNIT_swhca_model) $(UNIT_swhca_protocol) \
	$(UNIT_swhca_abi) $(UNIT_swhca_faults) \
	%D%/abi/command.h %D%/abi/event_pipe.h %D%/abi/uverbs_file.h \
	%D%/engine/address_space.h %D%/engine/engine.h %D%/engine/guarded_copy.h %D%/engine/link.h \
	%D%/engine/membership.h \
	%D%/engine/process_memory.h %D%/engine/settle.h %D%/engine/spinner.h \
	%D%/fabric/bitmap.h %D%/fabric/doorbell_count.h %D%/fabric/fabric.h %D%/fabric/image.h %D%/fabric/liveness.h \
	%D%/fabric/port_files.h %D%/fabric/repair.h %D%/fabric/wakeup.h %D%/faults/faults.h %D%/faults/rule.h %D%/faults/schedule.h %D%/faults/vocabulary.h \
	%D%/model/completion_queue.h %D%/model/core.h %D%/model/datagram.h %D%/model/device.h \
	%D%/model/events.h %D%/model/lookup.h %D%/model/payload.h %D%/model/queue_pair.h \
	%D%/model/receive_queue.h %D%/model/requester.h %D%/model/responder.h %D%/model/responder_reads.h %D%/model/responder_verdict.h \
	%D%/model/send_queue.h %D%/model/send_ring.h %D%/model/verbs.h \
	%D%/wire/cqe.h %D%/wire/packet.h %D%/wire/wqe.h
if UNITY
nodist_libswhca_model_la_SOURCES = unity/swhca_base.cpp unity/swhca_model.cpp \
	unity/swhca_protocol.cpp unity/swhca_abi.cpp unity/swhca_faults.cpp
EXTRA_libswhca_model_la_SOURCES = $(SWHCA_MODEL_SOURCES)
else
libswhca_model_la_SOURCES = $(SWHCA_MODEL_SOURCES)
endif

# The shim stands alone: it shows what it interposes and nothing else, and brings its own copy of what
# it uses of ucs, because it comes into programs that have another one.
noinst_LTLIBRARIES += libswhca_ucs.la
nodist_libswhca_ucs_la_SOURCES = unity/swhca_ucs.cpp
# It is preloaded into the shells and tools around a program too, which have no sanitizer; so it has
# none either, whatever the program has.
if SANITIZED
noinst_LTLIBRARIES += libswhca_plain.la
nodist_libswhca_plain_la_SOURCES = unity/swhca_base.cpp unity/swhca_model.cpp \
	unity/swhca_protocol.cpp unity/swhca_abi.cpp unity/swhca_faults.cpp
libswhca_plain_la_CXXFLAGS = $(AM_CXXFLAGS) -fno-sanitize=all
SWHCA_SHIM_MODEL = libswhca_plain.la
SWHCA_SHIM_FLAGS = -fno-sanitize=all
else
SWHCA_SHIM_MODEL = libswhca_model.la
SWHCA_SHIM_FLAGS =
endif
libswhca_ucs_la_CXXFLAGS = $(AM_CXXFLAGS) $(SWHCA_SHIM_FLAGS)
libufx_swhca_la_CXXFLAGS = $(AM_CXXFLAGS) $(SWHCA_SHIM_FLAGS)
ufxmod_LTLIBRARIES += libufx_swhca.la
UNIT_swhca_shim = %D%/shim/call_on_stack.cpp %D%/shim/descriptors.cpp %D%/shim/paths.cpp \
	%D%/shim/process.cpp %D%/shim/stepped_sockets.cpp %D%/shim/store_decoder.cpp %D%/shim/trap.cpp
UNIT_swhca_signals = %D%/shim/signals.cpp
UNIT_swhca_open = %D%/shim/interpose_open.cpp
UNIT_swhca_stat = %D%/shim/interpose_stat.cpp
UNIT_swhca_calls = %D%/shim/interpose_calls.cpp
UNIT_swhca_step = %D%/shim/interpose_step.cpp
UNIT_swhca_ucs = %D%/shim/log.cpp src/ucs/config_parse.cpp src/ucs/fd.cpp \
	src/ucs/mapping.cpp src/ucs/result.cpp
SWHCA_SHIM_SOURCES = $(UNIT_swhca_shim) $(UNIT_swhca_signals) $(UNIT_swhca_open) $(UNIT_swhca_stat) \
	$(UNIT_swhca_calls) $(UNIT_swhca_step) %D%/shim/log.cpp %D%/shim/call_on_stack.h %D%/shim/descriptors.h \
	%D%/shim/next.h %D%/shim/paths.h %D%/shim/process.h %D%/shim/redirected.h %D%/shim/shield.h %D%/shim/signals.h \
	%D%/shim/step.h %D%/shim/stepped_sockets.h %D%/shim/store_decoder.h %D%/shim/trap.h
# Without AM_LDFLAGS: they are the sanitizer's.
libufx_swhca_la_LDFLAGS = $(UFX_LIB_LDFLAGS) -module -avoid-version \
	-Wl,--version-script=$(srcdir)/%D%/shim/exports.map
libufx_swhca_la_LIBADD = $(SWHCA_SHIM_MODEL) libswhca_ucs.la $(UFX_SYS_LIBS)
nodist_libufx_swhca_la_SOURCES = unity/swhca_shim.cpp unity/swhca_signals.cpp \
	unity/swhca_open.cpp unity/swhca_stat.cpp unity/swhca_calls.cpp unity/swhca_step.cpp
EXTRA_libufx_swhca_la_SOURCES = $(SWHCA_SHIM_SOURCES)
EXTRA_DIST += %D%/shim/exports.map

bin_PROGRAMS += ufx_swhca
UNIT_swhca_tool = %D%/tool/control.cpp %D%/tool/fabric_directory.cpp %D%/tool/run.cpp \
	%D%/tool/sysfs_tree.cpp
UNIT_swhca_show = %D%/tool/show.cpp
SWHCA_TOOL_SOURCES = $(UNIT_swhca_tool) $(UNIT_swhca_show) \
	%D%/tool/control.h %D%/tool/fabric_directory.h %D%/tool/failure.h %D%/tool/run.h %D%/tool/show.h %D%/tool/sysfs_tree.h
ufx_swhca_SOURCES = %D%/tool/main.cpp
nodist_ufx_swhca_SOURCES = unity/swhca_tool.cpp unity/swhca_show.cpp
EXTRA_ufx_swhca_SOURCES = $(SWHCA_TOOL_SOURCES)
ufx_swhca_LDADD = libswhca_model.la libswhca_ucs.la $(UFX_SYS_LIBS)
endif
