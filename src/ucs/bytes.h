// SPDX-License-Identifier: BSD-3-Clause
// Endian-named loads and stores, and a reader and writer that never leave their bounds.
#ifndef UFX_UCS_BYTES_H
#define UFX_UCS_BYTES_H

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace ufx::ucs {

template <std::unsigned_integral T>
[[nodiscard]] constexpr T swap_bytes(T value) noexcept
{
    if constexpr (sizeof(T) == 2) {
        return __builtin_bswap16(value);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bswap32(value);
    } else if constexpr (sizeof(T) == 8) {
        return __builtin_bswap64(value);
    } else {
        return value;
    }
}

template <std::unsigned_integral T>
[[nodiscard]] inline T load_le(const void *from) noexcept
{
    T value;
    std::memcpy(&value, from, sizeof(value));
    return std::endian::native == std::endian::little ? value : swap_bytes(value);
}

template <std::unsigned_integral T>
[[nodiscard]] inline T load_be(const void *from) noexcept
{
    T value;
    std::memcpy(&value, from, sizeof(value));
    return std::endian::native == std::endian::big ? value : swap_bytes(value);
}

template <std::unsigned_integral T>
inline void store_le(void *to, T value) noexcept
{
    value = std::endian::native == std::endian::little ? value : swap_bytes(value);
    std::memcpy(to, &value, sizeof(value));
}

template <std::unsigned_integral T>
inline void store_be(void *to, T value) noexcept
{
    value = std::endian::native == std::endian::big ? value : swap_bytes(value);
    std::memcpy(to, &value, sizeof(value));
}

[[nodiscard]] inline uint16_t load_le16(const void *from) noexcept
{
    return load_le<uint16_t>(from);
}

[[nodiscard]] inline uint32_t load_le32(const void *from) noexcept
{
    return load_le<uint32_t>(from);
}

[[nodiscard]] inline uint64_t load_le64(const void *from) noexcept
{
    return load_le<uint64_t>(from);
}

inline void store_le16(void *to, uint16_t value) noexcept
{
    store_le(to, value);
}

inline void store_le32(void *to, uint32_t value) noexcept
{
    store_le(to, value);
}

inline void store_le64(void *to, uint64_t value) noexcept
{
    store_le(to, value);
}

// Reads untrusted bytes front to back. The first read beyond the end makes it fail for good:
// that and every later read gives zeros or an empty span, and ok() is false. So a parser reads
// all its fields and tests ok() once, before it acts on any of them.
class byte_reader {
public:
    byte_reader() noexcept = default;

    explicit byte_reader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

    byte_reader(const void *data, size_t size) noexcept
        : rest_(static_cast<const std::byte *>(data), size)
    {
    }

    [[nodiscard]] bool ok() const noexcept { return ok_; }

    [[nodiscard]] size_t remaining() const noexcept { return rest_.size(); }

    // True if nothing failed and nothing is left.
    [[nodiscard]] bool at_end() const noexcept { return ok_ && rest_.empty(); }

    // For a value that parses but is not allowed.
    void fail() noexcept
    {
        ok_ = false;
        rest_ = {};
    }

    uint8_t u8() noexcept { return take<uint8_t>(load_le<uint8_t>); }

    uint16_t le16() noexcept { return take<uint16_t>(load_le<uint16_t>); }

    uint32_t le32() noexcept { return take<uint32_t>(load_le<uint32_t>); }

    uint64_t le64() noexcept { return take<uint64_t>(load_le<uint64_t>); }

    uint16_t be16() noexcept { return take<uint16_t>(load_be<uint16_t>); }

    uint32_t be32() noexcept { return take<uint32_t>(load_be<uint32_t>); }

    // The next `count` bytes, in place; empty if there are fewer.
    std::span<const std::byte> bytes(size_t count) noexcept
    {
        if (count > rest_.size()) {
            fail();
            return {};
        }
        std::span<const std::byte> taken = rest_.first(count);
        rest_ = rest_.subspan(count);
        return taken;
    }

    // Copies the next `count` bytes out; zeros if there are fewer.
    void copy(void *to, size_t count) noexcept
    {
        std::span<const std::byte> taken = bytes(count);
        if (count == 0) {
            return;
        }
        if (taken.size() == count) {
            std::memcpy(to, taken.data(), count);
        } else {
            std::memset(to, 0, count);
        }
    }

    std::span<const std::byte> rest() noexcept { return bytes(rest_.size()); }

private:
    template <class T>
    T take(T (*load)(const void *) noexcept) noexcept
    {
        std::span<const std::byte> taken = bytes(sizeof(T));
        return taken.size() == sizeof(T) ? load(taken.data()) : T{0};
    }

    std::span<const std::byte> rest_;
    bool ok_ = true;
};

// Writes front to back into a given buffer. A write beyond its end writes nothing and makes
// ok() false for good.
class byte_writer {
public:
    explicit byte_writer(std::span<std::byte> bytes) noexcept : all_(bytes) {}

    byte_writer(void *data, size_t size) noexcept : all_(static_cast<std::byte *>(data), size) {}

    [[nodiscard]] bool ok() const noexcept { return ok_; }

    // Bytes written so far.
    [[nodiscard]] size_t size() const noexcept { return used_; }

    [[nodiscard]] size_t space() const noexcept { return ok_ ? all_.size() - used_ : 0; }

    [[nodiscard]] std::span<const std::byte> written() const noexcept { return all_.first(used_); }

    void u8(uint8_t value) noexcept { put(value, store_le<uint8_t>); }

    void le16(uint16_t value) noexcept { put(value, store_le<uint16_t>); }

    void le32(uint32_t value) noexcept { put(value, store_le<uint32_t>); }

    void le64(uint64_t value) noexcept { put(value, store_le<uint64_t>); }

    void be16(uint16_t value) noexcept { put(value, store_be<uint16_t>); }

    void be32(uint32_t value) noexcept { put(value, store_be<uint32_t>); }

    void bytes(std::span<const std::byte> from) noexcept { bytes(from.data(), from.size()); }

    void bytes(const void *from, size_t count) noexcept
    {
        if (std::byte *to = reserve(count); to != nullptr && count > 0) {
            std::memcpy(to, from, count);
        }
    }

    // Room for `count` bytes that the caller fills, for instance a length that is known later;
    // nullptr if there is none.
    std::byte *reserve(size_t count) noexcept
    {
        if (!ok_ || count > all_.size() - used_) {
            ok_ = false;
            return nullptr;
        }
        std::byte *to = all_.data() + used_;
        used_ += count;
        return to;
    }

private:
    template <class T>
    void put(T value, void (*store)(void *, T) noexcept) noexcept
    {
        if (std::byte *to = reserve(sizeof(T)); to != nullptr) {
            store(to, value);
        }
    }

    std::span<std::byte> all_;
    size_t used_ = 0;
    bool ok_ = true;
};

} // namespace ufx::ucs

#endif
