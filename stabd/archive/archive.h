// SPDX-License-Identifier: MIT
// Writes an experiment to a file, which is a database of stabd with nothing else in it, and reads
// such a file. So an archive has each column that the store has (store/rows/codec.cc).
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "store/records.h"

namespace stab::archive {

// Writes an experiment that has ended to a file that must not exist yet. Somebody else may write to
// the database meanwhile.
Result<void> write(const std::string& database, store::Id id, const std::string& file);

// The user to whom an imported experiment belongs.
struct Receiver {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  // If true, the archive's data about its machine and the machine's calibrations are added to the
  // same machine here. Otherwise the experiment gets a machine of its own, without calibrations.
  bool believed = false;
  std::string name{};  // the file's name in messages
};

// Verifies a file from an untrusted source and splits its experiment into parts (intake.h). `parts`
// is a database that does not exist yet. No other file in its folder may begin with its name, and
// the folder is removed when the parts have been imported.
Result<void> take_apart(const std::string& file, const Receiver& receiver,
                        const std::string& parts);

}  // namespace stab::archive
