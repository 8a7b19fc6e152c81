# SPDX-License-Identifier: BSD-3-Clause
# The data path of ucp: what an op is made of, how it is posted, what arrives.
UCP_DATA_SOURCES = \
	%D%/am_handlers.cpp \
	%D%/am_handlers.h \
	%D%/am_wire.cpp \
	%D%/am_wire.h \
	%D%/api_ops.cpp \
	%D%/ep_rx.cpp \
	%D%/ep_rx.h \
	%D%/ep_tx.cpp \
	%D%/ep_tx.h \
	%D%/ep_tx_am.cpp \
	%D%/ep_tx_key.cpp \
	%D%/ep_tx_post.cpp \
	%D%/ep_tx_purge.cpp \
	%D%/fragment.cpp \
	%D%/fragment.h \
	%D%/mem_table.cpp \
	%D%/mem_table.h \
	%D%/proto.cpp \
	%D%/proto.h \
	%D%/proto_atomic.cpp \
	%D%/proto_rndv.cpp \
	%D%/recv_message.h \
	%D%/request.cpp \
	%D%/request.h \
	%D%/request_pool.h \
	%D%/rkey.cpp \
	%D%/rkey.h
