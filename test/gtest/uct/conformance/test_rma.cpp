// SPDX-License-Identifier: BSD-3-Clause
// Conformance: put and get, memory registration and keys.
#include "harness.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

using namespace ufx::test;

namespace {

bool same_bytes(const std::byte *a, const std::byte *b, size_t length)
{
    return std::memcmp(a, b, length) == 0;
}

} // namespace

TEST_CASE("uct: put_short and put_bcopy are applied by a flush", "[conformance][put]")
{
    for_each_transport(
        UFX_UCT_CAP_PUT_SHORT | UFX_UCT_CAP_PUT_BCOPY, [](const uct_resource &resource) {
            uct_pair pair(resource);
            const auto &limits = pair.a().attr.put;
            remote_memory target(pair, 2 * limits.max_bcopy + 16);
            local_memory data(pair, limits.max_bcopy);
            data.fill(4);
            for (size_t length : {size_t{1}, size_t{8}, size_t{33}, limits.max_short}) {
                std::memset(target.bytes, 0, length + 1);
                REQUIRE(ufx_uct_ep_put_short(pair.ep, data.bytes.data(), length, target.addr(),
                                             target.rkey) == UFX_OK);
                pair.flush();
                CHECK(same_bytes(target.bytes, data.bytes.data(), length));
                CHECK(target.bytes[length] == std::byte{0});
            }
            pack_source source{data.bytes.data(), limits.max_bcopy};
            REQUIRE(ufx_uct_ep_put_bcopy(pair.ep, pack_source::pack, &source, target.addr(7),
                                         target.rkey) == static_cast<ssize_t>(limits.max_bcopy));
            pair.flush();
            CHECK(same_bytes(target.bytes + 7, data.bytes.data(), limits.max_bcopy));
            CHECK(ufx_uct_ep_put_short(pair.ep, data.bytes.data(), limits.max_short + 1,
                                       target.addr(), target.rkey) == UFX_ERR_INVALID_PARAM);
        });
}

TEST_CASE("uct: an OK of put_zcopy means applied at the target", "[conformance][put]")
{
    for_each_transport(UFX_UCT_CAP_PUT_ZCOPY, [](const uct_resource &resource) {
        uct_pair pair(resource);
        constexpr size_t size = 1 << 20;
        remote_memory target(pair, size);
        local_memory data(pair, size);
        data.fill(5);
        for (size_t length : {size_t{1}, size_t{4097}, size}) {
            std::memset(target.bytes, 0, size);
            ufx_uct_iov_t iov[2] = {data.iov(0, length / 3),
                                    data.iov(length / 3, length - length / 3)};
            counted done;
            REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, iov, 2, target.addr(), target.rkey, &done) ==
                    UFX_INPROGRESS);
            CHECK(done.calls == 0);
            REQUIRE(pair.wait([&] { return done.done(); }));
            CHECK(done.result == UFX_OK);
            CHECK(same_bytes(target.bytes, data.bytes.data(), length));
        }
        CHECK(outstanding(pair.ep) == 0);
    });
}

