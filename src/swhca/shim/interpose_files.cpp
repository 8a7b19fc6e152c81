// SPDX-License-Identifier: BSD-3-Clause
// Interposed calls that take a path: they go where the path leads.
#include "next.h"
#include "paths.h"
#include "process.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

namespace shim = ufx::swhca::shim;

constinit shim::next_function<int (*)(const char *, int, ...)> next_open("open");
constinit shim::next_function<int (*)(const char *, int, ...)> next_open64("open64");
constinit shim::next_function<int (*)(int, const char *, int, ...)> next_openat("openat");
constinit shim::next_function<int (*)(int, const char *, int, ...)> next_openat64("openat64");
constinit shim::next_function<int (*)(const char *, struct stat *)> next_stat("stat");
constinit shim::next_function<int (*)(const char *, struct stat *)> next_lstat("lstat");
constinit shim::next_function<int (*)(const char *, struct stat64 *)> next_stat64("stat64");
constinit shim::next_function<int (*)(const char *, struct stat64 *)> next_lstat64("lstat64");
constinit shim::next_function<int (*)(const char *, int)> next_access("access");
constinit shim::next_function<DIR *(*)(const char *)> next_opendir("opendir");
constinit shim::next_function<FILE *(*)(const char *, const char *)> next_fopen("fopen");
constinit shim::next_function<FILE *(*)(const char *, const char *)> next_fopen64("fopen64");
constinit shim::next_function<ssize_t (*)(const char *, char *, size_t)> next_readlink("readlink");
constinit shim::next_function<char *(*)(const char *, char *)> next_realpath("realpath");

// Device files lead to /dev/null, whose descriptor then becomes the device.
int opened(int number, const char *path)
{
    uint32_t hca = 0;
    if (number >= 0 && shim::device_number(path, hca) && !shim::open_device(number, hca)) {
        int error = errno;
        (void)::close(number);
        errno = error;
        return -1;
    }
    return number;
}

mode_t mode_of(int flags, va_list rest)
{
    bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
    return has_mode ? static_cast<mode_t>(va_arg(rest, int)) : 0;
}

} // namespace

EXPORT int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    shim::path_buffer room;
    return opened(next_open.get()(shim::redirect(path, room), flags, mode), path);
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    shim::path_buffer room;
    return opened(next_open64.get()(shim::redirect(path, room), flags, mode), path);
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    shim::path_buffer room;
    return opened(next_openat.get()(directory, shim::redirect(path, room), flags, mode), path);
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    shim::path_buffer room;
    return opened(next_openat64.get()(directory, shim::redirect(path, room), flags, mode), path);
}

// What <fcntl.h> and <stdlib.h> call instead where they check arguments.
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT char *__realpath_chk(const char *path, char *out, size_t size) noexcept;

EXPORT int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

EXPORT int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

EXPORT int stat(const char *path, struct stat *out)
{
    shim::path_buffer room;
    return next_stat.get()(shim::redirect(path, room), out);
}

EXPORT int lstat(const char *path, struct stat *out)
{
    shim::path_buffer room;
    return next_lstat.get()(shim::redirect(path, room), out);
}

EXPORT int stat64(const char *path, struct stat64 *out)
{
    shim::path_buffer room;
    return next_stat64.get()(shim::redirect(path, room), out);
}

EXPORT int lstat64(const char *path, struct stat64 *out)
{
    shim::path_buffer room;
    return next_lstat64.get()(shim::redirect(path, room), out);
}

EXPORT int access(const char *path, int mode) noexcept
{
    shim::path_buffer room;
    return next_access.get()(shim::redirect(path, room), mode);
}

EXPORT DIR *opendir(const char *path)
{
    shim::path_buffer room;
    return next_opendir.get()(shim::redirect(path, room));
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    shim::path_buffer room;
    return next_fopen.get()(shim::redirect(path, room), mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    shim::path_buffer room;
    return next_fopen64.get()(shim::redirect(path, room), mode);
}

EXPORT ssize_t readlink(const char *path, char *out, size_t size) noexcept
{
    shim::path_buffer room;
    return next_readlink.get()(shim::redirect(path, room), out, size);
}

EXPORT char *realpath(const char *path, char *out) noexcept
{
    shim::path_buffer room;
    char *resolved = next_realpath.get()(shim::redirect(path, room), out);
    if (resolved != nullptr) {
        shim::restore(resolved);
    }
    return resolved;
}

EXPORT char *__realpath_chk(const char *path, char *out, size_t) noexcept
{
    return realpath(path, out);
}
