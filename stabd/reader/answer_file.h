// SPDX-License-Identifier: MIT
// The file that a request came in and that its answer goes to.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::reader {

class AnswerFile {
 public:
  explicit AnswerFile(int file) : file_(file) {}

  // What the daemon wrote, without the end of its line.
  Result<std::string> request();
  // Empties the file.
  Result<void> begin();
  Result<void> add(std::string_view piece);
  // A message whose last text is empty, with what `inside` adds as this text.
  Result<void> add_around(std::string_view message, const std::function<Result<void>()>& inside);
  // The line is complete: all of it is in the file afterwards.
  Result<void> end();

 private:
  Result<void> flush();

  int file_;
  std::string waiting_;
};

}  // namespace stab::reader
