// SPDX-License-Identifier: MIT
// Concludes from an experiment of `stabctl ab`, with one sentence for each version.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/messages.h"
#include "report/model.h"
#include "stats/verdicts/decide.h"

namespace stab::client::ab {

// The trials of a version. The last attempt of each trial counts.
struct TrialsOf {
  std::uint64_t ok = 0;
  std::uint64_t lost = 0;           // failed or were skipped
  std::uint64_t moved = 0;          // were ok, with functions placed at random
  std::string why{};                // why the first lost trial was lost
  std::set<std::string> printed{};  // digests of what the ok trials printed
  std::set<std::int64_t> code{};    // bytes of code that trials ran, if known
};

struct Compared {
  std::vector<std::string> versions;         // the others are compared with the first
  std::string control{};                     // the first version's second name; "": no control
  std::map<std::string, TrialsOf> trials{};  // by version
  std::string why_no_heap{};  // why heap blocks were not placed at random; "": they were
  std::string heap_cost{};    // what they cost or change (heap_remark); "": unknown
  bool padded = false;        // stack frames had pads of random sizes
  std::string why_no_pads{};  // why they had no pads; "": the user need not know
  bool built = false;         // one command built all versions, with szc as $CC and $CXX
};

// A clause that says that one command built some versions with szc and others without it.
std::string not_built_alike(const std::vector<std::string>& by_szc,
                            const std::vector<std::string>& others);

struct Line {
  std::string version;
  std::string verdict;  // "faster", "slower", "same", "unsure"; "none" if it cannot be compared
  std::string sentence;
  bool taken_back = false;  // the numbers alone would give a verdict
};

struct Control {
  Line line;
  // 0.004: the version may differ from itself by up to 0.4 %. Absent if the control showed a
  // difference, or can't be compared.
  std::optional<double> can_tell;
  // The same, but present even if the control showed a difference. Smaller changes get no verdict.
  std::optional<double> reach{};
};

struct Conclusion {
  std::vector<Line> lines;  // one for each version except the first
  std::optional<Control> control;
  std::string randomized;           // sentences about what was random
  std::string random;               // the same in a few words
  std::string code;                 // the sizes of the versions' code; "": unknown
  std::optional<bool> same_output;  // absent: a version's output differs from trial to trial
  stats::Findings findings{};       // about the versions, without the control

  [[nodiscard]] std::vector<std::string> sentences() const;
};

// How far a run is at a look at its data.
struct SoFar {
  std::uint64_t done = 0;             // rounds
  std::uint64_t most = 0;             // rounds that run within the budget
  std::uint64_t limit = 0;            // rounds that run with any budget; 0: no limit
  std::chrono::nanoseconds round{0};  // the time that a round takes
  double margin = 0;                  // 0.01 for 1 %
  std::string response{};
};

// Says that the budget will not settle a comparison, and what would help; "" if it may settle all.
std::string foresee(const std::vector<protocol::Change>& changes, const SoFar& so_far);

// A version that lost trials gets no verdict, and neither does a version that is compared with it.
Conclusion conclude(const report::Document& document, const Compared& compared);

// A table and a list for a pull request.
std::string as_markdown(const report::Document& document, const Conclusion& conclusion);

}  // namespace stab::client::ab
