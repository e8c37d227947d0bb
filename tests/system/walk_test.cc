// SPDX-License-Identifier: MIT
// Random sequences of what users, the machine and a hostile worker do to a daemon, beside a model of
// what must hold. A failure prints its sequence. STAB_WALK="submit kill pause:1" runs a sequence that
// was made shorter by hand, and STAB_SEED=N draws others.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "stabd/daemon/session/state.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using daemon::Event;
using daemon::State;
using nlohmann::json;

constexpr int repetitions = 12;

// A worker reads a request and answers this, once.
constexpr std::array hostile_replies{
    "echo",
    "echo nonsense",
    "echo '{}'",
    "echo '{\"kind\":\"run\",\"status\":\"ok\",\"wall_ns\":-1}'",
    "echo '{\"kind\":\"build\",\"key\":\"../../x\"}'",
    "printf '{\"kind\":\"setup\",\"trial_cpus\":'",
    "head -c 100000000 /dev/zero | tr '\\0' x",
    "printf '\\377\\376\\n'",
    "for i in 1 2 3 4 5 6 7 8 9; do echo '{\"kind\":\"run\"}'; done",
};

struct Step {
  std::string what;
  std::uint64_t which = 0;  // the experiment, counted from 1; a reply of those above
};

std::string words_of(const std::vector<Step>& steps) {
  std::string words;
  for (const Step& step : steps)
    words += step.what + (step.which == 0 ? " " : fmt::format(":{} ", step.which));
  return words;
}

std::vector<Step> steps_in(const std::string& words) {
  std::vector<Step> steps;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    const std::size_t colon = word.find(':');
    steps.push_back(
        {.what = word.substr(0, colon),
         .which = colon == std::string::npos ? 0 : std::stoull(word.substr(colon + 1))});
  }
  return steps;
}

std::vector<Step> drawn_steps(Random& random, int count) {
  constexpr std::array frequent{"submit", "cancel", "pause",      "resume", "retry",
                                "kill",   "wait",   "killworker", "stop",   "hostile",
                                "full",   "clock",  "spoil"};
  std::vector<Step> steps{{.what = "submit"}};
  std::uint64_t submitted = 1;
  while (steps.size() < static_cast<std::size_t>(count)) {
    Step step{.what = frequent[random.below(frequent.size())]};
    // More than the queue has room for would only be refused.
    if (step.what == "submit" && ++submitted > 6) continue;
    if (step.what == "cancel" || step.what == "pause" || step.what == "resume" ||
        step.what == "retry")
      step.which = 1 + random.below(submitted);
    if (step.what == "hostile") step.which = 1 + random.below(hostile_replies.size());
    if (step.what == "wait") step.which = 1 + random.below(300);
    steps.push_back(step);
  }
  return steps;
}

class Walk {
 public:
  Walk() = default;
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  ~Walk() {
    lab_.end_daemon(SIGTERM);
    if (own_disk_) umount2(lab_.path("state").c_str(), MNT_DETACH);
  }

  void begin() {
    fs::create_directory(lab_.path("state"));
    own_disk_ = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
                mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                mount("tmpfs", lab_.path("state").c_str(), "tmpfs", 0, "size=16m") == 0;
    if (make_clock(lab_)) clock_ = lab_.path("clock.so");
    lab_.write(
        "plan.toml",
        fmt::format("[experiment]\nname = \"walk\"\n[defaults]\ngive_up_after = 0\n"
                    "[[benchmark]]\nname = \"b\"\nbuild = \"cp source ${{OUT}}\"\n"
                    "sources = [\"source\"]\ntimeout = \"60s\"\nrepetitions = {}\n"
                    "run = [\"sh\", \"-c\", \"sleep 0.03; test ! -e spoilt\", \"${{OUT}}\"]\n",
                    repetitions));
    lab_.write("source", "source\n");
    fs::copy_file(std::string(STAB_BIN_DIR) + "/stabd", lab_.path("stabd.real"));
    lab_.copy_stabd();
    ASSERT_TRUE(start());
  }
  void take_all(const std::vector<Step>& steps) {
    SCOPED_TRACE("STAB_WALK='" + words_of(steps) + "'");
    for (const Step& step : steps) {
      SCOPED_TRACE(step.what);
      take(step);
      look();
      if (::testing::Test::HasFailure()) return;
    }
    settle();
  }

