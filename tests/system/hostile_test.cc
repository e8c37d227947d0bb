// SPDX-License-Identifier: MIT
// What a user's program, build, worker or disk may do, and what it must not cost others.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "protocol/work.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* healthy =
    "[experiment]\nname = \"healthy\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
    "repetitions = 2\n";

class Hostile : public ::testing::Test {
 protected:
  void SetUp() override {
    lab_.write("healthy.toml", healthy);
    ASSERT_TRUE(lab_.start_daemon());
  }

  void expect_healthy() {
    const int id = lab_.submit("healthy.toml");
    ASSERT_NE(id, 0);
    EXPECT_TRUE(lab_.wait_until_final(id));
    EXPECT_EQ(lab_.state(id), "done");
  }

  // The output of stabctl on a terminal.
  std::string on_terminal(const std::string& arguments) const {
    return run_program({"/usr/bin/script", "-qec",
                        std::string(STAB_BIN_DIR) + "/stabctl --socket " + lab_.path("s.sock") +
                            " " + arguments,
                        "/dev/null"},
                       lab_.folder())
        .out;
  }

  // From now on these commands of a shell run in place of each worker. Its socket is descriptor 3.
  void replace_worker(const std::string& commands) {
    lab_.end_daemon(SIGTERM);
    lab_.copy_stabd();
    ASSERT_TRUE(lab_.start_daemon());
    // The processes that read plans stay what they are.
    std::filesystem::rename(lab_.path("stabd"), lab_.path("stabd.real"));
    lab_.write("stabd",
               "#!/bin/sh\n[ \"$1\" = --worker ] || exec " + lab_.path("stabd.real") + " \"$@\"\n" +
                   commands,
               true);
  }
  void put_worker_back() { std::filesystem::rename(lab_.path("stabd.real"), lab_.path("stabd")); }

  int build(const std::string& command, const std::string& more = "") {
    lab_.write("build.sh", "#!/bin/sh\n" + command + "\n", true);
    lab_.write("plan.toml",
               "[experiment]\nname = \"hostile\"\n[[benchmark]]\nname = \"bad\"\n"
               "build = \"./build.sh ${OUT}\"\nsources = [\"build.sh\"]\nrun = [\"${OUT}\"]\n"
               "repetitions = 1\n" +
                   more);
    const int id = lab_.submit("plan.toml");
    EXPECT_NE(id, 0);
    return id;
  }

  Lab lab_;
};

TEST_F(Hostile, EscapeSequencesOfABuildNeverReachATerminal) {
  // ESC [ 2 J; the same as one character beyond ASCII; a title; a colour.
  constexpr const char* sequences = "x\033[2Jy\302\2332Jz\033]0;title\007w\033[31mred";
  const std::string print =
      R"(printf 'x\033[2Jy\302\2332Jz\033]0;title\007w\033[31mred' >&2; exit 1)";
  const int id = build(print);
  ASSERT_TRUE(lab_.wait_until_final(id));
  const std::string number = std::to_string(id);
  // A trial prints them, too, and so its stderr is stored.
  lab_.write("print.sh", "#!/bin/sh\n" + print + "\n", true);
  lab_.write("prints.toml",
             "[experiment]\nname = \"prints\"\n[[benchmark]]\nname = \"b\"\nrun = "
             "[\"./print.sh\"]\nrepetitions = 1\n");
  const int prints = lab_.submit("prints.toml");
  ASSERT_TRUE(lab_.wait_until_final(prints));
  const std::string other = std::to_string(prints);
  const std::string stored = "--folder " + lab_.path("state") + " 'SELECT stderr_tail FROM trial'";
  const std::string asked = "report " + other + " --response '" + sequences + "'";
  for (const std::string& verb :
       {"status " + number, "status --json " + number, "report " + number, "export " + number,
        std::string("list"), "watch " + number, "logs " + number, "logs " + other,
        "logs --json " + other, "sql " + stored, "sql --json " + stored, "sql --csv " + stored,
        asked}) {
    const std::string shown = on_terminal(verb);
    EXPECT_THAT(shown, Not(HasSubstr("\x1b[2J"))) << verb;
    EXPECT_THAT(shown, Not(HasSubstr("\x1b]"))) << verb;
    EXPECT_THAT(shown, Not(HasSubstr("\x1b[31m"))) << verb;
    EXPECT_THAT(shown, Not(HasSubstr("\xc2\x9b"))) << verb;
    EXPECT_THAT(shown, Not(HasSubstr("\x07"))) << verb;
  }
  for (const std::string& verb :
       {"status " + number, "logs " + number, "logs " + other, "sql " + stored, asked})
    EXPECT_THAT(on_terminal(verb), HasSubstr("x [2Jy")) << verb;
  // Into a pipe, too, where a terminal may be at its end.
  EXPECT_THAT(lab_.ctl({"status", number}).out, Not(HasSubstr("\x1b")));
}

