// SPDX-License-Identifier: BSD-3-Clause
// Tries a rail before it is used again.
#include "ucp/prober.h"

#include "ucp/lane.h"
#include "ucp/peer.h"
#include "ucp/rail.h"
#include "ucs/uuid.h"

namespace ufx::ucp {

prober::prober(lane &over) : lane_(over), stamp_(ucs::random_uuid())
{
    comp_.func = &on_done;
    comp_.self = this;
}

// Word 0 goes out, word 1 comes back.
std::uint64_t *prober::scratch(unsigned word)
{
    return reinterpret_cast<std::uint64_t *>(lane_.port().probes().scratch(lane_.probe_place())) +
           word;
}

void prober::progress()
{
    if (step_ == step::WRITE || step_ == step::READ) {
        post();
    }
}

void prober::post()
{
    if (!lane_.has_probe_rkey) {
        report(false);
        return;
    }
    const bool write = step_ == step::WRITE;
    *scratch(0) = stamp_ + round_;
    ufx_uct_iov_t iov{scratch(write ? 0 : 1), sizeof(std::uint64_t),
                      lane_.port().probes().memh(lane_.probe_place())};
    comp_.count = 1;
    comp_.status = UFX_OK;
    const ufx_status_t status = write ? ufx_uct_ep_put_zcopy(lane_.uct(), &iov, 1, lane_.probe_addr,
                                                             lane_.probe_rkey.rkey, &comp_)
                                      : ufx_uct_ep_get_zcopy(lane_.uct(), &iov, 1, lane_.probe_addr,
                                                             lane_.probe_rkey.rkey, &comp_);
    if (status == UFX_ERR_NO_RESOURCE) {
        return; // not connected yet
    }
    step_ = write ? step::WRITING : step::READING;
    if (status != UFX_INPROGRESS) {
        advance(status);
    }
}

void prober::on_done(ufx_uct_completion_t *comp) noexcept
{
    static_cast<completion *>(comp)->self->advance(comp->status);
}

void prober::advance(ufx_status_t status)
{
    if (status != UFX_OK) {
        report(false);
    } else if (step_ == step::WRITING) {
        *scratch(1) = 0;
        step_ = step::READ;
    } else if (*scratch(1) != stamp_ + round_) {
        report(false);
    } else if (++round_ == rounds) {
        report(true);
    } else {
        step_ = step::WRITE;
    }
}

void prober::report(bool ok)
{
    step_ = step::OVER;
    const core::lane_ref ref = lane_.ref();
    lane_.remote().event([&](core::peer &m, core::time_ns now, core::action_list &out) {
        m.probe_done(ref.rail, ref.epoch, ok, now, out);
    });
}

} // namespace ufx::ucp
