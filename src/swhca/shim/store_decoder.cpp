// SPDX-License-Identifier: BSD-3-Clause
// Intel SDM, volume 2, chapter 2: prefixes, REX or VEX or EVEX, opcode, ModRM, SIB, displacement,
// immediate. Only the stores that compilers and memcpy emit are known.
#include "store_decoder.h"

namespace ufx::swhca::shim {

namespace {

class cursor {
public:
    explicit cursor(std::span<const uint8_t> code) noexcept : code_(code) {}

    uint8_t next() noexcept { return at_ < code_.size() ? code_[at_++] : fail(); }

    [[nodiscard]] uint8_t peek() const noexcept { return at_ < code_.size() ? code_[at_] : 0; }

    void skip(size_t count) noexcept { at_ += count; }

    [[nodiscard]] size_t at() const noexcept { return ok_ && at_ <= code_.size() ? at_ : 0; }

private:
    uint8_t fail() noexcept
    {
        ok_ = false;
        return 0;
    }

    std::span<const uint8_t> code_;
    size_t at_ = 0;
    bool ok_ = true;
};

// Skips ModRM and what follows it; false if the operand is a register.
bool skip_memory_operand(cursor &in) noexcept
{
    uint8_t modrm = in.next();
    uint8_t mod = modrm >> 6;
    uint8_t rm = modrm & 7;
    if (mod == 3) {
        return false;
    }
    uint8_t base = rm;
    if (rm == 4) {
        base = in.next() & 7;
    }
    if (mod == 1) {
        in.skip(1);
    } else if (mod == 2 || (mod == 0 && base == 5)) {
        in.skip(4);
    }
    return true;
}

// Opcodes of the map 0F that store: MOVUPS, MOVLPS, MOVHPS, MOVAPS, MOVNTPS, MOVD, MOVDQA, MOVNTI,
// MOVQ, MOVNTDQ.
bool stores_vector(uint8_t opcode) noexcept
{
    constexpr uint8_t known[] = {0x11, 0x13, 0x17, 0x29, 0x2b, 0x7e, 0x7f, 0xc3, 0xd6, 0xe7};
    for (uint8_t each : known) {
        if (each == opcode) {
            return true;
        }
    }
    return false;
}

struct prefix_set {
    bool operand_size = false;
    bool repeat = false;
    bool wide = false;
};

prefix_set take_prefixes(cursor &in) noexcept
{
    prefix_set found;
    for (;;) {
        switch (in.peek()) {
        case 0x66:
            found.operand_size = true;
            break;
        case 0xf2:
        case 0xf3:
            found.repeat = true;
            break;
        case 0x2e:
        case 0x3e:
        case 0x64:
        case 0x65:
            break;
        default:
            if ((in.peek() & 0xf0) == 0x40) {
                found.wide = (in.next() & 8) != 0;
            }
            return found;
        }
        in.skip(1);
    }
}

uint8_t string_step(bool byte, const prefix_set &with) noexcept
{
    return byte ? 1 : with.wide ? 8 : with.operand_size ? 2 : 4;
}

} // namespace

store_instruction decode_store(std::span<const uint8_t> code) noexcept
{
    cursor in(code);
    store_instruction out{};
    prefix_set with = take_prefixes(in);
    uint8_t opcode = in.next();
    bool memory = false;
    switch (opcode) {
    case 0x88: // MOV r/m, r
    case 0x89:
        memory = skip_memory_operand(in);
        break;
    case 0xc6: // MOV r/m, imm
        memory = skip_memory_operand(in);
        in.skip(1);
        break;
    case 0xc7:
        memory = skip_memory_operand(in);
        in.skip(with.operand_size ? 2 : 4);
        break;
    case 0xa4: // MOVS
    case 0xa5:
    case 0xaa: // STOS
    case 0xab:
        memory = true;
        out.is_movs = opcode < 0xaa;
        out.repeated = with.repeat;
        out.string_bytes = string_step((opcode & 1) == 0, with);
        break;
    case 0x0f:
        memory = stores_vector(in.next()) && skip_memory_operand(in);
        break;
    case 0xc5: // VEX of two bytes
        in.skip(1);
        memory = stores_vector(in.next()) && skip_memory_operand(in);
        break;
    case 0xc4: // VEX of three bytes
        in.skip(2);
        memory = stores_vector(in.next()) && skip_memory_operand(in);
        break;
    case 0x62: // EVEX
        in.skip(3);
        memory = stores_vector(in.next()) && skip_memory_operand(in);
        break;
    default:
        break;
    }
    out.length = memory ? in.at() : 0;
    return out;
}

} // namespace ufx::swhca::shim
