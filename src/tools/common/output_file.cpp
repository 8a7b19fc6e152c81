// SPDX-License-Identifier: BSD-3-Clause
// Files that are whole or absent.
#include "tools/common/output_file.h"

#include "tools/common/error.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>

namespace ufx::tools {

namespace {

std::string folder_of(const std::string &path)
{
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

std::string temporary_of(const std::string &path)
{
    return path + ".ufx-" + std::to_string(::getpid());
}

} // namespace

output_file::output_file(std::string path) : path_(std::move(path))
{
    struct stat info = {};
    if (::stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
        throw usage_error("cannot write " + path_ + ": it is not a regular file");
    }
    fd_ = fd(::open(folder_of(path_).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644));
    if (!fd_ && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
        temporary_ = temporary_of(path_);
        fd_ = fd(::open(temporary_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644));
    }
    if (!fd_) {
        const int error = errno;
        temporary_.clear();
        throw tool_error(system_error("cannot write " + path_, error).what(), EXIT_USAGE);
    }
}

output_file::~output_file()
{
    if (!temporary_.empty()) {
        ::unlink(temporary_.c_str());
    }
}

void output_file::write_at(uint64_t offset, const void *data, size_t length)
{
    const char *at = static_cast<const char *>(data);
    while (length > 0) {
        const ssize_t n = ::pwrite(fd_.get(), at, length, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            throw system_error("cannot write " + path_, n == 0 ? ENOSPC : errno);
        }
        at += n;
        offset += static_cast<uint64_t>(n);
        length -= static_cast<size_t>(n);
    }
}

void output_file::append(const std::string &text)
{
    write_at(end_, text.data(), text.size());
    end_ += text.size();
}

void output_file::read_at(uint64_t offset, void *data, size_t length) const
{
    char *at = static_cast<char *>(data);
    while (length > 0) {
        const ssize_t n = ::pread(fd_.get(), at, length, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            throw system_error("cannot read back " + path_, n == 0 ? EIO : errno);
        }
        at += n;
        offset += static_cast<uint64_t>(n);
        length -= static_cast<size_t>(n);
    }
}

void output_file::commit()
{
    if (temporary_.empty()) {
        const std::string name = temporary_of(path_);
        const std::string self = "/proc/self/fd/" + std::to_string(fd_.get());
        ::unlink(name.c_str());
        if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
            throw system_error("cannot name " + path_, errno);
        }
        temporary_ = name;
    }
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
        throw system_error("cannot write " + path_, errno);
    }
    temporary_.clear();
}

void try_output(const std::string &path)
{
    if (!path.empty() && path != "-") {
        const output_file trial(path);
    }
}

void write_text(const std::string &path, const std::string &text)
{
    if (path == "-") {
        if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
            std::fflush(stdout) != 0) {
            throw system_error("cannot write to stdout", errno);
        }
        return;
    }
    output_file file(path);
    file.append(text);
    file.commit();
}

} // namespace ufx::tools
