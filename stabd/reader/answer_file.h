// SPDX-License-Identifier: MIT
// The file that has the request and gets the answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::reader {

class AnswerFile {
 public:
  explicit AnswerFile(int file) : file_(file) {}

  // Returns the text that the daemon wrote, without the newline at its end.
  Result<std::string> request();
  // Empties the file.
  Result<void> begin();
  Result<void> add(std::string_view piece);
  // Adds a message whose last text is empty, and fills this text with what `inside` adds.
  Result<void> add_around(std::string_view message, const std::function<Result<void>()>& inside);
  // Ends the line and writes all of it to the file.
  Result<void> end();

 private:
  Result<void> flush();

  int file_;
  std::string waiting_;
};

}  // namespace stab::reader
