// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "base/output_mark.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

void CommandLine::add_ab() {
  Arguments& a = arguments_;
  CLI::App* ab =
      verb("ab", "Which of these is faster? Measures two or more versions in turns, without a plan",
           [&a] {
             a.ab.json = a.common.json;
             a.ab.full = a.common.full;
             mark_redirected_output();
             if (auto page = follow_by_page(a.web, a.ab.follow); !page)
               return Result<int>(std::unexpected(page.error()));
             return client::ab::compare_versions(a.ab);
           });
  ab->add_option("--program", a.ab.programs,
                 "The versions as programs; the others are compared with the first")
      ->expected(2, 100);
  ab->add_option("words", a.ab.words,
                 "With --build: revisions of this git repository; . is the working tree. A single "
                 "revision is compared with the working tree. Without any, the commit at which "
                 "this branch left main is compared with it. After --: with --program, the "
                 "arguments of each program; else the versions, as commands for /bin/sh");
  ab->add_option("--build", a.ab.build,
                 "Command for /bin/sh that builds each revision; $CC is szc and $CXX szc++");
  ab->add_option("--run", a.ab.run,
                 "With --build: the command to measure, in each revision's folder");
  ab->add_option("--prepare", a.ab.prepare,
                 "Command for /bin/sh before each run, in the same folder; not measured");
  ab->add_option("--cleanup", a.ab.cleanup, "Command for /bin/sh after each run; not measured");
  ab->add_option("--share,--same", a.ab.same,
                 "With --build: a file or folder (the benchmark itself, say) that all versions "
                 "take from the last one")
      ->expected(1)
      ->take_all();
  ab->add_option("--budget", a.ab.budget,
                 "How long to measure, not counting builds and the report. No round begins that "
                 "would end later, but 10 rounds always run")
      ->capture_default_str();
  ab->add_option("--margin,--equivalence", a.ab.margin, "The smallest change that matters")
      ->capture_default_str();
  ab->add_option("--metric,--response", a.ab.response,
                 "The number to compare: a time, max_rss, a region, code-size, or an event of "
                 "'stabctl counters'; smaller is better")
      ->type_name("NAME:{wall,user,system,cpu,max_rss,main_to_exit,region,code-size}")
      ->capture_default_str();
  ab->add_option("--exit-codes", a.ab.exit_codes,
                 "Exit codes that count as success, separated by commas; a trial that exits with "
                 "another one has failed")
      ->type_name("CODES")
      ->capture_default_str();
  ab->add_option("--cpu", a.ab.cpus,
                 "The CPU that trials run on, by the kernel's number, or several, as in 2-3; "
                 "without it, a quiet one is chosen")
      ->type_name("CPUS");
  ab->add_option("--env", a.ab.env,
                 "NAME or NAME=VALUE: an environment variable that the versions get, besides PATH")
      ->expected(1)
      ->take_all();
  CLI::Option* heap = ab->add_flag_callback(
      "--heap", [&a] { a.ab.heap = client::ab::Heap::always; },
      "Require that a layer above the versions' own allocators draws the places of small heap "
      "blocks in all of them. Without this option it does so if that works and costs little");
  ab->add_flag_callback(
        "--no-heap", [&a] { a.ab.heap = client::ab::Heap::never; },
        "Leave the heap of all versions as it is")
      ->excludes(heap);
  CLI::Option* stack = ab->add_flag_callback(
      "--stack", [&a] { a.ab.pads = client::ab::Pads::always; },
      "Require pads of random sizes in the stack frames of all versions. Without this option they "
      "have pads if szc built all of them");
  ab->add_flag_callback(
        "--no-stack", [&a] { a.ab.pads = client::ab::Pads::never; },
        "Leave the stack frames of all versions as they are")
      ->excludes(stack);
  ab->add_flag_callback(
      "--no-control", [&a] { a.ab.control = false; },
      "Do not measure the first version a second time as a control, which holds back verdicts when "
      "the machine finds that version different from itself");
  // What is so anyway need not be offered; with both the control is measured.
  ab->add_flag_callback("--control", [&a] { a.ab.control = true; })->group("");
  ab->add_option("--seed", a.ab.seed, "Seed of every random choice")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  ab->add_option("--save", a.ab.save, "Write the plan to this file, for 'stabctl run'");
  ab->add_option("--folder,--state", a.ab.state_directory, "Folder of the database");
  fail_on_option(ab);
  ab->add_flag("--markdown", a.ab.markdown,
               "Print a table for a pull request instead of the report");
  ab->add_option("--html", a.ab.html, "Also write the report to this file, as a page for browsers");
  web_flag(ab);
  full_flag(ab);
  json_flag(ab);

  CLI::App* demo = verb("demo",
                        "Show in 20 seconds what the order of functions in memory does to a "
                        "program, in fixed and in random layouts",
                        [&a] {
                          a.demo.json = a.common.json;
                          return client::ab::demonstrate(a.demo);
                        });
  demo->add_option("--seed", a.demo.seed, "Seed of every random choice")->capture_default_str();
  json_flag(demo);
}

}  // namespace stab::command_line
