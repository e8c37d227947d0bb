// SPDX-License-Identifier: MIT
// Turns a request into the line of its answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "protocol/reading.h"
#include "store/reader.h"

namespace stab::reader {

// The file that has the request and gets the answer.
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

// Writes the line without its newline. After an error the file does not hold an answer.
Result<void> answer(store::Reader& store, const protocol::ReadRequest& request, AnswerFile& file);

// Answers requests about an archive, which open the files that they need themselves.
bool is_of_archive(protocol::Reading reading);
Result<void> answer_of_archive(const protocol::ReadRequest& request, AnswerFile& file);

// Answers the line with which a client submits a plan.
Result<void> answer_of_plan(const protocol::ReadRequest& request, std::string_view line,
                            AnswerFile& file);

}  // namespace stab::reader
