// SPDX-License-Identifier: MIT
// The result of an analysis, as plain values. What could not be computed is absent, never NaN, and
// a note says why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stats/data/spec.h"
#include "stats/tests/estimate.h"
#include "stats/tests/spread.h"
#include "stats/verdicts/calibration.h"

namespace stab::stats {

// One line of an ANOVA table. Only tested terms have F and p; only terms with degrees of freedom
// have a mean square.
struct AnovaRow {
  std::string stratum{};  // "benchmark:opt", "Within", or "" where the model has one stratum only
  std::string term{};     // "opt", "opt:aslr", "block", "Residuals"
  std::string aliases{};  // fractional designs: what the term stands for, too
  double df = 0;
  double ss = 0;
  std::optional<double> ms{};
  std::optional<double> f{};
  std::optional<double> p{};
  std::optional<double> p_adjusted{};  // of interactions, corrected for the others; see decide.h
  // Greenhouse and Geisser's, with which p is corrected; only terms with two or more degrees of
  // freedom have one.
  std::optional<double> epsilon{};
  // Partial eta squared: the term's share of its own and the error's sum of squares. omega2 is the
  // estimate of the population's share, which the (1 - 2 alpha) interval holds (effect_size.h).
  std::optional<double> eta2{};
  std::optional<double> omega2{};
  std::optional<double> eta2_low{};
  std::optional<double> eta2_high{};
};

// What a result speaks of.
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

// One subject in one cell: the geometric mean on the log scale, else the arithmetic one, in the
// response's unit.
struct CellMean {
  std::string subject{};
  std::vector<std::string> levels{};  // one a treatment, in the spec's order
  std::size_t n = 0;                  // trials
  double mean = 0;
  std::optional<double> low{};  // the (1 - alpha) interval
  std::optional<double> high{};
  std::optional<double> sd{};  // of the trials, in the response's unit
};

// `faster` is the better direction: less of the response, or more where more is better.
enum class Verdict { same, faster, slower, unsure };

// What a model assumes of its residuals, as one test sees it.
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
  std::string instead{};  // if it does not hold: what still does
};

// The same comparison by another method, for where an assumption fails, or another average.
struct Alternative {
  std::string method{};  // "signed-rank", "log scale", "median"
  std::optional<double> ratio{};
  std::optional<double> low{};
  std::optional<double> high{};
  double p = 0;
};

// Where the order was drawn: how often another order would have shown as much if the levels did
// nothing in any unit (randomization.h). The interval assumes that the change is the same in all.
struct Randomization {
  std::size_t units = 0;  // that were dealt again
  std::size_t draws = 0;
  bool all = false;  // these are all arrangements
  std::uint64_t seed = 0;
  double p = 1;
  // Between these lies the p of all arrangements (probability 1 - 1e-5).
  double p_low = 1;
  double p_high = 1;
  std::optional<double> p_same{};
  std::optional<double> p_same_high{};
  // From the high ends and corrected like the other p, so that draws can't make a verdict.
  std::optional<double> p_adjusted{};
  std::optional<double> p_same_adjusted{};
  std::optional<double> low{};  // of the ratio
  std::optional<double> high{};
  double least = 1;     // the smallest p that so few units can have
  bool settled = true;  // more draws would change nothing
  // What a reader may ask of the numbers where tests disagree.
  std::optional<double> skewness{};
  std::string influential{};        // the unit without which the change moves most
  std::optional<double> without{};  // the ratio without it
};

// How far from nothing the interval of a control reaches: as a share (0.051: up to 5.1 % in either
// direction), and for raw numbers as a difference in the response's unit, too.
struct Reach {
  std::optional<double> share{};
  std::optional<double> difference{};
};

