// SPDX-License-Identifier: MIT
// paired_runs FILE: runs the programs that FILE describes (program.h), and prints paired ratios.
// Scripts in bench/ write the file.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "bench/paired/program.h"
#include "bench/paired/rounds.h"
#include "bench/paired/summary.h"
#include "machine/processes.h"

namespace {

using namespace stab;  // NOLINT(google-build-using-namespace): a program's main file

struct Options {
  std::string file;
  std::string json;
  bench::Plan plan;
  double alpha = 0.05;
  bool differences = false;
  bool quiet = false;
};

void tell(const std::vector<bench::Program>& programs, const bench::Execution& run, bool quiet) {
  const bench::Program& program = programs[run.program];
  const bench::Arm& arm = program.arms[run.arm];
  if (!run.problem.empty())
    fmt::print(stderr, "\nFAILED: {} {} {} (seed {}): {}\n", program.name, arm.name,
               arm.variants[run.variant].command[0], run.seed, run.problem);
  else if (!quiet)
    fmt::print(stderr, "\r\x1b[K{} {} {:.3f} s", program.name, arm.name, run.times.wall);
}

Result<int> run(const Options& options) {
  const auto text = read_file(options.file, 16U << 20U);
  if (!text) return std::unexpected(text.error());
  const auto programs = bench::parse_programs(*text);
  if (!programs) return fail(options.file + ": " + programs.error().message);
  const auto topology = machine::Topology::load();
  if (!topology) return std::unexpected(topology.error());
  if (const auto adopted = machine::adopt_orphans(); !adopted)
    return std::unexpected(adopted.error());

  std::size_t problems = 0;
  bench::Rounds rounds(*programs, options.plan, *topology);
  const auto runs = rounds.run([&](const bench::Execution& one) {
    problems += one.problem.empty() ? 0 : 1;
    tell(*programs, one, options.quiet);
  });
  if (!options.quiet) fmt::print(stderr, "\r\x1b[K");
  const auto summary = bench::summarise(
      *programs, runs, options.differences ? bench::Scale::difference : bench::Scale::ratio,
      options.alpha);
  if (options.plan.rounds > 0) fmt::print("{}", bench::to_text(summary));
  if (!options.json.empty()) {
    const auto written = write_file_atomically(
        options.json, bench::to_json(summary, *programs, runs).dump(1) + "\n");
    if (!written) return std::unexpected(written.error());
  }
  return problems == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  unsigned cpu = 0;
  CLI::App app{"Runs the arms of programs in interleaved rounds and prints paired ratios."};
  app.add_option("file", options.file, "The programs to run: see bench/paired/program.h")
      ->required();
  app.add_option("--pairs", options.plan.rounds, "The number of rounds")->capture_default_str();
  app.add_option("--seed", options.plan.seed, "The seed of all random choices")
      ->capture_default_str();
  app.add_option("--alpha", options.alpha, "1 - coverage of the intervals")->capture_default_str();
  app.add_option("--timeout", options.plan.timeout, "The longest time of a run, in seconds")
      ->capture_default_str();
  const auto* bound = app.add_option("--cpu", cpu, "Bind the runs to this CPU");
  app.add_option("--json", options.json, "Also write all runs and results to this file");
  app.add_flag("--differences", options.differences, "Print differences in ms instead of ratios");
  app.add_flag("--quiet", options.quiet, "Show no progress");
  CLI11_PARSE(app, argc, argv);
  if (*bound) options.plan.cpu = cpu;
  const auto status = run(options);
  if (!status) fmt::print(stderr, "paired_runs: {}\n", status.error().message);
  return status.value_or(2);
}
