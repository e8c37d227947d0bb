// SPDX-License-Identifier: MIT
// The program that reads many trials for the daemon (stabd --reader): reports, exports, stopping
// rules and verification. It opens the database read-only, answers one request and ends.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/error.h"

namespace stab::reader {

// Limits the resources that reading an untrusted file may use.
struct Bounds {
  std::uint64_t memory = 0;     // this process's bytes of address space
  std::chrono::seconds cpu{0};  // after this time the kernel ends the process
  std::uint64_t written = 0;    // the most bytes of each file that it writes
};

// The bounds for a file of this size. Files that stabd made need only a small part of them.
Bounds bounds_for(std::uint64_t bytes_of_file);

// Bounds this process until its end. Further memory is refused (std::bad_alloc), and so are further
// writes, as on a full disk.
void keep_within(const Bounds& bounds);

// Gives this process the user's rights and no capabilities, and /dev/null as its streams. From here
// on it may only use memory, the time and its open descriptors; every other system call fails.
Result<void> only_compute(std::uint32_t uid, std::uint32_t gid);

// The same for a process that reads an open database: it may also lock its open files, and ask for
// the size of a file.
Result<void> only_use_open_files(std::uint32_t uid, std::uint32_t gid);

// Descriptor 3 is a file with the request (protocol/reading.h), which the answer replaces. Returns
// the exit code: 0 if the file has an answer, even a refusal; otherwise 1.
int serve();

// Answers the request in this file.
Result<void> answer_in(int file);

}  // namespace stab::reader
