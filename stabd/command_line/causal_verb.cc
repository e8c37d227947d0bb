// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "stabd/command_line/command_line.h"

namespace stab::command_line {

namespace {

void add_run_options(CLI::App* causal, client::causal::CausalOptions& of) {
  const auto repeated = [&](const char* name, std::vector<std::string>& values, const char* help) {
    causal->add_option(name, values, help)->expected(1)->take_all();
  };
  repeated("--scope", of.scope,
           "Pattern of source files whose lines are tried; by default, files below the current "
           "directory");
  repeated("--binary", of.binaries,
           "Pattern of other files (libraries) whose lines are also tried");
  repeated(
      "--progress", of.progress,
      "FILE:LINE whose samples count as progress points, for programs without progress points");
  causal->add_option("--line", of.line, "FILE:LINE: try only this line");
  causal->add_flag("--end-to-end", of.end_to_end,
                   "Treat each run as one experiment, whose end is the progress point");
  causal->add_option(
      "--speedup", of.speedup,
      "With --end-to-end and --line: the virtual speedup of every other run, as in 25%");
  causal->add_option("--arrival-speedup", of.arrival_speedup,
                     "How much time each visit of STAB_ARRIVAL saves its thread, as in 250us");
  causal->add_option("--load", of.load,
                     "How much work arrives at STAB_ARRIVAL, relative to normal: 1.25x, or several "
                     "loads: 1x,1.5x");
  causal->add_option("--runs", of.runs, "How many times the program runs at each load")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  causal->add_option("--sample-period", of.sample_period, "CPU time between samples")
      ->capture_default_str();
  causal
      ->add_option("--experiment", of.experiment,
                   "How long the first experiment of a run lasts; later experiments get longer "
                   "until each has some visits to a progress point")
      ->capture_default_str();
  causal->add_option(
      "--timeout", of.timeout,
      "End a run that takes longer, as in 5min, and leave it out; by default runs are not limited");
}

void add_verify_options(CLI::App* verify, client::causal::VerifyOptions& of) {
  verify->add_option("id", of.id, "Number of the experiment with the causal profile")
      ->required()
      ->check(CLI::PositiveNumber);
  verify
      ->add_option("plan", of.plan,
                   "Plan file that compares the program before and after the change")
      ->required();
  verify->add_option("--cell", of.cell, "Cell of the profile, as reports name it");
  verify->add_option("--line", of.line,
                     "FILE:LINE that was changed; by default, the line that helps most");
  verify->add_option("--speedup", of.speedup, "How much less time the changed line takes now")
      ->capture_default_str();
}

}  // namespace

void CommandLine::add_causal() {
  Arguments& a = arguments_;
  CLI::App* causal = verb("causal",
                          "Find the line of a program that is worth making faster, by running the "
                          "program or from causal profiles",
                          [&a] {
                            if (!a.verify.plan.empty())
                              return client::causal::verify(a.common, a.verify);
                            a.causal.json = a.common.json;
                            return client::causal::show_causal(a.causal);
                          });
  causal
      ->add_option("--read", a.causal.read,
                   "Profiles in coz's format, all of one program; - is stdin")
      ->expected(1, 1000);
  causal->add_option("program", a.causal.command,
                     "After --: the program to profile, and its arguments");
  add_run_options(causal, a.causal);
  causal->add_option("--coz", a.causal.coz,
                     "Write all runs to one file, for coz's viewer; - is stdout");
  causal->add_option(
      "--output", a.causal.output,
      "File for the answer; by default, the answer follows the program's own output");
  causal->add_option("--alpha", a.causal.alpha, "Probability that an interval or finding is wrong")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.499));
  causal->add_option("--seed", a.causal.seed, "Seed of every random choice")->capture_default_str();
  json_flag(causal);
  CLI::App* verify = causal->add_subcommand(
      "verify", "Compare the gain that a causal plan predicted with the gain of the real change");
  add_verify_options(verify, a.verify);
  verify->add_option(
      "--folder,--state", a.common.state,
      "Folder of the profile's database, as from 'stabctl run'; no daemon is needed");
}

}  // namespace stab::command_line
