// SPDX-License-Identifier: BSD-3-Clause
// Making, using and removing the directory of a fabric.
#include "fabric_directory.h"

#include "sysfs_tree.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::swhca::tool {

namespace fs = std::filesystem;

namespace {

// A file that says that the directory itself was made for the fabric, and goes with it.
constexpr const char *made_marker = "made-by-ufx-swhca";

[[noreturn]] void fail(const std::string &what, const fs::path &path)
{
    throw std::runtime_error(what + " " + path.string() + ": " + std::strerror(errno));
}

bool lock_file(int number, short kind, bool wait)
{
    struct flock how {};
    how.l_type = kind;
    how.l_whence = SEEK_SET;
    int status = 0;
    do {
        status = ::fcntl(number, wait ? F_OFD_SETLKW : F_OFD_SETLK, &how);
    } while (status != 0 && errno == EINTR);
    return status == 0;
}

void make_directory(const fs::path &directory)
{
    std::error_code error;
    if (fs::create_directories(directory, error)) {
        ucs::fd marker(::open((directory / made_marker).c_str(), O_CREAT | O_CLOEXEC, 0600));
    }
    if (error) {
        throw std::runtime_error("cannot make " + directory.string() + ": " + error.message());
    }
}

// The shared lock of a file that is still there. It is inherited, so that a program keeps its
// fabric even if its launcher is killed.
ucs::fd use_lock(const fs::path &file)
{
    for (;;) {
        make_directory(file.parent_path()); // the cleaner may remove it at any time
        ucs::fd lock(::open(file.c_str(), O_RDWR | O_CREAT, 0600));
        if (!lock && errno == ENOENT) {
            continue;
        }
        struct stat mine {};
        struct stat there {};
        if (!lock || !lock_file(lock.get(), F_RDLCK, true) || ::fstat(lock.get(), &mine) != 0) {
            fail("cannot lock", file);
        }
        if (::stat(file.c_str(), &there) == 0 && mine.st_ino == there.st_ino) {
            return lock;
        }
    }
}

void remove_tree(const fs::path &directory, bool all)
{
    std::error_code ignored;
    for (const char *name : {"fabric", "sys", "dev"}) {
        fs::remove_all(directory / name, ignored);
    }
    if (all) {
        fs::remove(directory / "lock", ignored);
    }
}

// In a process of its own, with nothing of its parent's but the path.
[[noreturn]] void wait_and_remove(const fs::path &directory)
{
    ::setsid();
    (void)!::chdir("/");
    int null = ::open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) {
        ::dup2(null, i);
    }
    ::close_range(3, ~0u, 0);
    ucs::fd lock(::open((directory / "lock").c_str(), O_RDWR | O_CLOEXEC));
    if (lock && lock_file(lock.get(), F_WRLCK, true)) {
        remove_tree(directory, true);
        std::error_code busy;
        if (fs::remove(directory / made_marker, busy) && !fs::remove(directory, busy)) {
            ucs::fd again(::open((directory / made_marker).c_str(), O_CREAT | O_CLOEXEC, 0600));
        }
    }
    ::_exit(0);
}

// By way of a child that ends at once, so that it is nobody's child.
void leave_cleaner(const fs::path &directory)
{
    pid_t middle = ::fork();
    if (middle == 0) {
        if (::fork() == 0) {
            wait_and_remove(directory);
        }
        ::_exit(0);
    }
    int status = 0;
    (void)::waitpid(middle, &status, 0);
}

fs::path own_directory()
{
    for (const char *base : {"/dev/shm", "/tmp"}) {
        std::string name = std::string(base) + "/ufx-swhca-XXXXXX";
        if (::mkdtemp(name.data()) != nullptr) {
            fs::remove(name); // and make it again, marked as ours
            return name;
        }
    }
    fail("cannot make a directory in", "/dev/shm or /tmp");
}

ucs::owner<fabric> make(const fs::path &directory, const fabric_options &options)
{
    remove_tree(directory, false); // of one who was killed while he made it
    auto made = fabric::create(directory / "fabric.new", options);
    if (!made) {
        errno = made.error() == UFX_ERR_INVALID_PARAM ? EINVAL : errno;
        fail("cannot make a fabric in", directory);
    }
    write_sysfs_tree(directory, (*made)->shared());
    fs::rename(directory / "fabric.new", directory / "fabric");
    return std::move(*made);
}

} // namespace

fabric_directory fabric_directory::use(fs::path path, const fabric_options &options)
{
    fabric_directory answer;
    answer.path_ = path.empty() ? own_directory() : fs::absolute(path);
    answer.lock_ = use_lock(answer.path_ / "lock");
    ucs::fd making(::open((answer.path_ / "lock").c_str(), O_RDWR | O_CLOEXEC));
    (void)::flock(making.get(), LOCK_EX); // one makes it, the others wait
    auto found = fabric::attach(answer.path_ / "fabric");
    if (found) {
        answer.fabric_ = std::move(*found);
        return answer;
    }
    if (found.error() == UFX_ERR_VERSION) {
        throw std::runtime_error("the fabric in " + answer.path_.string() +
                                 " was made by another version of ufx_swhca");
    }
    answer.fabric_ = make(answer.path_, options);
    leave_cleaner(answer.path_);
    return answer;
}

fabric_directory fabric_directory::look_at(fs::path path)
{
    fabric_directory answer;
    answer.path_ = fs::absolute(path);
    auto found = fabric::attach(answer.path_ / "fabric");
    if (!found) {
        throw std::runtime_error(found.error() == UFX_ERR_VERSION
                                     ? "the fabric in " + answer.path_.string() +
                                           " was made by another version of ufx_swhca"
                                     : "there is no fabric in " + answer.path_.string());
    }
    answer.fabric_ = std::move(*found);
    return answer;
}

} // namespace ufx::swhca::tool
