// SPDX-License-Identifier: MIT
// The program that reads many trials for the daemon (stabd --reader): reports, exports, stopping
// rules and verification. It opens the database read-only, answers one request and ends.
#pragma once

#include "base/error.h"

namespace stab::reader {

// Descriptor 3 is a file with the request (protocol/reading.h), which the answer replaces. Returns
// the exit code: 0 if the file has an answer, even a refusal; otherwise 1.
int serve();

// Answers the request in this file.
Result<void> answer_in(int file);

}  // namespace stab::reader