TEST_F(Hostile, AnOutputThatNeverEndsIsNotRead) {
  const int id = build("ln -sf /dev/zero \"$1\"");
  ASSERT_TRUE(lab_.wait_until_final(id, 60s));
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("${OUT} is not a regular file"));
  expect_healthy();
}

TEST_F(Hostile, AnOutputOfHolesIsRefusedBySize) {
  const int id = build("truncate -s 1T \"$1\"");
  ASSERT_TRUE(lab_.wait_until_final(id, 60s));
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("${OUT} has 1099511627776 bytes"));
}

// The daemon and its worker go on, and the same limit holds in all cells.
TEST_F(Hostile, ATrialThatTakesMoreThanItsLimitsFailsWithTheReason) {
  const std::string loop = "while :; do :; done";
  lab_.write("limits.toml",
             "[experiment]\nname = \"limits\"\n[defaults]\nrepetitions = 2\n"
             "memory_limit = \"60MB\"\n"
             "[[benchmark]]\nname = \"memory\"\n"
             "run = [\"perl\", \"-e\", \"my $x = 'x' x 200_000_000; sleep 1000\"]\n"
             "[[benchmark]]\nname = \"time\"\nrun = [\"sh\", \"-c\", \"" +
                 loop +
                 "\"]\ncpu_limit = \"100ms\"\n"
                 "[[benchmark]]\nname = \"processes\"\nprocess_limit = 3\n"
                 "run = [\"sh\", \"-c\", \"for i in 1 2 3 4; do sleep 1000 & done; wait\"]\n"
                 "[[benchmark]]\nname = \"file\"\nfile_limit = \"1MiB\"\n"
                 "run = [\"dd\", \"if=/dev/zero\", \"of=" +
                 lab_.path("big") + "\", \"bs=1M\", \"count=5\"]\n");
  const int id = lab_.submit("limits.toml");
  ASSERT_NE(id, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  const std::map<std::string, std::string> reasons{
      {"memory", "memory than its limit of 60000000 bytes"},
      {"time", "CPU time than its limit of 100 ms"},
      {"processes", "processes than its limit of 3"},
      {"file", "1048576 bytes to a file"}};
  const json trials = lab_.trials(id);
  EXPECT_EQ(trials.size(), 8U);
  for (const json& trial : trials) {
    EXPECT_EQ(trial["status"], "over_limit") << trial["benchmark"];
    EXPECT_THAT(trial["reason"].get<std::string>(), HasSubstr(reasons.at(trial["benchmark"])));
  }
  expect_healthy();
}

// What no process maps counts, too, also if the program ends before anybody looks.
TEST_F(Hostile, FilesInMemoryCountForTheLimitOfMemory) {
  lab_.write("plain.toml",
             "[experiment]\nname = \"p\"\n[[benchmark]]\nname = \"b\"\nrun = [\"true\"]\n"
             "repetitions = 1\n");
  const int plain = lab_.submit("plain.toml");
  ASSERT_TRUE(lab_.wait_until_final(plain));
  if (lab_.ctl({"logs", std::to_string(plain)}).out.contains("trials have no cgroup"))
    GTEST_SKIP() << "this machine gives stabd no cgroups";
  lab_.write(
      "memory.toml",
      "[experiment]\nname = \"memory\"\n[defaults]\nrepetitions = 2\nmemory_limit = \"64MiB\"\n"
      "[[benchmark]]\nname = \"memfd\"\n"
      "run = [\"perl\", \"-e\", \"my $n = 'x'; my $f = syscall(319, $n, 0); open(my $h, '>&=', "
      "$f); my $m = "
      "'x' x "
      "1048576; for (1..1500) { syswrite($h, $m) }\"]\n"
      "[[benchmark]]\nname = \"shm\"\n"
      "run = [\"dd\", \"if=/dev/zero\", \"of=/dev/shm/big\", \"bs=1M\", \"count=300\"]\n"
      "[[benchmark]]\nname = \"segment\"\n"
      "run = [\"perl\", \"-e\", \"my $id = shmget(0, 300 << 20, 01600) // die; for (0..299) { "
      "shmwrite($id, 'x' x 1048576, $_ << 20, 1048576) or die }\"]\n"
      "[[benchmark]]\nname = \"prepared\"\n"
      // It has no limit in a command beside the trial.
      "prepare = \"dd if=/dev/zero of=/dev/shm/big bs=1M count=300\"\nrun = [\"true\"]\n"
      "[[benchmark]]\nname = \"within\"\n"
      "run = [\"dd\", \"if=/dev/zero\", \"of=/dev/shm/small\", \"bs=1M\", \"count=40\"]\n");
  const int id = lab_.submit("memory.toml");
  ASSERT_NE(id, 0);
  ASSERT_TRUE(lab_.wait_until_final(id));
  const json trials = lab_.trials(id);
  EXPECT_EQ(trials.size(), 10U);
  for (const json& trial : trials) {
    const bool within = trial["benchmark"] == "within" || trial["benchmark"] == "prepared";
    EXPECT_EQ(trial["status"], within ? "ok" : "over_limit")
        << trial["benchmark"] << ": " << trial["reason"];
  }
  expect_healthy();
}

std::size_t peak_memory_kb(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  std::size_t number = 0;
  while (status >> word)
    if (word == "VmHWM:" && status >> number) return number;
  return 0;
}

TEST_F(Hostile, ReadingALargeOutputHeedsTheTimeoutAndHoldsLittle) {
  // The command gets its time, too, and to read so much takes more.
  const int id = build("truncate -s 4G \"$1\"", "build_timeout = \"5s\"\n");
  std::size_t peak = 0;
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (std::chrono::steady_clock::now() < end) {
    if (const pid_t worker = lab_.worker(); worker > 0)
      peak = std::max(peak, peak_memory_kb(worker));
    const std::string state = lab_.state(id);
    if (state == "done" || state == "failed") break;
  }
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out,
              HasSubstr("could not be read before the build's timeout"));
  EXPECT_GT(peak, 0U);
  EXPECT_LT(peak, 256U << 10U);
}

