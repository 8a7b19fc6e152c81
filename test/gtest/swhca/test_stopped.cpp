// SPDX-License-Identifier: BSD-3-Clause
// A process that is stopped (SIGSTOP) in the middle of a pass: the others do not wait for it.
#include "companion.h"
#include "rig.h"

#include "swhca/fabric/fabric.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::test {

using namespace swhca;

TEST_CASE(
    "swhca: who is stopped while it holds the lock goes on to the end of that, and no further")
{
    rig world;
    companion child(world, [](rig &mine, line &to) {
        {
            image_lock lock(mine.shared());
            ::raise(SIGSTOP);
            mine.shared().next_ah = 77; // what it was about to do
        }
        (void)to.hear();
    });
    int status = 0;
    REQUIRE(::waitpid(child.pid(), &status, WUNTRACED) == child.pid());
    REQUIRE(WIFSTOPPED(status));
    {
        image_lock lock(world.shared());
        CHECK(world.shared().next_ah == 77);
    }
    REQUIRE(::waitpid(child.pid(), &status, WUNTRACED) == child.pid());
    CHECK(WIFSTOPPED(status)); // it is stopped again
    ::kill(child.pid(), SIGCONT);
    child.talk().say(1);
    CHECK(child.wait() == 0);
}

TEST_CASE("swhca: who holds the lock but is not stopped is waited for and left alone")
{
    rig world;
    companion child(world, [](rig &mine, line &to) {
        image_lock lock(mine.shared());
        to.say(1);
        (void)to.hear();
        mine.shared().next_ah = 78;
    });
    REQUIRE(child.talk().hear() == 1);
    child.talk().say(1);
    {
        image_lock lock(world.shared());
        CHECK(world.shared().next_ah == 78);
    }
    CHECK(child.wait() == 0);
}

} // namespace ufx::test
