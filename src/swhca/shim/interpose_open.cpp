// SPDX-License-Identifier: BSD-3-Clause
// Interposed calls that open files and directories.
#include "process.h"
#include "redirected.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace shim = ufx::swhca::shim;

using open_call = int (*)(const char *, int, ...);
using openat_call = int (*)(int, const char *, int, ...);
using fopen_call = FILE *(*)(const char *, const char *);
template <class Entry>
using filter_call = int (*)(const Entry *);
template <class Entry>
using compare_call = int (*)(const Entry **, const Entry **);
template <class Entry>
using scandir_call = int (*)(const char *, Entry ***, filter_call<Entry>, compare_call<Entry>);
using glob_error = int (*)(const char *, int);

constinit shim::next_function<open_call> next_open("open");
constinit shim::next_function<open_call> next_open64("open64");
constinit shim::next_function<openat_call> next_openat("openat");
constinit shim::next_function<openat_call> next_openat64("openat64");
constinit shim::next_function<fopen_call> next_fopen("fopen");
constinit shim::next_function<fopen_call> next_fopen64("fopen64");
constinit shim::next_function<DIR *(*)(const char *)> next_opendir("opendir");
constinit shim::next_function<scandir_call<dirent>> next_scandir("scandir");
constinit shim::next_function<scandir_call<dirent64>> next_scandir64("scandir64");
constinit shim::next_function<int (*)(const char *, int, glob_error, glob_t *)> next_glob("glob");
constinit shim::next_function<int (*)(const char *, int, glob_error, glob64_t *)>
    next_glob64("glob64");

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

// The library walks through directories by its own calls unless it is given others.
template <class Glob, class Next, class Stat>
int glob_by_our_calls(Next &next, Stat look, Stat look_at_link, const char *pattern, int flags,
                      glob_error on_error, Glob *out)
{
    if ((flags & GLOB_ALTDIRFUNC) != 0) {
        return next.get()(pattern, flags, on_error, out);
    }
    using entry_call = decltype(out->gl_readdir);
    out->gl_opendir = [](const char *path) -> void * { return ::opendir(path); };
    out->gl_closedir = [](void *which) { (void)::closedir(static_cast<DIR *>(which)); };
    out->gl_readdir = reinterpret_cast<entry_call>(
        +[](void *which) { return ::readdir64(static_cast<DIR *>(which)); });
    out->gl_stat = look;
    out->gl_lstat = look_at_link;
    return next.get()(pattern, flags | GLOB_ALTDIRFUNC, on_error, out);
}

} // namespace

EXPORT int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return opened(shim::redirected(next_open, path, flags, mode), path);
}

EXPORT int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return opened(shim::redirected(next_open64, path, flags, mode), path);
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return opened(shim::redirected_at(next_openat, directory, path, flags, mode), path);
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return opened(shim::redirected_at(next_openat64, directory, path, flags, mode), path);
}

// What <fcntl.h> calls instead where it checks arguments.
EXPORT int __open_2(const char *path, int flags);
EXPORT int __open64_2(const char *path, int flags);
EXPORT int __openat_2(int directory, const char *path, int flags);
EXPORT int __openat64_2(int directory, const char *path, int flags);

EXPORT int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

EXPORT int __open64_2(const char *path, int flags)
{
    return open64(path, flags);
}

EXPORT int __openat_2(int directory, const char *path, int flags)
{
    return openat(directory, path, flags);
}

EXPORT int __openat64_2(int directory, const char *path, int flags)
{
    return openat64(directory, path, flags);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    return shim::redirected(next_fopen, path, mode);
}

EXPORT FILE *fopen64(const char *path, const char *mode)
{
    return shim::redirected(next_fopen64, path, mode);
}

EXPORT DIR *opendir(const char *path)
{
    return shim::redirected(next_opendir, path);
}

EXPORT int scandir(const char *path, dirent ***out, filter_call<dirent> filter,
                   compare_call<dirent> compare)
{
    return shim::redirected(next_scandir, path, out, filter, compare);
}

EXPORT int scandir64(const char *path, dirent64 ***out, filter_call<dirent64> filter,
                     compare_call<dirent64> compare)
{
    return shim::redirected(next_scandir64, path, out, filter, compare);
}

EXPORT int glob(const char *pattern, int flags, glob_error on_error, glob_t *out) noexcept
{
    return glob_by_our_calls(next_glob, ::stat, ::lstat, pattern, flags, on_error, out);
}

EXPORT int glob64(const char *pattern, int flags, glob_error on_error, glob64_t *out) noexcept
{
    return glob_by_our_calls(next_glob64, ::stat64, ::lstat64, pattern, flags, on_error, out);
}
