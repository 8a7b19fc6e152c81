# SPDX-License-Identifier: BSD-3-Clause
# test_swhca: the device model, stepped in one process.
if SWHCA
CATCH_TESTS += test_swhca
test_swhca_SOURCES = \
	%D%/bystander.cpp \
	%D%/bystander.h \
	%D%/companion.cpp \
	%D%/companion.h \
	%D%/guard_faults.h \
	%D%/killer.cpp \
	%D%/killer.h \
	%D%/rig.cpp \
	%D%/rig.h \
	%D%/rig_bytes.h \
	%D%/rig_endpoint.cpp \
	%D%/test_engine.cpp \
	%D%/test_faults.cpp \
	%D%/test_faults_commands.cpp \
	%D%/test_faults_device.cpp \
	%D%/test_closed_memory.cpp \
	%D%/test_stopped.cpp \
	%D%/test_killed.cpp \
	%D%/test_killed_bystander.cpp \
	%D%/test_killed_answers.cpp \
	%D%/test_masked_atomics.cpp \
	%D%/test_parts.cpp \
	%D%/test_scatter_to_cqe.cpp \
	%D%/test_protocol.cpp \
	%D%/test_protocol_requester.cpp \
	%D%/test_protocol_responder.cpp \
	%D%/test_unmapped.cpp \
	%D%/test_verbs.cpp \
	%D%/test_verbs_queues.cpp \
	%D%/test_verbs_states.cpp \
	src/swhca/shim/paths.cpp \
	src/swhca/shim/store_decoder.cpp
test_swhca_CPPFLAGS = $(TEST_CPPFLAGS)
test_swhca_LDADD = $(TEST_LIBS) libswhca_model.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
$(test_swhca_OBJECTS): $(CATCH_PCH)
endif
