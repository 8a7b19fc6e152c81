// SPDX-License-Identifier: BSD-3-Clause
// Checking that a program can be preloaded, starting it, and passing signals on.
#include "run.h"

#include "control.h"
#include "fabric_directory.h"
#include "failure.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace ufx::swhca::tool {

namespace fs = std::filesystem;

namespace {

bool is_executable(const fs::path &program)
{
    std::error_code ignored;
    return ::access(program.c_str(), X_OK) == 0 && fs::is_regular_file(program, ignored);
}

// As a shell finds it: what cannot be executed is passed over, and named if there is nothing else.
fs::path find_program(const std::string &name)
{
    std::error_code ignored;
    const char *path = std::getenv("PATH");
    std::string rest = path == nullptr ? "/usr/bin:/bin" : path;
    if (name.find('/') != std::string::npos) {
        rest = "";
    }
    bool seen = false;
    for (size_t at = 0; at <= rest.size();) {
        size_t end = std::min(rest.find(':', at), rest.size());
        fs::path candidate = fs::path(rest.substr(at, end - at)) / name;
        if (is_executable(candidate)) {
            return candidate;
        }
        seen = seen || fs::exists(candidate, ignored);
        at = end + 1;
    }
    throw seen ? failure(cannot_run_status, name + " cannot be executed")
               : failure(no_program_status, "there is no program " + name);
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

// The loader preloads nothing into a program that gets rights which its caller does not have.
const char *extra_rights(const fs::path &program)
{
    struct stat info {};
    if (::stat(program.c_str(), &info) != 0) {
        return nullptr;
    }
    if ((info.st_mode & S_ISUID) != 0 && info.st_uid != ::getuid()) {
        return "is setuid";
    }
    if ((info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0 &&
        info.st_gid != ::getgid()) {
        return "is setgid";
    }
    bool has_capabilities = ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
    return has_capabilities && ::getuid() != 0 ? "has file capabilities" : nullptr;
}

void check_program(const fs::path &program, const std::string &name)
{
    const char *why = is_static(program) ? "is statically linked" : extra_rights(program);
    if (why != nullptr) {
        throw failure(cannot_run_status, name + " " + why + ", so nothing can be preloaded");
    }
}

void check_provider()
{
    for (const char *library : {"libibverbs.so.1", "libmlx5.so.1"}) {
        void *handle = ::dlopen(library, RTLD_LAZY | RTLD_LOCAL);
        if (handle == nullptr) {
            throw failure(fabric_status,
                          std::string(library) +
                              " is not installed (packages libibverbs1, ibverbs-providers)");
        }
        ::dlclose(handle);
    }
}

// In the build folder it lies beside the tool, else where modules are installed.
fs::path find_shim()
{
    if (const char *given = ::secure_getenv("UFX_SWHCA_SHIM"); given != nullptr) {
        return fs::absolute(given);
    }
    std::error_code ignored;
    fs::path built = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const fs::path &candidate : {built / ".libs/libufx_swhca.so", built / "libufx_swhca.so",
                                      fs::path(UFX_LIBDIR) / "ufx/libufx_swhca.so"}) {
        if (fs::exists(candidate, ignored)) {
            return candidate;
        }
    }
    throw failure(fabric_status, "libufx_swhca.so is not installed");
}

// The loader only warns of a library that it cannot preload, and the program would run without.
void check_shim(const fs::path &shim)
{
    void *handle = ::dlopen(shim.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
        throw failure(fabric_status, std::string("cannot preload: ") + ::dlerror());
    }
    ::dlclose(handle);
    if (shim.string().find_first_of(": \t\n") != std::string::npos) {
        throw failure(fabric_status,
                      "cannot preload " + shim.string() + ": its path has a blank or a colon");
    }
}

void prepare_environment(const fs::path &shim, const fs::path &directory,
                         const run_options &options)
{
    const char *before = std::getenv("LD_PRELOAD");
    std::string preload = shim.string();
    if (before != nullptr && *before != '\0') {
        preload += std::string(":") + before;
    }
    ::setenv("LD_PRELOAD", preload.c_str(), 1);
    ::setenv("UFX_SWHCA_DIR", directory.c_str(), 1);
    ::setenv("UFX_SWHCA_ENGINE", options.engine.c_str(), 1);
    ::setenv("UFX_SWHCA_RUN", options.launcher.c_str(), 1);
}

// Signals are taken one by one and passed on; none is lost while there is no program yet, and none
// ends the launcher between the making of a fabric and its cleaner.
class signal_desk {
public:
    signal_desk() noexcept
    {
        (void)std::signal(SIGCHLD, SIG_DFL); // else there is none
        over_limit_ = std::signal(SIGXFSZ, SIG_IGN); // a file too large is an error like others
        sigemptyset(&taken_);
        for (int each : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGCHLD}) {
            sigaddset(&taken_, each);
        }
        ::sigprocmask(SIG_BLOCK, &taken_, &before_);
    }

    ~signal_desk() { restore(); }

    signal_desk(const signal_desk &) = delete;
    signal_desk &operator=(const signal_desk &) = delete;

    // As it was; for the program.
    void restore() const noexcept
    {
        (void)std::signal(SIGXFSZ, over_limit_);
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
    }

    // What has come so far, which a program that is started now does not get by itself.
    [[nodiscard]] std::vector<int> waiting() const
    {
        constexpr timespec now{};
        std::vector<int> found;
        for (int number = 0; (number = ::sigtimedwait(&taken_, nullptr, &now)) > 0;) {
            if (number != SIGCHLD) {
                found.push_back(number);
            }
        }
        return found;
    }

    // Until the program ends; its exit status as a shell has it.
    [[nodiscard]] int wait_for(pid_t program) const noexcept
    {
        int status = 0;
        while (::waitpid(program, &status, WNOHANG) != program) {
            siginfo_t info{};
            int number = ::sigwaitinfo(&taken_, &info);
            // What a terminal sends, it sends to the program too.
            if (number > 0 && number != SIGCHLD && info.si_code != SI_KERNEL) {
                ::kill(program, number);
            }
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

private:
    void (*over_limit_)(int) = SIG_DFL;
    sigset_t taken_{};
    sigset_t before_{};
};

[[noreturn]] void become(const fs::path &program, const std::vector<std::string> &command)
{
    std::vector<char *> words;
    for (const std::string &word : command) {
        words.push_back(const_cast<char *>(word.c_str())); // execv() does not write to them
    }
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    int error = errno;
    std::fprintf(stderr, "ufx_swhca: cannot start %s: %s\n", program.c_str(), std::strerror(error));
    ::_exit(error == ENOENT ? no_program_status : cannot_run_status);
}

} // namespace

int run(const run_options &options)
{
    fs::path program = find_program(options.command.front());
    check_program(program, options.command.front());
    check_provider();
    fs::path shim = find_shim();
    check_shim(shim);
    std::vector<located_rule> rules;
    if (!options.faults.empty()) {
        rules = read_schedule(options.faults);
    }
    signal_desk signals;
    fabric_directory where = fabric_directory::use(options.directory, options.fabric);
    if (!rules.empty()) {
        add_rules(where, rules);
    }
    std::vector<int> early = signals.waiting();
    pid_t child = ::fork();
    if (child < 0) {
        throw failure(fabric_status, std::string("cannot fork: ") + std::strerror(errno));
    }
    if (child == 0) {
        signals.restore();
        prepare_environment(shim, where.path(), options);
        if (options.fabric.stepped) {
            // What is ordered by address is the same in each run.
            (void)::personality(ADDR_NO_RANDOMIZE);
        }
        become(program, options.command);
    }
    for (int number : early) {
        ::kill(child, number);
    }
    return signals.wait_for(child);
}

} // namespace ufx::swhca::tool
