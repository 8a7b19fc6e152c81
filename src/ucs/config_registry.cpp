// SPDX-License-Identifier: BSD-3-Clause
// What the process knows of configuration: all rows, the file, and the warnings given.
#include "config_file.h"
#include "config_parse.h"
#include "entry.h"
#include "log.h"
#include "owner.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ufx::ucs {

namespace {

struct known_row {
    std::string title;
    std::string name;
    std::string type;
    std::string default_value;
    std::string help;
};

struct registry {
    std::mutex mutex;          // guards all below
    std::list<known_row> rows; // rows never move
    std::map<std::string, known_row *> by_name;
    std::map<std::string, std::string> rejected; // name to text
    std::set<std::string> unknown;               // names warned about
    bool file_read = false;
    std::string file_path;
    config_file file;
};

void add_row(registry &all, const char *title, const ufx_ucs_config_row_t &row)
{
    if (all.by_name.contains(row.name)) {
        return;
    }
    all.rows.push_back({title, row.name, row.type, row.default_value, row.help});
    all.by_name.emplace(row.name, &all.rows.back());
}

// Rows that no table has, because they are read where the services themselves start.
constexpr ufx_ucs_config_row_t own_rows[] = {
    {sizeof(ufx_ucs_config_row_t), "UFX_CONFIG_FILE", "text", UFX_SYSCONFDIR "/ufx.conf",
     "Configuration file; none if empty. Read from the environment only."},
    {sizeof(ufx_ucs_config_row_t), "UFX_LOG_LEVEL", "fatal|error|warn|info|debug|trace", "warn",
     "Lines of this level and of more severe ones are logged."},
    {sizeof(ufx_ucs_config_row_t), "UFX_LOG_FILE", "text", "",
     "File to which the log is appended, %p being the process id; stderr if not set."},
    {sizeof(ufx_ucs_config_row_t), "UFX_MODULE_DIR", "text", "",
     "Folder with transport modules, searched after the one beside the library."},
    {sizeof(ufx_ucs_config_row_t), "UFX_PLUGIN_PATH", "text", "",
     "Folders with modules of third parties, separated by colons."},
    {sizeof(ufx_ucs_config_row_t), "UFX_TRACE_STOP", "text", "",
     "For tests: trace point, or name:count, at which the process stops itself. Read from the "
     "environment only, as all UFX_TRACE rows."},
    {sizeof(ufx_ucs_config_row_t), "UFX_TRACE_FD", "integer", "",
     "For tests: descriptor to which the name of the trace point is written."},
    {sizeof(ufx_ucs_config_row_t), "UFX_TRACE_KILL", "y/n", "n",
     "For tests: SIGKILL instead of SIGSTOP."},
};

registry &the_registry()
{
    // Never destroyed: other libraries may still log while the process ends.
    static registry *const all = [] {
        auto made = owner<registry>(new registry);
        for (const ufx_ucs_config_row_t &row : own_rows) {
            add_row(*made, "ucs", row);
        }
        return made.release();
    }();
    return *all;
}

// With the mutex held. Returns faults to be logged without it.
std::vector<std::string> read_file(registry &all)
{
    if (all.file_read) {
        return {};
    }
    all.file_read = true;
    const char *chosen = std::getenv("UFX_CONFIG_FILE");
    all.file_path = chosen != nullptr ? chosen : UFX_SYSCONFDIR "/ufx.conf";
    // Only a file that was asked for by name has to exist.
    if (all.file_path.empty() ||
        (chosen == nullptr && ::access(UFX_SYSCONFDIR "/ufx.conf", F_OK) != 0)) {
        return {};
    }
    all.file = load_config_file(all.file_path.c_str());
    return all.file.faults;
}

// A file that is none of ours is wrong in each line: nobody reads the hundredth.
constexpr size_t told_at_once = 5;

void ensure_file(registry &all)
{
    std::vector<std::string> faults;
    std::string path;
    {
        std::lock_guard lock(all.mutex);
        faults = read_file(all);
        path = all.file_path;
    }
    for (size_t i = 0; i < faults.size() && i < told_at_once; i++) {
        ufx_warn("configuration file %s: %s", path.c_str(), faults[i].c_str());
    }
    if (faults.size() > told_at_once) {
        ufx_warn("configuration file %s: and %zu more lines that are no settings; is it the right "
                 "file?",
                 path.c_str(), faults.size() - told_at_once);
    }
}

const char *find_text(registry &all, const char *name, ufx_ucs_config_source_t &source)
{
    source = UFX_UCS_CONFIG_ENVIRONMENT;
    if (const char *text = std::getenv(name)) {
        return text;
    }
    ensure_file(all);
    std::lock_guard lock(all.mutex);
    auto at = all.file.values.find(name);
    source = at == all.file.values.end() ? UFX_UCS_CONFIG_DEFAULT : UFX_UCS_CONFIG_FILE;
    return at == all.file.values.end() ? nullptr : at->second.c_str();
}

std::string nearest_name(const registry &all, const std::string &name)
{
    // Farther away it is another word, not a slip of the finger.
    size_t limit = std::max<size_t>(2, name.size() / 4);
    std::string best;
    size_t best_distance = limit + 1;
    for (const known_row &row : all.rows) {
        size_t distance = edit_distance(name, row.name);
        if (distance < best_distance) {
            best = row.name;
            best_distance = distance;
        }
    }
    return best;
}

// Names that the user gave, from both sources.
std::vector<std::string> given_names(registry &all)
{
    std::vector<std::string> names;
    for (char **variable = environ; variable != nullptr && *variable != nullptr; variable++) {
        const char *equal = std::strchr(*variable, '=');
        if (equal != nullptr && std::strncmp(*variable, "UFX_", 4) == 0) {
            names.emplace_back(*variable, static_cast<size_t>(equal - *variable));
        }
    }
    std::lock_guard lock(all.mutex);
    for (const auto &[name, text] : all.file.values) {
        names.push_back(name);
    }
    return names;
}

unsigned check_unknown()
{
    registry &all = the_registry();
    ensure_file(all);
    unsigned count = 0;
    size_t news = 0;
    for (const std::string &name : given_names(all)) {
        std::string nearest;
        {
            std::lock_guard lock(all.mutex);
            if (all.by_name.contains(name) || name.starts_with("UFX_TEST_") ||
                name.starts_with("UFX_SWHCA_")) { // of the software HCA, which may run us
                continue;
            }
            count++;
            if (!all.unknown.insert(name).second) {
                continue;
            }
            if (++news > told_at_once) {
                continue;
            }
            nearest = nearest_name(all, name);
        }
        if (nearest.empty()) {
            ufx_warn("unknown configuration name %s", name.c_str());
        } else {
            ufx_warn("unknown configuration name %s; did you mean %s?", name.c_str(),
                     nearest.c_str());
        }
    }
    if (news > told_at_once) {
        ufx_warn("and %zu more unknown configuration names", news - told_at_once);
    }
    return count;
}

void reject(const char *name, const char *value, const char *why)
{
    registry &all = the_registry();
    std::string default_value;
    {
        std::lock_guard lock(all.mutex);
        auto at = all.rejected.find(name);
        if (at != all.rejected.end() && at->second == value) {
            return;
        }
        all.rejected.insert_or_assign(name, value);
        auto row = all.by_name.find(name);
        if (row != all.by_name.end()) {
            default_value = row->second->default_value;
        }
    }
    ufx_warn("%s=%s: %s; using the default '%s'", name, value, why, default_value.c_str());
}

void iterate(ufx_ucs_config_row_cb_t cb, void *arg)
{
    registry &all = the_registry();
    // Groups in the order of their first row; rows stay where they are, so the lock is not held
    // while the callback runs.
    std::vector<std::pair<size_t, const known_row *>> ordered;
    {
        std::lock_guard lock(all.mutex);
        std::map<std::string, size_t> rank;
        for (const known_row &row : all.rows) {
            size_t place = rank.emplace(row.title, rank.size()).first->second;
            ordered.emplace_back(place, &row);
        }
    }
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    for (const auto &[place, row] : ordered) {
        ufx_ucs_config_source_t source = UFX_UCS_CONFIG_DEFAULT;
        const char *given = find_text(all, row->name.c_str(), source);
        std::string value = given != nullptr ? given : row->default_value;
        {
            std::lock_guard lock(all.mutex);
            auto at = all.rejected.find(row->name);
            if (given != nullptr && at != all.rejected.end() && at->second == value) {
                value = row->default_value;
                source = UFX_UCS_CONFIG_DEFAULT;
            }
        }
        ufx_ucs_config_row_t c_row = {sizeof(c_row), row->name.c_str(), row->type.c_str(),
                                      row->default_value.c_str(), row->help.c_str()};
        cb(arg, row->title.c_str(), &c_row, value.c_str(), source);
    }
}

} // namespace
} // namespace ufx::ucs

