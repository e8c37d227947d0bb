// SPDX-License-Identifier: MIT
// Fifty users share one stabd while another user's experiment runs. Five of them attack stabd. Prints how the attacks
// change waiting times and trials, and writes all measurements as CSV. Ends by itself, and uses only local sockets.
//
//   build/campaign/fifty_users [--quick] [--pairs N] [--seconds S] [FOLDER]      (as root; FOLDER: for the CSV files)
//
// Two kinds of blocks alternate. In one kind, 45 users ask for lists, logs and reports, and five attack:
//   1  sends plans of 760 KB, which stabd refuses, over 16 connections;
//   2  holds 16 connections, half in the middle of a request, asks for more, and floods another connection with requests;
//   3  asks for an export of 100,000 trials on each of 16 connections, but never reads the exports;
//   4  has workers that answer with 57 MB, control characters, forged replies or endless output;
//   5  fills the cache with builds, and its trials attack their worker, forge output and leave processes behind.
// In the other kind of block, nobody talks to stabd. Instead, the same number of processes run `stabctl check` on a
// refused plan, to keep the CPUs as busy as the attackers do.
//
// Goals: nobody waits longer than 1 s for `list`, and the trials' CPU time differs by less than 1 % (95 % interval).
// Exit code: 0 if both goals are reached, 1 if a goal is missed or undecided, 2 if the campaign could not run or lost a trial.
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/math/distributions/students_t.hpp>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "machine/topology.h"
#include "protocol/messages.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::seconds;

constexpr uid_t honest = 62'000;
constexpr int honest_users = 45;
constexpr uid_t hostile = 62'100;
constexpr uid_t measured = 62'200;
constexpr std::int64_t second_ns = 1'000'000'000;
// After a change of the kind of block, what the other kind left behind ends.
constexpr std::int64_t settling_ns = 2 * second_ns;

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  int pairs = 20;
  int block_seconds = 12;
  std::string folder = "fifty_users";
};

enum class Verb { list, logs, report };
constexpr std::array<const char*, 3> names_of_verbs{"list", "logs", "report"};

// What one question took; written to a pipe as a whole.
struct Wait {
  std::int64_t asked_ns = 0;
  std::int64_t took_ns = 0;
  std::uint32_t uid = 0;
  Verb verb = Verb::list;
  std::uint32_t refused = 0;  // an answer that is an error, or none
};
static_assert(sizeof(Wait) <= 512, "a pipe takes it at once");

