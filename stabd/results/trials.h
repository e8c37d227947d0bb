// SPDX-License-Identifier: MIT
// An experiment's stored trials, and what of them the analysis looks at.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

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

// Of the same, as the trial has it.
stats::Unit unit_of(const store::Trial& trial, const std::string& name);

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

// "sort opt=O2": the benchmark and its level of each treatment.
std::string cell_text(const plan::Plan& plan, const store::Trial& trial);

}  // namespace stab::results
