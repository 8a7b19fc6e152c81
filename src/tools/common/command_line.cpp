// SPDX-License-Identifier: BSD-3-Clause
// The parser of options is CLI11; it is slow to compile, so that no other file includes it.
#include "tools/common/command_line.h"

#include "tools/common/error.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>

namespace ufx::tools {

struct command_line::parser {
    parser(const std::string &description, const std::string &program) : app(description, program)
    {
    }

    template <class T>
    CLI::Option *add(const std::string &names, T &to, const std::string &help)
    {
        CLI::Option *option = app.add_option(names, to, help);
        if (help.empty()) {
            option->group("");
        }
        return option;
    }

    CLI::App app;
};

command_line::command_line(const std::string &program, const std::string &description)
    : parser_(std::make_unique<parser>(description, program))
{
}

command_line::~command_line() = default;

void command_line::text(const std::string &names, std::string &to, const std::string &help,
                        const std::string &kind)
{
    CLI::Option *option = parser_->add(names, to, help);
    if (!kind.empty()) {
        option->type_name(kind);
    }
}

void command_line::texts(const std::string &name, std::vector<std::string> &to,
                         const std::string &help)
{
    parser_->add(name, to, help);
}

void command_line::number(const std::string &names, uint64_t &to, const std::string &help)
{
    parser_->add(names, to, help)->type_name("N");
}

void command_line::number(const std::string &names, uint32_t &to, const std::string &help)
{
    parser_->add(names, to, help)->type_name("N");
}

void command_line::number(const std::string &names, uint16_t &to, const std::string &help)
{
    parser_->add(names, to, help)->type_name("N");
}

void command_line::number(const std::string &names, int &to, const std::string &help)
{
    parser_->add(names, to, help)->type_name("N");
}

void command_line::number(const std::string &names, double &to, const std::string &help)
{
    parser_->add(names, to, help)->type_name("N");
}

void command_line::flag(const std::string &names, bool &to, const std::string &help)
{
    parser_->app.add_flag(names, to, help);
}

void command_line::optional_text(const std::string &names, std::string &to, bool &given,
                                 const std::string &help)
{
    parser_->app
        .add_option_function<std::vector<std::string>>(
            names,
            [&to, &given](const std::vector<std::string> &values) {
                given = true;
                to = values.empty() ? "" : values[0];
            },
            help)
        ->expected(0, 1);
}

bool command_line::given(const std::string &name) const
{
    return parser_->app.count(name) != 0;
}

void command_line::footer(const std::string &text)
{
    parser_->app.footer(text);
}

void command_line::parse(int argc, char **argv)
{
    try {
        parser_->app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        std::cout << parser_->app.help();
        std::exit(EXIT_FINE);
    } catch (const CLI::ParseError &error) {
        throw usage_error(std::string(error.what()) + " (try --help)");
    }
}

} // namespace ufx::tools
