// SPDX-License-Identifier: MIT
// A laboratory for tests: a private folder with plans and programs, the real stabd and the real
// stabctl.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"

namespace stab::test {

// Of a test that tries the same many times: `few` by default, `many` in a campaign
// (tests/campaign/run).
int times(int few, int many);

struct Output {
  int code = -1;  // exit code, or -signal
  std::string out;
  std::string err;
};

// The words alone: where a line of a report breaks depends on the figures in it.
std::string joined(const std::string& text);

// Runs a program to its end; all of its output is kept.
Output run_program(const std::vector<std::string>& argv, const std::string& directory);

// Starts one; stdout and stderr go to a file.
pid_t start_program(const std::vector<std::string>& argv, const std::string& directory,
                    const std::string& file);
// Its exit code, or -signal; -1000 if it does not end within the time.
int end_of(pid_t child, std::chrono::seconds limit = std::chrono::seconds(60));
// Whether the file gets to hold the text.
bool wait_for_text(const std::string& file, const std::string& text,
                   std::chrono::seconds limit = std::chrono::seconds(60));

// For the shell of a trial, which runs in the lab's folder: it waits until the test writes the file
// "go". The first `at_once` that begin do not wait; the file "began" has a line for each.
std::string until_go(int at_once = 0);
// A plan of a benchmark "b" whose trials do that and nothing else, for as long as it takes.
std::string waiting_plan(const std::string& name, int repetitions, int at_once = 0);

// A plan whose verdicts do not depend on the machine: what is compared are numbers that took.sh
// prints. The levels of its factor "t" say which, as in { short = { NS = "100" } }.
std::string printing_plan(const std::string& name, const std::string& levels, int repetitions,
                          const std::string& more = "");
// A text for took.sh: prints its argument, and a little more each time; `first` are lines that come
// before that.
std::string took_script(const std::string& first = "");

// Gives this process a default state folder of its own: below /var/lib for root, which is mounted
// anew, and in `folder` for others. False if mounts are not allowed. End it by drop_state_folder().
bool own_state_folder(const std::string& folder);
void drop_state_folder();

class Lab;
// A library in lab.path("clock.so") for LD_PRELOAD: the wall clock of a program that has it, and no
// other's, is ahead by the seconds that lab.path("clock") says, if it is there. False if it cannot be
// made or, under a sanitizer, not be used.
bool make_clock(const Lab& lab);

class Lab {
 public:
  Lab();
  ~Lab();  // ends the daemon and removes the folder
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, const std::string& text, bool executable = false) const;

  // The daemons started from here on are a copy of stabd, path("stabd"), which a test may replace.
  void copy_stabd();
  // Starts stabd and waits until it serves, with the settings in path("stabd.toml"), which is empty
  // unless a test writes it; `extra` are further arguments. False if it ended
  // instead.
  bool start_daemon(const std::vector<std::string>& extra = {});
  [[nodiscard]] pid_t daemon() const { return daemon_; }
  // The worker of that daemon; 0 if it has none.
  [[nodiscard]] pid_t worker() const;
  void end_daemon(int signal);
  // Its exit code, or -signal, when it ends by itself.
  int wait_for_daemon();

  // stabctl with this daemon's socket.
  Output ctl(std::vector<std::string> arguments) const;
  // A conversation with this daemon of which nothing has been said.
  [[nodiscard]] Fd connect() const;
  // Submits a plan file and returns its id; 0 if it is refused.
  int submit(const std::string& plan) const;
  // The experiment's state, as `list` says.
  std::string state(int id) const;
  // Waits for a state; false after the time.
  bool wait_for(int id, const std::string& state,
                std::chrono::seconds limit = std::chrono::seconds(120)) const;
  bool wait_until_final(int id, std::chrono::seconds limit = std::chrono::seconds(120)) const;
  // Waits until so many trials of one that runs, and goes on meanwhile, are stored.
  bool wait_for_trials(int id, int count,
                       std::chrono::seconds limit = std::chrono::seconds(120)) const;
  // All attempts, as `export --format json`.
  nlohmann::json trials(int id) const;

 private:
  bool comes_to(int id, const std::set<std::string>& wanted, std::chrono::seconds limit) const;

  std::string folder_;
  std::string stabd_;
  pid_t daemon_ = 0;
};

}  // namespace stab::test
