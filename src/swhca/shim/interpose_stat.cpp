// SPDX-License-Identifier: BSD-3-Clause
// Interposed calls that look at a path, and those that resolve one.
#include "redirected.h"

#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace shim = ufx::swhca::shim;

constinit shim::next_function<int (*)(const char *, struct stat *)> next_stat("stat");
constinit shim::next_function<int (*)(const char *, struct stat *)> next_lstat("lstat");
constinit shim::next_function<int (*)(const char *, struct stat64 *)> next_stat64("stat64");
constinit shim::next_function<int (*)(const char *, struct stat64 *)> next_lstat64("lstat64");
constinit shim::next_function<int (*)(int, const char *, struct stat *, int)>
    next_fstatat("fstatat");
constinit shim::next_function<int (*)(int, const char *, struct stat64 *, int)>
    next_fstatat64("fstatat64");
constinit shim::next_function<int (*)(int, const char *, int, unsigned, struct statx *)>
    next_statx("statx");
constinit shim::next_function<int (*)(const char *, int)> next_access("access");
constinit shim::next_function<int (*)(const char *, int)> next_eaccess("eaccess");
constinit shim::next_function<int (*)(const char *, int)> next_euidaccess("euidaccess");
constinit shim::next_function<int (*)(int, const char *, int, int)> next_faccessat("faccessat");
constinit shim::next_function<ssize_t (*)(const char *, char *, size_t)> next_readlink("readlink");
constinit shim::next_function<ssize_t (*)(int, const char *, char *, size_t)>
    next_readlinkat("readlinkat");
constinit shim::next_function<char *(*)(const char *, char *)> next_realpath("realpath");
constinit shim::next_function<int (*)(const char *)> next_chdir("chdir");
constinit shim::next_function<char *(*)(char *, size_t)> next_getcwd("getcwd");

char *restored(char *path) noexcept
{
    if (path != nullptr) {
        shim::restore(path);
    }
    return path;
}

} // namespace

EXPORT int stat(const char *path, struct stat *out) noexcept
{
    return shim::redirected(next_stat, path, out);
}

EXPORT int lstat(const char *path, struct stat *out) noexcept
{
    return shim::redirected(next_lstat, path, out);
}

EXPORT int stat64(const char *path, struct stat64 *out) noexcept
{
    return shim::redirected(next_stat64, path, out);
}

EXPORT int lstat64(const char *path, struct stat64 *out) noexcept
{
    return shim::redirected(next_lstat64, path, out);
}

EXPORT int fstatat(int directory, const char *path, struct stat *out, int flags) noexcept
{
    return shim::redirected_at(next_fstatat, directory, path, out, flags);
}

EXPORT int fstatat64(int directory, const char *path, struct stat64 *out, int flags) noexcept
{
    return shim::redirected_at(next_fstatat64, directory, path, out, flags);
}

EXPORT int statx(int directory, const char *path, int flags, unsigned mask,
                 struct statx *out) noexcept
{
    return shim::redirected_at(next_statx, directory, path, flags, mask, out);
}

// What programs call that were built before glibc 2.33; no header declares them any more.
EXPORT int __xstat(int version, const char *path, struct stat *out);
EXPORT int __lxstat(int version, const char *path, struct stat *out);
EXPORT int __xstat64(int version, const char *path, struct stat64 *out);
EXPORT int __lxstat64(int version, const char *path, struct stat64 *out);
EXPORT int __fxstatat(int version, int directory, const char *path, struct stat *out, int flags);
EXPORT int __fxstatat64(int version, int directory, const char *path, struct stat64 *out,
                        int flags);

EXPORT int __xstat(int, const char *path, struct stat *out)
{
    return stat(path, out);
}

EXPORT int __lxstat(int, const char *path, struct stat *out)
{
    return lstat(path, out);
}

EXPORT int __xstat64(int, const char *path, struct stat64 *out)
{
    return stat64(path, out);
}

EXPORT int __lxstat64(int, const char *path, struct stat64 *out)
{
    return lstat64(path, out);
}

EXPORT int __fxstatat(int, int directory, const char *path, struct stat *out, int flags)
{
    return fstatat(directory, path, out, flags);
}

EXPORT int __fxstatat64(int, int directory, const char *path, struct stat64 *out, int flags)
{
    return fstatat64(directory, path, out, flags);
}

EXPORT int access(const char *path, int mode) noexcept
{
    return shim::redirected(next_access, path, mode);
}

EXPORT int eaccess(const char *path, int mode) noexcept
{
    return shim::redirected(next_eaccess, path, mode);
}

EXPORT int euidaccess(const char *path, int mode) noexcept
{
    return shim::redirected(next_euidaccess, path, mode);
}

EXPORT int faccessat(int directory, const char *path, int mode, int flags) noexcept
{
    return shim::redirected_at(next_faccessat, directory, path, mode, flags);
}

EXPORT ssize_t readlink(const char *path, char *out, size_t size) noexcept
{
    return shim::redirected(next_readlink, path, out, size);
}

EXPORT ssize_t readlinkat(int directory, const char *path, char *out, size_t size) noexcept
{
    return shim::redirected_at(next_readlinkat, directory, path, out, size);
}

EXPORT char *realpath(const char *path, char *out) noexcept
{
    return restored(shim::redirected(next_realpath, path, out));
}

EXPORT char *canonicalize_file_name(const char *path) noexcept
{
    return realpath(path, nullptr);
}

EXPORT int chdir(const char *path) noexcept
{
    return shim::redirected(next_chdir, path);
}

EXPORT char *getcwd(char *out, size_t size) noexcept
{
    return restored(next_getcwd.get()(out, size));
}

// What headers call instead where they check arguments.
EXPORT char *__realpath_chk(const char *path, char *out, size_t size) noexcept;
EXPORT ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t room) noexcept;
EXPORT ssize_t __readlinkat_chk(int directory, const char *path, char *out, size_t size,
                                size_t room) noexcept;
EXPORT char *__getcwd_chk(char *out, size_t size, size_t room) noexcept;

EXPORT char *__realpath_chk(const char *path, char *out, size_t) noexcept
{
    return realpath(path, out);
}

EXPORT ssize_t __readlink_chk(const char *path, char *out, size_t size, size_t) noexcept
{
    return readlink(path, out, size);
}

EXPORT ssize_t __readlinkat_chk(int directory, const char *path, char *out, size_t size,
                                size_t) noexcept
{
    return readlinkat(directory, path, out, size);
}

EXPORT char *__getcwd_chk(char *out, size_t size, size_t) noexcept
{
    return getcwd(out, size);
}
