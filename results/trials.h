// SPDX-License-Identifier: MIT
// Reads an experiment's stored trials and the number of each trial that the analysis looks at: the
// plan's response, or another number that a user asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/readings.h"
#include "design/trial_list.h"
#include "plan/plan.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "store/reader.h"

namespace stab::results {

// Like Reader::for_each_trial, whose checksums can't notice that a query misses a row. If the
// experiment is done, or runs on one machine, this also fails if positions or attempts have a gap, or if an
// experiment that ran to the end of its plan has too few trials. For an experiment that failed or
// waits, it gives the rows that exist.
store::Outcome<void> for_each_trial(store::Reader& store, const store::Experiment& experiment,
                                    const std::function<bool(const store::Trial&)>& row);

// `name`: as in analysis.response. Returns nothing if the trial has no such number.
std::optional<counters::Number> response_of(const store::Trial& trial, const std::string& name);

// A trial's number for one subject of the analysis.
struct SubjectNumber {
  std::string subject;
  std::optional<counters::Number> value;
};
// The trial's numbers called `name`: one number for its benchmark, or one for each benchmark that
// its program measured ("sort/BM_insert"). Samples are not trials, so their mean counts: the
// geometric mean if the plan compares logarithms.
std::vector<SubjectNumber> numbers_of(const store::Trial& trial, const plan::Plan& plan,
                                      const std::string& name);

// A trial without a result, with the bounds of its number called `name` but without codes: its wall
// time is at least the time after which it timed out, or, if it failed otherwise, at most the
// limit. A disturbed trial has a number, which a rule excluded.
stats::Lost lost_trial(const store::Trial& trial, const plan::Plan& plan, const std::string& name);

// Whether numbers of this name come from a build or from a trial.
stats::Origin origin_of(std::string_view name);
// Says what the numbers of the spec's response are.
void describe_response(stats::Spec& spec);

// Whether the plan draws the benchmark's builds at random, for example with a random link order.
bool draws_builds(const plan::Plan& plan, const plan::Benchmark& benchmark);
// For each benchmark with random builds, the treatments that also act on the build.
std::vector<stats::DrawnBuilds> drawn_builds(const plan::Plan& plan);

// The unit of the trial's numbers called `name`.
stats::Unit unit_of(const store::Trial& trial, const std::string& name);

// How the plan defines the measure; "" if it defines no measure of that name. Numbers with equal
// names and definitions can be compared.
std::string definition_of(const plan::Plan& plan, const std::string& name);

// Appends numbers to a dataset's response. As long as all of them are integers, it stores their
// distances from the first one, because doubles hold these exactly; a number farther from the first
// than half its size would lose digits and ends this. Real numbers are stored unchanged.
class Response {
 public:
  explicit Response(stats::Dataset& data) : data_(data) {}
  void append(std::optional<counters::Number> value);

 private:
  void leave_centre();

  stats::Dataset& data_;
  bool centred_ = true;
  std::optional<std::int64_t> centre_;
};

// The levels that a trial's row stores. A plain trial has the level of plan::plain_column instead
// of levels of treatments, so that nobody takes it for a trial of its cell.
std::map<std::string, std::string> stored_levels(const plan::Plan& plan, const plan::Trial& trial);
// Whether the trial is plain (design/trial_list.h). No comparison uses it.
bool is_plain(const store::Trial& trial);

// "sort opt=O2": the benchmark or another subject, and the trial's level of each treatment. A plain
// trial has its own level instead: "sort random-layouts=off".
std::string cell_text(const plan::Plan& plan, const store::Trial& trial);
std::string cell_text(const plan::Plan& plan, const store::Trial& trial, std::string subject);

// A user's request for a report about another number than the plan's response, or about all
// machines as if they were one.
struct Asked {
  std::string response{};        // "" means the plan's response
  std::string better{};          // "lower" or "higher"; "" means what the plan says, or else lower
  bool machines_as_one = false;  // means and comparisons of the benchmark, not of each machine
};

// Returns the plan changed to compare only that number, which may be a response or any reading of
// the experiment's trials. Fails if the trials have no such number, with the nearest name, or if
// the plan's design cannot compare it.
Result<plan::Plan> plan_about(store::Reader& store, const store::Experiment& experiment,
                              plan::Plan plan, const Asked& asked);

// A note for reports about a number that the plan does not compare; "" if it does.
std::string asked_note(const plan::Plan& plan, const Asked& asked);

}  // namespace stab::results