// `level` compared with `baseline`, averaged over the levels of the other treatments. ratio < 1:
// `level` needs less.
struct Effect {
  std::string subject{};  // "" as in AnovaTable
  Scope scope = Scope::subject;
  std::string treatment{};
  std::string baseline{};
  std::string level{};
  std::optional<double> ratio{};  // response at `level` / response at `baseline`
  std::optional<double> low{};    // the (1 - alpha) interval of the ratio
  std::optional<double> high{};
  // Raw numbers only: response at `level` - response at `baseline`, in its unit, with the
  // (1 - alpha) interval. It is there even where the baseline's mean allows no ratio.
  std::optional<double> difference{};
  std::optional<double> difference_low{};
  std::optional<double> difference_high{};
  // The intervals of the ratio or else of the difference that hold for the whole family together.
  std::optional<double> low_adjusted{};
  std::optional<double> high_adjusted{};
  // The (1 - 2 alpha) interval, which is compared with the margin.
  std::optional<double> tost_low{};
  std::optional<double> tost_high{};
  std::optional<double> df{};
  std::optional<double> p{};  // of "there is no difference", two-sided
  // The p of "the difference is not within the margin" (two one-sided tests).
  std::optional<double> p_same{};
  // Both p, corrected for all effects of the family; see decide.h.
  std::optional<double> p_adjusted{};
  std::optional<double> p_same_adjusted{};
  std::string method{};   // where the error is from: "block:opt", "benchmark:opt", "Welch"
  std::string unit{};     // what counts as one number: "block", "benchmark", "seed", "trial"
  std::size_t units = 0;  // how many of them
  // Of so many units: the change that is found with 80 % power after the correction for the family
  // (0.012: 1.2 %), and how many units it takes for one of the margin.
  std::optional<double> detectable{};
  std::optional<std::size_t> needed{};
  std::string aliases{};  // fractional designs: "aslr:env_bytes", which may be what was seen
  // Where trials are missing: what is assumed of them, the ratio that they leave possible with its
  // error (nothing: no bound), and the p of "losses do not depend on the cell" (refusals.cc).
  std::optional<Losses> loss_bounds{};
  std::optional<double> loss_low{};
  std::optional<double> loss_high{};
  std::optional<double> loss_p{};
  std::string reason{};  // why the verdict is what it is, where no number says so
  bool exact = false;    // a fact that differs by just this: there is no test and no interval
  std::vector<Alternative> alternatives{};
  Estimand estimand = Estimand::mean;  // what ratio, intervals, p and verdict are about
  // Beside the estimand that the verdict is about, another one: "typical" or "mean".
  std::optional<Alternative> beside{};
  // All averages that the numbers allow, that of the verdict too: "mean", "typical", "median".
  std::vector<Alternative> averages{};
  std::optional<Randomization> randomization{};
  std::optional<Spread> spread{};
  Verdict verdict = Verdict::unsure;
  // The verdict that the comparison's own numbers allow and the control of the same run does not.
  std::optional<Verdict> held_back{};
  // Of that control, or of this one; nothing if the spec has no control.
  std::optional<Reach> reach{};
  // The estimate that ratio, intervals and p are of; nothing if they are those of a rank test.
  std::optional<Estimate> estimate{};
};

// How treatments of two levels act on each other. On the log scale it is the ratio of one's effect
// at the second level of the other to its effect at the first; of three treatments, the ratio of
// such ratios. Raw numbers have differences of differences, in the unit of the response.
struct Interaction {
  std::string subject{};
  Scope scope = Scope::subject;
  std::string term{};                  // "code:heap"
  std::string aliases{};               // as in Effect
  std::optional<double> ratio{};       // log scale only
  std::optional<double> difference{};  // raw numbers only
  std::optional<double> low{};         // the (1 - alpha) interval of the one that is there
  std::optional<double> high{};
  std::optional<double> p{};
  std::optional<double> p_adjusted{};  // corrected for the other interactions; see decide.h
  std::optional<Spread> spread{};      // ratio of variances
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
  std::vector<std::string> seeds{};  // one a number in `percent`
  std::vector<double> percent{};     // 100 (mean at `level` / mean at `baseline` - 1)
};

struct Analysis {
  Spec spec{};
  std::size_t suite = 0;  // subjects in the model of all subjects; 0: there is no such model
  std::vector<AnovaTable> tables{};  // one for the suite, or one a subject
  std::vector<CellMean> means{};
  std::vector<Effect>
      effects{};  // by subject; those of the suite are last, the deciding ones first
  std::vector<Interaction> interactions{};
  std::vector<VarianceComponents> components{};
  std::vector<PaddingSeeds> padding{};
  std::vector<Assumption> assumptions{};
  std::optional<Calibration> calibration{};  // then there are no tables and effects
  std::string withheld{};                    // why there are no verdicts; "": there are
  std::vector<std::string> notes{};          // what was left out or could not be done, and why
};

}  // namespace stab::stats