TEST_CASE("uct: get in every form brings the data before its completion", "[conformance][get]")
{
    for_each_transport(
        UFX_UCT_CAP_GET_BCOPY | UFX_UCT_CAP_GET_ZCOPY, [](const uct_resource &resource) {
            uct_pair pair(resource);
            constexpr size_t size = 300 * 1000;
            remote_memory target(pair, size);
            local_memory data(pair, size);
            for (size_t i = 0; i < size; ++i) {
                target.bytes[i] = static_cast<std::byte>(i * 7 + (i >> 9));
            }
            ufx_uct_iov_t iov[2] = {data.iov(0, 1000), data.iov(1000, size - 1000)};
            counted zcopy;
            REQUIRE(ufx_uct_ep_get_zcopy(pair.ep, iov, 2, target.addr(), target.rkey, &zcopy) ==
                    UFX_INPROGRESS);
            REQUIRE(pair.wait([&] { return zcopy.done(); }));
            CHECK(zcopy.result == UFX_OK);
            CHECK(same_bytes(data.bytes.data(), target.bytes, size));

            struct unpacked {
                std::vector<std::byte> data;
                counted *comp;
                int calls_at_unpack = -1;
            } got{};
            counted bcopy;
            got.comp = &bcopy;
            auto unpack = [](void *arg, const void *from, size_t length) noexcept {
                auto *to = static_cast<unpacked *>(arg);
                const auto *bytes = static_cast<const std::byte *>(from);
                to->data.insert(to->data.end(), bytes, bytes + length);
                to->calls_at_unpack = to->comp->calls;
            };
            const size_t length = std::min<size_t>(pair.a().attr.get.max_bcopy, 5000);
            REQUIRE(ufx_uct_ep_get_bcopy(pair.ep, unpack, &got, length, target.addr(3), target.rkey,
                                         &bcopy) == UFX_INPROGRESS);
            REQUIRE(pair.wait([&] { return bcopy.done(); }));
            CHECK(got.calls_at_unpack == 0);
            REQUIRE(got.data.size() == length);
            CHECK(same_bytes(got.data.data(), target.bytes + 3, length));

            if (pair.has(UFX_UCT_CAP_GET_SHORT)) {
                counted brief;
                uint64_t word = 0;
                REQUIRE(ufx_uct_ep_get_short(pair.ep, &word, 8, target.addr(11), target.rkey,
                                             &brief) == UFX_INPROGRESS);
                REQUIRE(pair.wait([&] { return brief.done(); }));
                CHECK(std::memcmp(&word, target.bytes + 11, 8) == 0);
            }
        });
}

TEST_CASE("uct: several operations share one completion", "[conformance][put][M07]")
{
    for_each_transport(UFX_UCT_CAP_PUT_ZCOPY, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 4096);
        local_memory data(pair, 4096);
        data.fill(6);
        counted all(4);
        for (size_t i = 0; i < 4; ++i) {
            ufx_uct_iov_t iov = data.iov(i * 1024, 1024);
            REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(i * 1024), target.rkey,
                                         &all) == UFX_INPROGRESS);
        }
        REQUIRE(pair.wait([&] { return all.done(); }));
        pair.turn(20);
        CHECK(all.calls == 1);
        CHECK(all.result == UFX_OK);
        CHECK(same_bytes(target.bytes, data.bytes.data(), 4096));
    });
}

TEST_CASE("uct: a full queue gives NO_RESOURCE without side effect", "[conformance][put][L13]")
{
    for_each_transport(UFX_UCT_CAP_PUT_ZCOPY, [](const uct_resource &resource) {
        uct_pair pair(resource);
        remote_memory target(pair, 64);
        local_memory data(pair, 64);
        const size_t limit = pair.a().attr.max_outstanding;
        REQUIRE(limit > 0);
        std::vector<std::unique_ptr<counted>> comps;
        ufx_status_t status = UFX_INPROGRESS;
        while (status == UFX_INPROGRESS && comps.size() <= limit) {
            comps.push_back(std::make_unique<counted>());
            ufx_uct_iov_t iov = data.iov(0, 1);
            status = ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(), target.rkey,
                                          comps.back().get());
        }
        REQUIRE(status == UFX_ERR_NO_RESOURCE);
        auto refused = std::move(comps.back());
        comps.pop_back();
        const uint64_t posted = pair.a().stats().outstanding_ops; // the depth is visible
        CHECK(posted == comps.size());
        CHECK(outstanding(pair.ep) == comps.size());
        REQUIRE(pair.wait([&] { return comps.back()->done(); }));
        for (const auto &comp : comps) {
            CHECK(comp->calls == 1);
        }
        CHECK(refused->calls == 0);
        CHECK(refused->count == 1);
        CHECK(pair.a().stats().outstanding_ops == 0);
    });
}

