// SPDX-License-Identifier: MIT
// Makes a manual page in the language of man(7). It uses the description of verbs and options that
// also parses command lines and prints --help, so the two can't differ.
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
  // A section after the ones that describe the command line. Lines that begin with two spaces stay
  // as they are; the others are filled.
  struct Part {
    std::string title;
    std::string text;
  };
  std::vector<Part> parts;
};

std::string page_of(const CLI::App& app, const Page& page);

// The words that an option allows, if it allows only some: {"text", "json"}.
std::vector<std::string> words_of(const CLI::Option& option);

// The words after the name on command lines: "[OPTIONS] plan".
std::string synopsis(const CLI::App& app);

}  // namespace stab::manual