std::size_t available_memory_kb() {
  std::ifstream memory("/proc/meminfo");
  std::string word;
  std::size_t number = 0;
  while (memory >> word)
    if (word == "MemAvailable:" && memory >> number) return number;
  return 0;
}

// The output is as long as the largest limit allows. The worker holds it in its memory.
TEST_F(Hostile, ATrialThatPrintsAGibibyteIsHeldOnceAndNotInTheDaemon) {
  constexpr std::size_t gib = std::size_t{1} << 20;  // in kB
  if (available_memory_kb() < 4 * gib) GTEST_SKIP() << "less than 4 GiB of memory are free";
  lab_.write("printing.toml",
             "[experiment]\nname = \"printing\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 2\n"
             "timeout = \"1h\"\noutput_limit = \"1GiB\"\nrun = [\"/bin/sh\", \"-c\", "
             "\"if [ -e first ]; then " +
                 until_go() + "; else : >first; head -c 1073741824 /dev/zero; fi\"]\n");
  const int id = lab_.submit("printing.toml");
  ASSERT_NE(id, 0);
  ASSERT_TRUE(lab_.wait_for_trials(id, 1, 600s));
  // The second one waits.
  const pid_t worker = lab_.worker();
  ASSERT_GT(worker, 0);
  const std::size_t peak = peak_memory_kb(worker);
  EXPECT_GT(peak, gib);
  EXPECT_LT(peak, 2 * gib + (gib >> 4U)) << "as doc/plans.md says of memory_limit";
  EXPECT_LT(peak_memory_kb(lab_.daemon()), gib / 2);
  lab_.write("go", "");
  ASSERT_TRUE(lab_.wait_until_final(id));
  const json rows = lab_.trials(id);
  ASSERT_EQ(rows.size(), 2U);
  for (const json& row : rows) EXPECT_EQ(row["status"], "ok") << row;
}

