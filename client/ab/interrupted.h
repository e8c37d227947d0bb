// SPDX-License-Identifier: MIT
// Finds interrupted runs of `stabctl ab`, so that the same command can continue them with their
// original plan and the rest of their budget.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

// Identifies a command and its inputs. It contains neither times nor the measured pace.
struct Call {
  std::string command;                        // its folder, words and options, as one text
  std::map<std::string, std::string> inputs;  // each input with its commit, digest or value
  // Files of the working tree that git does not track, with their digests.
  std::map<std::string, std::string> untracked{};
};

Call call_of(const AbOptions& options, const Comparison& comparison, const std::string& directory);

// Finds the untracked files that the measured commands write into the user's own working tree:
// these differ after the first runs. Their changes are not changes of the versions.
class OwnFiles {
 public:
  // Looks at the working tree that contains the folder, if it is one of the versions.
  OwnFiles(const Comparison& comparison, std::string directory);
  [[nodiscard]] std::vector<std::string> since() const;

 private:
  [[nodiscard]] std::map<std::string, std::string> look() const;

  std::string directory_;  // "": no version is the working tree
  std::map<std::string, std::string> before_;
};

// The file ab_mark (run/folder.h), which a run leaves beside its database until it has ended.
struct Begun {
  Call call;
  std::vector<std::string> own_files{};  // paths from the top of the working tree
  std::string plan;                      // the plan's text
  std::string work;                      // the folder of its builds; "": nothing was built
  std::chrono::nanoseconds time{0};      // the part of its budget for trials
  // The results of its first runs, as in Comparison.
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
  std::string folder;  // the folder of its database
  Begun begun;
};

// Finds a run of the same command, whose inputs may differ: in the folder `wanted`, or if that is
// "", the newest of the user's runs that no process uses.
std::optional<Interrupted> find_interrupted(const std::string& wanted, const Call& call);

// Why the command cannot continue the run; "" if it can.
std::string why_anew(const Interrupted& found, const Call& call);

// How much of the run's time for trials is left, according to its database.
std::chrono::nanoseconds time_left(const Interrupted& found);

}  // namespace stab::client::ab
