// SPDX-License-Identifier: BSD-3-Clause
// result<T>, owners, descriptors, mappings, and the guard of C entry points.
#include "ucs/entry.h"
#include "ucs/fd.h"
#include "ucs/log_capture.h"
#include "ucs/mapping.h"
#include "ucs/owner.h"
#include "ucs/result.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

using namespace ufx;

namespace {

ucs::result<std::string> half(int number)
{
    if (number % 2 != 0) {
        return UFX_ERR_INVALID_PARAM;
    }
    return std::to_string(number / 2);
}

struct base {
    virtual ~base() = default;
};

struct derived : base {
    static ucs::result<ucs::owner<base>> create() { return ucs::make_owner<derived>(); }
};

bool is_open(int number)
{
    return ::fcntl(number, F_GETFD) >= 0;
}

bool is_readable(int number)
{
    pollfd one = {number, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
}

} // namespace

TEST_CASE("result: holds the value or the error", "[ucs][result]")
{
    auto good = half(8);
    REQUIRE(good);
    CHECK(good.status() == UFX_OK);
    CHECK(*good == "4");
    CHECK(good->size() == 1);
    auto bad = half(3);
    REQUIRE_FALSE(bad);
    CHECK(bad.error() == UFX_ERR_INVALID_PARAM);
    CHECK(bad.value_or("none") == "none");
    CHECK(std::move(good).value() == "4");
}

TEST_CASE("result: an owner of a derived class becomes one of its base", "[ucs][result]")
{
    auto made = derived::create();
    REQUIRE(made);
    CHECK(*made != nullptr);
}

TEST_CASE("result<void>: INPROGRESS is success and is kept", "[ucs][result]")
{
    ucs::result<void> fine;
    CHECK(fine.ok());
    ucs::result<void> going = UFX_INPROGRESS;
    CHECK(going.ok());
    CHECK(going.status() == UFX_INPROGRESS);
    ucs::result<void> bad = UFX_ERR_BUSY;
    CHECK_FALSE(bad.ok());
    CHECK(bad.error() == UFX_ERR_BUSY);
}

TEST_CASE("status: every errno of a dead link maps to its status", "[ucs][status]")
{
    CHECK(ucs::status_from_errno(ECONNRESET) == UFX_ERR_CONNECTION_RESET);
    CHECK(ucs::status_from_errno(ETIMEDOUT) == UFX_ERR_ENDPOINT_TIMEOUT);
    CHECK(ucs::status_from_errno(EHOSTUNREACH) == UFX_ERR_NET_UNREACHABLE);
    CHECK(ucs::status_from_errno(ENETDOWN) == UFX_ERR_NET_UNREACHABLE);
    CHECK(ucs::status_from_errno(ENODEV) == UFX_ERR_NO_DEVICE);
    CHECK(ucs::status_from_errno(ENOMEM) == UFX_ERR_NO_MEMORY);
    CHECK(ucs::status_from_errno(EFAULT) == UFX_ERR_IO);
}

TEST_CASE("status: every code has its own name, unknown ones have one too", "[ucs][status]")
{
    CHECK(std::string(ufx_ucs_status_name(UFX_OK)) == "OK");
    CHECK(std::string(ufx_ucs_status_name(UFX_ERR_AMBIGUOUS)) == "AMBIGUOUS");
    CHECK(std::string(ufx_ucs_status_name(static_cast<ufx_status_t>(-999))) == "UNKNOWN");
    for (int code = -45; code <= 1; code++) {
        auto status = static_cast<ufx_status_t>(code);
        bool defined = code >= -19 || (code <= -40);
        CAPTURE(code);
        CHECK((std::string(ufx_ucs_status_name(status)) != "UNKNOWN") == defined);
        CHECK((std::string(ufx_ucs_status_string(status)) != "Unknown status") == defined);
    }
}

TEST_CASE("guard: exceptions become statuses and never leave", "[ucs][entry]")
{
    ucs::log_capture log;
    CHECK(ucs::guard([] {}) == UFX_OK);
    CHECK(ucs::guard([] { return UFX_ERR_BUSY; }) == UFX_ERR_BUSY);
    CHECK(ucs::guard([] { return ucs::result<void>(UFX_ERR_IO); }) == UFX_ERR_IO);
    CHECK(ucs::guard([] { throw std::bad_alloc(); }) == UFX_ERR_NO_MEMORY);
    CHECK(log.lines().empty());
    CHECK(ucs::guard([] { throw std::runtime_error("broken"); }) == UFX_ERR_IO);
    CHECK(log.count(UFX_UCS_LOG_ERROR, "broken") == 1);
    CHECK(ucs::guard([] { throw 5; }) == UFX_ERR_IO);
}

TEST_CASE("fd: the last owner closes, errno is kept", "[ucs][fd]")
{
    int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    REQUIRE(number >= 0);
    {
        ucs::fd first(number);
        ucs::fd second(std::move(first));
        CHECK_FALSE(first.valid());
        CHECK(second.get() == number);
        first = std::move(second);
        CHECK(is_open(number));
        errno = EBUSY;
    }
    CHECK(errno == EBUSY);
    CHECK_FALSE(is_open(number));
}

TEST_CASE("fd: a released number stays open", "[ucs][fd]")
{
    int number = -1;
    {
        ucs::fd held(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        number = held.release();
    }
    CHECK(is_open(number));
    ucs::fd closes(number);
}

TEST_CASE("eventfd: readable from signal until clear", "[ucs][fd]")
{
    auto event = ucs::make_eventfd();
    REQUIRE(event);
    CHECK_FALSE(is_readable(event->get()));
    ucs::eventfd_signal(*event);
    ucs::eventfd_signal(*event);
    CHECK(is_readable(event->get()));
    ucs::eventfd_clear(*event);
    CHECK_FALSE(is_readable(event->get()));
    ucs::eventfd_clear(*event);
}

TEST_CASE("mapping: anonymous memory is zero, writable and rounded to pages", "[ucs][mapping]")
{
    auto memory = ucs::mapping::anonymous(5000);
    REQUIRE(memory);
    CHECK(memory->size() % static_cast<size_t>(::sysconf(_SC_PAGESIZE)) == 0);
    auto *bytes = static_cast<unsigned char *>(memory->data());
    CHECK(bytes[4999] == 0);
    bytes[4999] = 7;
    ucs::mapping moved(std::move(*memory));
    CHECK(static_cast<unsigned char *>(moved.data())[4999] == 7);
    CHECK(ucs::mapping::anonymous(0).error() == UFX_ERR_INVALID_PARAM);
    CHECK(ucs::mapping::anonymous(SIZE_MAX).error() == UFX_ERR_INVALID_PARAM);
}

TEST_CASE("mapping: a file's bytes are seen, a bad descriptor is an error", "[ucs][mapping]")
{
    char path[] = "/tmp/ufx_mapping_XXXXXX";
    ucs::fd file(::mkstemp(path));
    REQUIRE(file);
    ::unlink(path);
    REQUIRE(::write(file.get(), "hello", 5) == 5);
    auto view = ucs::mapping::file(file.get(), 5, false);
    REQUIRE(view);
    CHECK(std::memcmp(view->data(), "hello", 5) == 0);
    ucs::log_capture log;
    CHECK_FALSE(ucs::mapping::file(-1, 5, false));
    CHECK(log.count(UFX_UCS_LOG_WARN, "mmap") == 1);
}
