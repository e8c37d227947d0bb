// SPDX-License-Identifier: MIT
// The rules by which programs run with the layer above their allocators, which places small blocks
// at random (doc/decisions/0029-the-program-keeps-its-allocator.md): pairs of test runs, one
// without the layer and one with it, show what the layer changes and costs. `stabctl ab` and the
// daemon both use these rules. The daemon stores its decision about each benchmark of an
// experiment.
#pragma once

#include <boost/describe.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "plan/plan.h"
#include "report/model.h"
#include "store/records.h"

namespace stab::report {
BOOST_DESCRIBE_STRUCT(HeapCost, (), (change, low, high, pairs))
BOOST_DESCRIBE_STRUCT(HeapLayer, (), (benchmark, drawn, why_not, changes, cost))
}  // namespace stab::report

namespace stab::results {

// The largest number of pairs of test runs of a version.
inline constexpr std::uint64_t most_heap_pairs = 10;
// Test runs take at most one in so many parts of the time of all runs.
inline constexpr int heap_tests_one_in = 5;
// A plan with more benchmarks has no test runs: the decisions about all of them are in one column.
inline constexpr std::size_t most_heap_benchmarks = 500;

// The resources that one run used, as far as the layer could change them.
struct HeapRun {
  double cpu_ns = 0;
  double faults = 0;
  std::optional<double> peak{};  // bytes
};
HeapRun heap_run(const store::Trial& run);

// The runs of one version. Each vector has one run of each pair.
struct HeapPairs {
  std::vector<HeapRun> without{};
  std::vector<HeapRun> with{};
};

// The changes that the layer makes in the versions, as a clause: "a has 10700 page faults with the
// heap layer, 10000 without". "" if it changes nothing that matters.
struct HeapChange {
  std::string clause{};
  bool is_time = false;  // the clause gives the change of CPU time
};
BOOST_DESCRIBE_STRUCT(HeapChange, (), (clause, is_time))

// Returns the changes that the layer makes in this version, in addition to what loading it costs
// any program: page faults or peak memory by more than 5 %, or CPU time by more than 10 % if the
// 95 % interval excludes "no change". Otherwise, and with fewer than four pairs, the mean and the
// median of the pairs must both show a change of CPU time by more than 25 %.
HeapChange what_changes(const std::string& version, const HeapPairs& pairs);

// A clause that says that the layer costs the second version a larger or smaller share of its time
// than the first. For this, the difference of the logarithms must be significant at 5 %, and at
// least 1 % and 1 ms of the shorter time; otherwise returns "".
std::string what_costs_more(const std::string& first, const HeapPairs& of_first,
                            const std::string& second, const HeapPairs& of_second);

// The first of these changes, in any of the versions or between the first version and another. Both
// vectors have an entry for each version.
HeapChange first_change(const std::vector<std::string>& versions,
                        const std::vector<HeapPairs>& pairs);

// The cost for all versions together. Nothing if no run took measurable time.
std::optional<report::HeapCost> heap_cost(const std::vector<HeapPairs>& all);
// "+0.4 % of CPU time; 95 % interval -0.2 to +1.1 %, 12 pairs of runs".
std::string said(const report::HeapCost& cost);

// Why a run that failed, or whose heap blocks are not random with the layer, speaks against it.
std::string why_no_layer(const std::string& version, const store::Trial& run, bool with_layer);

// "sort: heap blocks are random (costs +0.4 % of CPU time; 1 pair of runs)"
std::string heap_words(const report::HeapLayer& layer);

// The daemon stores its decisions in the experiment's column heap_layer: a JSON list of
// report::HeapLayer, or "". The first function writes it, with long texts cut.
std::string heap_column(std::vector<report::HeapLayer> layers);
// Fails if the text has another form; an archive may have any text.
Result<std::vector<report::HeapLayer>> heap_layers(const std::string& column);
// Sets Benchmark::has_layer in the plan, and returns the decisions about its benchmarks. Returns
// nothing if the plan does not leave the layer to test runs.
Result<std::vector<report::HeapLayer>> recall_heap(const store::Experiment& experiment,
                                                   plan::Plan& plan);

}  // namespace stab::results