TEST_CASE("uct: device memory, dmabufs and empty ranges are refused clearly", "[conformance][md]")
{
    for_each_transport(0, [](const uct_resource &resource) {
        uct_side side(resource, nullptr);
        if ((side.md_attr.flags & UFX_UCT_MD_FLAG_REG) == 0) {
            return;
        }
        char memory[64];
        ufx_uct_mem_params_t params{};
        params.field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
        params.address = memory;
        params.length = sizeof(memory);
        ufx_uct_mem_h memh = nullptr;
        REQUIRE(ufx_uct_md_mem_reg(side.md, &params, &memh) == UFX_OK);
        CHECK(ufx_uct_md_mem_dereg(side.md, memh) == UFX_OK);

        params.field_mask |= UFX_UCT_MEM_PARAM_MEMORY_TYPE;
        params.memory_type = UFX_UCT_MEMORY_TYPE_DEVICE;
        CHECK(ufx_uct_md_mem_reg(side.md, &params, &memh) == UFX_ERR_UNSUPPORTED);
        params.field_mask =
            UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH | UFX_UCT_MEM_PARAM_DMABUF;
        CHECK(ufx_uct_md_mem_reg(side.md, &params, &memh) == UFX_ERR_UNSUPPORTED);
        params.field_mask = UFX_UCT_MEM_PARAM_ADDRESS | UFX_UCT_MEM_PARAM_LENGTH;
        params.length = 0;
        CHECK(ufx_uct_md_mem_reg(side.md, &params, &memh) == UFX_ERR_INVALID_PARAM);
        params.field_mask = UFX_UCT_MEM_PARAM_ADDRESS;
        CHECK(ufx_uct_md_mem_reg(side.md, &params, &memh) == UFX_ERR_INVALID_PARAM);
    });
}

TEST_CASE("uct: allocated memory is usable and at least as long as asked", "[conformance][md]")
{
    for_each_transport(0, [](const uct_resource &resource) {
        uct_side side(resource, nullptr);
        if ((side.md_attr.flags & UFX_UCT_MD_FLAG_ALLOC) == 0) {
            return;
        }
        ufx_uct_mem_params_t params{};
        params.field_mask = UFX_UCT_MEM_PARAM_LENGTH;
        params.length = 5000;
        ufx_uct_allocated_memory_t memory{};
        REQUIRE(ufx_uct_md_mem_alloc(side.md, &params, &memory) == UFX_OK);
        REQUIRE(memory.length >= 5000);
        std::memset(memory.address, 1, memory.length);
        CHECK(ufx_uct_md_mem_free(side.md, &memory) == UFX_OK);
    });
}

TEST_CASE("uct: a packed key that does not parse is refused", "[conformance][md]")
{
    for_each_transport(0, [](const uct_resource &resource) {
        uct_side side(resource, nullptr);
        std::vector<std::byte> junk(side.md_attr.rkey_packed_size + 3, std::byte{0xee});
        ufx_uct_rkey_bundle_t bundle{};
        CHECK(ufx_uct_md_rkey_unpack(side.md, junk.data(), junk.size(), &bundle) ==
              UFX_ERR_BAD_MESSAGE);
    });
}

TEST_CASE("uct: a wrong range or right is the user's bug and never a crash", "[conformance][put]")
{
    for_each_transport(UFX_UCT_CAP_PUT_ZCOPY, [](const uct_resource &resource) {
        for (int kind = 0; kind < 3; ++kind) {
            uct_pair pair(resource);
            if ((pair.b().md_attr.flags & UFX_UCT_MD_FLAG_NEED_RKEY) == 0) {
                return; // keys are not checked there
            }
            const uint64_t flags = kind == 1 ? uint64_t{UFX_UCT_MEM_ACCESS_REMOTE_GET}
                                             : uint64_t{UFX_UCT_MEM_ACCESS_ALL};
            remote_memory target(pair, 256, flags);
            std::memset(target.bytes, 0x55, 256);
            local_memory data(pair, 256);
            data.fill(1);
            if (kind == 2) {
                target.dereg();
            }
            ufx_uct_iov_t iov = data.iov(0, 200);
            counted done;
            const size_t offset = kind == 0 ? 100 : 0; // 100 + 200 > 256
            REQUIRE(ufx_uct_ep_put_zcopy(pair.ep, &iov, 1, target.addr(offset), target.rkey,
                                         &done) == UFX_INPROGRESS);
            REQUIRE(pair.wait([&] { return done.done(); }));
            CHECK(done.result == UFX_ERR_REMOTE_ACCESS);
            CHECK(pair.a().error_cause == UFX_UCT_CAUSE_REMOTE_ACCESS);
            CHECK(std::count(target.bytes, target.bytes + 256, std::byte{0x55}) == 256);
        }
    });
}
