// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <string>

#include "stabd/command_line/command_line.h"

namespace stab::command_line {

using namespace client;

namespace {

// Accepts the averages, and also quantiles, because analyze() refuses those with a reason.
CLI::Validator an_average() {
  return {[](const std::string& text) -> std::string {
            if (is_quantile(text)) return "";
            return CLI::IsMember({"mean", "typical", "median"})(text);
          },
          "{mean,typical,median}"};
}

}  // namespace

void CommandLine::add_analyze() {
  AnalyzeOptions& a = arguments_.analyze;
  CLI::App* analyze = verb(
      "analyze", "Analyse a CSV file, or results of hyperfine or Google Benchmark; needs no daemon",
      [this] {
        arguments_.analyze.json = arguments_.common.json;
        arguments_.analyze.full = arguments_.common.full;
        return client::analyze(arguments_.analyze);
      });
  analyze
      ->add_option("files", a.files,
                   "CSV with a header and one row per trial, or JSON from either hyperfine "
                   "(--export-json) or Google Benchmark (--benchmark_out_format=json); use - for "
                   "stdin. If there are several files, each file is a level of a factor")
      ->required();
  analyze->add_option(
      "--metric,--response", a.response,
      "Column of the measured values; lower is better unless you give --higher-is-better. Not "
      "needed for JSON: hyperfine's time or Google Benchmark's real_time is used");
  analyze
      ->add_option("--input-format", a.format,
                   "auto (detect from the files), csv, hyperfine or google-benchmark")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "csv", "hyperfine", "google-benchmark"}));
  analyze->add_option("--factor", a.file_factor,
                      "Name of the factor and of each file's level, as in version=old,new; by "
                      "default the factor is 'file' and the levels are the file names");
  analyze
      ->add_option("--factors", a.factors,
                   "Columns of the treatments, separated by commas, as in a,b")
      ->delimiter(',');
  analyze->add_option("--block", a.block, "Column with each trial's block (round)");
  analyze->add_option("--subject", a.subject,
                      "Column with each trial's subject (program): y ~ a + Error(subject/a)");
  analyze->add_option("--random", a.random,
                      "Column of a random factor within the treatments (layout seeds): y ~ a + "
                      "Error(a:seed)");
  analyze->add_option(
      "--order", a.order,
      "Column that says when each row was measured: a time (a number or ISO 8601) or a sequence "
      "number; rows are sorted by this column. The correlation between neighbouring rows is "
      "tested only with this option. Files from stabctl export have started_ns, which needs no "
      "option");
  analyze
      ->add_option(
          "--seeds", a.seeds,
          "With --random: nested if each cell has its own seeds, crossed if a seed is one layout "
          "that several cells share. auto means nested, and is an error if cells share a seed")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "nested", "crossed"}));
  analyze
      ->add_option(
          "--generators", a.generators,
          "Generators of a fractional design, separated by commas, as in d=a:b:c; by default they "
          "are detected if the table is a regular fraction of all combinations of two levels")
      ->delimiter(',');
  analyze
      ->add_option("--estimand", a.estimand,
                   "The average that verdicts are about: mean (over all blocks), typical (the "
                   "mean without the lowest and the highest fifth of the blocks) or median (the "
                   "change that half of the blocks exceed). All three are shown")
      ->capture_default_str()
      ->check(an_average());
  analyze->add_flag("--independent-blocks", a.independent_blocks,
                    "Assume that blocks are not correlated with their neighbours in time. "
                    "Intervals are narrower, and wrong if the assumption fails");
  analyze->add_flag(
      "--order-drawn", a.order_drawn,
      "State that the trials ran in random order (within each block, if there are "
      "blocks). With this option, a verdict also needs a randomization test. Files from stabctl "
      "export state the order themselves");
  analyze->add_option("--random-seed", a.seed, "Seed of the randomization tests")
      ->capture_default_str();
  analyze
      ->add_option("--losses", a.losses,
                   "Assumption about lost trials: extremes (any value that their limits permit), "
                   "monotone (one level loses every trial that the other would lose, and some "
                   "more: Lee's bounds) or random (losses do not depend on the levels)")
      ->capture_default_str()
      ->check(CLI::IsMember({"extremes", "monotone", "random"}));
  analyze->add_option("--lost-at-least", a.lost_at_least,
                      "The smallest value that a row without a value may have had, such as the "
                      "timeout that ended the trial");
  analyze->add_option("--lost-at-most", a.lost_at_most,
                      "The largest value that a row without a value may have had");
  analyze
      ->add_option("--resolution", a.resolution,
                   "Resolution of the clock, in the unit of the response; intervals allow for it, "
                   "and 0 means that the values are exact. Without this option, the resolution is "
                   "detected from repeated values")
      ->check(CLI::NonNegativeNumber);
  analyze->add_option("--baseline", a.baselines,
                      "The level to compare with, as factor=level; by default the first level");
  CLI::Option* log = analyze->add_flag_callback(
      "--log", [&a] { a.scale = "log"; }, "Analyse logarithms: geometric means and ratios");
  analyze
      ->add_flag_callback(
          "--raw", [&a] { a.scale = "raw"; }, "Analyse the values themselves (default)")
      ->excludes(log);
  analyze->add_option("--alpha", a.alpha, "Significance level of the tests")
      ->capture_default_str()
      ->check(CLI::Range(1e-6, 0.499));
  analyze->add_option("--margin,--equivalence", a.equivalence,
                      "Smallest change that matters, as in 1%; makes 'same' a possible verdict");
  analyze->add_option("--type", a.sums_of_squares, "Sums of squares of type 2 or 3")
      ->capture_default_str()
      ->check(CLI::IsMember({2, 3}));
  analyze
      ->add_option("--method", a.method,
                   "standard, or stabilizer: the procedure of Curtsinger and Berger (2013)")
      ->capture_default_str()
      ->check(CLI::IsMember({"standard", "stabilizer"}));
  analyze
      ->add_option("--error", a.error,
                   "own: test each comparison against its own variation from block to block; "
                   "pooled: against the residuals of y ~ block + a")
      ->capture_default_str()
      ->check(CLI::IsMember({"own", "pooled"}));
  analyze
      ->add_option("--programs", a.programs,
                   "With --subject, what the answer is about: these programs, or programs like "
                   "these (both are shown)")
      ->capture_default_str()
      ->check(CLI::IsMember({"these", "like-these"}));
  analyze->add_option("--pairs", a.pairs, "Compare each level with the baseline, or all pairs")
      ->capture_default_str()
      ->check(CLI::IsMember({"baseline", "all"}));
  analyze->add_flag("--higher-is-better", a.higher_is_better,
                    "A higher response is better, as with throughput");
  analyze->add_option("--unit", a.unit, "Unit of the response, ns or bytes")
      ->check(CLI::IsMember({"ns", "bytes"}));
  analyze->add_option("-o,--output", a.output, "File to write; by default stdout");
  fail_on_option(analyze);
  full_flag(analyze);
  json_flag(analyze);
}

}  // namespace stab::command_line
