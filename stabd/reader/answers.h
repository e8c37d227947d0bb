// SPDX-License-Identifier: MIT
// From what was asked to the answer's line.
#pragma once

#include <string_view>

#include "base/error.h"
#include "protocol/reading.h"
#include "stabd/reader/answer_file.h"
#include "store/reader.h"

namespace stab::reader {

// Writes the line without its end. After an error the file holds no answer.
Result<void> answer(store::Reader& store, const protocol::ReadRequest& request, AnswerFile& file);

// The same of requests about an archive, which open what they need.
bool is_of_archive(protocol::Reading reading);
Result<void> answer_of_archive(const protocol::ReadRequest& request, AnswerFile& file);

// The same of the line with which a client submits a plan.
Result<void> answer_of_plan(const protocol::ReadRequest& request, std::string_view line,
                            AnswerFile& file);

}  // namespace stab::reader
