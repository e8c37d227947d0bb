// SPDX-License-Identifier: MIT
// Sums over an experiment's trials for its report, added one trial at a time: counters, load,
// output, layouts, samples, and the profiles of causal plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "plan/measures/names.h"
#include "plan/plan.h"
#include "report/model.h"
#include "stats/numbers/summary.h"
#include "store/records.h"

namespace stab::results {

// The names of the measures that the plan defines itself, in the plan's order.
std::vector<std::string> measure_names(const plan::Plan& plan);

// How to treat a trial that has no reading of a counter.
enum class Missing {
  absent,    // the trial should have one, so it counts as absent
  not_meant  // its benchmark or its block does not have this counter
};

// Sums up the events that a plan counts and the measures that it defines.
class CounterCounter {
 public:
  CounterCounter(const std::vector<std::string>& names, Missing missing);
  // Adds a counter for each region in these readings that no earlier trial had.
  void look_for_regions(const std::vector<counters::Reading>& readings);
  void add(const std::vector<counters::Reading>& readings);
  [[nodiscard]] std::vector<report::Counter> result() const;

 private:
  static constexpr std::size_t most_regions = 2 * plan::max_regions;  // from one program's regions
  Missing missing_;
  std::size_t regions_ = 0;
  std::vector<report::Counter> counters_;
  std::vector<std::vector<double>> values_;  // the comparable values of each counter
};

// Sums up what else ran on the machine during trials.
class LoadCounter {
 public:
  // The trial must be measured and ok.
  void add(const store::Trial& trial);
  [[nodiscard]] report::Load result() const;

 private:
  // The sums over the trials that have the reading; other trials do not count.
  struct Share {
    double part_ns = 0;
    double wall_ns = 0;
  };
  report::Load load_;
  Share others_;
  Share stolen_;
};

// Finds out which benchmarks printed different output in successful trials, and which factors
// decide what they print.
class OutputCounter {
 public:
  explicit OutputCounter(const plan::Plan& plan);
  // The trial must be measured and ok. `cell`: its benchmark and the levels of the treatments.
  void add(const store::Trial& trial, const std::string& cell);
  // The benchmarks whose trials printed different output, in the order of their first trials.
  [[nodiscard]] std::vector<report::Outputs> result() const;

 private:
  // Trials that have something in common.
  struct Group {
    void add(const std::string& digest);
    std::string first{};
    std::uint64_t trials = 0;
    bool differs = false;
  };
  using Groups = std::map<std::string, Group>;
  struct Benchmark {
    std::string name{};
    Group all{};
    std::unordered_set<std::size_t> digests{};  // as hashes
    Groups cells{};
    std::map<std::string, Groups> factors{};  // by factor and level
  };

  static bool decides(const Groups& levels);
  [[nodiscard]] report::Outputs outputs_of(const Benchmark& benchmark) const;

  std::vector<std::string> factors_;  // in the plan's order
  bool are_measured_;                 // whether the program's output holds measurements
  std::vector<Benchmark> benchmarks_;
};

// Sums up what the programs' runtimes reported.
class LayoutCounter {
 public:
  void add(const store::Layout& layout);
  [[nodiscard]] report::Layouts result() const;

 private:
  // `layout` must be that of a randomized trial.
  void add_notes(const store::Layout& layout);

  report::Layouts counts_;
  std::set<std::string> kinds_;
  std::set<std::string> in_place_;  // why programs cannot have a runtime
  std::set<std::string> unpadded_;  // why stack frames of randomized trials have no pads
  std::map<std::string, report::LayoutNote>
      notes_;                   // of randomized trials, by text without numbers
  std::vector<double> shares_;  // one for each randomized trial
  std::vector<double> epochs_;
  std::vector<double> fixed_;  // the shares of the heaps' bytes that were not shuffled
};

// "sort/BM_insert", or "sort" if the samples belong to the whole program.
std::string subject_of(const store::Trial& trial, const counters::Samples& samples);

// The number of subjects that one benchmark of a plan can have; a note says that further subjects
// of its program are left out.
inline constexpr std::size_t most_subjects = 1000;

// Sums up the samples of the trials to tell how much of the variance is between trials, and how
// much within them.
class SampleSums {
 public:
  // Sums up the plan's first response, on the scale on which it is compared.
  explicit SampleSums(const plan::Plan& plan);
  // `cell`: the trial's benchmark and levels.
  void add(const store::Trial& trial, const std::string& cell);
  // Has the subjects for which some trial has two samples and some cell has two trials.
  [[nodiscard]] std::vector<report::WithinTrials> result() const;

 private:
  using Trials = std::vector<stats::Moments>;  // one item for each trial, over its samples

  std::string response_;
  bool log_scale_;
  double alpha_;
  // Subjects are in the order of their first trials; each has its trials by cell.
  std::map<std::string, std::size_t> places_;
  std::vector<std::pair<std::string, std::map<std::string, Trials>>> subjects_;
};

// Makes a profile of each cell from the trials of a causal plan.
class CausalCells {
 public:
  // Adds a trial that counts. The error names a trial whose profile can't be read.
  Result<void> add(const plan::Plan& plan, const store::Trial& trial);
  // Analyses the profiles and moves them into the document, in the order in which the cells first
  // came, with notes on problems with their sampling. Call it once.
  void finish(const plan::Plan& plan, report::Document& document);

 private:
  std::vector<report::CausalCell> result(const plan::Plan& plan);
  // If the plan makes arrivals faster by several times, combines the cells that differ only in this
  // time.
  std::vector<report::CausalLoads> loads(const plan::Plan& plan);
  Result<void> add_to_loads(const plan::Plan& plan, const store::Trial& trial,
                            const plan::Factor& arrivals);

  std::vector<report::CausalCell> cells_;
  std::map<std::string, std::size_t> places_;  // by the cell's name
  std::vector<report::CausalLoads> loads_;
  std::map<std::string, std::size_t> places_with_loads_;
};

}  // namespace stab::results
