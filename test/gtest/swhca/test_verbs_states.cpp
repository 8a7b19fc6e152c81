// SPDX-License-Identifier: BSD-3-Clause
// modify_qp against the table by which the kernel decides (ib_modify_qp_is_ok), for every pair of
// states and every attribute.
#include "rig.h"

#include <catch2/catch.hpp>
#include <cerrno>

namespace ufx::test {

namespace {

// IBV_QP_*.
enum : uint32_t {
    STATE = 1u << 0,
    CUR_STATE = 1u << 1,
    SQD_NOTIFY = 1u << 2,
    ACCESS = 1u << 3,
    PKEY = 1u << 4,
    PORT = 1u << 5,
    QKEY = 1u << 6,
    AV = 1u << 7,
    MTU = 1u << 8,
    TIMEOUT = 1u << 9,
    RETRY = 1u << 10,
    RNR_RETRY = 1u << 11,
    RQ_PSN = 1u << 12,
    RD_ATOMIC = 1u << 13,
    ALT_PATH = 1u << 14,
    MIN_RNR = 1u << 15,
    SQ_PSN = 1u << 16,
    DEST_RD_ATOMIC = 1u << 17,
    MIG_STATE = 1u << 18,
    CAP = 1u << 19,
    DEST_QPN = 1u << 20,
};

struct expectation {
    uint8_t from, to;
    uint32_t required, optional;
};

constexpr uint8_t rc = 2, ud = 4;

const std::vector<expectation> connected = {
    {reset, reset, 0, 0},
    {reset, init, PKEY | PORT | ACCESS, 0},
    {init, reset, 0, 0},
    {init, err, 0, 0},
    {init, init, 0, PKEY | PORT | ACCESS},
    {init, rtr, AV | MTU | DEST_QPN | RQ_PSN | DEST_RD_ATOMIC | MIN_RNR, ALT_PATH | ACCESS | PKEY},
    {rtr, reset, 0, 0},
    {rtr, err, 0, 0},
    {rtr, rts, TIMEOUT | RETRY | RNR_RETRY | SQ_PSN | RD_ATOMIC,
     CUR_STATE | ALT_PATH | ACCESS | MIN_RNR | MIG_STATE},
    {rts, reset, 0, 0},
    {rts, err, 0, 0},
    {rts, rts, 0, CUR_STATE | ALT_PATH | ACCESS | MIN_RNR | MIG_STATE},
    {rts, sqd, 0, SQD_NOTIFY},
    {sqd, reset, 0, 0},
    {sqd, err, 0, 0},
    {sqd, rts, 0, CUR_STATE | ALT_PATH | ACCESS | MIN_RNR | MIG_STATE},
    {sqd, sqd, 0,
     PORT | AV | TIMEOUT | RETRY | RNR_RETRY | RD_ATOMIC | DEST_RD_ATOMIC | ALT_PATH | ACCESS |
         PKEY | MIN_RNR | MIG_STATE},
    {sqe, reset, 0, 0},
    {sqe, err, 0, 0},
    {sqe, rts, 0, 0},
    {err, reset, 0, 0},
    {err, err, 0, 0},
};

const std::vector<expectation> datagram = {
    {reset, reset, 0, 0},
    {reset, init, PKEY | PORT | QKEY, 0},
    {init, reset, 0, 0},
    {init, err, 0, 0},
    {init, init, 0, PKEY | PORT | QKEY},
    {init, rtr, 0, PKEY | QKEY},
    {rtr, reset, 0, 0},
    {rtr, err, 0, 0},
    {rtr, rts, SQ_PSN, CUR_STATE | QKEY},
    {rts, reset, 0, 0},
    {rts, err, 0, 0},
    {rts, rts, 0, CUR_STATE | QKEY},
    {rts, sqd, 0, SQD_NOTIFY},
    {sqd, reset, 0, 0},
    {sqd, err, 0, 0},
    {sqd, rts, 0, CUR_STATE | QKEY},
    {sqd, sqd, 0, PKEY | QKEY},
    {sqe, reset, 0, 0},
    {sqe, err, 0, 0},
    {sqe, rts, 0, CUR_STATE | QKEY},
    {err, reset, 0, 0},
    {err, err, 0, 0},
};

class modifier {
public:
    modifier(device &on, uint8_t type) : qp_(on, type)
    {
        good.mtu = 3;
        good.port_num = 1;
        good.timeout = 14;
        good.max_rd_atomic = good.max_dest_rd_atomic = 1;
        good.path.dlid = 1;
        good.path.port_num = 1;
    }