 private:
  // The daemon's worker is a script from here on, which is the real one unless a step says otherwise.
  bool start() {
    fs::remove(lab_.path("stabd"));
    fs::create_hard_link(lab_.path("stabd.real"), lab_.path("stabd"));
    if (!clock_.empty()) setenv("LD_PRELOAD", clock_.c_str(), 1);
    const bool started = lab_.start_daemon();
    unsetenv("LD_PRELOAD");
    lab_.write("script",
               "#!/bin/sh\nif [ \"$1\" = --worker ] && mv hostile used 2>/dev/null; then\n"
               "read request <&3; . ./used >&3; exit\nfi\nexec " +
                   lab_.path("stabd.real") + " \"$@\"\n",
               true);
    // A worker starts in the daemon's folder, which is the lab's.
    fs::rename(lab_.path("script"), lab_.path("stabd"));
    return started;
  }

  // What a verb does to the model where it succeeds; where it fails, the message says why. On a full
  // disk its effect, and the answer of some, come when there is room.
  void ask(const std::string& verb, std::uint64_t which, Event event) {
    std::vector<std::string> argv{std::string(STAB_BIN_DIR) + "/stabctl", "--socket",
                                  lab_.path("s.sock"), verb, std::to_string(which)};
    if (full_) argv.insert(argv.begin(), {"/usr/bin/timeout", "1"});
    const Output output = run_program(argv, lab_.folder());
    EXPECT_TRUE(output.code == 0 || !output.err.empty() || full_) << verb;
    if (!known_.contains(static_cast<int>(which))) return;
    Known& known = known_[static_cast<int>(which)];
    if (full_) known.later.insert(event);
    if (output.code != 0) return;
    known.events.insert(event);
    known.ended = event == Event::cancel || (known.ended && event != Event::retry);
  }

  void take(const Step& step) {
    if (step.what == "submit") {
      const int id = lab_.submit("plan.toml");
      if (full_) return;  // it may be refused for that
      ASSERT_NE(id, 0) << "a plan is refused";
      known_[id];
    } else if (step.what == "cancel") {
      ask("cancel", step.which, Event::cancel);
    } else if (step.what == "pause") {
      ask("pause", step.which, Event::hold);
    } else if (step.what == "resume") {
      ask("resume", step.which, Event::let_go);
    } else if (step.what == "retry") {
      ask("retry", step.which, Event::retry);
    } else if (step.what == "kill" || step.what == "stop") {
      // One that can't store anything does not start.
      fs::remove(lab_.path("state/filler"));
      full_ = false;
      lab_.end_daemon(step.what == "kill" ? SIGKILL : SIGTERM);
      fs::remove(lab_.path("clock"));
      ASSERT_TRUE(start());
    } else if (step.what == "killworker") {
      lost_workers_ = true;
      if (const pid_t worker = lab_.worker(); worker != 0) kill(worker, SIGKILL);
    } else if (step.what == "hostile") {
      lost_workers_ = true;
      lab_.write("hostile", std::string(hostile_replies.at(step.which - 1)) + "\n");
      if (const pid_t worker = lab_.worker(); worker != 0) kill(worker, SIGKILL);
    } else if (step.what == "full") {
      fill_or_empty();
    } else if (step.what == "clock") {
      lab_.write("clock", fs::exists(lab_.path("clock")) ? "-18000" : "34560000");
      kill(lab_.daemon(), SIGHUP);  // it looks for what is old
    } else if (step.what == "spoil") {
      if (!fs::remove(lab_.path("spoilt"))) lab_.write("spoilt", "");
    } else if (step.what == "wait") {
      usleep(static_cast<useconds_t>(step.which * 1000));
    } else {
      FAIL() << "there is no step " << step.what;
    }
  }
  void fill_or_empty() {
    if (!own_disk_) return;
    full_ = !full_;
    if (!full_) {
      fs::remove(lab_.path("state/filler"));
      return;
    }
    std::ofstream file(lab_.path("state/filler"), std::ios::binary);
    const std::string page(4096, 'x');
    while (file << page && file.flush()) {
    }
  }

  struct Known {
    State state = State::queued;
    std::set<Event> events;  // that were asked for since then
    std::set<Event> later;   // that may come to be stored, because the disk was full then
    bool ended = false;      // by a cancel that was acknowledged
    std::map<std::pair<int, int>, json> trials;
  };
  // All states that these events lead to.
  std::set<State> reachable(const Known& known) const {
    std::set<Event> events = known.events;
    events.insert(known.later.begin(), known.later.end());
    events.insert({Event::start, Event::built, Event::quiesce, Event::quiet, Event::trials_complete,
                   Event::analysed, Event::storage_trouble, Event::storage_ok, Event::worker_lost,
                   Event::give_way});
    if (lost_workers_) events.insert(Event::gave_up);
    // What a killed or stopped daemon drove waits, for those who look, until the next one drives it.
    std::set<State> states{known.state};
    if (!daemon::is_final(known.state)) states.insert(State::queued);
    for (std::size_t before = 0; before != states.size();) {
      before = states.size();
      for (const State state : std::set(states))
        for (const Event event : events)
          if (const auto to = daemon::next(state, event)) states.insert(*to);
    }
    if (known.ended && known.later.empty())
      std::erase_if(states, [](State state) { return !daemon::is_final(state); });
    return states;
  }

