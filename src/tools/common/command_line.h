// SPDX-License-Identifier: BSD-3-Clause
// command_line: options of a tool; the one place that knows the parser.
#ifndef UFX_TOOLS_COMMON_COMMAND_LINE_H
#define UFX_TOOLS_COMMON_COMMAND_LINE_H

#include "tools/common/units.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ufx::tools {

constexpr number_range PORTS = {1, 65535};

/**
 * Names are as in "-s,--size"; a name without dashes is positional; a help of "" hides the option.
 * The variables keep their value when the option is not given. Each tool has -h and -V besides.
 */
class command_line {
public:
    command_line(const std::string &program, const std::string &description);
    ~command_line();

    /** A word that is not empty. */
    void text(const std::string &names, std::string &to, const std::string &help,
              const std::string &kind = "");
    /** Names between commas, at least one. */
    void list(const std::string &names, std::string &to, const std::string &help,
              const std::string &kind);
    void texts(const std::string &name, std::vector<std::string> &to, const std::string &help);
    /** Whole numbers within a range. */
    template <class T>
    void number(const std::string &names, T &to, const number_range &allowed,
                const std::string &help)
    {
        word(names, help, "N", [&to, names, allowed](const std::string &text) {
            to = static_cast<T>(parse_number(text, names, allowed));
        });
    }
    /** Seconds, as parse_seconds() takes them. */
    void seconds(const std::string &names, double &to, double most, const std::string &help);
    void flag(const std::string &names, bool &to, const std::string &help);
    /** An option that may come with or without a value. */
    void optional_text(const std::string &names, std::string &to, bool &given,
                       const std::string &help, const std::string &kind);

    /** True if the option was on the command line. */
    bool given(const std::string &name) const;

    /** What stands under the options. */
    void footer(const std::string &text);

    /** What -V and --version print below the name and the version. */
    void version_details(const std::string &text);

    /** Help and version print and exit; a wrong word is a usage error. */
    void parse(int argc, char **argv);

private:
    void word(const std::string &names, const std::string &help, const std::string &kind,
              const std::function<void(const std::string &)> &take);
    [[noreturn]] void refuse_rest() const;

    struct parser;
    std::unique_ptr<parser> parser_;
};

} // namespace ufx::tools

#endif
