// SPDX-License-Identifier: MIT
// A whole experiment as a file, which is a database of stabd that holds nothing else.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "store/records.h"

namespace stab::archive {

// An experiment of that database that has ended, as a file that is not there yet. Somebody else may
// write the database meanwhile.
Result<void> write(const std::string& database, store::Id id, const std::string& file);

// Whose an imported experiment is.
struct Receiver {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  // What the archive says of its machine is said of that machine here, with its calibrations. Else
  // the machine is one of its own, of which no calibration is known.
  bool believed = false;
  std::string name{};  // of the file, for people
};

// What an import adds, in parts (intake.h), from a file that anybody may have made: all of it is
// verified. `parts` is a database that is not there yet, in a folder where nothing else begins with
// its name and which goes when they are taken in.
Result<void> take_apart(const std::string& file, const Receiver& receiver,
                        const std::string& parts);

}  // namespace stab::archive
