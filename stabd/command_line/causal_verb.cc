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
           "Pattern of source files whose lines are tried; else those below the current directory");
  repeated("--binary", of.binaries,
           "Pattern of files, as libraries, whose lines are looked at beside the program's");
  repeated("--progress", of.progress,
           "FILE:LINE whose samples are progress points, where there are no others");
  causal->add_option("--line", of.line, "FILE:LINE: no other line is tried");
  causal->add_flag("--end-to-end", of.end_to_end,
                   "Each run is one experiment, and its end the progress point");
  causal->add_option("--speedup", of.speedup,
                     "With --end-to-end and --line: every other run is at this one, as 25%");
  causal->add_option("--arrival-speedup", of.arrival_speedup,
                     "By how long each visit of STAB_ARRIVAL makes its thread faster, as 250us");
  causal->add_option(
      "--load", of.load,
      "How much work is to come in at STAB_ARRIVAL, as 1.25x of what does, or several: 1x,1.5x");
  causal->add_option("--runs", of.runs, "How often the program is run, at each load")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  causal->add_option("--sample-period", of.sample_period, "CPU time from sample to sample")
      ->capture_default_str();
  causal->add_option("--experiment", of.experiment, "How long the first experiment of a run lasts")
      ->capture_default_str();
  causal->add_option("--timeout", of.timeout,
                     "A run that takes longer is ended and left out, as 5min; else there is none");
}

void add_verify_options(CLI::App* verify, client::causal::VerifyOptions& of) {
  verify->add_option("id", of.id, "Number of the experiment with the causal profile")
      ->required()
      ->check(CLI::PositiveNumber);
  verify->add_option("plan", of.plan, "Plan file that compares the program before and after")
      ->required();
  verify->add_option("--cell", of.cell, "Of the profile, as its report names them");
  verify->add_option("--line", of.line, "FILE:LINE that was changed; else the one that helps most");
  verify->add_option("--speedup", of.speedup, "How much less time that line takes now")
      ->capture_default_str();
}

}  // namespace

void CommandLine::add_causal() {
  Arguments& a = arguments_;
  CLI::App* causal =
      verb("causal",
           "Which line of a program to make faster, by running it or from causal profiles", [&a] {
             if (!a.verify.plan.empty()) return client::causal::verify(a.common, a.verify);
             a.causal.json = a.common.json;
             return client::causal::show_causal(a.causal);
           });
  causal
      ->add_option("--read", a.causal.read,
                   "Profiles in coz's format, all of one program; - is stdin")
      ->expected(1, 1000);
  causal->add_option("program", a.causal.command,
                     "Behind --: the program that is profiled, and its arguments");
  add_run_options(causal, a.causal);
  causal->add_option("--coz", a.causal.coz,
                     "Write all of them to one file, for coz's viewer; - is stdout");
  causal->add_option("--output", a.causal.output,
                     "File for the answer; else it follows the program's own output");
  causal->add_option("--alpha", a.causal.alpha, "How often intervals and findings may be wrong")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.499));
  causal->add_option("--seed", a.causal.seed, "Every random choice derives from it")
      ->capture_default_str();
  json_flag(causal);
  CLI::App* verify = causal->add_subcommand(
      "verify", "What a causal plan predicted of a change, beside what the change gave");
  add_verify_options(verify, a.verify);
  verify->add_option("--state", a.common.state,
                     "Folder of the profile's database, as of 'stabctl run'; no daemon is asked");
}

}  // namespace stab::command_line
