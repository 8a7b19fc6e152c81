// SPDX-License-Identifier: BSD-3-Clause
// Checking that a program can be preloaded, starting it, and passing signals on.
#include "run.h"

#include "control.h"
#include "fabric_directory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ufx::swhca::tool {

namespace fs = std::filesystem;

namespace {

constexpr int cannot_start = 127; // as a shell says it

fs::path find_program(const std::string &name)
{
    if (name.find('/') != std::string::npos) {
        return name;
    }
    const char *path = std::getenv("PATH");
    std::string rest = path == nullptr ? "/usr/bin:/bin" : path;
    for (size_t at = 0; at <= rest.size();) {
        size_t end = std::min(rest.find(':', at), rest.size());
        fs::path candidate = fs::path(rest.substr(at, end - at)) / name;
        if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate)) {
            return candidate;
        }
        at = end + 1;
    }
    return {};
}

// A program without an interpreter has no dynamic loader that would preload anything.
bool is_static(const fs::path &program)
{
    ucs::fd file(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
    Elf64_Ehdr header{};
    if (::pread(file.get(), &header, sizeof(header), 0) != sizeof(header) ||
        std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64) {
        return false; // a script; what it starts is not known
    }
    for (uint16_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part{};
        auto at = static_cast<off_t>(header.e_phoff + uint64_t{i} * header.e_phentsize);
        if (::pread(file.get(), &part, sizeof(part), at) == sizeof(part) &&
            part.p_type == PT_INTERP) {
            return false;
        }
    }
    return true;
}

void check_program(const fs::path &program, const std::string &name)
{
    struct stat info {};
    if (program.empty() || ::stat(program.c_str(), &info) != 0) {
        throw std::runtime_error("there is no program " + name);
    }
    if ((info.st_mode & (S_ISUID | S_ISGID)) != 0 && ::getuid() != 0) {
        throw std::runtime_error(name + " is setuid or setgid, so nothing can be preloaded");
    }
    if (is_static(program)) {
        throw std::runtime_error(name + " is statically linked, so nothing can be preloaded");
    }
}

void check_provider()
{
    for (const char *library : {"libibverbs.so.1", "libmlx5.so.1"}) {
        void *handle = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
        if (handle == nullptr) {
            throw std::runtime_error(std::string(library) +
                                     " is not installed (packages libibverbs1, ibverbs-providers)");
        }
        ::dlclose(handle);
    }
}

// In the build folder it lies beside the tool, else where modules are installed.
fs::path find_shim()
{
    if (const char *given = ::secure_getenv("UFX_SWHCA_SHIM"); given != nullptr) {
        return given;
    }
    std::error_code ignored;
    fs::path built = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const fs::path &candidate : {built / ".libs/libufx_swhca.so", built / "libufx_swhca.so",
                                      fs::path(UFX_LIBDIR) / "ufx/libufx_swhca.so"}) {
        if (fs::exists(candidate, ignored)) {
            return candidate;
        }
    }
    throw std::runtime_error("libufx_swhca.so is not installed");
}

void prepare_environment(const fs::path &shim, const fs::path &directory, const std::string &engine)
{
    const char *before = std::getenv("LD_PRELOAD");
    std::string preload = shim.string();
    if (before != nullptr && *before != '\0') {
        preload += std::string(":") + before;
    }
    ::setenv("LD_PRELOAD", preload.c_str(), 1);
    ::setenv("UFX_SWHCA_DIR", directory.c_str(), 1);
    ::setenv("UFX_SWHCA_ENGINE", engine.c_str(), 1);
}

volatile std::sig_atomic_t child_to_signal = 0;

void pass_signal(int number)
{
    if (child_to_signal > 0) {
        ::kill(static_cast<pid_t>(child_to_signal), number);
    }
}

constexpr std::array<int, 4> passed_signals = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};

int wait_for(pid_t child)
{
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

int run(const run_options &options)
{
    fs::path program = find_program(options.command.front());
    check_program(program, options.command.front());
    check_provider();
    fs::path shim = find_shim();
    std::vector<fault_rule> rules;
    if (!options.faults.empty()) {
        rules = read_schedule(options.faults);
    }
    fabric_directory where = fabric_directory::use(options.directory, options.fabric);
    if (!rules.empty()) {
        add_rules(where, rules);
    }
    for (int number : passed_signals) {
        std::signal(number, pass_signal);
    }
    pid_t child = ::fork();
    if (child < 0) {
        throw std::runtime_error(std::string("cannot fork: ") + std::strerror(errno));
    }
    if (child == 0) {
        for (int number : passed_signals) {
            std::signal(number, SIG_DFL);
        }
        prepare_environment(shim, where.path(), options.engine);
        std::vector<char *> words;
        for (const std::string &word : options.command) {
            words.push_back(const_cast<char *>(word.c_str())); // execv() does not write to them
        }
        words.push_back(nullptr);
        ::execv(program.c_str(), words.data());
        ::_exit(cannot_start);
    }
    child_to_signal = child;
    return wait_for(child);
}

} // namespace ufx::swhca::tool
