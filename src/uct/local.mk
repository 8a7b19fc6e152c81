# SPDX-License-Identifier: BSD-3-Clause
# uct: libuct_base.la (object model, ops tables) goes into the library and into each module; the
# component registry lives in libufx_uct.so; each transport is a convenience library of its own.
noinst_LTLIBRARIES += libuct_base.la libuct_self.la libuct_tcp.la
UNIT_uct_base = %D%/base/config.cpp %D%/base/iface_base.cpp %D%/base/md_base.cpp \
	%D%/base/op_queue.cpp %D%/base/pending.cpp
UCT_BASE_SOURCES = $(UNIT_uct_base) \
	%D%/base/am_table.h %D%/base/atomics.h %D%/base/completion.h %D%/base/config.h %D%/base/copy.h \
	%D%/base/ep_base.h %D%/base/ep_error.h %D%/base/failover_ep.h %D%/base/iface_base.h \
	%D%/base/judge.h %D%/base/make_ops.h %D%/base/md_base.h %D%/base/method.h \
	%D%/base/module_entry.h %D%/base/op_push.h %D%/base/op_queue.h %D%/base/op_record.h \
	%D%/base/pending.h
UNIT_uct_self = %D%/self/self_ep.cpp %D%/self/self_iface.cpp %D%/self/self_md.cpp
UCT_SELF_SOURCES = $(UNIT_uct_self) %D%/self/self.h
UNIT_tcp_ep = %D%/tcp/ep_connect.cpp %D%/tcp/ep_control.cpp %D%/tcp/ep_io.cpp %D%/tcp/ep_post.cpp \
	%D%/tcp/tx_stream.cpp
UNIT_tcp_iface = %D%/tcp/iface.cpp %D%/tcp/iface_poll.cpp %D%/tcp/lobby.cpp %D%/tcp/receiver.cpp \
	%D%/tcp/reply_queue.cpp
UNIT_tcp_md = %D%/tcp/address.cpp %D%/tcp/config.cpp %D%/tcp/device.cpp %D%/tcp/md.cpp \
	%D%/tcp/port_watch.cpp %D%/tcp/regions.cpp %D%/tcp/socket.cpp %D%/tcp/wire.cpp
UCT_TCP_SOURCES = $(UNIT_tcp_ep) $(UNIT_tcp_iface) $(UNIT_tcp_md) \
	%D%/tcp/address.h %D%/tcp/batch.h %D%/tcp/config.h %D%/tcp/device.h %D%/tcp/ep.h \
	%D%/tcp/iface.h %D%/tcp/lobby.h %D%/tcp/md.h %D%/tcp/port_watch.h %D%/tcp/receiver.h \
	%D%/tcp/regions.h %D%/tcp/reply_queue.h %D%/tcp/rx_desc.h %D%/tcp/socket.h \
	%D%/tcp/tx_stream.h %D%/tcp/wire.h
if UNITY
nodist_libuct_base_la_SOURCES = unity/uct_base.cpp
EXTRA_libuct_base_la_SOURCES = $(UCT_BASE_SOURCES)
nodist_libuct_self_la_SOURCES = unity/uct_self.cpp
EXTRA_libuct_self_la_SOURCES = $(UCT_SELF_SOURCES)
nodist_libuct_tcp_la_SOURCES = unity/tcp_ep.cpp unity/tcp_iface.cpp unity/tcp_md.cpp
EXTRA_libuct_tcp_la_SOURCES = $(UCT_TCP_SOURCES)
else
libuct_base_la_SOURCES = $(UCT_BASE_SOURCES)
libuct_self_la_SOURCES = $(UCT_SELF_SOURCES)
libuct_tcp_la_SOURCES = $(UCT_TCP_SOURCES)
endif

# The scripted transport is linked into tests, which register it.
check_LTLIBRARIES += libuct_fake.la
libuct_fake_la_SOURCES = \
	%D%/fake/fake.h %D%/fake/fake_ep.cpp %D%/fake/fake_iface.cpp %D%/fake/fake_impl.h \
	%D%/fake/fake_md.cpp

lib_LTLIBRARIES += libufx_uct.la
libufx_uct_la_SOURCES = \
	%D%/base/builtin.h %D%/base/registry.cpp %D%/base/registry.h \
	%D%/base/worker.cpp %D%/base/worker.h
libufx_uct_la_LDFLAGS = $(UFX_SO_LDFLAGS)
libufx_uct_la_LIBADD = libuct_self.la libuct_base.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)