ufx_status_t ufx_ucs_config_register(const char *title, const ufx_ucs_config_row_t *row) noexcept
{
    if (title == nullptr || row == nullptr || row->size < sizeof(*row) || row->name == nullptr ||
        std::strncmp(row->name, "UFX_", 4) != 0 || row->type == nullptr ||
        row->default_value == nullptr || row->help == nullptr) {
        return UFX_ERR_INVALID_PARAM;
    }
    return ufx::ucs::guard([&] {
        ufx::ucs::registry &all = ufx::ucs::the_registry();
        std::lock_guard lock(all.mutex);
        ufx::ucs::add_row(all, title, *row);
    });
}

const char *ufx_ucs_config_get(const char *name, ufx_ucs_config_source_t *source) noexcept
{
    const char *text = nullptr;
    ufx_ucs_config_source_t where = UFX_UCS_CONFIG_DEFAULT;
    // Out of memory leaves the default.
    static_cast<void>(ufx::ucs::guard(
        [&] { text = ufx::ucs::find_text(ufx::ucs::the_registry(), name, where); }));
    if (source != nullptr) {
        *source = text == nullptr ? UFX_UCS_CONFIG_DEFAULT : where;
    }
    return text;
}

void ufx_ucs_config_reject(const char *name, const char *value, const char *why) noexcept
{
    static_cast<void>(ufx::ucs::guard([&] { ufx::ucs::reject(name, value, why); }));
}

unsigned ufx_ucs_config_check_unknown() noexcept
{
    unsigned count = 0;
    static_cast<void>(ufx::ucs::guard([&] { count = ufx::ucs::check_unknown(); }));
    return count;
}

void ufx_ucs_config_reload() noexcept
{
    static_cast<void>(ufx::ucs::guard([] {
        ufx::ucs::registry &all = ufx::ucs::the_registry();
        std::lock_guard lock(all.mutex);
        all.file_read = false;
        all.file = {};
        all.rejected.clear();
        all.unknown.clear();
        ufx::ucs::log_reload();
    }));
}

void ufx_ucs_config_iterate(ufx_ucs_config_row_cb_t cb, void *arg) noexcept
{
    static_cast<void>(ufx::ucs::guard([&] { ufx::ucs::iterate(cb, arg); }));
}
