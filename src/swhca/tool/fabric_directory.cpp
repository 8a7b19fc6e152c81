// SPDX-License-Identifier: BSD-3-Clause
// Making, using and removing the directory of a fabric.
#include "fabric_directory.h"

#include "failure.h"
#include "sysfs_tree.h"

#include "swhca/fabric/liveness.h"
#include "swhca/fabric/wakeup.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <iterator>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ufx::swhca::tool {

namespace fs = std::filesystem;

namespace {

// A file that says that the directory itself was made for the fabric, and goes with it.
constexpr const char *made_marker = "made-by-ufx-swhca";
constexpr const char *use_lock_name = "lock";        // shared by all users
constexpr const char *cleaner_lock_name = "cleaner"; // of the cleaner, as long as it lives
constexpr const char *own_prefix = "ufx-swhca-";     // of directories that nobody has named
constexpr const char *own_bases[] = {"/dev/shm", "/tmp"};

[[noreturn]] void fail(const std::string &what, const fs::path &path)
{
    throw failure(fabric_status, what + " " + path.string() + ": " + std::strerror(errno));
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

// Only the directory itself, which goes again with the fabric: not those above it.
void make_directory(const fs::path &directory)
{
    std::error_code error;
    if (fs::create_directory(directory, error)) {
        ucs::fd marker(::open((directory / made_marker).c_str(), O_CREAT | O_CLOEXEC, 0600));
        if (!marker) {
            error.assign(errno, std::generic_category());
            std::error_code ignored;
            fs::remove(directory, ignored);
        }
    }
    if (error) {
        std::error_code ignored;
        fs::path above = directory.parent_path();
        throw failure(
            fabric_status,
            "cannot make " + directory.string() + ": " +
                (fs::exists(above, ignored) ? error.message() : "there is no " + above.string()));
    }
}

// What make_directory() has made, if there is nothing else in it.
void drop_unused(const fs::path &directory)
{
    std::error_code ignored;
    if (!fs::exists(directory / use_lock_name, ignored) &&
        fs::remove(directory / made_marker, ignored)) {
        fs::remove(directory, ignored);
    }
}

// Whether the file was neither removed nor made anew since it was opened.
bool is_of_path(const ucs::fd &file, const fs::path &path)
{
    struct stat mine {};
    struct stat there {};
    return ::fstat(file.get(), &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
           mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
}

// Whether a process has a device of the fabric open, whatever it did to the lock.
bool somebody_lives(const fs::path &directory)
{
    auto found = fabric::attach(directory / "fabric");
    if (!found) {
        return false;
    }
    const image &shared = (*found)->shared();
    return std::any_of(std::begin(shared.processes), std::end(shared.processes), lives);
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
        if (!lock || !lock_file(lock.get(), F_RDLCK, true)) {
            int error = errno;
            drop_unused(file.parent_path());
            errno = error;
            fail("cannot lock", file);
        }
        if (is_of_path(lock, file)) {
            return lock;
        }
    }
}

// As fs::remove_all(), but without a descriptor for each level, of which there may be few.
void remove_tree(const fs::path &top)
{
    std::error_code ignored;
    std::vector<fs::path> inside;
    if (fs::is_directory(fs::symlink_status(top, ignored))) {
        for (fs::directory_iterator each(top, ignored); !ignored && each != fs::directory_iterator();
             each.increment(ignored)) {
            inside.push_back(each->path());
        }
    }
    for (const fs::path &each : inside) {
        remove_tree(each);
    }
    fs::remove(top, ignored);
}

void remove_fabric(const fs::path &directory)
{
    for (const char *name : {"fabric", "fabric.new", "sys", "dev"}) {
        remove_tree(directory / name);
    }
}

// By the holder of the exclusive lock. Somebody may begin to use the directory again meanwhile.
void clear_directory(const fs::path &directory)
{
    std::error_code ignored;
    remove_fabric(directory);
    fs::remove(directory / cleaner_lock_name, ignored);
    fs::remove(directory / use_lock_name, ignored);
    if (fs::remove(directory / made_marker, ignored) && !fs::remove(directory, ignored)) {
        ucs::fd again(::open((directory / made_marker).c_str(), O_CREAT | O_CLOEXEC, 0600));
    }
}

// In a process of its own, with nothing of its parent's but the path and the lock that says that
// it lives.
[[noreturn]] void wait_and_remove(const fs::path &directory, int alive)
{
    ::setsid();
    (void)!::chdir("/");
    int null = ::open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; i++) {
        ::dup2(null, i);
    }
    constexpr int kept = 3;
    ::dup2(alive, kept);
    ::close_range(kept + 1, ~0u, 0);
    fs::path file = directory / use_lock_name;
    ucs::fd lock(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    constexpr timespec between_looks{0, 100'000'000};
    while (lock && lock_file(lock.get(), F_WRLCK, true) && is_of_path(lock, file)) {
        if (!somebody_lives(directory)) {
            clear_directory(directory);
            break;
        }
        (void)lock_file(lock.get(), F_UNLCK, false);
        (void)::nanosleep(&between_looks, nullptr);
    }
    ::_exit(0);
}

// The exclusive lock, if nobody uses the fabric; who removes it is waited for.
bool lock_unused(const ucs::fd &file)
{
    for (;;) {
        if (lock_file(file.get(), F_WRLCK, false)) {
            return true;
        }
        struct flock how {};
        how.l_type = F_WRLCK;
        how.l_whence = SEEK_SET;
        if (::fcntl(file.get(), F_OFD_GETLK, &how) != 0 || how.l_type == F_RDLCK) {
            return false;
        }
        if (how.l_type == F_WRLCK) {
            return lock_file(file.get(), F_WRLCK, true);
        }
    }
}

// What a cleaner holds while it lives; invalid if one lives already.
ucs::fd cleaner_lock(const fs::path &directory)
{
    ucs::fd lock(
        ::open((directory / cleaner_lock_name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    return lock && lock_file(lock.get(), F_WRLCK, false) ? std::move(lock) : ucs::fd();
}

// By way of a child that ends at once, so that it is nobody's child. Returns when it has closed
// what it inherited: the lock of this user is among that.
void leave_cleaner(const fs::path &directory, const ucs::fd &alive)
{
    int ends[2] = {-1, -1};
    (void)!::pipe2(ends, O_CLOEXEC);
    ucs::fd until_closed(ends[0]);
    ucs::fd closed(ends[1]);
    pid_t middle = ::fork();
    if (middle == 0) {
        if (::fork() == 0) {
            wait_and_remove(directory, alive.get());
        }
        ::_exit(0);
    }
    int status = 0;
    (void)::waitpid(middle, &status, 0);
    closed.reset();
    char nothing = 0;
    (void)!::read(until_closed.get(), &nothing, 1);
}

// What is left where all were killed, the cleaner too.
void remove_left(const fs::path &base)
{
    std::error_code ignored;
    for (const fs::directory_entry &each : fs::directory_iterator(base, ignored)) {
        struct stat info {};
        if (!each.path().filename().string().starts_with(own_prefix) ||
            ::lstat(each.path().c_str(), &info) != 0 || !S_ISDIR(info.st_mode) ||
            info.st_uid != ::geteuid()) {
            continue; // none of ours, or a trap
        }
        ucs::fd lock(::open((each.path() / use_lock_name).c_str(), O_RDWR | O_CLOEXEC));
        if (lock && lock_file(lock.get(), F_WRLCK, false) && !somebody_lives(each.path())) {
            clear_directory(each.path());
        }
    }
}

fs::path own_directory()
{
    for (const char *base : own_bases) {
        remove_left(base);
    }
    for (const char *base : own_bases) {
        std::string name = std::string(base) + "/" + own_prefix + "XXXXXX";
        if (::mkdtemp(name.data()) != nullptr) {
            fs::remove(name); // and make it again, marked as ours
            return name;
        }
    }
    fail("cannot make a directory in", "/dev/shm or /tmp");
}

ucs::owner<fabric> make(const fs::path &directory, const fabric_options &options)
{
    remove_fabric(directory); // of one who was killed while he made it
    auto made = fabric::create(directory / "fabric.new", options);
    if (!made && made.error() == UFX_ERR_NO_MEMORY) {
        throw failure(fabric_status,
                      "cannot make a fabric in " + directory.string() + ": it takes " +
                          std::to_string(fabric::least_bytes() >> 10) + " kB, up to " +
                          std::to_string(sizeof(image) >> 10) + " kB with all queues in use");
    }
    if (!made) {
        errno = made.error() == UFX_ERR_INVALID_PARAM ? EINVAL : errno;
        fail("cannot make a fabric in", directory);
    }
    write_sysfs_tree(directory, (*made)->shared());
    fs::rename(directory / "fabric.new", directory / "fabric");
    return std::move(*made);
}

std::string of_another_version(const fs::path &directory)
{
    return "the fabric in " + directory.string() + " was made by another version of ufx_swhca";
}

} // namespace

void fabric_directory::leave() noexcept
{
    if (!lock_) {
        return;
    }
    fabric_.reset();
    lock_.reset(); // a program that goes on without its launcher may hold it too
    fs::path file = path_ / use_lock_name;
    ucs::fd last(::open(file.c_str(), O_RDWR | O_CLOEXEC));
    if (!last) {
        return; // it was removed
    }
    if (lock_unused(last)) {
        if (!is_of_path(last, file)) {
            return;
        }
        if (!somebody_lives(path_)) {
            clear_directory(path_);
            return;
        }
    }
    last.reset();
    if (ucs::fd alive = cleaner_lock(path_); alive) {
        leave_cleaner(path_, alive);
    }
}

fabric_directory fabric_directory::use(fs::path path, const fabric_options &options)
{
    fabric_directory answer;
    answer.path_ = path.empty() ? own_directory() : fs::absolute(path);
    answer.lock_ = use_lock(answer.path_ / use_lock_name);
    ucs::fd making(::open((answer.path_ / use_lock_name).c_str(), O_RDWR | O_CLOEXEC));
    (void)::flock(making.get(), LOCK_EX); // one makes it, the others wait
    ucs::fd alive = cleaner_lock(answer.path_);
    // Without a cleaner and another user, what is there is of the dead.
    if (alive && !somebody_lives(answer.path_) && lock_file(answer.lock_.get(), F_WRLCK, false)) {
        remove_fabric(answer.path_);
        (void)lock_file(answer.lock_.get(), F_RDLCK, false);
    }
    auto found = fabric::attach(answer.path_ / "fabric");
    if (!found && found.error() == UFX_ERR_VERSION) {
        throw failure(fabric_status, of_another_version(answer.path_));
    }
    answer.fabric_ = found ? std::move(*found) : make(answer.path_, options);
    if (is_stepped(answer.shared()) != options.stepped) {
        throw failure(fabric_status, "--engine step makes a fabric of its own: that in " +
                                         answer.path_.string() +
                                         (options.stepped ? " is not stepped" : " is stepped"));
    }
    if (alive) {
        leave_cleaner(answer.path_, alive);
    }
    return answer;
}

fabric_directory fabric_directory::look_at(fs::path path)
{
    fabric_directory answer;
    answer.path_ = fs::absolute(path);
    auto found = fabric::attach(answer.path_ / "fabric");
    if (!found) {
        throw failure(fabric_status, found.error() == UFX_ERR_VERSION
                                         ? of_another_version(answer.path_)
                                         : "there is no fabric in " + answer.path_.string());
    }
    answer.fabric_ = std::move(*found);
    return answer;
}

} // namespace ufx::swhca::tool
