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
                 "With --build: revisions of this git repository, where . is the working tree. "
                 "With one revision it is compared with the working tree; with none, the commit at "
                 "which this branch left the main one is. After --: the arguments of each program, "
                 "or without --program the versions as commands for /bin/sh");
  ab->add_option("--build", a.ab.build,
                 "Command for /bin/sh that builds each revision; $CC is szc and $CXX szc++");
  ab->add_option("--run", a.ab.run,
                 "With --build: the command to measure, in each revision's folder");
  ab->add_option("--prepare", a.ab.prepare,
                 "Command for /bin/sh before each run, in the same folder; not measured");
  ab->add_option("--cleanup", a.ab.cleanup, "Command for /bin/sh after each run; not measured");
  ab->add_option("--share,--same", a.ab.same,
                 "With --build: a file or folder that every version takes from the last one")
      ->expected(1)
      ->take_all();
  ab->add_option("--budget", a.ab.budget,
                 "How long to measure: no round begins that would end later, but 10 rounds always "
                 "run. Builds and the report come on top")
      ->capture_default_str();
  ab->add_option("--margin,--equivalence", a.ab.margin, "The smallest change that matters")
      ->capture_default_str();
  ab->add_option(
        "--metric,--response", a.ab.response,
        "The number to compare: a time, max_rss, a region, code-size, or an event of 'stabctl "
        "counters'; less of it is better")
      ->type_name("NAME:{wall,user,system,cpu,max_rss,main_to_exit,region,code-size}")
      ->capture_default_str();
  ab->add_option(
        "--exit-codes", a.ab.exit_codes,
        "Exit codes of versions that are right, with commas; another one is a failed trial")
      ->type_name("CODES")
      ->capture_default_str();
  ab->add_option("--cpu", a.ab.cpus,
                 "The CPU that trials run on, as the kernel numbers it, or several, as 2-3; else a "
                 "quiet one is chosen")
      ->type_name("CPUS");
  ab->add_option("--env", a.ab.env,
                 "NAME or NAME=VALUE: an environment variable for the versions, beside PATH")
      ->expected(1)
      ->take_all();
  CLI::Option* heap = ab->add_flag_callback(
      "--heap", [&a] { a.ab.heap = client::ab::Heap::always; },
      "Measure only if the places of small blocks can be random in all versions, by a layer above "
      "their own allocators. Without this option they are random if that works and costs little");
  ab->add_flag_callback(
        "--no-heap", [&a] { a.ab.heap = client::ab::Heap::never; },
        "Leave the heap of all versions as it is")
      ->excludes(heap);
  CLI::Option* stack = ab->add_flag_callback(
      "--stack", [&a] { a.ab.pads = client::ab::Pads::always; },
      "Measure only if stack frames have pads of random sizes in all versions. Without a word of "
      "it "
      "they do where szc built all of them");
  ab->add_flag_callback(
        "--no-stack", [&a] { a.ab.pads = client::ab::Pads::never; },
        "The stack frames of the versions stay as they are")
      ->excludes(stack);
  ab->add_flag_callback(
      "--no-control", [&a] { a.ab.control = false; },
      "Do not measure the first version a second time as a control; then no verdict is held back "
      "where the machine could not tell that version from itself");
  // What is so anyway need not be offered; with both the control is measured.
  ab->add_flag_callback("--control", [&a] { a.ab.control = true; })->group("");
  ab->add_option("--seed", a.ab.seed, "Every random choice derives from it")
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
  demo->add_option("--seed", a.demo.seed, "Every random choice derives from it")
      ->capture_default_str();
  json_flag(demo);
}

}  // namespace stab::command_line
