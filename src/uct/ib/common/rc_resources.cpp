// SPDX-License-Identifier: BSD-3-Clause
// Makes the verbs objects of an iface.
#include "rc_resources.h"

#include "ucs/log.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/epoll.h>

namespace ufx::uct::ib {

namespace {

ufx_status_t failed(const md &domain, const char *what)
{
    const int error = errno;
    ufx_warn("%s: no %s: %s", domain.dev().name().c_str(), what, std::strerror(error));
    return error == ENOMEM ? UFX_ERR_NO_MEMORY : UFX_ERR_IO;
}

// A register is written by one thread at a time; that of the device's context, by all of them.
void take_register(rc_resources &made, const md &domain)
{
    ibv_td_init_attr none{};
    made.own_register.reset(ibv_alloc_td(domain.dev().context(), &none));
    if (made.own_register != nullptr) {
        ibv_parent_domain_init_attr parent{};
        parent.pd = domain.pd();
        parent.td = made.own_register.get();
        made.pd_with_register.reset(ibv_alloc_parent_domain(domain.dev().context(), &parent));
    }
    if (made.pd_with_register == nullptr) {
        ufx_info("%s: no BlueFlame: no doorbell register for an interface alone: %s",
                 domain.dev().name().c_str(), std::strerror(errno));
        return;
    }
    made.blueflame_offset = std::make_unique<uint32_t>(0);
}

} // namespace

ucs::result<rc_resources> rc_resources::create(const md &domain, const rc_config &config)
{
    rc_resources made{};
    ibv_context *context = domain.dev().context();
    if (config.blueflame) {
        take_register(made, domain);
    }
    made.channel.reset(ibv_create_comp_channel(context));
    if (made.channel == nullptr) {
        return failed(domain, "completion channel");
    }
    const int flags = ::fcntl(made.channel->fd, F_GETFL);
    if (flags < 0 || ::fcntl(made.channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
        return failed(domain, "completion channel that does not block");
    }
    made.send_cq.reset(
        ibv_create_cq(context, static_cast<int>(config.tx_cq), nullptr, made.channel.get(), 0));
    made.receive_cq.reset(
        ibv_create_cq(context, static_cast<int>(config.rx_queue), nullptr, made.channel.get(), 0));
    if (made.send_cq == nullptr || made.receive_cq == nullptr) {
        return failed(domain, "completion queue");
    }
    ibv_srq_init_attr srq{};
    srq.attr.max_wr = config.rx_queue - 1; // the provider adds one and rounds up
    srq.attr.max_sge = 1;
    made.srq_size = srq.attr.max_wr;
    made.srq.reset(ibv_create_srq(domain.pd(), &srq));
    if (made.srq == nullptr) {
        return failed(domain, "shared receive queue");
    }
    made.flush_bytes = std::make_unique<std::array<std::byte, 64>>();
    made.flush_mr = domain.register_memory(made.flush_bytes->data(), made.flush_bytes->size(),
                                           IBV_ACCESS_REMOTE_READ);
    if (made.flush_mr == nullptr) {
        return failed(domain, "memory for flushes");
    }
    auto mailbox = event_mailbox::create();
    auto timer = wake_timer::create();
    auto loop = ucs::event_loop::create();
    if (!mailbox || !timer || !loop) {
        return UFX_ERR_IO;
    }
    made.mailbox = *std::move(mailbox);
    made.timer = *std::move(timer);
    made.loop = *std::move(loop);
    const auto nothing = [](void *, uint32_t) {};
    if (!made.loop->add(made.channel->fd, EPOLLIN, nothing, nullptr) ||
        !made.loop->add(made.mailbox->event_fd(), EPOLLIN, nothing, nullptr) ||
        !made.loop->add(made.timer.get(), EPOLLIN, nothing, nullptr) ||
        (!domain.monitor().is_threaded() &&
         !made.loop->add(domain.dev().context()->async_fd, EPOLLIN, nothing, nullptr))) {
        return UFX_ERR_IO;
    }
    return made;
}

} // namespace ufx::uct::ib