TEST_F(Hostile, AStoppedWorkerCostsItsExperimentAndNotTheQueue) {
  lab_.write("stopped.toml",
             "[experiment]\nname = \"stopped\"\n[[benchmark]]\nname = \"b\"\nrun = [\"sleep\", "
             "\"0.05\"]\nrepetitions = 5000\ntimeout = \"1s\"\n");
  const int id = lab_.submit("stopped.toml");
  ASSERT_TRUE(lab_.wait_for(id, "running"));
  const pid_t worker = lab_.worker();
  ASSERT_GT(worker, 0);
  kill(worker, SIGSTOP);
  const int next = lab_.submit("healthy.toml");
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "failed");
  EXPECT_THAT(lab_.ctl({"status", std::to_string(id)}).out, HasSubstr("did not answer within"));
  ASSERT_TRUE(lab_.wait_until_final(next));
  EXPECT_EQ(lab_.state(next), "done");
}

// A worker has the rights of its trials, which may have taken it over.
TEST_F(Hostile, WhatAWorkerPrintsIsLoggedWithoutControlCharactersAndHasABound) {
  replace_worker(
      "printf 'a\\033]0;title\\007 line\\n[2026-01-01 00:00:00.000] forged' >&2\n"
      "i=0\nwhile [ $i -lt 20000 ]; do echo \"0123456789 $i\"; i=$((i+1)); done\n");
  const int id = lab_.submit("healthy.toml");
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "failed");
  const std::string log = read_file(lab_.path("stabd.log"), 1 << 20).value_or("");
  EXPECT_THAT(log, HasSubstr("printed: a ]0;title  line\n"));
  EXPECT_THAT(log, HasSubstr("printed: [2026-01-01 00:00:00.000] forged"));
  EXPECT_THAT(log, HasSubstr("printed more than 8192 bytes: the rest is not logged"));
  EXPECT_THAT(log, Not(HasSubstr("\x1b")));
  EXPECT_THAT(log, Not(HasSubstr("0123456789 19999")));
}

