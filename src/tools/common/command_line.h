// SPDX-License-Identifier: BSD-3-Clause
// command_line: options of a tool; the one place that knows the parser.
#ifndef UFX_TOOLS_COMMON_COMMAND_LINE_H
#define UFX_TOOLS_COMMON_COMMAND_LINE_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ufx::tools {

/**
 * Names are as in "-s,--size"; a name without dashes is positional; a help of "" hides the option.
 * The variables keep their value when the option is not given.
 */
class command_line {
public:
    command_line(const std::string &program, const std::string &description);
    ~command_line();

    void text(const std::string &names, std::string &to, const std::string &help,
              const std::string &kind = "");
    void texts(const std::string &name, std::vector<std::string> &to, const std::string &help);
    void number(const std::string &names, uint64_t &to, const std::string &help);
    void number(const std::string &names, uint32_t &to, const std::string &help);
    void number(const std::string &names, uint16_t &to, const std::string &help);
    void number(const std::string &names, int &to, const std::string &help);
    void number(const std::string &names, double &to, const std::string &help);
    void flag(const std::string &names, bool &to, const std::string &help);
    /** An option that may come with or without a value. */
    void optional_text(const std::string &names, std::string &to, bool &given,
                       const std::string &help);

    /** True if the option was on the command line. */
    bool given(const std::string &name) const;

    /** What stands under the options. */
    void footer(const std::string &text);

    /** Help prints and exits; a wrong word is a usage error. */
    void parse(int argc, char **argv);

private:
    struct parser;
    std::unique_ptr<parser> parser_;
};

} // namespace ufx::tools

#endif
