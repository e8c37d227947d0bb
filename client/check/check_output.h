// SPDX-License-Identifier: MIT
// The lines and JSON of `stabctl check`, apart from the design's own: about comparisons, rules that
// exclude trials, commits, studies, waiting for a quiet machine, events, and measures. Each section
// is built once, as a value or as a row of fields of check's JSON. report/json.h renders it as
// JSON, and value_lines renders it as lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/readings.h"
#include "plan/plan.h"
#include "report/sections/section.h"
#include "results/prediction.h"

namespace stab::client {

using results::prediction::Detectable;
using results::prediction::Family;
using results::prediction::OnMachines;

// The texts of the value's fields, in order. The text of a field comes before those of its value.
std::vector<std::string> value_lines(const report::Value& value);

// "these 4 benchmarks", "benchmarks like these", "each benchmark".
std::string words_of(const plan::Plan& plan, stats::Scope scope);

// One of check's smallest_detectable, with its line.
report::Row detectable_row(const Detectable& each);

// The comparisons: how many are corrected together, their error's degrees of freedom, and warnings
// about families with few of these. The lines sum up each family and have the smallest changes that
// it finds; JSON has an entry for each benchmark of a family. `source` says where the standard
// deviations come from.
report::Row comparisons(const plan::Plan& plan, const std::vector<Family>& families,
                        const std::vector<Detectable>& detectable, const std::string& source);

// The trials of a plan, or those that an experiment ran before it ended.
struct Amount {
  double trials = 0;        // of all nodes together
  std::uint32_t nodes = 1;  // they run equal parts of the trials at the same time
};

// How many nodes the plan's question needs: which changes more nodes find, and how many find the
// plan's margin. `source` says where the standard deviations come from. Null if the plan runs on
// stabd's own machine, or if its analysis can't tell nodes apart.
report::Value nodes_needed(const plan::Plan& plan, const std::vector<OnMachines>& known,
                           const std::string& source);

// Estimates how long `wanted` will take if `ran` took `taken`.
std::chrono::nanoseconds scaled_duration(std::chrono::nanoseconds taken, const Amount& ran,
                                         const Amount& wanted);

// The readings of a trial on this machine, for the rules that exclude trials. They show only which
// readings are absent here.
std::vector<counters::Reading> readings_here();

// The rules, with warnings about rules that can't be applied to these readings. Null if the plan has
// no rules.
report::Value exclusions(const plan::Plan& plan, std::span<const counters::Reading> here);

// The commits that a plan compares, with one line for each level with a revision: "version old:
// commit 1a2b..."
report::Value revisions(const plan::Plan& plan);

// Calibrations, padding studies, causal profiles and fractional designs, in addition to their cells
// and models. Empty for other designs.
std::vector<std::string> study_words(const plan::Plan& plan);

// Waiting for a quiet machine: one line, and a warning for each limit whose value this machine
// doesn't show. Null if the plan does not wait.
report::Value quiet_wait(const plan::Plan& plan);

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

// The counted events, the sets that take turns, and the sampled event.
report::Row events(const plan::Plan& plan, const CountersHere& here);

// Numbers that are read from the programs' output, and derived measures. The lines also name
// further responses.
report::Row measures(const plan::Plan& plan);

}  // namespace stab::client
