// SPDX-License-Identifier: BSD-3-Clause
// Control messages to bytes and back.
#include "ucp/core/control_codec.h"

#include "ucp/core/control_fields.h"
#include "ucs/bytes.h"

#include <type_traits>
#include <utility>

namespace ufx::ucp::core {

namespace {

class encoder {
public:
    explicit encoder(ucs::byte_writer &to) : to_(to) {}

    void operator()(std::uint16_t v) { to_.le16(v); }
    void operator()(std::uint32_t v) { to_.le32(v); }
    void operator()(std::uint64_t v) { to_.le64(v); }
    void operator()(bool v) { to_.u8(v ? 1 : 0); }
    void epoch(epoch_t v) { to_.le32(v); }
    template <class E>
    void choice(E v, unsigned)
    {
        to_.u8(static_cast<std::uint8_t>(v));
    }
    template <std::size_t N>
    void operator()(const blob<N> &b)
    {
        to_.u8(b.size);
        to_.bytes(b.bytes.data(), b.size);
    }
    void operator()(const window &w)
    {
        unsigned words = static_cast<unsigned>(w.bitmap().size());
        while (words > 0 && w.bitmap()[words - 1] == 0) {
            --words;
        }
        to_.le64(w.next());
        to_.u8(static_cast<std::uint8_t>(words));
        for (unsigned i = 0; i < words; ++i) {
            to_.le64(w.bitmap()[i]);
        }
    }
    void bytes(const std::vector<std::uint8_t> &b, std::size_t)
    {
        to_.le16(static_cast<std::uint16_t>(b.size()));
        to_.bytes(b.data(), b.size());
    }
    template <class T, class F>
    void list(const std::vector<T> &items, std::size_t, F each)
    {
        to_.le16(static_cast<std::uint16_t>(items.size()));
        for (const T &item : items) {
            each(*this, item);
        }
    }

private:
    ucs::byte_writer &to_;
};

class decoder {
public:
    explicit decoder(ucs::byte_reader &from) : from_(from) {}

    void operator()(std::uint16_t &v) { v = from_.le16(); }
    void operator()(std::uint32_t &v) { v = from_.le32(); }
    void operator()(std::uint64_t &v) { v = from_.le64(); }
    void operator()(bool &v) { v = below(2) != 0; }
    void epoch(epoch_t &v)
    {
        v = from_.le32();
        if (v > max_wire_epoch) {
            from_.fail();
        }
    }
    template <class E>
    void choice(E &v, unsigned count)
    {
        v = static_cast<E>(below(count));
    }
    template <std::size_t N>
    void operator()(blob<N> &b)
    {
        const auto size = from_.u8();
        const auto bytes = from_.bytes(size);
        const auto *data = reinterpret_cast<const std::uint8_t *>(bytes.data());
        if (!b.assign({data, bytes.size()})) {
            from_.fail();
        }
    }
    void operator()(window &w)
    {
        const am_number next = from_.le64();
        const unsigned words = below(window::bits / 64 + 1);
        window::map map{};
        for (unsigned i = 0; i < words; ++i) {
            map[i] = from_.le64();
        }
        if (next > UINT64_MAX / 2 || (words > 0 && map[words - 1] == 0)) {
            from_.fail();
        }
        w = window::from(next, map);
    }
    void bytes(std::vector<std::uint8_t> &b, std::size_t limit)
    {
        const std::size_t size = from_.le16();
        if (size > limit) {
            from_.fail();
            return;
        }
        const auto bytes = from_.bytes(size);
        const auto *data = reinterpret_cast<const std::uint8_t *>(bytes.data());
        b.assign(data, data + bytes.size());
    }
    template <class T, class F>
    void list(std::vector<T> &items, std::size_t limit, F each)
    {
        const std::size_t count = from_.le16();
        if (count > limit) {
            from_.fail();
            return;
        }
        items.resize(count);
        for (T &item : items) {
            each(*this, item);
        }
    }

private:
    // One byte that must be below `count`.
    unsigned below(unsigned count)
    {
        const unsigned value = from_.u8();
        if (value >= count) {
            from_.fail();
            return 0;
        }
        return value;
    }

    ucs::byte_reader &from_;
};

template <std::size_t... I>
control_msg message_of_type(std::size_t type, std::index_sequence<I...>)
{
    control_msg msg;
    (void)((type == I + 1 ? (msg.emplace<I>(), true) : false) || ...);
    return msg;
}

constexpr std::size_t types = std::variant_size_v<control_variant>;

} // namespace

ucs::result<std::size_t> encode(const control_envelope &envelope, const control_msg &msg,
                                std::span<std::byte> to) noexcept
{
    ucs::byte_writer writer(to);
    writer.u8(control_version);
    writer.u8(static_cast<std::uint8_t>(msg.index() + 1));
    writer.le64(envelope.from);
    writer.le64(envelope.to);
    encoder e(writer);
    std::visit(
        [&](const auto &m) { fields(e, m, static_cast<std::decay_t<decltype(m)> *>(nullptr)); },
        msg);
    if (!writer.ok()) {
        return UFX_ERR_BUFFER_TOO_SMALL;
    }
    return writer.size();
}

ucs::result<control_frame> decode(std::span<const std::byte> from)
{
    ucs::byte_reader reader(from);
    if (!from.empty() && static_cast<std::uint8_t>(from[0]) != control_version) {
        return UFX_ERR_VERSION;
    }
    reader.u8();
    const std::size_t type = reader.u8();
    control_frame frame;
    frame.envelope.from = reader.le64();
    frame.envelope.to = reader.le64();
    if (!reader.ok() || type == 0 || type > types) {
        return UFX_ERR_BAD_MESSAGE;
    }
    frame.msg = message_of_type(type, std::make_index_sequence<types>());
    decoder d(reader);
    std::visit([&](auto &m) { fields(d, m, static_cast<std::decay_t<decltype(m)> *>(nullptr)); },
               frame.msg);
    if (!reader.at_end()) {
        return UFX_ERR_BAD_MESSAGE;
    }
    return frame;
}

} // namespace ufx::ucp::core
