// SPDX-License-Identifier: MIT
// A manual page, in the language of man(7), from the same description of verbs and options that
// parses command lines and prints --help: they cannot differ.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace stab::manual {

struct Page {
  std::string name;  // "stabctl run"
  int section = 1;
  // Behind what the command line has. Lines of a text that begin with two spaces stay as they are,
  // the others are filled.
  struct Part {
    std::string title;
    std::string text;
  };
  std::vector<Part> parts;
};

std::string page_of(const CLI::App& app, const Page& page);

// What an option may be if only some words are allowed: {"text", "json"}.
std::vector<std::string> words_of(const CLI::Option& option);

// What stands on command lines behind the name: "[OPTIONS] plan".
std::string synopsis(const CLI::App& app);

}  // namespace stab::manual
