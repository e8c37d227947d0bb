// SPDX-License-Identifier: MIT
#include "instrumenter/driver/companions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <initializer_list>

#include "instrumenter/link_flags.h"

namespace stab::driver {
namespace {

namespace fs = std::filesystem;

std::string real(const fs::path& path) {
  std::error_code error;
  const fs::path resolved = fs::canonical(path, error);
  return error ? path.string() : resolved.string();
}

bool runnable(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

// The first of the folders (relative to `start`) that holds `name`.
std::string first_with(const fs::path& start, std::initializer_list<const char*> folders,
                       std::string_view name) {
  for (const char* folder : folders) {
    const fs::path folder_path = (start / folder).lexically_normal();
    if (access((folder_path / name).c_str(), R_OK) == 0) return folder_path / name;
  }
  return "";
}

// clang-19 -> clang++-19, /opt/bin/clang -> /opt/bin/clang++; "" if the name is not of that form.
std::string cxx_name(const std::string& clang) {
  const fs::path path(clang);
  const std::string name = path.filename();
  constexpr std::string_view kClang = "clang";
  if (!name.starts_with(kClang) || name.starts_with("clang++")) return "";
  return path.parent_path() / ("clang++" + name.substr(kClang.size()));
}

}  // namespace

Companions find_companions(const std::string& program) {
  const fs::path here = fs::path(program).parent_path();
  Companions found;
  found.linker = first_with(here, {".", "../libexec/stabd", "../libexec"}, "ld.stab");
  found.postlink = first_with(here, {".", "../libexec/stabd", "../libexec"}, "stab-link");
  const auto library = [&](std::string_view name) {
    return first_with(here, {"../lib/stabd", "../lib", "../../lib/stabd", "../../lib"}, name);
  };
  found.runtime = library(instrumenter::executable_object);
  found.library = library(instrumenter::library_object);
  found.plugin = library("stab-pass.so");
  const std::string header =
      first_with(here, {"../include/stabd", "../include", "../../include/stabd", "../../include"},
                 "stabilizer.h");
  if (!header.empty()) found.include = fs::path(header).parent_path();
  return found;
}

std::string running_program(const std::string& argv0) {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? real(search_path(argv0)) : self.string();
}

std::string search_path(std::string_view name) {
  if (name.empty()) return "";
  if (name.contains('/')) return runnable(std::string(name)) ? std::string(name) : "";
  const char* variable = std::getenv("PATH");
  std::string_view path = variable != nullptr ? variable : "/usr/bin:/bin";
  for (;;) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    std::string file = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    if (runnable(file)) return file;
    if (colon == std::string_view::npos) return "";
    path.remove_prefix(colon + 1);
  }
}

Result<Words> find_clang(std::string_view choice, bool cxx) {
  Words words;
  if (!search_path(choice).empty()) {
    words = {std::string(choice)};
  } else {
    words = split_response(choice);
  }
  if (words.empty()) words = {search_path("clang-19").empty() ? "clang" : "clang-19"};
  for (std::string& word : {std::ref(words.front()), std::ref(words.back())}) {
    std::string program = search_path(word);
    if (program.empty())
      return fail(fmt::format("there is no program {}; install clang-19 or set STAB_CLANG", word));
    word = std::move(program);
  }
  if (!cxx) return words;
  const std::string name = cxx_name(words.back());
  if (runnable(name)) {
    words.back() = name;
  } else if (!fs::path(words.back()).filename().string().starts_with("clang++")) {
    words.emplace_back("--driver-mode=g++");
  }
  return words;
}

std::string find_lld(const std::string& clang) {
  const fs::path resolved = real(clang);
  std::string beside = resolved.parent_path() / "ld.lld";
  if (resolved.filename().string().starts_with("clang") && runnable(beside)) return beside;
  const std::string versioned = search_path("ld.lld-19");
  return versioned.empty() ? search_path("ld.lld") : versioned;
}

bool loads_our_plugin(const std::string& program) {
  std::error_code error;
  const std::string path = fs::canonical(program, error).string();
  return path.find("/llvm-") == std::string::npos || path.find("/llvm-19/") != std::string::npos;
}

}  // namespace stab::driver
