// SPDX-License-Identifier: BSD-3-Clause
// dlopen() of modules.
#include "module.h"

#include "fd.h"
#include "log.h"
#include "owner.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace ufx::ucs {
namespace {

const char *last_dl_error()
{
    const char *reason = ::dlerror();
    return reason == nullptr ? "unknown reason" : reason;
}

void add_folder(std::vector<std::string> &folders, std::string folder)
{
    if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end()) {
        folders.push_back(std::move(folder));
    }
}

std::vector<std::string> matching_names(const std::string &folder, std::string_view prefix,
                                        std::string_view suffix)
{
    std::vector<std::string> names;
    c_owner<DIR, &::closedir> open_folder(::opendir(folder.c_str()));
    if (open_folder == nullptr) {
        ufx_debug("no modules in %s: %s", folder.c_str(), std::strerror(errno));
        return names;
    }
    while (const dirent *file = ::readdir(open_folder.get())) {
        std::string_view name = file->d_name;
        if (name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
            name.ends_with(suffix)) {
            names.emplace_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

// The dynamic linker maps what the headers promise and dies by SIGBUS where the file is shorter, so
// a file that was cut is refused before it is given to it.
const char *why_not_whole(const std::string &path)
{
    fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat about = {};
    ElfW(Ehdr) header;
    if (!file || ::fstat(file.get(), &about) != 0) {
        return std::strerror(errno);
    }
    if (::pread(file.get(), &header, sizeof(header), 0) != sizeof(header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
        return "not a shared library";
    }
    for (unsigned i = 0; i < header.e_phnum; i++) {
        ElfW(Phdr) segment;
        const auto at = static_cast<off_t>(header.e_phoff + i * sizeof(segment));
        const auto size = static_cast<uint64_t>(about.st_size);
        if (::pread(file.get(), &segment, sizeof(segment), at) != sizeof(segment) ||
            segment.p_filesz > size || segment.p_offset > size - segment.p_filesz) {
            return "the file is cut short";
        }
    }
    return nullptr;
}

} // namespace

std::vector<std::string> module_folders(const void *anchor)
{
    std::vector<std::string> folders;
    Dl_info library = {};
    if (::dladdr(anchor, &library) != 0 && library.dli_fname != nullptr) {
        std::string path = library.dli_fname;
        size_t slash = path.rfind('/');
        std::string own = slash == std::string::npos ? "." : path.substr(0, slash);
        add_folder(folders, own + "/ufx");
        add_folder(folders, own);
    }
    if (const char *extra = ufx_ucs_config_get("UFX_MODULE_DIR", nullptr)) {
        add_folder(folders, extra);
    }
    if (const char *path = ufx_ucs_config_get("UFX_PLUGIN_PATH", nullptr)) {
        std::string_view rest = path;
        while (!rest.empty()) {
            size_t colon = rest.find(':');
            add_folder(folders, std::string(rest.substr(0, colon)));
            rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
        }
    }
    return folders;
}

std::vector<std::string> find_modules(const std::vector<std::string> &folders,
                                      std::string_view prefix, std::string_view suffix)
{
    std::vector<std::string> files;
    std::set<std::string> seen;
    for (const std::string &folder : folders) {
        for (const std::string &name : matching_names(folder, prefix, suffix)) {
            if (seen.insert(name).second) {
                files.push_back(folder + "/" + name);
            }
        }
    }
    return files;
}

result<void *> load_module(const std::string &path, const char *symbol)
{
    const bool is_path = path.find('/') != std::string::npos; // else the linker searches
    if (const char *why = is_path ? why_not_whole(path) : nullptr) {
        ufx_warn("module %s: %s", path.c_str(), why);
        return UFX_ERR_IO;
    }
    // NODELETE: config rows, log lines and callbacks point into a module.
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        ufx_warn("module %s: %s", path.c_str(), last_dl_error());
        return UFX_ERR_IO;
    }
    void *address = ::dlsym(library, symbol);
    if (address == nullptr) {
        ufx_warn("module %s: %s", path.c_str(), last_dl_error());
        return UFX_ERR_NO_ELEM;
    }
    return address;
}

} // namespace ufx::ucs