if TCP_MODULE
ufxmod_LTLIBRARIES += libufx_uct_tcp.la
libufx_uct_tcp_la_SOURCES = %D%/tcp/module.cpp
libufx_uct_tcp_la_LDFLAGS = $(UFX_MODULE_LDFLAGS)
libufx_uct_tcp_la_LIBADD = libuct_tcp.la libuct_base.la libucs_int.la libufx_ucs.la $(UFX_SYS_LIBS)
else
libufx_uct_la_LIBADD += libuct_tcp.la
endif

# The RDMA transports are a module, so that a machine without rdma-core can load the rest.
if IB
noinst_LTLIBRARIES += libuct_ib.la
libuct_ib_la_LIBADD = libucs_topology.la
UNIT_ib_common = %D%/ib/common/address.cpp %D%/ib/common/async_monitor.cpp \
	%D%/ib/common/config.cpp %D%/ib/common/device.cpp %D%/ib/common/gid.cpp \
	%D%/ib/common/known_routes.cpp %D%/ib/common/md.cpp \
	%D%/ib/common/rc_port.cpp %D%/ib/common/rc_qp.cpp %D%/ib/common/rc_resources.cpp \
	%D%/ib/common/receive_buffers.cpp %D%/ib/common/send_request.cpp
UNIT_ib_mlx5 = %D%/ib/mlx5/atomic_caps.cpp %D%/ib/mlx5/completion_queue.cpp %D%/ib/mlx5/rc_mlx5.cpp %D%/ib/mlx5/send_queue.cpp \
	%D%/ib/mlx5/shared_queues.cpp %D%/ib/mlx5/shared_receive_queue.cpp
UNIT_ib_verbs = %D%/ib/verbs/rc_verbs.cpp %D%/ib/verbs/send_queue.cpp \
	%D%/ib/verbs/shared_queues.cpp %D%/ib/transports.cpp
UCT_IB_SOURCES = $(UNIT_ib_common) $(UNIT_ib_mlx5) $(UNIT_ib_verbs) \
	%D%/ib/common/address.h %D%/ib/common/am_header.h %D%/ib/common/async_monitor.h \
	%D%/ib/common/atomic_request.h \
	%D%/ib/common/config.h %D%/ib/common/device.h %D%/ib/common/gid.h %D%/ib/common/kernel_order.h %D%/ib/common/known_routes.h %D%/ib/common/md.h \
	%D%/ib/common/psn.h %D%/ib/common/qp_table.h %D%/ib/common/rc_ep.h \
	%D%/ib/common/rc_ep_atomic_impl.h %D%/ib/common/rc_ep_completion_impl.h \
	%D%/ib/common/rc_ep_impl.h \
	%D%/ib/common/rc_ep_post_impl.h %D%/ib/common/rc_ep_short_impl.h %D%/ib/common/rc_iface.h \
	%D%/ib/common/rc_iface_events_impl.h %D%/ib/common/rc_iface_impl.h \
	%D%/ib/common/rc_port.h %D%/ib/common/rc_qp.h \
	%D%/ib/common/rc_resources.h %D%/ib/common/rc_transport.h %D%/ib/common/receive_buffers.h \
	%D%/ib/common/retry_budget.h %D%/ib/common/send_credits.h %D%/ib/common/send_request.h \
	%D%/ib/common/silence.h %D%/ib/common/transports.h %D%/ib/common/wake_timer.h \
	%D%/ib/mlx5/atomic_caps.h %D%/ib/mlx5/barriers.h %D%/ib/mlx5/completion_queue.h \
	%D%/ib/mlx5/send_queue.h \
	%D%/ib/mlx5/shared_queues.h %D%/ib/mlx5/shared_receive_queue.h \
	%D%/ib/verbs/send_queue.h %D%/ib/verbs/shared_queues.h
if UNITY
nodist_libuct_ib_la_SOURCES = unity/ib_common.cpp unity/ib_mlx5.cpp unity/ib_verbs.cpp
EXTRA_libuct_ib_la_SOURCES = $(UCT_IB_SOURCES)
else
libuct_ib_la_SOURCES = $(UCT_IB_SOURCES)
endif
libuct_ib_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)

ufxmod_LTLIBRARIES += libufx_uct_ib.la
libufx_uct_ib_la_SOURCES = %D%/ib/module.cpp
libufx_uct_ib_la_CPPFLAGS = $(AM_CPPFLAGS) $(IBVERBS_CFLAGS)
libufx_uct_ib_la_LDFLAGS = $(UFX_MODULE_LDFLAGS)
libufx_uct_ib_la_LIBADD = libuct_ib.la libuct_base.la libucs_int.la libufx_ucs.la $(IBVERBS_LIBS) \
	$(UFX_SYS_LIBS)
endif
