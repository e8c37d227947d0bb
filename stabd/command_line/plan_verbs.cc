// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "base/output_mark.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

using namespace client;

void CommandLine::add_plan_verbs() {
  Arguments& a = arguments_;
  CLI::App* run = verb(
      "run", "Run a plan with its own daemon and print the report; Ctrl-C pauses the run", [&a] {
        a.run.plan_path = a.plan;
        a.run.format = a.common.json ? "json" : "text";
        a.run.full = a.common.full;
        mark_redirected_output();
        if (auto page = follow_by_page(a.web, a.run.follow); !page)
          return Result<int>(std::unexpected(page.error()));
        return client::run(a.run);
      });
  run->add_option("plan", a.plan, "The plan, a TOML file")->required();
  run->add_option("--folder,--state", a.run.state_directory,
                  "Folder of the database. If the folder has an unfinished run of this plan, the "
                  "run continues; if it has a finished run, the report is shown");
  run->add_option("--calibrations", a.run.calibrations,
                  "File that keeps the results of calibrations for later runs");
  run->add_option("--html", a.run.html, "Also write the report to this file, as a web page");
  web_flag(run);
  run->add_flag("--again", a.run.again,
                "Measure again instead of showing a finished run or continuing an interrupted one");
  fail_on_option(run);
  full_flag(run);
  json_flag(run);

  CLI::App* submit = verb("submit", "Queue a plan",
                          [&a] { return client::submit(a.common, a.plan, a.priority, a.wait); });
  submit->add_option("plan", a.plan, "The plan, a TOML file")->required();
  submit
      ->add_option(
          "--priority", a.priority,
          "Higher priorities run first; only root and stabd's own user may use priorities above 0")
      ->capture_default_str()
      ->check(CLI::Range(-100, 100));
  submit->add_flag("--wait", a.wait, "Follow the experiment to its end");
  fail_on_option(submit);
  json_flag(submit);

  CLI::App* check = verb("check", "Validate a plan and print its design",
                         [&a] { return client::check(a.common, a.plan, a.sd); });
  check->add_option("plan", a.plan, "The plan, a TOML file")->required();
  check->add_option(
      "--noise,--sd", a.sd,
      "Relative standard deviation of trials, as in 2%, for computing the smallest change that the "
      "plan can detect; by default an earlier experiment of the same name provides it");
  json_flag(check);

  CLI::App* keys = verb("keys", "List all keys of a plan with their values, meanings and defaults",
                        [&a] { return client::keys(a.common, a.quantities); });
  keys->add_flag("--quantities", a.quantities,
                 "Print the quantities that rules of [[exclude]] may use, instead of the keys");
  json_flag(keys);
}

}  // namespace stab::command_line
