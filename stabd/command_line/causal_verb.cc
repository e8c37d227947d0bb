// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "stabd/command_line/command_line.h"

namespace stab::command_line {

void CommandLine::add_causal() {
  Arguments& a = arguments_;
  CLI::App* causal =
      verb("causal", "Which line of a program to make faster, from causal profiles of it", [&a] {
        a.causal.json = a.common.json;
        return client::causal::show_causal(a.causal);
      });
  causal
      ->add_option("--read", a.causal.read,
                   "Profiles in coz's format, all of one program; - is stdin")
      ->required()
      ->expected(1, 1000);
  causal->add_option("--coz", a.causal.coz,
                     "Write all of them to one file, for coz's viewer; - is stdout");
  causal->add_option("--alpha", a.causal.alpha, "How often intervals and findings may be wrong")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 0.499));
  causal->add_option("--seed", a.causal.seed, "Of the draws behind simultaneous intervals")
      ->capture_default_str();
  json_flag(causal);
}

}  // namespace stab::command_line
