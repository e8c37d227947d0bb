// SPDX-License-Identifier: MIT
// The result of an analysis, as plain values. A value that could not be computed is absent, never
// NaN, and a note says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/slow_machines.h"
#include "stats/data/spec.h"
#include "stats/tests/estimate.h"
#include "stats/tests/variances.h"
#include "stats/verdicts/calibration.h"

namespace stab::stats {

// One line of an ANOVA table. Only tested terms have F and p; only terms with degrees of freedom
// have a mean square.
struct AnovaRow {
  std::string stratum{};  // "benchmark:opt", "Within", or "" if the model has a single stratum
  std::string term{};     // "opt", "opt:aslr", "block", "Residuals"
  std::string aliases{};  // fractional designs: the other effects that the term stands for
  double df = 0;
  double ss = 0;
  std::optional<double> ms{};
  std::optional<double> f{};
  std::optional<double> p{};
  // Interactions of treatments only: p_adjusted and reason of the Interaction, whose p is not F's.
  std::optional<double> p_adjusted{};
  std::string reason{};
  // The factor by which Greenhouse and Geisser correct the degrees of freedom of p. Only terms with
  // two or more degrees of freedom have one.
  std::optional<double> epsilon{};
  // eta2 is partial eta squared: the term's share of the sum of its own and the error's squares.
  // omega2 estimates the population's share, and eta2_low and eta2_high are the (1 - 2 alpha)
  // interval of that share (variances.h).
  std::optional<double> eta2{};
  std::optional<double> omega2{};
  std::optional<double> eta2_low{};
  std::optional<double> eta2_high{};
};

// The subjects that a result is about.
enum class Scope {
  subject,     // one subject, or data without a subject column
  these,       // the mean over these very subjects
  like_these,  // the mean over subjects like these, of which these are a sample
};

struct AnovaTable {
  std::string subject{};  // "": the model of all subjects, or of data without a subject column
  Scope scope = Scope::subject;
  std::string formula{};  // in R's notation: "log(wall) ~ opt + Error(benchmark/opt)"
  std::vector<AnovaRow> rows{};
};

// The mean of one subject in one cell, in the response's unit. It is geometric on the log scale,
// otherwise arithmetic.
struct CellMean {
  std::string subject{};
  std::vector<std::string> levels{};  // one for each treatment, in the spec's order
  std::size_t n = 0;                  // trials
  double mean = 0;
  std::optional<double> low{};  // the (1 - alpha) interval
  std::optional<double> high{};
  std::optional<double> sd{};  // standard deviation of the trials, in the response's unit
  // The number of lost trials, and the range of means that their limits permit (absent: unbounded,
  // or no trial was lost).
  std::size_t lost = 0;
  std::optional<double> loss_low{};
  std::optional<double> loss_high{};
  // The (1 - alpha) interval of the one true mean, which lies somewhere in that range: the range
  // with the error of its ends (absent: unbounded, or the error of an end is not known).
  std::optional<double> loss_interval_low{};
  std::optional<double> loss_interval_high{};
};

// `faster` is the better direction: a smaller response, or a larger one if higher is better.
enum class Verdict { same, faster, slower, unsure };

// A property that a model assumes of its residuals, with the result of one test.
enum class Property { normality, equal_variances, independence };
struct Assumption {
  std::string subject{};  // as in AnovaTable
  Property property = Property::normality;
  std::string test{};  // "Shapiro-Wilk"
  std::string of{};    // what was tested: "residuals", "differences within blocks"
  std::size_t n = 0;   // numbers
  double statistic = 0;
  double p = 0;
  bool holds = true;      // p >= alpha
  std::string instead{};  // if the property does not hold: a clause that says what is still valid
  // The property does not hold, but no verdict needs it.
  bool is_allowed_for = false;
};

// The same comparison by another method, in case an assumption fails, or of another average.
struct Alternative {
  std::string method{};  // "signed-rank", "log scale", "median"
  std::optional<double> ratio{};
  std::optional<double> low{};
  std::optional<double> high{};
  double p = 0;
};

// The randomization test, if the order was drawn: how often another order would have shown as large
// a change if the levels had no effect in any unit (randomization.h). The interval assumes that the
// change is the same in all units.
struct Randomization {
  std::size_t units = 0;  // number of units that were dealt again
  std::size_t draws = 0;
  bool all = false;  // the draws are all arrangements
  std::uint64_t seed = 0;
  double p = 1;
  // The p over all arrangements lies between these, with probability 1 - 1e-5.
  double p_low = 1;
  double p_high = 1;
  std::optional<double> p_same{};
  std::optional<double> p_same_high{};
  // Made from the high ends and corrected like the other p, so that draws can't make a verdict.
  std::optional<double> p_adjusted{};
  std::optional<double> p_same_adjusted{};
  std::optional<double> low{};  // interval of the ratio
  std::optional<double> high{};
  double least = 1;     // the smallest p that this number of units can have
  bool settled = true;  // more draws would change nothing
  // These describe the numbers for a reader who asks why tests disagree.
  std::optional<double> skewness{};
  std::string influential{};        // the unit whose removal moves the change most
  std::optional<double> without{};  // the ratio without that unit
};

// How far from zero the interval of a control reaches: as a share (0.051: up to 5.1 % in either
// direction), and for raw numbers also as a difference in the response's unit.
struct Reach {
  std::optional<double> share{};
  std::optional<double> difference{};
};

// `level` compared with `baseline`, averaged over the levels of the other treatments. A ratio below
// 1 means that `level` needs less.
struct Effect {
  std::string subject{};  // "" as in AnovaTable
  Scope scope = Scope::subject;
  std::string treatment{};
  std::string baseline{};
  std::string level{};
  std::optional<double> ratio{};  // response at `level` / response at `baseline`
  std::optional<double> low{};    // the (1 - alpha) interval of the ratio
  std::optional<double> high{};
  // For raw numbers only: response at `level` - response at `baseline`, in its unit, with the (1 -
  // alpha) interval. It exists even if the baseline's mean allows no ratio.
  std::optional<double> difference{};
  std::optional<double> difference_low{};
  std::optional<double> difference_high{};
  // Intervals that hold for the whole family together: of the ratio, or else of the difference.
  std::optional<double> low_adjusted{};
  std::optional<double> high_adjusted{};
  // The (1 - 2 alpha) interval, which is compared with the margin.
  std::optional<double> tost_low{};
  std::optional<double> tost_high{};
  std::optional<double> df{};
  std::optional<double> p{};  // two-sided p of "there is no difference"
  // The p of "the difference is not within the margin" (two one-sided tests).
  std::optional<double> p_same{};
  // Both p, corrected for all effects of the family; see decide.h.
  std::optional<double> p_adjusted{};
  std::optional<double> p_same_adjusted{};
  std::string method{};   // where the error comes from: "block:opt", "benchmark:opt", "Welch"
  std::string unit{};     // what counts as one number: "block", "benchmark", "seed", "trial"
  std::size_t units = 0;  // the number of these units
  // With this number of units: the change that is found with 80 % power after the correction for
  // the family (0.012: 1.2 %), and the number of units needed to find a change as large as the
  // margin.
  std::optional<double> detectable{};
  std::optional<std::size_t> needed{};
  std::string aliases{};  // fractional designs: "aslr:env_bytes", which may be the seen effect
  // If trials are missing: what is assumed about them, the range of ratios that they leave
  // possible, widened by its error (absent: unbounded), and the p of "losses do not depend on the
  // cell" (refusals.cc).
  std::optional<Losses> loss_bounds{};
  std::optional<double> loss_low{};
  std::optional<double> loss_high{};
  // For raw numbers only: the same range as differences, in the response's unit.
  std::optional<double> loss_difference_low{};
  std::optional<double> loss_difference_high{};
  std::optional<double> loss_p{};
  std::string reason{};  // why the verdict is what it is, if no number says so
  bool exact = false;    // a fact that differs by exactly this, without a test or interval
  std::vector<Alternative> alternatives{};
  Estimand estimand = Estimand::mean;  // the average that ratio, intervals, p and verdict are about
  // Another average beside the one that the verdict is about: "typical" or "mean".
  std::optional<Alternative> beside{};
  // All averages that the numbers allow, including the verdict's own: "mean", "typical", "median".
  std::vector<Alternative> averages{};
  std::optional<Randomization> randomization{};
  std::optional<Spread> spread{};
  Verdict verdict = Verdict::unsure;
  // The verdict that the comparison's own numbers allow, but the control of the same run does not.
  std::optional<Verdict> held_back{};
  // The reach of that control, or of this effect if it is the control; absent if the spec has no
  // control.
  std::optional<Reach> reach{};
  // The estimate behind ratio, intervals and p; absent if they come from a rank test.
  std::optional<Estimate> estimate{};
};

// How treatments act on each other. If each has two levels, there is a size. On the log scale it is
// a ratio: one treatment's effect at the other's second level, divided by its effect at the other's
// first level. Three treatments have a ratio of such ratios. Raw numbers have differences of
// differences, in the response's unit. If a treatment has more levels, or a cell has no trials,
// there is no size, and p tests several such differences together (add_interactions() in
// effects.h).
struct Interaction {
  std::string subject{};
  Scope scope = Scope::subject;
  std::string term{};                  // "code:heap"
  std::string aliases{};               // as in Effect
  std::optional<double> ratio{};       // log scale only
  std::optional<double> difference{};  // raw numbers only
  std::optional<double> low{};         // the (1 - alpha) interval of the ratio or the difference
  std::optional<double> high{};
  std::optional<double> p{};
  std::optional<double> p_adjusted{};  // corrected for the other interactions; see decide.h
  // If trials are missing: the range that they leave possible, widened by its error (absent:
  // unbounded), and why the answer says of a significant interaction only that it is possible.
  std::optional<double> loss_low{};
  std::optional<double> loss_high{};
  std::string reason{};
  std::optional<Spread> spread{};  // ratio of variances
  // A difference that p is about and whose blocks depend on each other so much that too few
  // independent ones remain. After refuse_interactions(), it is present only if it is the `reason`.
  std::optional<Estimate> few_independent{};