  void look() {
    const Output listed = lab_.ctl({"list", "--json"});
    ASSERT_EQ(listed.code, 0) << listed.err;
    const json rows = json::parse(listed.out);
    if (!full_) EXPECT_GE(rows.size(), known_.size()) << "an experiment is lost";
    for (const json& row : rows) {
      Known& known = known_[row["id"]];
      const auto state = daemon::state_from(row["state"].get<std::string>());
      ASSERT_TRUE(state) << row["state"];
      EXPECT_TRUE(reachable(known).contains(*state))
          << "experiment " << row["id"] << " was " << to_string(known.state) << " and is "
          << row["state"];
      known.state = *state;
      known.events.clear();
      look_at_trials(row["id"], known);
    }
  }
  void look_at_trials(int id, Known& known) {
    const Output exported = lab_.ctl({"export", "--format", "json", std::to_string(id)});
    const json rows = json::parse(exported.out, nullptr, false);
    if (!rows.is_array()) {  // a full disk has no room for an answer
      EXPECT_TRUE(full_) << exported.err;
      return;
    }
    std::map<std::pair<int, int>, json> now;
    std::map<int, int> standing;
    for (const json& row : rows) {
      const bool is_new =
          now.emplace(std::pair(row["position"].get<int>(), row["attempt"].get<int>()), row).second;
      EXPECT_TRUE(is_new) << "a trial is stored twice: " << row["position"];
      standing[row["position"]] += row["last"] == true ? 1 : 0;
    }
    for (const auto& [position, count] : standing) EXPECT_LE(count, 1) << position;
    for (const auto& [place, row] : known.trials) {
      const auto same = now.find(place);
      ASSERT_NE(same, now.end()) << "a stored trial is lost: " << place.first;
      EXPECT_EQ(same->second["started_ns"], row["started_ns"]) << "a stored trial has changed";
      EXPECT_EQ(same->second["status"], row["status"]) << "a stored trial has changed";
    }
    known.trials = std::move(now);
  }

  // After the last step everything is well again: each experiment ends, with each trial once.
  void settle() {
    fs::remove(lab_.path("state/filler"));
    fs::remove(lab_.path("hostile"));
    full_ = false;
    lab_.end_daemon(SIGTERM);
    fs::remove(lab_.path("clock"));
    ASSERT_TRUE(start());
    look();
    std::vector<int> ids;
    for (const auto& [id, known] : known_) ids.push_back(id);
    for (const int id : ids) ask("resume", static_cast<std::uint64_t>(id), Event::let_go);
    for (const auto& [id, known] : known_)
      ASSERT_TRUE(lab_.wait_until_final(id)) << lab_.ctl({"status", std::to_string(id)}).out;
    look();
    for (const auto& [id, known] : known_) {
      std::set<int> standing;
      for (const auto& [place, row] : known.trials) {
        // A trial whose workers are killed again and again is given up.
        EXPECT_TRUE(row["status"] == "ok" || row["status"] == "wrong_exit" ||
                    (lost_workers_ && row["status"] == "not_started"))
            << row["status"] << ": " << row["reason"];
        if (row["last"] == true) standing.insert(place.first);
      }
      if (known.state == State::done) EXPECT_EQ(standing.size(), std::size_t{repetitions}) << id;
    }
    lab_.end_daemon(SIGTERM);
    const Output checked = run_program(
        {"/usr/bin/sqlite3", lab_.path("state/stabd.db"), "pragma integrity_check"}, lab_.folder());
    EXPECT_EQ(checked.out, "ok\n");
  }

  Lab lab_;
  bool own_disk_ = false;
  bool full_ = false;
  bool lost_workers_ = false;
  std::string clock_;
  std::map<int, Known> known_;
};

TEST(Walks, LoseNothingAndEndEachExperiment) {
  const char* const given = std::getenv("STAB_WALK");
  const char* const seed = std::getenv("STAB_SEED");
  const std::uint64_t first = seed != nullptr ? std::stoull(seed) : 20261;
  const int walks = given != nullptr ? 1 : times(3, 300);
  for (int i = 0; i < walks && !::testing::Test::HasFailure(); ++i) {
    Random random(first + static_cast<std::uint64_t>(i));
    Walk walk;
    ASSERT_NO_FATAL_FAILURE(walk.begin());
    if (given == nullptr)
      std::cout << "seed " << first + static_cast<std::uint64_t>(i) << std::endl;
    walk.take_all(given != nullptr ? steps_in(given) : drawn_steps(random, 25));
  }
}

}  // namespace
}  // namespace stab::test
