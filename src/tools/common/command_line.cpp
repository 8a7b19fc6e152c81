// SPDX-License-Identifier: BSD-3-Clause
// The parser of options is CLI11; it is slow to compile, so that no other file includes it.
#include "tools/common/command_line.h"

#include "tools/common/error.h"
#include "tools/common/nearest.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <ufx/ucs.h>

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
    std::string version; ///< below the name
};

command_line::command_line(const std::string &program, const std::string &description)
    : parser_(std::make_unique<parser>(description, program))
{
    parser *const mine = parser_.get();
    mine->app.add_flag_callback(
        "-V,--version",
        [mine, name = program.substr(0, program.find(' '))] {
            std::printf("%s %s\n%s", name.c_str(), ufx_ucs_version_string(), mine->version.c_str());
            throw finished();
        },
        "name and version");
}

command_line::~command_line() = default;

void command_line::text(const std::string &names, std::string &to, const std::string &help,
                        const std::string &kind)
{
    word(names, help, kind, [&to, names](const std::string &given) {
        if (given.empty()) {
            throw usage_error(names + ": is empty");
        }
        to = given;
    });
}

void command_line::texts(const std::string &name, std::vector<std::string> &to,
                         const std::string &help)
{
    parser_->add(name, to, help);
}

void command_line::seconds(const std::string &names, double &to, double most,
                           const std::string &help)
{
    word(names, help, "N",
         [&to, names, most](const std::string &text) { to = parse_seconds(text, names, most); });
}

void command_line::list(const std::string &names, std::string &to, const std::string &help,
                        const std::string &kind)
{
    word(names, help, kind, [&to, names](const std::string &text) {
        if (text.find_first_not_of(", ") == std::string::npos) {
            throw usage_error(names + ": the list is empty");
        }
        to = text;
    });
}

void command_line::word(const std::string &names, const std::string &help, const std::string &kind,
                        const std::function<void(const std::string &)> &take)
{
    CLI::Option *option = parser_->app.add_option_function<std::string>(names, take, help);
    if (!kind.empty()) {
        option->type_name(kind);
    }
    if (help.empty()) {
        option->group("");
    }
}

void command_line::flag(const std::string &names, bool &to, const std::string &help)
{
    parser_->app.add_flag(names, to, help);
}

void command_line::optional_text(const std::string &names, std::string &to, bool &given,
                                 const std::string &help, const std::string &kind)
{
    parser_->app
        .add_option_function<std::vector<std::string>>(
            names,
            [&to, &given](const std::vector<std::string> &values) {
                given = true;
                to = values.empty() ? "" : values[0];
            },
            help)
        ->type_name("[" + kind + "]")
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

void command_line::version_details(const std::string &text)
{
    parser_->version = text;
}

/** Words that no option took. */
void command_line::refuse_rest() const
{
    const std::vector<std::string> rest = parser_->app.remaining();
    const auto option = std::find_if(rest.begin(), rest.end(),
                                     [](const std::string &one) { return one.rfind('-', 0) == 0; });
    if (option == rest.end()) {
        throw usage_error("'" + rest.at(0) + "' is one word too many (try --help)");
    }
    word_list known;
    for (const CLI::Option *one : parser_->app.get_options()) {
        for (const std::string &name : one->get_lnames()) {
            known.push_back("--" + name);
        }
    }
    const std::string name = option->substr(0, option->find('='));
    throw usage_error("there is no option '" + name + "'" + did_you_mean(name, known) +
                      " (try --help)");
}

void command_line::parse(int argc, char **argv)
{
    try {
        parser_->app.parse(argc, argv);
    } catch (const CLI::CallForHelp &) {
        std::puts(parser_->app.help().c_str());
        throw finished();
    } catch (const CLI::ExtrasError &) {
        refuse_rest();
    } catch (const CLI::ArgumentMismatch &error) {
        const std::string text = error.what();
        const bool twice = text.find("At Most 1") != std::string::npos;
        throw usage_error(
            (twice ? text.substr(0, text.find(':')) + ": is given more than once" : text) +
            " (try --help)");
    } catch (const CLI::ParseError &error) {
        throw usage_error(std::string(error.what()) + " (try --help)");
    }
}

} // namespace ufx::tools