struct Block {
  bool attacked = false;
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

volatile std::sig_atomic_t asked_to_end = 0;

std::string hello() {
  return protocol::encode(
             protocol::HelloRequest{.protocol = protocol::version, .version = "campaign"}) +
         "\n";
}

// A connection to stabd, as whoever this process is; nothing if stabd takes none.
Fd connected(const std::string& socket_path) {
  Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fd.reset();
  return fd;
}

bool say(const Fd& fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Reads until so many lines have come. Whether the last of them is no error.
bool hear(const Fd& fd, int lines) {
  std::array<char, 65536> buffer;
  std::string last;
  for (;;) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    for (const char c : std::string_view(buffer.data(), static_cast<std::size_t>(n))) {
      if (c != '\n') {
        if (last.size() < 100) last += c;
      } else if (--lines == 0) {
        return last.contains("\"ok\":true");
      } else {
        last.clear();
      }
    }
  }
}

// A refused plan, as a file and as a request. Its reader has something to do before it refuses it.
std::string refused_plan() {
  std::string plan = "[experiment]\nname = \"x\"\n";
  for (int i = 0; i < 70'000; ++i) plan += "k" + std::to_string(i) + " = 1\n";
  return plan;
}
std::string request_of(const std::string& plan) {
  return json{{"verb", "submit"}, {"directory", "/tmp"}, {"plan", plan}}.dump() + "\n";
}

// Threads are how one process has 16 conversations at once.
template <class Conversation>
[[noreturn]] void sixteen_times(const Conversation& conversation) {
  std::vector<std::jthread> all;
  for (int i = 0; i < 16; ++i)
    all.emplace_back([&conversation, i] {
      for (;;) {
        conversation(i);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  for (;;) pause();
}

class Campaign {
 public:
  explicit Campaign(Options options) : options_(std::move(options)) {}
  int run();

 private:
  void prepare();
  void write_files();
  void start_measured();
  void stay_off_trials();
  pid_t start_as(uid_t user, const std::function<void()>& what);
  void begin_attacks();
  void begin_control();
  void end_processes();
  void cancel_hostile();
  void ask_as(uid_t user, int number);
  void attack(int number);
  [[noreturn]] void submit_again_and_again(const std::string& name);
  void run_block(bool attacked);
  void take_waits();
  bool report_waits();
  bool report_trials();
  bool report_daemon();

  std::string socket() const { return lab_.path("s.sock"); }
  std::string folder_of(uid_t user) const { return lab_.path("of-" + std::to_string(user)); }
  std::vector<std::string> command(std::vector<std::string> words) const {
    words.insert(words.begin(), {std::string(STAB_BIN_DIR) + "/stabctl", "--socket", socket()});
    return words;
  }

  Options options_;
  Lab lab_;
  int measured_id_ = 0;
  int large_id_ = 0;
  std::map<uid_t, int> own_ids_;  // an experiment of each of the honest
  std::vector<pid_t> askers_;
  std::vector<pid_t> busy_;
  int attackers_ = 0;  // processes
  Fd waits_in_;
  Fd waits_out_;
  std::vector<Wait> waits_;
  std::vector<Block> blocks_;
  pid_t started_by_ = getpid();
};

// It ends with us, and with its group.
pid_t Campaign::start_as(uid_t user, const std::function<void()>& what) {
  const pid_t child = fork();
  if (child != 0) {
    setpgid(child, child);
    return child;
  }
  setpgid(0, 0);
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
      setresuid(user, user, user) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 ||
      getppid() != started_by_)
    _exit(1);
  what();
  _exit(0);
}

void Campaign::write_files() {
  chmod(lab_.folder().c_str(), 0755);
  const auto own_folder = [&](uid_t user) {
    fs::create_directories(folder_of(user));
    if (chown(folder_of(user).c_str(), user, user) != 0) std::abort();
  };
  for (int i = 0; i < honest_users; ++i) own_folder(honest + static_cast<uid_t>(i));
  for (int i = 1; i <= 5; ++i) own_folder(hostile + static_cast<uid_t>(i));
  own_folder(measured);
  lab_.write("stabd.toml",
             "[daemon]\nsocket_mode = \"0666\"\n[limits]\nturn = \"10s\"\ncache_of_user = "
             "\"200MiB\"\n");
  lab_.write("refused.toml", refused_plan());
  lab_.write("small.toml",
             "[experiment]\nname = \"small\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
             "timeout = \"5s\"\nrepetitions = 3\n");
  lab_.write("measured.toml",
             "[experiment]\nname = \"measured\"\n[[benchmark]]\nname = \"b\"\ntimeout = \"10s\"\n"
             "run = [\"awk\", \"BEGIN { for (i = 0; i < 400000; ++i) s += i % 7; print s }\"]\n"
             "repetitions = 100000\n");
  lab_.write("worker4.toml",
             "[experiment]\nname = \"hostile-worker\"\n[[benchmark]]\nname = \"b\"\n"
             "run = [\"true\"]\ntimeout = \"2s\"\nrepetitions = 2\n");
  // 4: whatever the worker is asked.
  lab_.write("hostile_worker",
             "#!/bin/sh\nread -r line <&3\ncase $(($(date +%s) % 5)) in\n"
             "0) head -c 57000000 /dev/zero | tr '\\0' x >&3 ;;\n"
             "1) printf '{\"ok\":true,\"host\":\"\\033[2J\\\\u001b]0;x\\\\u0007\"}\\n' >&3 ;;\n"
             "2) yes '{\"ok\":true,\"status\":\"ok\",\"wall_ns\":1}' | head -c 20000000 >&3 ;;\n"
             "3) yes noise | head -c 50000000 ;;\n"
             "4) printf '[%.0s' $(seq 100000) >&3; echo >&3 ;;\nesac\nsleep 1\n",
             true);
  // 5: nothing of this may do anything to anybody.
  lab_.write("hostile_trial",
             "#!/bin/sh\nexec 2>/dev/null\nkill -STOP -1\nkill -KILL 1\nfor p in /proc/[0-9]*; do\n"
             "  [ $p = /proc/$$ ] || { head -c 9 $p/environ; : >$p/fd/3; : >$p/fd/1; : >$p/mem; }\n"
             "done\nprintf '\\033[2J\\033]0;forged\\007{\"ok\":true}\\n'\n"
             "(setsid sleep 600 &) \n(setsid sleep 600 &) \nhead -c 30000000 /dev/zero\n"
             "head -c 30000000 /dev/zero >/dev/shm/full\nexit 0\n",
             true);
}

void Campaign::prepare() {
  write_files();
  const Output made =
      run_program({std::string(STAB_BIN_DIR) + "/../bench/make_trials", lab_.path("state"),
                   "100000", "done", "5", "0", std::to_string(hostile + 3)},
                  "/");
  large_id_ = std::atoi(made.out.c_str());
  lab_.copy_stabd();
  if (large_id_ == 0 || !lab_.start_daemon()) {
    throw Failed("stabd cannot be started: " + made.err);
  }
  // What the daemon starts from here on goes through this script.
  fs::rename(lab_.path("stabd"), lab_.path("copy-of-stabd"));
  lab_.write("stabd",
             "#!/bin/sh\n[ \"$1\" = --worker ] && [ \"$(id -u)\" = " + std::to_string(hostile + 4) +
                 " ] && exec " + lab_.path("hostile_worker") + "\nexec " +
                 lab_.path("copy-of-stabd") + " \"$@\"\n",
             true);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) std::abort();
  waits_in_ = Fd(ends[0]);
  waits_out_ = Fd(ends[1]);
  fcntl(waits_in_.get(), F_SETFL, O_NONBLOCK);
  fcntl(waits_in_.get(), F_SETPIPE_SZ, 1 << 20);
}

int id_in(const std::string& text) {
  const json said = json::parse(text, nullptr, false);
  return said.is_object() ? said.value("id", 0) : 0;
}

// Each of the honest has an experiment of a few trials; then the one that is measured begins.
void Campaign::start_measured() {
  const auto submit = [&](uid_t user, const std::string& plan) {
    std::vector<std::string> argv{"/usr/bin/setpriv",   "--clear-groups", "--reuid",
                                  std::to_string(user), "--regid",        std::to_string(user)};
    const auto words = command({"submit", "--json", lab_.path(plan)});
    argv.insert(argv.end(), words.begin(), words.end());
    const Output said = run_program(argv, folder_of(user));
    if (const int id = id_in(said.out)) return id;
    throw Failed(fmt::format("user {} cannot submit: {}{}", user, said.out, said.err));
  };
  for (int i = 0; i < honest_users; ++i) {
    const uid_t user = honest + static_cast<uid_t>(i);
    own_ids_[user] = submit(user, "small.toml");
  }
  for (const auto& [user, id] : own_ids_)
    if (!lab_.wait_for(id, "done", std::chrono::minutes(10)))
      throw Failed(fmt::format("the experiment of user {} is not done", user));
  measured_id_ = submit(measured, "measured.toml");
  if (!lab_.wait_for(measured_id_, "running", std::chrono::minutes(2)))
    throw Failed("the measured experiment does not begin");
}

// We and all that we start from here on run on no CPU of the trials, as under the knob other_processes.
void Campaign::stay_off_trials() {
  machine::CpuSet trial;
  const json listed = json::parse(lab_.ctl({"list", "--json"}).out, nullptr, false);
  if (listed.is_array())
    for (const json& each : listed)
      if (each.value("id", 0) == measured_id_)
        trial = machine::cpus_in(each.value("trial_cpus", ""));
  cpu_set_t cpus;
  sched_getaffinity(0, sizeof cpus, &cpus);
  if (trial.empty() || CPU_COUNT(&cpus) < 2) {
    fmt::print("Trials have no CPU of their own here: attackers and trials share them.\n");
    return;
  }
  for (const unsigned each : trial) CPU_CLR(each, &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
  fmt::print("Trials run on CPU {}; all processes of the campaign run on the other {}.\n",
             machine::to_string(trial), CPU_COUNT(&cpus));
}

// Mostly lists, and now and then something that a reader answers.
void Campaign::ask_as(uid_t user, int number) {
  std::signal(SIGUSR1, [](int) { asked_to_end = 1; });
  std::mt19937 random(static_cast<unsigned>(number));
  const int own = own_ids_.at(user);
  while (asked_to_end == 0) {
    usleep(static_cast<useconds_t>(random() % 2'000'000));
    if (asked_to_end != 0) return;
    Wait wait{.asked_ns = wall_clock_ns(), .uid = user};
    wait.verb = random() % 8 == 0 ? Verb::logs : random() % 16 == 0 ? Verb::report : Verb::list;
    const std::string request =
        wait.verb == Verb::list ? protocol::encode(protocol::ListRequest{})
        : wait.verb == Verb::logs
            ? protocol::encode(protocol::LogsRequest{.id = own})
            : protocol::encode(protocol::ReportRequest{.id = own, .format = "json"});
    const auto begin = std::chrono::steady_clock::now();
    const Fd fd = connected(socket());
    const bool answered = fd && say(fd, hello() + request + "\n") && hear(fd, 2);
    wait.took_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    wait.refused = answered ? 0 : 1;
    static_cast<void>(!write(waits_out_.get(), &wait, sizeof wait));
  }
}

void Campaign::submit_again_and_again(const std::string& name) {
  for (int i = 0;; ++i) {
    const std::string plan = folder_of(geteuid()) + "/plan.toml";
    std::string text = read_file(lab_.path("worker4.toml"), 1 << 20).value_or("");
    if (name == "cache")
      text =
          "[experiment]\nname = \"hostile-trial\"\n[[benchmark]]\nname = \"b\"\nbuild = \"echo " +
          std::to_string(getpid()) + "." + std::to_string(i) +
          "; head -c 40000000 /dev/urandom >${OUT}; chmod +x ${OUT}\"\nrun = [\"" +
          lab_.path("hostile_trial") +
          "\", \"${OUT}\"]\ntimeout = \"2s\"\nbuild_timeout = \"5s\"\nrepetitions = 2\n";
    static_cast<void>(write_file_atomically(plan, text));
    run_program(command({"submit", "--wait", plan}), folder_of(geteuid()));
    sleep(1);
  }
}

void Campaign::attack(int number) {
  switch (number) {
    case 1: {
      const std::string says = hello() + request_of(refused_plan());
      sixteen_times([&](int) {
        const Fd fd = connected(socket());
        if (fd && say(fd, says)) hear(fd, 2);
      });
    }
    case 2: {
      const std::string flood = protocol::encode(protocol::ListRequest{}) + "\n";
      std::vector<Fd> held;
      for (int i = 0; i < 12; ++i) {
        held.push_back(connected(socket()));
        if (i % 2 == 0 && held.back()) say(held.back(), hello() + std::string(500'000, '['));
      }
      sixteen_times([&](int i) {
        const Fd fd = connected(socket());
        if (!fd || !say(fd, hello())) return;
        for (int n = 0; i < 4 && n < 200 && say(fd, flood); ++n)
          if (n % 50 == 49) hear(fd, 50);
      });
    }
    case 3: {
      const std::string says =
          hello() + protocol::encode(protocol::ExportRequest{.id = large_id_, .format = "json"}) +
          "\n";
      sixteen_times([&](int) {
        const Fd fd = connected(socket());
        if (fd && say(fd, says)) hear(fd, 1);
        sleep(5);
      });
    }
    case 4:
      submit_again_and_again("worker");
    default:
      submit_again_and_again("cache");
  }
}

void Campaign::begin_attacks() {
  for (int i = 0; i < honest_users; ++i) {
    const uid_t user = honest + static_cast<uid_t>(i);
    askers_.push_back(start_as(user, [this, user, i] {
      ask_as(user, static_cast<int>(blocks_.size()) * honest_users + i);
    }));
  }
  for (int number = 1; number <= 5; ++number)
    busy_.push_back(
        start_as(hostile + static_cast<uid_t>(number), [this, number] { attack(number); }));
  attackers_ = static_cast<int>(busy_.size());
}

// They keep the other CPUs as busy with the same work: they read the same plans, by a stabctl that asks no daemon.
void Campaign::begin_control() {
  for (int i = 0; i < std::max(attackers_, 5); ++i)
    busy_.push_back(start_as(hostile + static_cast<uid_t>(i % 5 + 1), [this] {
      for (;;)
        run_program({std::string(STAB_BIN_DIR) + "/stabctl", "check", lab_.path("refused.toml")},
                    "/");
    }));
}

// Whoever has asked gets the answer first: a long wait counts, and one without an end as an error.
void Campaign::end_processes() {
  for (const pid_t asker : askers_) kill(asker, SIGUSR1);
  const auto until = std::chrono::steady_clock::now() + seconds(60);
  for (const pid_t asker : askers_)
    while (waitpid(asker, nullptr, WNOHANG) == 0) {
      take_waits();
      usleep(5'000);
      if (std::chrono::steady_clock::now() < until) continue;
      kill(asker, SIGKILL);
      waitpid(asker, nullptr, 0);
      waits_.push_back(
          {.asked_ns = wall_clock_ns(), .took_ns = 60 * second_ns, .uid = honest, .refused = 1});
      break;
    }
  askers_.clear();
  for (const pid_t each : busy_) kill(-each, SIGKILL);
  for (const pid_t each : busy_) waitpid(each, nullptr, 0);
  busy_.clear();
  take_waits();
}

void Campaign::cancel_hostile() {
  const json listed = json::parse(lab_.ctl({"list", "--json"}).out, nullptr, false);
  if (!listed.is_array()) return;
  for (const json& each : listed)
    if (each.value("name", "").starts_with("hostile-") && each.value("state", "") != "done" &&
        each.value("state", "") != "failed" && each.value("state", "") != "cancelled")
      lab_.ctl({"cancel", std::to_string(each.value("id", 0))});
}

void Campaign::take_waits() {
  Wait wait;
  while (read(waits_in_.get(), &wait, sizeof wait) == sizeof wait) waits_.push_back(wait);
}

void Campaign::run_block(bool attacked) {
  Block block{.attacked = attacked};
  if (attacked)
    begin_attacks();
  else
    begin_control();
  block.from_ns = wall_clock_ns() + settling_ns;
  const std::int64_t end = block.from_ns + options_.block_seconds * second_ns;
  while (wall_clock_ns() < end) {
    take_waits();
    if (attacked) {
      // Root, by the command that people use.
      Wait wait{.asked_ns = wall_clock_ns()};
      const auto begin = std::chrono::steady_clock::now();
      wait.refused = lab_.ctl({"list"}).code == 0 ? 0 : 1;
      wait.took_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
      waits_.push_back(wait);
    }
    usleep(500'000);
  }
  block.to_ns = wall_clock_ns();
  end_processes();
  if (attacked) cancel_hostile();
  blocks_.push_back(block);
}

double in_ms(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

bool Campaign::report_waits() {
  std::string csv = "asked_ns,uid,verb,took_ns,refused\n";
  std::map<std::string, std::vector<std::int64_t>> by_kind;
  std::size_t refused = 0;
  std::int64_t longest_list = 0;
  for (const Wait& each : waits_) {
    const char* verb = names_of_verbs.at(static_cast<std::size_t>(each.verb));
    csv +=
        fmt::format("{},{},{},{},{}\n", each.asked_ns, each.uid, verb, each.took_ns, each.refused);
    by_kind[each.uid == 0 ? "'stabctl list' of root" : fmt::format("{} of 45 users", verb)]
        .push_back(each.took_ns);
    refused += each.refused;
    if (each.verb == Verb::list) longest_list = std::max(longest_list, each.took_ns);
  }
  static_cast<void>(write_file_atomically(options_.folder + "/waits.csv", csv));
  fmt::print("\n{:<24}{:>8}{:>12}{:>12}{:>12}   under attack, in ms\n", "answer", "count", "median",
             "p99", "worst");
  for (auto& [kind, times] : by_kind) {
    std::ranges::sort(times);
    fmt::print("{:<24}{:>8}{:>12.1f}{:>12.1f}{:>12.1f}\n", kind, times.size(),
               in_ms(times[times.size() / 2]), in_ms(times[times.size() * 99 / 100]),
               in_ms(times.back()));
  }
  const bool reached = refused == 0 && !waits_.empty() && longest_list <= second_ns;
  if (refused != 0) fmt::print("{} questions of honest users got no answer or an error\n", refused);
  fmt::print("{}: nobody waits longer than 1 s for 'list'\n", reached ? "REACHED" : "MISSED");
  return reached;
}

// The median of each block, because other virtual machines disturb single trials; then the pairs' differences.
bool Campaign::report_trials() {
  std::map<std::size_t, std::vector<double>> of_block;
  std::string csv = "block,attacked,started_ns,cpu_ns\n";
  for (const json& trial : lab_.trials(measured_id_)) {
    if (trial.value("status", "") != "ok") continue;
    const std::int64_t begin = trial["started_ns"];
    const std::int64_t end = begin + trial["wall_ns"].get<std::int64_t>();
    const std::int64_t cpu =
        trial["user_ns"].get<std::int64_t>() + trial["system_ns"].get<std::int64_t>();
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (begin < blocks_[i].from_ns || end > blocks_[i].to_ns) continue;
      csv += fmt::format("{},{},{},{}\n", i, blocks_[i].attacked ? 1 : 0, begin, cpu);
      of_block[i].push_back(std::log(static_cast<double>(cpu)));
    }
  }
  static_cast<void>(write_file_atomically(options_.folder + "/trials.csv", csv));
  std::vector<double> differences;
  std::array<std::size_t, 2> trials{};
  for (std::size_t i = 0; i + 1 < blocks_.size(); i += 2) {
    const auto median = [&](std::size_t block) {
      auto& values = of_block[block];
      trials[blocks_[block].attacked ? 1 : 0] += values.size();
      if (values.size() < 5) return std::nan("");
      std::ranges::nth_element(values,
                               values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
      return values[values.size() / 2];
    };
    const double difference = median(i) - median(i + 1);
    if (!std::isnan(difference))
      differences.push_back(blocks_[i].attacked ? difference : -difference);
  }
  const auto n = static_cast<double>(differences.size());
  fmt::print("\n{} trials under attack, {} beside as many busy processes, in {} pairs of blocks\n",
             trials[1], trials[0], differences.size());
  if (differences.size() < 3) {
    fmt::print("UNDECIDED: too few pairs of blocks\n");
    return false;
  }
  double mean = 0;
  for (const double each : differences) mean += each / n;
  double square = 0;
  for (const double each : differences) square += (each - mean) * (each - mean);
  const double half = boost::math::quantile(boost::math::students_t(n - 1), 0.975) *
                      std::sqrt(square / (n - 1) / n);
  const double low = 100 * std::expm1(mean - half);
  const double high = 100 * std::expm1(mean + half);
  const bool reached = low > -1 && high < 1;
  fmt::print("CPU time of a trial under attack: {:+.2f} % [{:+.2f} %, {:+.2f} %]\n",
             100 * std::expm1(mean), low, high);
  fmt::print("{}: the interval lies within 1 %\n", reached                ? "REACHED"
                                                   : low > 1 || high < -1 ? "MISSED"
                                                                          : "UNDECIDED");
  return reached;
}

// Whether the daemon is well and has lost nothing.
bool Campaign::report_daemon() {
  const json said = json::parse(lab_.ctl({"status", "--daemon", "--json"}).out, nullptr, false);
  std::string memory;
  std::istringstream status(
      read_file("/proc/" + std::to_string(lab_.daemon()) + "/status", 65536).value_or(""));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM")) memory = line.substr(line.find_first_not_of(" \t", 6));
  if (said.is_object())
    fmt::print(
        "\nstabd's loop: {} rounds, 99.9 % compute at most {:.2f} ms and the longest {:.2f} ms; "
        "99.9 % wait at most {:.2f} ms and the longest {:.2f} ms; memory at most {}\n",
        said.value("loop_turns", 0), in_ms(said.value("loop_computes_ns", std::int64_t{0})),
        in_ms(said.value("loop_computes_longest_ns", std::int64_t{0})),
        in_ms(said.value("loop_waits_ns", std::int64_t{0})),
        in_ms(said.value("loop_waits_longest_ns", std::int64_t{0})), memory);
  std::map<std::string, int> ends;
  const json listed = json::parse(lab_.ctl({"list", "--json"}).out, nullptr, false);
  if (listed.is_array())
    for (const json& each : listed)
      if (each.value("name", "").starts_with("hostile-"))
        ++ends[each.value("name", "") + " " + each.value("state", "")];
  for (const auto& [what, count] : ends) fmt::print("experiments {}: {}\n", what, count);
  std::int64_t position = 0;
  bool whole = said.is_object();
  for (const json& trial : lab_.trials(measured_id_)) {
    const bool fits = trial.value("status", "") == "ok" && trial.value("position", -1) == position;
    if (whole && !fits)
      fmt::print("trial {} at the place of trial {}: {}: {}\n", trial.value("position", -1),
                 position, trial.value("status", ""), trial.value("reason", ""));
    whole = whole && fits;
    ++position;
  }
  fmt::print("{}: each trial of the measured experiment is there once, and none failed\n",
             whole ? "REACHED" : "MISSED");
  if (!whole)
    static_cast<void>(write_file_atomically(
        options_.folder + "/stabd.log", read_file(lab_.path("stabd.log"), 1 << 28).value_or("")));
  return whole;
}

int Campaign::run() {
  prepare();
  start_measured();
  stay_off_trials();
  fmt::print("{} pairs of blocks of {} s each\n", options_.pairs, options_.block_seconds);
  std::fflush(stdout);
  std::mt19937 random(7);
  for (int pair = 0; pair < options_.pairs; ++pair) {
    const bool attacked_first = random() % 2 == 0;
    run_block(attacked_first);
    run_block(!attacked_first);
  }
  lab_.ctl({"cancel", std::to_string(measured_id_)});
  static_cast<void>(lab_.wait_for(measured_id_, "cancelled"));
  const bool waits = report_waits();
  const bool trials = report_trials();
  const bool whole = report_daemon();
  fmt::print("The figures are in {}.\n", options_.folder);
  lab_.end_daemon(SIGTERM);
  return !whole ? 2 : waits && trials ? 0 : 1;
}

constexpr const char* usage =
    "fifty_users [--quick] [--pairs N] [--seconds S] [FOLDER]\n"
    "  Lets fifty users, five of them hostile, use one stabd while an experiment runs. Shows how "
    "long users\n"
    "  wait for `list`, and how much the attacks change the trials' CPU time.\n"
    "  --quick      only a smoke test: 3 pairs of blocks of 4 s\n"
    "  --pairs N    number of pairs of blocks (default 20)\n"
    "  --seconds S  length of a block in seconds (default 12)\n"
    "  FOLDER       the folder for waits.csv and trials.csv (default fifty_users)\n"
    "Exit code: 0 if the goals are reached, 1 if one is missed or undecided, 2 if it could not "
    "run.\n";

std::optional<int> number_of(const char* word) {
  int number = 0;
  const std::string_view text = word == nullptr ? "" : word;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

int main_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") return fmt::print("{}", usage), 0;
    if (word == "--quick") {
      options.pairs = 3;
      options.block_seconds = 4;
    } else if (word == "--pairs" || word == "--seconds") {
      const auto number = number_of(argv[++i]);
      if (!number) return fmt::print(stderr, "fifty_users: {} needs a number\n", word), 2;
      (word == "--pairs" ? options.pairs : options.block_seconds) = *number;
    } else if (word.starts_with("-")) {
      return fmt::print(stderr, "fifty_users: there is no option {}\n{}", word, usage), 2;
    } else {
      options.folder = word;
    }
  }
  if (geteuid() != 0) return fmt::print(stderr, "fifty_users: only root can be 50 users\n"), 2;
  std::signal(SIGPIPE, SIG_IGN);
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error)
    return fmt::print(stderr, "fifty_users: cannot make {}: {}\n", options.folder, error.message()),
           2;
  options.folder = fs::absolute(options.folder).string();
  try {
    return Campaign(std::move(options)).run();
  } catch (const Failed& failed) {
    return fmt::print(stderr, "fifty_users: {}\n", failed.what()), 2;
  }
}

}  // namespace
}  // namespace stab::test

int main(int argc, char** argv) {
  return stab::test::main_of(argc, argv);
}
