// SPDX-License-Identifier: MIT
// Turns a request into the line of its answer.
#pragma once

#include <string_view>

#include "base/error.h"
#include "protocol/reading.h"
#include "stabd/reader/answer_file.h"
#include "store/reader.h"

namespace stab::reader {

// Writes the line without its newline. After an error the file does not hold an answer.
Result<void> answer(store::Reader& store, const protocol::ReadRequest& request, AnswerFile& file);

// Answers requests about an archive, which open the files that they need themselves.
bool is_of_archive(protocol::Reading reading);
Result<void> answer_of_archive(const protocol::ReadRequest& request, AnswerFile& file);

// Answers the line with which a client submits a plan.
Result<void> answer_of_plan(const protocol::ReadRequest& request, std::string_view line,
                            AnswerFile& file);

}  // namespace stab::reader
