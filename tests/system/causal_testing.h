// SPDX-License-Identifier: MIT
// Tests that profile causal_subject.c by 'stabctl causal'.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/system/lab.h"

namespace stab::test {

using Words = std::vector<std::string>;

inline const std::string subject = STAB_SOURCE_DIR "/tests/system/causal_subject.c";

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// FILE:LINE of the line of the subject that ends with the mark.
inline std::string line_of(const std::string& mark) {
  std::ifstream file(subject);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number)
    if (line.ends_with("/* " + mark + " */")) return "causal_subject.c:" + std::to_string(number);
  ADD_FAILURE() << "no line is marked " << mark;
  return "";
}

class CausalSubjectTest : public ::testing::Test {
 protected:
  std::string compile(const std::string& name, const std::string& command) const {
    const Output made =
        run_program({"/bin/sh", "-c", command + " -O1 -I " STAB_SOURCE_DIR "/runtime -o " + name},
                    lab_.folder());
    EXPECT_EQ(made.code, 0) << made.err;
    return lab_.path(name);
  }
  std::string program() const { return compile("subject", "clang-22 -g " + subject); }

  Output causal(Words arguments) const {
    arguments.insert(arguments.begin(), "causal");
    return lab_.ctl(arguments);
  }
  // With short experiments and the subject's lines.
  Output run(Words options, const Words& command) const {
    options.insert(options.end(), {"--experiment", "20ms", "--scope", "*/causal_subject.c", "--"});
    options.insert(options.end(), command.begin(), command.end());
    return causal(options);
  }

  Lab lab_;
};

}  // namespace stab::test