    int operator()(uint8_t from, uint8_t to, uint32_t mask)
    {
        qp_.inside().state = from;
        swhca::qp_attributes attr = good;
        attr.current = from;
        return modify(attr, to, mask);
    }

    int modify(const swhca::qp_attributes &attr, uint8_t to, uint32_t mask)
    {
        return qp_.on.on.command([&](swhca::core &world) {
            return swhca::modify_qp(world, qp_.on.context, qp_.handle, mask, to, attr);
        });
    }

    [[nodiscard]] uint8_t state() { return qp_.state(); }

    swhca::qp_attributes good{};

private:
    endpoint qp_;
};

const expectation *find(const std::vector<expectation> &table, uint8_t from, uint8_t to)
{
    for (const expectation &each : table) {
        if (each.from == from && each.to == to) {
            return &each;
        }
    }
    return nullptr;
}

swhca::fabric_options infiniband()
{
    swhca::fabric_options options = rig::two_devices();
    options.infiniband = true;
    return options;
}

} // namespace

TEST_CASE("swhca: modify_qp takes what the kernel's table of transitions allows, and nothing else")
{
    uint8_t type = GENERATE(rc, ud);
    CAPTURE(int{type});
    const auto &table = type == rc ? connected : datagram;
    rig on(infiniband());
    device a(on, 0);
    modifier modify(a, type);
    for (uint8_t from = reset; from <= err; from++) {
        for (uint8_t to = reset; to <= err; to++) {
            CAPTURE(int{from}, int{to});
            const expectation *legal = find(table, from, to);
            if (legal == nullptr) {
                CHECK(modify(from, to, STATE) == EINVAL);
                CHECK(modify(from, to, (1u << 21) - 1) == EINVAL);
                CHECK(modify.state() == from);
                continue;
            }
            uint32_t least = STATE | legal->required;
            CHECK(modify(from, to, least) == 0);
            CHECK(modify.state() == to);
            for (uint32_t bit = CUR_STATE; bit <= DEST_QPN; bit <<= 1) {
                CAPTURE(bit);
                if ((legal->required & bit) != 0) {
                    CHECK(modify(from, to, least & ~bit) == EINVAL);
                    CHECK(modify.state() == from);
                } else {
                    int error = (legal->optional & bit) == 0 ? EINVAL
                                : bit == ALT_PATH            ? EOPNOTSUPP // legal, not modelled
                                                             : 0;
                    CHECK(modify(from, to, least | bit) == error);
                    CHECK(modify.state() == (error == 0 ? to : from));
                }
            }
            uint32_t all = least | (legal->optional & ~ALT_PATH);
            CHECK(modify(from, to, all) == 0);
            if (from == to) {
                CHECK(modify(from, reset, all & ~STATE) == 0); // the state counts by its bit only
                CHECK(modify.state() == from);
            }
        }
    }
}

TEST_CASE("swhca: a current state that is not the true one is refused")
{
    rig on(infiniband());
    device a(on, 0);
    modifier modify(a, rc);
    REQUIRE(modify(rts, rts, STATE | CUR_STATE) == 0);
    swhca::qp_attributes attr = modify.good;
    attr.current = sqd;
    CHECK(modify.modify(attr, rts, STATE | CUR_STATE) == EINVAL);
    attr.current = 200;
    CHECK(modify.modify(attr, rts, STATE | CUR_STATE) == EINVAL);
    CHECK(modify.modify(attr, 200, STATE) == EINVAL);
    CHECK(modify.state() == rts);
}

TEST_CASE("swhca: a path that the kernel refuses is refused, of a QP and of an address handle")
{
    rig on;
    device a(on, 0);
    modifier modify(a, rc);
    modify.good.path.global = true;
    modify.good.path.dgid = on.shared().hcas[1].port.gids[1];
    struct {
        const char *what;
        int error;
        void (*spoil)(swhca::path &);
    } cases[] = {
        {"nothing", 0, [](swhca::path &) {}},
        {"no route header on Ethernet", EINVAL, [](swhca::path &to) { to.global = false; }},
        {"port 0", EINVAL, [](swhca::path &to) { to.port_num = 0; }},
        {"port 2", EINVAL, [](swhca::path &to) { to.port_num = 2; }},
        {"no destination", EINVAL, [](swhca::path &to) { to.dgid = {}; }},
        {"index of no entry", EINVAL, [](swhca::path &to) { to.sgid_index = swhca::max_gids; }},
        {"index of an empty entry", ENODATA, [](swhca::path &to) { to.sgid_index = 9; }},
    };
    for (const auto &each : cases) {
        CAPTURE(each.what);
        REQUIRE(modify(reset, init, STATE | PKEY | PORT | ACCESS) == 0);
        swhca::qp_attributes attr = modify.good;
        each.spoil(attr.path);
        CHECK(modify.modify(attr, rtr,
                            STATE | AV | MTU | DEST_QPN | RQ_PSN | DEST_RD_ATOMIC | MIN_RNR) ==
              each.error);
        uint32_t handle = 0;
        CHECK(on.command([&](swhca::core &world) {
            return swhca::create_ah(world, a.context, attr.path, handle);
        }) == each.error);
    }
    swhca::qp_attributes attr = modify.good;
    REQUIRE(modify(reset, init, STATE | PKEY | PORT | ACCESS) == 0);
    attr.pkey_index = 1; // Ethernet has one
    CHECK(modify.modify(attr, init, STATE | PKEY) == EINVAL);
}

TEST_CASE("swhca: a QP that was reset connects anew, with new PSNs")
{
    pair on;
    on.left.write(on.from, 64, on.to);
    REQUIRE(on.wait(on.a).syndrome == 0);
    REQUIRE(on.left.to_state(err) == 0);
    CHECK(on.left.to_state(rts) == EINVAL);
    REQUIRE(on.left.to_state(reset) == 0);
    REQUIRE(on.right.to_state(reset) == 0);
    CHECK(on.left.query().sq_psn == 0);
    CHECK(on.right.query().rq_psn == 0);
    on.left.rewind();
    on.left.connect(on.right, 5000);
    on.right.connect(on.left, 5000);
    on.left.write(on.from, 4096, on.to);
    CHECK(on.wait(on.a).syndrome == 0);
    CHECK(on.same(4096));
    CHECK(on.right.query().rq_psn == 5004);
}

TEST_CASE("swhca: values of attributes are checked, and what no kernel knows is not supported")
{
    rig on(infiniband());
    device a(on, 0);
    modifier modify(a, rc);
    struct {
        const char *what;
        uint8_t from;
        uint32_t mask;
        void (*spoil)(swhca::qp_attributes &);
    } cases[] = {
        {"port", init, PORT, [](swhca::qp_attributes &attr) { attr.port_num = 2; }},
        {"pkey", init, PKEY, [](swhca::qp_attributes &attr) { attr.pkey_index = 8; }},
        {"timeout", sqd, TIMEOUT, [](swhca::qp_attributes &attr) { attr.timeout = 32; }},
        {"retry", sqd, RETRY, [](swhca::qp_attributes &attr) { attr.retry_count = 8; }},
        {"rnr", sqd, RNR_RETRY, [](swhca::qp_attributes &attr) { attr.rnr_retry = 8; }},
        {"timer", sqd, MIN_RNR, [](swhca::qp_attributes &attr) { attr.min_rnr_timer = 32; }},
        {"reads", sqd, RD_ATOMIC, [](swhca::qp_attributes &attr) { attr.max_rd_atomic = 17; }},
        {"resources", sqd, DEST_RD_ATOMIC,
         [](swhca::qp_attributes &attr) { attr.max_dest_rd_atomic = 17; }},
    };
    for (const auto &each : cases) {
        CAPTURE(each.what);
        swhca::qp_attributes attr = modify.good;
        REQUIRE(modify(each.from, each.from, STATE | each.mask) == 0);
        each.spoil(attr);
        CHECK(modify.modify(attr, each.from, STATE | each.mask) == EINVAL);
    }
    CHECK(modify(rts, rts, STATE | 1u << 21) == EOPNOTSUPP);
    rig ethernet;
    device b(ethernet, 0);
    modifier other(b, rc);
    CHECK(other(rts, rts, STATE | ALT_PATH) == EINVAL); // RoCE has no alternate paths
}

} // namespace ufx::test
