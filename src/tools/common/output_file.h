// SPDX-License-Identifier: BSD-3-Clause
// output_file: a file that appears under its name only when it is whole; whatever ends the program
// before, even kill -9, leaves nothing behind where the file system has unnamed files.
#ifndef UFX_TOOLS_COMMON_OUTPUT_FILE_H
#define UFX_TOOLS_COMMON_OUTPUT_FILE_H

#include "tools/common/fd.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace ufx::tools {

class output_file {
public:
    /** Begins a file that commit() will put at `path`; its folder must exist and be writable. */
    explicit output_file(std::string path);
    output_file(const output_file &) = delete;
    output_file &operator=(const output_file &) = delete;
    ~output_file();

    const std::string &path() const noexcept { return path_; }

    void write_at(uint64_t offset, const void *data, size_t length);
    void append(const std::string &text);

    /** Reads back. */
    void read_at(uint64_t offset, void *data, size_t length) const;

    /** Gives the file its name, replacing what was there. */
    void commit();

private:
    std::string path_;
    std::string temporary_; ///< empty while the file has no name
    fd fd_;
    uint64_t end_ = 0;
};

/** Throws now if no file can be written there later; "" and "-" are always fine. */
void try_output(const std::string &path);

/** Writes a whole text to `path` in that way; "-" is stdout. */
void write_text(const std::string &path, const std::string &text);

} // namespace ufx::tools

#endif