// The descriptor of its log is then that of a client that comes, whose requests stay heard.
TEST_F(Hostile, AWorkerThatClosesItsLogMakesNoClientUnheard) {
  replace_worker("exec >&- 2>&-\n: >" + lab_.path("closed") + "\nsleep 1\n");
  const int id = lab_.submit("healthy.toml");
  while (!std::filesystem::exists(lab_.path("closed"))) usleep(1000);
  usleep(100'000);  // stabd sees it
  std::array<Fd, 4> clients;
  for (Fd& each : clients) each = lab_.connect();
  ASSERT_TRUE(lab_.wait_until_final(id));
  const std::string hello =
      protocol::encode(protocol::HelloRequest{.protocol = protocol::version, .version = ""}) + "\n";
  for (const Fd& each : clients) {
    ASSERT_TRUE(write_all(each.get(), hello));
    pollfd answer{each.get(), POLLIN, 0};
    EXPECT_EQ(poll(&answer, 1, 10'000), 1);
  }
}

// Answers of 57 MB: a line without a structure, a text, short lines, and lines that are as long, and
// have as many values, as an answer may have. And one that is as deep as it can be. The first
// request is answered as a worker would.
TEST_F(Hostile, AnAnswerOf57MegabytesIsRefusedAndOthersAreAnsweredMeanwhile) {
#ifdef STAB_SANITIZED
  constexpr bool plain = false;  // a sanitizer keeps freed memory, and takes its time
#else
  constexpr bool plain = true;
#endif
  constexpr std::size_t bytes = 57'000'000;
  protocol::RunReply run;
  run.samples = {
      {.measure = "m", .values = std::vector<double>(260'000, -1.2345678901234567e-300)}};
  run.stderr_tail.assign(1'000'000, 'x');
  const std::string largest = protocol::encode(run) + "\n";
  ASSERT_LT(largest.size(), protocol::max_work_line);
  ASSERT_GT(largest.size(), protocol::max_work_line * 3 / 4);
  std::string several;
  while (several.size() < bytes) several += largest;
  std::string flood;
  while (flood.size() < bytes) flood += "{\"kind\":\"run\"}\n";

  cpu_set_t cpus;
  ASSERT_EQ(sched_getaffinity(0, sizeof cpus, &cpus), 0);
  unsigned cpu = 0;
  while (!CPU_ISSET(cpu, &cpus)) ++cpu;
  lab_.write("ready",
             protocol::encode(protocol::SetupReply{.trial_cpus = std::to_string(cpu)}) + "\n");
  replace_worker("read -r request <&3\ncat " + lab_.path("ready") + " >&3\nread -r request <&3\n" +
                 "echo \"$request\" >>" + lab_.path("asked") + "\ncat " + lab_.path("reply") +
                 " >&3\nread -r request <&3\n");
  ASSERT_EQ(lab_.ctl({"list"}).code, 0);
  const std::size_t before = peak_memory_kb(lab_.daemon());
  ASSERT_GT(before, 0U);
  for (const std::string& reply :
       {std::string(bytes, 'x') + "\n",
        R"({"kind":"run","status":"ok","stderr_tail":")" + std::string(bytes, 'x') + "\"}\n", flood,
        several, std::string(protocol::max_work_line - 1, '[') + "\n"}) {
    SCOPED_TRACE(reply.substr(0, 40));
    lab_.write("reply", reply);
    std::filesystem::remove(lab_.path("asked"));
    const int id = lab_.submit("healthy.toml");
    ASSERT_NE(id, 0);
    ASSERT_TRUE(lab_.wait_until_final(id)) << "each look at it is an answer to 'list'";
    const auto asked = read_file(lab_.path("asked"), 1 << 20);
    EXPECT_THAT(asked.value_or(""), HasSubstr("\"kind\":\"run\""));
    const auto trials = lab_.trials(id);
    EXPECT_FALSE(trials.empty());
    for (const json& trial : trials) EXPECT_EQ(trial["status"], "not_started") << trial;
  }
  EXPECT_LT(peak_memory_kb(lab_.daemon()) - before, (plain ? 64U : 768U) << 10U);
  const Output said = lab_.ctl({"status", "--daemon", "--json"});
  ASSERT_EQ(said.code, 0) << said.err;
  // Its own CPU time is measured, which a machine that is busy does not make longer.
  const auto longest = json::parse(said.out)["loop_computes_longest_ns"].get<std::int64_t>();
  if (plain) EXPECT_LT(longest, 1'000'000'000);
  put_worker_back();
  expect_healthy();
}

TEST_F(Hostile, ADamagedExperimentIsRefusedAndNamedAndTheOthersGoOn) {
  const int first = lab_.submit("healthy.toml");
  const int second = lab_.submit("healthy.toml");
  ASSERT_TRUE(lab_.wait_until_final(first));
  ASSERT_TRUE(lab_.wait_until_final(second));
  lab_.end_daemon(SIGTERM);
  const Output changed = run_program({"/usr/bin/sqlite3", lab_.path("state/stabd.db"),
                                      "update experiment set name = 'spoilt', state = 'queued' "
                                      "where id = 1"},
                                     lab_.folder());
  ASSERT_EQ(changed.code, 0) << changed.err;
  ASSERT_TRUE(lab_.start_daemon());
  const Output list = lab_.ctl({"list"});
  EXPECT_EQ(list.code, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("damaged"));
  EXPECT_THAT(list.out, HasSubstr("row 1 of table experiment"));
  EXPECT_EQ(lab_.state(second), "done");
  EXPECT_EQ(lab_.ctl({"report", std::to_string(second)}).code, 0);
  const Output refused = lab_.ctl({"report", std::to_string(first)});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("row 1 of table experiment is damaged"));
  expect_healthy();
}

// What the daemon that starts it says first, in the words of another version.
TEST_F(Hostile, AWorkerOfAnotherVersionSaysWhatToDo) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t worker = fork();
  if (worker == 0) {
    dup2(theirs.get(), 3);
    execl(STAB_BIN_DIR "/stabd", "stabd", "--worker", static_cast<char*>(nullptr));
    _exit(127);
  }
  theirs.reset();
  protocol::Channel channel(ours.get(), 1 << 20);
  for (const char* line :
       {R"({"kind":"setup","cpus":1})", R"({"kind":"setup","protocol":77,"processors":[1]})"}) {
    ASSERT_TRUE(channel.send(line));
    const auto answer = channel.receive();
    ASSERT_TRUE(answer && *answer);
    EXPECT_THAT(json::parse(**answer)["error"].get<std::string>(), HasSubstr("restart the daemon"));
  }
  ASSERT_TRUE(channel.send(protocol::encode(protocol::SetupRequest{})));
  EXPECT_EQ(json::parse(channel.receive().value().value())["error"], "");
  ASSERT_TRUE(channel.send(R"({"kind":"run","argv":7})"));
  EXPECT_EQ(channel.receive().value(), std::nullopt);
  EXPECT_EQ(end_of(worker), 1);
}

// The answer to a line; "" if stabd hangs up.
std::string ask(const Fd& socket, const std::string& line) {
  if (::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL) < 0) return "";
  std::string answer;
  for (char each = 0; read(socket.get(), &each, 1) == 1; answer += each)
    if (each == '\n') return answer;
  return "";
}

const std::string& hello() {
  static const std::string line =
      protocol::encode(protocol::HelloRequest{.protocol = protocol::version, .version = "x"}) +
      "\n";
  return line;
}

// While stabd is stopped, it accepts nobody, and the kernel lets only so many wait.
TEST_F(Hostile, AFullQueueOfConnectionsDelaysOthersAndSendsNobodyAway) {
  ASSERT_EQ(kill(lab_.daemon(), SIGSTOP), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  lab_.path("s.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  std::vector<Fd> waiting;
  for (bool full = false; !full;) {
    ASSERT_LT(waiting.size(), 900U);
    Fd one(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    ASSERT_TRUE(one);
    full = connect(one.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0;
    if (full)
      ASSERT_EQ(errno, EAGAIN);
    else
      waiting.push_back(std::move(one));
  }
  const pid_t list = start_program(
      {std::string(STAB_BIN_DIR) + "/stabctl", "--socket", lab_.path("s.sock"), "list"},
      lab_.folder(), lab_.path("list.log"));
  usleep(200'000);
  EXPECT_EQ(waitpid(list, nullptr, WNOHANG), 0) << "it waits";
  ASSERT_EQ(kill(lab_.daemon(), SIGCONT), 0);
  EXPECT_EQ(end_of(list), 0) << read_file(lab_.path("list.log"), 1 << 16).value_or("");
  for (const Fd& each : waiting) {
    ASSERT_EQ(fcntl(each.get(), F_SETFL, 0), 0);
    ASSERT_NE(ask(each, hello()), "");
  }
  expect_healthy();
}

// The highest descriptor that this process has open.
rlim_t highest_descriptor(pid_t process) {
  rlim_t highest = 0;
  for (const auto& each :
       std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd"))
    highest = std::max<rlim_t>(highest, std::stoul(each.path().filename().string()));
  return highest;
}

TEST_F(Hostile, WithoutDescriptorsNewClientsAreSentAwayAndAllElseGoesOn) {
  lab_.write("waiting.toml", waiting_plan("waiting", 3, 1));
  const int id = lab_.submit("waiting.toml");
  ASSERT_NE(id, 0);
  // The second trial waits, so that stabd needs no descriptor for the experiment.
  ASSERT_TRUE(wait_for_text(lab_.path("began"), "\n\n"));
  rlimit before{};
  ASSERT_EQ(prlimit(lab_.daemon(), RLIMIT_NOFILE, nullptr, &before), 0);
  const rlimit few{.rlim_cur = highest_descriptor(lab_.daemon()) + 5, .rlim_max = before.rlim_max};
  ASSERT_EQ(prlimit(lab_.daemon(), RLIMIT_NOFILE, &few, nullptr), 0);
  std::vector<Fd> clients;
  for (bool served = true; served;) {
    ASSERT_LT(clients.size(), 900U);
    clients.push_back(lab_.connect());
    ASSERT_TRUE(clients.back());
    served = !ask(clients.back(), hello()).empty();
  }
  clients.pop_back();
  for (const Fd& each : clients)
    EXPECT_THAT(ask(each, R"({"verb":"list"})"
                          "\n"),
                HasSubstr("waiting"));
  // Clients that leave make room for others, as soon as stabd notices it.
  ASSERT_FALSE(clients.empty());
  clients.clear();
  int code = -1;
  for (int i = 0; i < 600 && code != 0; ++i, usleep(100'000)) code = lab_.ctl({"list"}).code;
  EXPECT_EQ(code, 0);
  ASSERT_EQ(prlimit(lab_.daemon(), RLIMIT_NOFILE, &before, nullptr), 0);
  lab_.write("go", "");
  ASSERT_TRUE(lab_.wait_until_final(id));
  EXPECT_EQ(lab_.state(id), "done");
  const json rows = lab_.trials(id);
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) EXPECT_EQ(row["status"], "ok") << row;
}

}  // namespace
}  // namespace stab::test
