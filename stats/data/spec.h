// SPDX-License-Identifier: MIT
// Says how to analyse a dataset. Columns are given by name; "" means that there is no such column.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/planning/repeated.h"

namespace stab::stats {

enum class Design {
  // Each subject separately: y ~ block + a * b. With one treatment and no block it is one-way.
  factorial,
  // All subjects in one model: y ~ a * b + Error(subject / (a * b)). The question is whether a
  // treatment has an effect across subjects.
  within_subjects,
  // Each subject separately: y ~ a * b + Error(a:b:seed). A treatment is tested against the
  // variation between seeds.
  nested,
  // Nothing differs: see calibration.h.
  calibration,
  // Like nested, but both levels of the one treatment have the same seeds: see estimate.h.
  padding_study,
};

// Fractional designs: effects of treatments with two levels that the design cannot tell apart. The
// model has one term for all of them.
struct AliasChain {
  std::uint32_t effect = 0;  // the shortest of these effects; bit i: Spec::treatments[i]
  std::string aliases{};     // the other effects, in words: "c:d, a:b:e"
};

// `stabilizer`: the procedure of Curtsinger and Berger (STABILIZER, ASPLOS 2013); see paper.h.
enum class Method { standard, stabilizer };

// The way in which terms of unbalanced data are adjusted for each other; see factorial.h.
enum class SumsOfSquares { type2, type3 };

// The unit that the response counts.
enum class Unit { nanoseconds, bytes, number };

// If there are several subjects: whether the answer is about these very subjects, or about subjects
// like these.
enum class Programs { these, like_these };

// The source of a comparison's error; see own_error.h.
enum class Error {
  own,     // how much the comparison itself varies between blocks
  pooled,  // the residuals of y ~ block + a * b: all treatments act alike in all blocks
};

// The assumption about the numbers that lost trials would have had; see refusals.cc.
enum class Losses {
  extremes,  // the numbers may be as small and as large as their limits permit
  monotone,  // one level loses all trials that the other would lose, and some more (Lee's bounds)
  random,    // losses don't depend on what is compared, so their bounds decide nothing
};

// Any other name means extremes.
constexpr Losses losses_named(std::string_view name) {
  if (name == "monotone") return Losses::monotone;
  return name == "random" ? Losses::random : Losses::extremes;
}

// The average that a verdict is about. mean: over all blocks (or other units). typical: the trimmed
// mean, which exceptional units don't move (own_error.h: trimmed_mean_of). median: half of the
// units exceed it.
enum class Estimand { mean, typical, median };
inline constexpr std::array estimands{Estimand::mean, Estimand::typical, Estimand::median};

// The name in commands, plans and reports.
constexpr std::string_view estimand_name(Estimand estimand) {
  if (estimand == Estimand::typical) return "typical";
  return estimand == Estimand::median ? "median" : "mean";
}

// Any other name means the mean.
constexpr Estimand estimand_named(std::string_view name) {
  for (const Estimand each : estimands)
    if (estimand_name(each) == name) return each;
  return Estimand::mean;
}

// The origin of the response's numbers; see decide.h.
enum class Origin {
  trial,     // each trial measures its own number
  build,     // it is a fact of the program that a trial runs
  building,  // it was measured once, while the program was built
};

// Two levels of a treatment that are the same program, run in the same way, for one subject.
struct Alike {
  std::string subject{};
  std::string treatment{};
  std::string first{};
  std::string second{};
};

// A treatment whose levels have builds of their own that are drawn at random, for example with a
// random link order: each build is one of many.
struct DrawnBuilds {
  std::string subject{};  // "": all subjects
  std::string treatment{};
};

// A machine that is out of order (slow_machines.h).
struct SlowMachine {
  std::string name{};
  double times = 1;  // as long as on the other machines of its kind
};

struct Spec {
  Method method = Method::standard;
  Design design = Design::factorial;
  std::string response = "wall";  // the response's name in formulas and sentences
  Unit unit = Unit::nanoseconds;
  Origin origin = Origin::trial;
  std::string subject{};  // the benchmark
  std::vector<std::string> treatments{};
  std::string block{};
  std::string seed{};                // nested and padding studies: the random factor
  std::string comparison{};          // calibrations: which comparison the block belongs to
  std::vector<AliasChain> chains{};  // factorial designs only: all chains of a fraction
  bool log_scale = true;             // compare geometric means: effects are ratios
  SumsOfSquares sums_of_squares = SumsOfSquares::type2;
  Error error = Error::own;  // factorial designs with blocks
  Estimand estimand = Estimand::mean;
  Losses losses = Losses::extremes;
  // The bounds of trials without a number, in the response's unit. Excluded trials are within the
  // bounds of their cell instead.
  std::optional<double> lost_at_least{};
  std::optional<double> lost_at_most{};
  bool independent_blocks = false;  // the error of a mean over blocks allows for no dependence
  Programs programs = Programs::like_these;
  // The subjects are machines. A block ran on one machine, so blocks of two machines are different
  // blocks, even if their names are equal. `programs` says whether the answer is about these
  // machines or about machines like these.
  bool machines = false;
  // The column with the kind of each machine, which decides whether one is slow (slow_machines.h).
  std::string machine_kind{};
  // Without that column: the machines that are left out, because another analysis has found them.
  std::vector<SlowMachine> slow_machines{};
  bool all_pairs = false;         // compare all levels with each other, not only with the first
  bool higher_is_better = false;  // a larger response is better
  // A level that repeats the first one. Its difference from the first level shows which changes are
  // too small to detect (stats/verdicts/decide.h). The control takes no part in corrections for
  // several comparisons, and it answers no question. "": there is no control.
  std::string control{};
  // The treatments that the question names, in its order: the answer begins with them.
  std::vector<std::string> asked{};
  // The treatments that are no factors of the user's own, such as the parts of a layout.
  std::vector<std::string> built_in{};
  bool in_order = true;  // rows are in the order of time
  // The step of the clock (or whatever measured the response), which intervals allow for. Absent:
  // the step is found from the numbers, unless they may be counts (prepare_data.h). 0: the numbers
  // are exact.
  std::optional<double> resolution{};
  bool number_is_measured = false;  // a response without a unit may come from a clock
  bool ratio_of_times = false;      // a response without a unit that is a time divided by another
  // All trials of a level come before those of the next one, as the caller's notes say.
  bool one_after_other = false;
  // The treatment whose levels are one session each, for example one file each. How much sessions
  // vary is not known, so interactions with this treatment are not tested. "": there is none.
  std::string sessions{};
  // The order of each block's trials was drawn at random, so that randomization tests are exact.
  // Without blocks, the order of all trials was drawn, or the seeds that each level got.
  bool order_drawn = false;
  bool assumptions = true;   // test them, and compute what is valid without them
  bool interactions = true;  // test them, which may take longer than all comparisons
  double alpha = 0.05;
  std::optional<double> equivalence{};  // 0.01: a change of less than 1 % does not matter
  std::uint64_t random_seed = 1;        // for permutations that are drawn
  std::vector<Alike> alike{};           // comparisons that need no test: see decide.h
  std::vector<DrawnBuilds> drawn{};     // builds whose facts are samples: see decide.h
  std::optional<Looks> looks{};         // p and intervals of effects hold at all looks (repeated.h)

  // The place of a treatment in answers: treatments that the question names come first, then the
  // user's other ones, then the built-in ones. Only those that the question names have a place
  // below asked.size(), each its own.
  [[nodiscard]] std::size_t place_of(const std::string& treatment) const {
    const auto named = std::ranges::find(asked, treatment);
    if (named != asked.end()) return static_cast<std::size_t>(named - asked.begin());
    return asked.size() + (std::ranges::find(built_in, treatment) == built_in.end() ? 0U : 1U);
  }
};

}  // namespace stab::stats
