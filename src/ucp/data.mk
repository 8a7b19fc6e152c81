# SPDX-License-Identifier: BSD-3-Clause
# The data path of ucp: what an op is made of, how it is posted, what arrives.
UNIT_ucp_tx = %D%/ep_tx.cpp %D%/ep_tx_am.cpp %D%/ep_tx_key.cpp %D%/ep_tx_post.cpp \
	%D%/ep_tx_purge.cpp %D%/fragment.cpp
UNIT_ucp_rx = %D%/am_handlers.cpp %D%/am_wire.cpp %D%/ep_rx.cpp %D%/proto.cpp \
	%D%/proto_atomic.cpp %D%/proto_rndv.cpp
UNIT_ucp_ops = %D%/api_ops.cpp %D%/mem_table.cpp %D%/request.cpp %D%/rkey.cpp
UCP_DATA_SOURCES = $(UNIT_ucp_tx) $(UNIT_ucp_rx) $(UNIT_ucp_ops) \
	%D%/am_handlers.h %D%/am_wire.h %D%/ep_rx.h %D%/ep_tx.h %D%/fragment.h %D%/mem_table.h %D%/transfer.h %D%/tx_port.h \
	%D%/post.h %D%/proto.h %D%/recv_message.h %D%/request.h %D%/request_pool.h %D%/rkey.h
