// SPDX-License-Identifier: MIT
// A folder for the files of one test.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace stab::test {

class Folder {
 public:
  Folder() {
    std::string name = testing::TempDir() + "stabd-XXXXXX";
    path_ = mkdtemp(name.data()) != nullptr ? name : "";
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  // Also creates missing parent folders.
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name, std::ios::binary) << text;
  }
  void make_executable(const std::string& name) const {
    std::filesystem::permissions(*this / name, std::filesystem::perms::owner_exec,
                                 std::filesystem::perm_options::add);
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(*this / name, std::ios::binary).rdbuf();
    return text.str();
  }

 private:
  std::string path_;
};

}  // namespace stab::test
