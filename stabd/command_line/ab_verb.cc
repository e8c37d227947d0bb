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
                 "The versions: programs, the first of which is what the others are compared with")
      ->expected(2, 100);
  ab->add_option("words", a.ab.words,
                 "With --build: revisions of this git repository, . being the working tree (with "
                 "one, it against the working tree; with none, that at which this branch left the "
                 "main one). Behind --: what each program gets as its arguments; without --program "
                 "the versions, as commands of /bin/sh");
  ab->add_option("--build", a.ab.build,
                 "How each revision is built, for /bin/sh; CC is szc and CXX szc++");
  ab->add_option("--run", a.ab.run, "With --build: what is measured in each revision's folder");
  ab->add_option("--prepare", a.ab.prepare,
                 "For /bin/sh before each run, where it runs; not measured");
  ab->add_option("--cleanup", a.ab.cleanup, "For /bin/sh after each run; not measured");
  ab->add_option("--same", a.ab.same,
                 "With --build: a file or folder that all have as the last version has it")
      ->expected(1)
      ->take_all();
  ab->add_option(
        "--budget", a.ab.budget,
        "How long it measures: no round begins that would end later, but 10 always do; builds of "
        "revisions and the report come on top")
      ->capture_default_str();
  ab->add_option("--margin", a.ab.margin, "The smallest change that matters")
      ->capture_default_str();
  ab->add_option("--env", a.ab.env, "NAME or NAME=VALUE: a variable that versions get, beside PATH")
      ->expected(1)
      ->take_all();
  CLI::Option* heap = ab->add_flag_callback(
      "--heap", [&a] { a.ab.heap = client::ab::Heap::always; },
      "Measure only if the places of small blocks are drawn in all versions, by a layer above "
      "their "
      "own allocators. Without a word of it they are where that works and changes little");
  ab->add_flag_callback(
        "--no-heap", [&a] { a.ab.heap = client::ab::Heap::never; },
        "The heap of the versions stays as it is")
      ->excludes(heap);
  ab->add_flag_callback(
      "--no-control", [&a] { a.ab.control = false; },
      "Do not measure the first version once more under another name, by which a machine that "
      "disturbs trials shows itself");
  // What is so anyway need not be offered; with both the control is measured.
  ab->add_flag_callback("--control", [&a] { a.ab.control = true; })->group("");
  ab->add_option("--seed", a.ab.seed, "Every random choice derives from it")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  ab->add_option("--save", a.ab.save, "Write the plan to this file, for 'stabctl run'");
  ab->add_option("--state", a.ab.state_directory, "Folder of the database");
  fail_on_option(ab);
  ab->add_flag("--markdown", a.ab.markdown, "A table for a pull request, in place of the report");
  ab->add_option("--html", a.ab.html, "File for the report as a page for a browser, too");
  web_flag(ab);
  full_flag(ab);
  json_flag(ab);
}

}  // namespace stab::command_line
