// SPDX-License-Identifier: MIT
// What an experiment of `stabctl ab` says, in a sentence a version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/model.h"
#include "stats/verdicts/decide.h"

namespace stab::client::ab {

// The standing trials of a version.
struct TrialsOf {
  std::uint64_t ok = 0;
  std::uint64_t lost = 0;           // failed or were skipped
  std::uint64_t moved = 0;          // of the good ones, those whose functions were placed at random
  std::string why{};                // the first of the lost ones
  std::set<std::string> printed{};  // by the good ones: digests
  std::set<std::int64_t> code{};    // bytes of code of what they ran, where that is known
};

struct Compared {
  std::vector<std::string> versions;         // the first is what the others are compared with
  std::string control{};                     // that one once more; "": it was not wanted
  std::map<std::string, TrialsOf> trials{};  // of each
  std::string why_no_heap{};  // why its blocks were not placed at random; "": they were
  std::string heap_cost{};    // what that costs; "": it is not known
  bool padded = false;        // their stack frames had pads of random sizes
  std::string why_no_pads{};  // "": nobody need be told
  bool built = false;         // by one command, with szc as $CC and $CXX
};

// A clause about versions that one command built, with szc for some and without it for others.
std::string not_built_alike(const std::vector<std::string>& by_szc,
                            const std::vector<std::string>& others);

struct Line {
  std::string version;
  std::string verdict;  // "faster", "slower", "same", "unsure"; "none" if it cannot be compared
  std::string sentence;
};

struct Control {
  Line line;
  // 0.004: it differs from itself by up to 0.4 %. Nothing if it differs, or cannot be compared.
  std::optional<double> can_tell;
  // The same also where it differs: no smaller change is a verdict.
  std::optional<double> reach{};
};

struct Conclusion {
  std::vector<Line> lines;  // a version each
  std::optional<Control> control;
  std::string randomized;           // a sentence
  std::string random;               // the same in a few words
  std::string code;                 // one about the size of code; "": it is not known
  std::optional<bool> same_output;  // nothing: one that differs from trial to trial
  stats::Findings findings{};       // of the versions

  [[nodiscard]] std::vector<std::string> sentences() const;
};

// A version that lacks trials has no verdict, and neither has a version that is compared with it.
Conclusion conclude(const report::Document& document, const Compared& compared);

// A table and a list for a pull request.
std::string as_markdown(const report::Document& document, const Conclusion& conclusion);

}  // namespace stab::client::ab
