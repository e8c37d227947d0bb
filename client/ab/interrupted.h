// SPDX-License-Identifier: MIT
// Runs of `stabctl ab` that were interrupted, and how the same command finds them and goes on: with the
// plan that they began with, in what is left of their budget.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

// What decides whether a command is the same. Times, and the pace that was measured, are not in it.
struct Call {
  std::string command;                        // its folder, words and options, as one text
  std::map<std::string, std::string> inputs;  // what they name, and its commit, digest or value
  // Files of the working tree that git does not track, and their digests.
  std::map<std::string, std::string> untracked{};
};

Call call_of(const AbOptions& options, const Comparison& comparison, const std::string& directory);

// Finds the untracked files that the measured commands write into the user's own working tree: those
// that differ after the first runs. They are not a change of what is measured.
class OwnFiles {
 public:
  // Looks at the tree in which the folder lies, if it is one of the versions.
  OwnFiles(const Comparison& comparison, std::string directory);
  [[nodiscard]] std::vector<std::string> since() const;

 private:
  [[nodiscard]] std::map<std::string, std::string> look() const;

  std::string directory_;  // "": no version is the working tree
  std::map<std::string, std::string> before_;
};

// What a run leaves beside its database until it has ended: the file ab_mark of run/folder.h.
struct Begun {
  Call call;
  std::vector<std::string> own_files{};  // paths from the top of the working tree
  std::string plan;                      // its text
  std::string work;                      // folder of its builds; "": nothing was built
  std::chrono::nanoseconds time{0};      // of its budget, which is for trials
  // As in Comparison, from its first runs.
  bool heap = false;
  std::string why_no_heap{};
  std::optional<HeapCost> heap_cost{};
  std::string heap_changes{};
  bool pads = false;
  std::string why_no_pads{};
};

Result<void> write_begun(const std::string& folder, const Begun& begun);
void forget_begun(const std::string& folder);

struct Interrupted {
  std::string folder;  // of its database
  Begun begun;
};

// The newest run of the same command that nobody is at: in the folder `wanted`, or if that is "" among
// the user's runs. Its inputs may differ.
std::optional<Interrupted> find_interrupted(const std::string& wanted, const Call& call);

// Why the command cannot go on with it; "" if it can.
std::string why_anew(const Interrupted& found, const Call& call);

// How much of the time for its trials is left, by its database.
std::chrono::nanoseconds time_left(const Interrupted& found);

}  // namespace stab::client::ab
