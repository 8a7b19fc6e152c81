// SPDX-License-Identifier: BSD-3-Clause
// Accepted sockets that no ep owns yet.
//
// A stranger has sent no hello yet; a guest has, but its ep waits for connect_to_ep on this side.
// Both have until their deadline. There are at most so many; a new one takes the place of the
// oldest stranger, never of a guest.
#ifndef UFX_UCT_TCP_LOBBY_H
#define UFX_UCT_TCP_LOBBY_H

#include "wire.h"

#include "ucs/fd.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace ufx::uct::tcp {

class ep;
class iface;

class lobby {
public:
    // Throws bad_alloc.
    lobby(iface &owner, size_t max_sockets);

    // Takes a fresh connection; closes it if there is no room.
    void admit(ucs::fd socket) noexcept;

    // Something came on the socket in that place, if one is there.
    void on_event(size_t place) noexcept;

    // The ep is ready for its connection now: it may be here already.
    void look_for(ep &waiting) noexcept;

    // Ends those whose time is over.
    void expire(uint64_t now_ns) noexcept;

    void clear() noexcept;

    [[nodiscard]] size_t count() const noexcept { return count_; }

    [[nodiscard]] uint64_t next_deadline_ns() const noexcept;

private:
    struct seat {
        ucs::fd socket;
        std::array<std::byte, wire::hello_size> bytes{};
        size_t received = 0;
        uint64_t deadline_ns = 0;
        std::optional<wire::hello> hello; // a guest's
    };

    [[nodiscard]] seat *free_seat() noexcept;
    void read(seat &from) noexcept;
    void introduce(seat &guest) noexcept;
    void hand_over(seat &guest, ep &to) noexcept;
    void refuse(seat &guest, wire::refusal reason) noexcept;
    void leave(seat &one) noexcept;

    iface &owner_;
    std::vector<seat> seats_;
    size_t count_ = 0;
};

} // namespace ufx::uct::tcp

#endif