  [[nodiscard]] bool has_size() const { return ratio || difference; }
};

// Nested designs: how much of the variance is between seeds, and how much between the runs of a
// seed. On the log scale the square roots are relative standard deviations.
struct VarianceComponents {
  std::string subject{};
  std::string seed{};                   // the random factor's name
  std::optional<double> between{};      // never below 0
  std::optional<double> between_low{};  // the (1 - alpha) interval
  std::optional<double> between_high{};
  std::optional<double> within{};
  std::optional<double> within_low{};
  std::optional<double> within_high{};
  std::optional<double> p{};  // of "the seed does not matter"
};

// The change in each seed of a padding study.
struct PaddingSeeds {
  std::string subject{};
  std::string treatment{};
  std::string baseline{};
  std::string level{};
  std::vector<std::string> seeds{};  // one for each number in `percent`
  std::vector<double> percent{};     // 100 (mean at `level` / mean at `baseline` - 1)
};

// Machine x treatment: how one change differs between machines.
struct MachineChange {
  std::string treatment{};
  std::string baseline{};
  std::string level{};
  std::vector<std::string> machines{};
  // One number for each machine: its ratio, or its difference if a machine has no ratio.
  std::vector<double> changes{};
  bool ratios = true;
  // Variances between machines without the part that the error of blocks makes; never below 0. On
  // the log scale the square roots are relative standard deviations. Absent: a machine has no error.
  std::optional<double> between_changes{};
  std::optional<double> between_machines{};  // of the mean at the baseline
  // Tests "the change is the same on all machines" (own_error.h), over the machines that have an error.
  std::optional<double> f{};
  std::optional<double> df{};
  std::optional<double> error_df{};
  std::optional<double> p{};
  std::optional<double> p_adjusted{};  // corrected for the other changes (Holm)
};

struct Analysis {
  Spec spec{};
  std::size_t suite = 0;  // subjects in the model of all subjects; 0: there is no such model
  std::vector<AnovaTable> tables{};  // one for the suite, or one for each subject
  std::vector<CellMean> means{};
  std::vector<Effect>
      effects{};  // by subject; the suite's effects come last, its deciding ones first
  std::vector<Interaction> interactions{};
  std::vector<VarianceComponents> components{};
  std::vector<MachineChange> machine_changes{};
  std::vector<std::string> lacking_machines{};  // they lack a side of a comparison; see refusals.h
  std::vector<SlowMachine> slow_machines{};     // nothing else here is about them
  std::vector<PaddingSeeds> padding{};
  std::vector<Assumption> assumptions{};
  std::optional<Calibration> calibration{};  // if present, there are no tables or effects
  std::string withheld{};                    // why there are no verdicts; "" if there are
  std::vector<std::string> notes{};          // what was left out or failed, and why
};

}  // namespace stab::stats
