// SPDX-License-Identifier: MIT
// An experiment's stored trials, and what of them the analysis looks at: the plan's response, or
// another number that somebody asks for.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "counters/reading.h"
#include "plan/plan.h"
#include "stats/data/dataset.h"
#include "stats/data/spec.h"
#include "store/reader.h"

namespace stab::results {

// As Reader::for_each_trial, whose checksums do not notice a trial that a query does not find: of an
// experiment that is done or runs this fails, too, where the positions or the attempts have a gap,
// and where one that ran to the end of its plan has fewer of them. Of one that failed or waits it
// gives the rows there are.
store::Outcome<void> for_each_trial(store::Reader& store, const store::Experiment& experiment,
                                    const std::function<bool(const store::Trial&)>& row);

// `name`: analysis.response. Nothing: the trial has no such number.
std::optional<counters::Number> response_of(const store::Trial& trial, const std::string& name);

// A number of one of the subjects of the analysis.
struct SubjectNumber {
  std::string subject;
  std::optional<counters::Number> value;
};
// What the trial has of `name`: one number, of its benchmark, or one of each benchmark that its
// program measured ("sort/BM_insert"). Of samples it is their mean, the geometric one where
// logarithms are compared: they are no trials.
std::vector<SubjectNumber> numbers_of(const store::Trial& trial, const plan::Plan& plan,
                                      const std::string& name);

// How numbers of this name come about.
stats::Origin origin_of(std::string_view name);

// Whether the plan draws its builds at random, as by a random order of linking.
bool draws_builds(const plan::Plan& plan, const plan::Benchmark& benchmark);
// Of those that do: the treatments whose levels are built, too.
std::vector<stats::DrawnBuilds> drawn_builds(const plan::Plan& plan);

// Of `name`, as the trial has it.
stats::Unit unit_of(const store::Trial& trial, const std::string& name);

// What the plan says of a measure that it defines; "" where it has none of that name. Numbers of one
// name and definition are the same number.
std::string definition_of(const plan::Plan& plan, const std::string& name);

// Integers as distances from the first one, which doubles hold exactly, as long as all of them are
// integers and none is farther from the first than half of its size: that loses digits. Real numbers
// stay as they are.
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

// "sort opt=O2": the benchmark, or another subject, and its level of each treatment.
std::string cell_text(const plan::Plan& plan, const store::Trial& trial);
std::string cell_text(const plan::Plan& plan, const store::Trial& trial, std::string subject);

// Of a report of another number than the one that the plan compares.
struct Asked {
  std::string response{};  // "": the plan's
  std::string better{};    // "lower" or "higher"; "": what the plan says of it, else lower
};

// The plan as if it compared that number alone. It may be a response or any reading of the
// experiment's trials; a name that is none is an error with the nearest ones, and so is a number that
// the plan's design cannot compare.
Result<plan::Plan> plan_about(store::Reader& store, const store::Experiment& experiment,
                              plan::Plan plan, const Asked& asked);

// A note on reports of a number that the plan does not compare; "" for those that it does.
std::string asked_note(const plan::Plan& plan, const Asked& asked);

}  // namespace stab::results
