// SPDX-License-Identifier: MIT
// The lines and JSON of `stabctl check`, apart from the design's own: about comparisons, rules that
// exclude trials, commits, studies, waiting for a quiet machine, events, and measures.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/readings.h"
#include "plan/plan.h"
#include "results/prediction.h"

namespace stab::client {

using results::prediction::Detectable;
using results::prediction::Family;

// With fewer degrees of freedom, an error is so uncertain that only large changes are found.
inline constexpr std::size_t few_df = 10;

// "these 4 benchmarks", "benchmarks like these", "each benchmark".
std::string words_of(const plan::Plan& plan, stats::Scope scope);
// "these", "like-these", or "".
std::string key_of(stats::Scope scope);

// A sentence for each family with few degrees of freedom.
std::vector<std::string> warnings(const plan::Plan& plan, const std::vector<Family>& families,
                                  const std::vector<Detectable>& detectable);

// The trials of a plan, or those that an experiment ran before it ended.
struct Amount {
  double trials = 0;        // of all nodes together
  std::uint32_t nodes = 1;  // they run equal parts of the trials at the same time
};

// Estimates how long `wanted` will take if `ran` took `taken`.
std::chrono::nanoseconds scaled_duration(std::chrono::nanoseconds taken, const Amount& ran,
                                         const Amount& wanted);

// Describes the comparisons, with warnings: how many are corrected together, their error's degrees
// of freedom, and the smallest changes that they find. `source` says where the standard deviations
// come from.
std::vector<std::string> comparison_lines(const plan::Plan& plan,
                                          const std::vector<Family>& families,
                                          const std::vector<Detectable>& detectable,
                                          const std::string& source);

// Adds the fields of check's JSON with the same content.
void add_comparisons(const plan::Plan& plan, const std::vector<Family>& families,
                     const std::vector<Detectable>& detectable, nlohmann::ordered_json& root);

// The readings of a trial on this machine, for the rules that exclude trials. They show only which
// readings are absent here.
std::vector<counters::Reading> readings_here();

// Describes the rules, and warns about rules that can't be applied to these readings. Empty if the
// plan has no rules.
std::vector<std::string> exclusion_lines(const plan::Plan& plan,
                                         std::span<const counters::Reading> here);

// The field of check's JSON with the same content; null if the plan has no rules.
nlohmann::ordered_json exclusion_json(const plan::Plan& plan,
                                      std::span<const counters::Reading> here);

// The commits that a plan compares: one line for each level with a revision: "version old: commit
// 1a2b..."
std::vector<std::string> revision_lines(const plan::Plan& plan);
nlohmann::ordered_json revisions_json(const plan::Plan& plan);

// Calibrations, padding studies, causal profiles and fractional designs, in addition to their cells
// and models. Empty for other designs.
std::vector<std::string> study_words(const plan::Plan& plan);

// Waiting for a quiet machine: one line, and a warning for each limit whose value this machine
// doesn't show. Empty if the plan does not wait.
std::vector<std::string> wait_lines(const plan::Plan& plan);

// The field of check's JSON with the same content; null if the plan does not wait.
nlohmann::ordered_json wait_json(const plan::Plan& plan);

// Which of a plan's events this machine can count.
struct CountersHere {
  struct Set {
    std::vector<counters::Reading> lacking{};  // events that its blocks cannot count, and why
    bool fits = true;                          // its blocks count all others at the same time
  };
  std::vector<Set> sets{};  // parallel to plan::Plan::rotated; one if no sets take turns
  std::string profile{};    // why trials can't be sampled; "": they can, or the plan has no profile
};

// Looks at the machine as a trial would: gives up root's rights if trials run without them. An
// unknown event is an error.
Result<CountersHere> counters_here(const plan::Plan& plan);

std::vector<std::string> counter_lines(const plan::Plan& plan, const CountersHere& here);
nlohmann::ordered_json counters_json(const plan::Plan& plan, const CountersHere& here);
// The sets that take turns.
nlohmann::ordered_json rotate_json(const plan::Plan& plan, const CountersHere& here);

// The sampled event; null if the plan has no profile.
nlohmann::ordered_json profile_json(const plan::Plan& plan, const CountersHere& here);

// Further responses, numbers that are read from the programs' output, and derived measures.
std::vector<std::string> measure_lines(const plan::Plan& plan);
nlohmann::ordered_json measures_json(const plan::Plan& plan);

}  // namespace stab::client
