// SPDX-License-Identifier: MIT
#include "stabd/manual.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string_view>

namespace stab::manual {
namespace {

// Escapes the text, so that roff finds no requests in it and readers can copy commands from the
// page.
std::string escaped(std::string_view text) {
  std::string result = !text.empty() && text.front() == '.' ? "\\&" : "";
  for (const char each : text) {
    if (each == '\\')
      result += "\\e";
    else if (each == '-')
      result += "\\-";
    else if (each == '\'')
      result += "\\(aq";
    else if (each == '`')
      result += "\\(ga";
    else if (each == '"')
      result += "\\(dq";
    else if (each == '^')
      result += "\\(ha";
    else if (each == '~')
      result += "\\(ti";
    else
      result += each;
  }
  return result;
}

bool stays_as_it_is(std::string_view line) {
  return line.starts_with("  ");
}

// Fills paragraphs and keeps examples as they are.
std::string filled(const std::string& text) {
  std::string result;
  std::istringstream lines(text);
  std::string line;
  bool literal = false;
  while (std::getline(lines, line)) {
    if (stays_as_it_is(line) != literal) result += literal ? ".EE\n" : ".PP\n.EX\n";
    literal = stays_as_it_is(line);
    if (literal)
      result += "  " + escaped(line.substr(2)) + "\n";
    else
      result += line.empty() ? ".PP\n" : escaped(line) + "\n";
  }
  return result + (literal ? ".EE\n" : "");
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}

// The option's value: its allowed words, or its type.
std::string value_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return "";
  const auto words = words_of(option);
  const std::string type = option.get_type_name();
  const std::string value =
      words.empty() ? type.substr(0, type.find(':')) : fmt::format("{}", fmt::join(words, "|"));
  const bool several = option.get_items_expected_max() > 1;
  return " \\fI" + escaped(value) + "\\fR" + (several ? " ..." : "");
}

std::string entry(const CLI::Option& option) {
  std::string names;
  for (const std::string& each : option.get_snames())
    names += (names.empty() ? "" : ", ") + bold("-" + each);
  for (const std::string& each : option.get_lnames())
    names += (names.empty() ? "" : ", ") + bold("--" + each);
  if (names.empty())
    names = "\\fI" + escaped(option.get_name(true)) + "\\fR";
  else
    names += value_of(option);
  std::string text = escaped(option.get_description());
  if (const std::string usual = option.get_default_str(); !usual.empty())
    text += ". Default: " + escaped(usual);
  return fmt::format(".TP\n{}\n{}.\n", names, text);
}

bool is_shown(const CLI::Option* option) {
  return !option->get_group().empty();
}

std::string entries(const CLI::App& app, bool with_help) {
  std::string result;
  for (const bool positional : {true, false})
    for (const CLI::Option* option : app.get_options(is_shown))
      if (option->nonpositional() != positional && (with_help || option != app.get_help_ptr()))
        result += entry(*option);
  return result;
}

std::string verbs_of(const CLI::App& app, const std::string& name) {
  std::string result;
  for (const CLI::App* verb : app.get_subcommands({})) {
    const std::string own = name + " " + verb->get_name();
    result += fmt::format(".SS {} {}\n{}.\n", escaped(own), escaped(synopsis(*verb)),
                          escaped(verb->get_description()));
    result += entries(*verb, false) + filled(verb->get_footer()) + verbs_of(*verb, own);
  }
  return result;
}

std::string upper(std::string text) {
  for (char& each : text) {
    if (each >= 'a' && each <= 'z') each = static_cast<char>(each - 'a' + 'A');
    if (each == ' ') each = '-';
  }
  return text;
}

// The first sentence, without the name at its beginning.
std::string in_one_line(std::string about, const std::string& name) {
  if (about.starts_with(name + " ")) about.erase(0, name.size() + 1);
  about.resize(std::min(about.find(". "), about.size()));
  if (about.ends_with('.')) about.pop_back();
  return about;
}

}  // namespace

std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t open = type.find('{');
  const std::size_t close = type.find('}');
  std::vector<std::string> words;
  if (open == std::string::npos || close == std::string::npos) return words;
  std::istringstream list(type.substr(open + 1, close - open - 1));
  for (std::string word; std::getline(list, word, ',');) words.push_back(word);
  return words;
}

std::string synopsis(const CLI::App& app) {
  std::string text = "[OPTIONS]";
  for (const CLI::Option* option : app.get_options(is_shown)) {
    if (option->nonpositional()) continue;
    std::string name = option->get_name(true);
    if (option->get_items_expected_max() > 1) name += " ...";
    text += option->get_required() ? " " + name : " [" + name + "]";
  }
  if (!app.get_subcommands({}).empty()) text += " VERB ...";
  return text;
}

std::string page_of(const CLI::App& app, const Page& page) {
  std::string name = page.name;
  std::ranges::replace(name, ' ', '-');
  std::string text = fmt::format(
      ".TH {} {} \"\" \"stabd {}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{} {}\n.SH DESCRIPTION\n{}\n"
      ".SH OPTIONS\n{}",
      escaped(upper(page.name)), page.section, STAB_VERSION, escaped(name),
      escaped(in_one_line(app.get_description(), page.name)), bold(page.name),
      escaped(synopsis(app)), escaped(app.get_description()), entries(app, true));
  if (const std::string verbs = verbs_of(app, page.name); !verbs.empty())
    text += ".SH VERBS\n" + verbs;
  for (const Page::Part& part : page.parts)
    text += ".SH " + escaped(part.title) + "\n" + filled(part.text);
  return text;
}

}  // namespace stab::manual
