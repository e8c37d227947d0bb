// SPDX-License-Identifier: MIT
// `stabctl watch --web`, asked by raw sockets as browsers and others would.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "report/html/parsing_testing.h"
#include "tests/system/lab.h"

namespace stab::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr seconds long_enough{100};

Fd connect_to(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    socket.reset();
  return socket;
}

void send_all(const Fd& socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

// All that comes until the other side closes; "late" if it does not.
std::string rest_of(const Fd& socket) {
  const auto end = steady_clock::now() + long_enough;
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    pollfd ready{.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (steady_clock::now() > end || poll(&ready, 1, 1000) < 0) return "late";
    if (ready.revents == 0) continue;
    const ssize_t n = recv(socket.get(), buffer.data(), buffer.size(), 0);
    if (n <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? "" : answer.substr(end + 4);
}

// Of the sockets that this process has, how many listen on TCP at 127.0.0.1, and elsewhere.
struct Listening {
  int here = 0;
  int elsewhere = 0;
};
Listening listening(pid_t process) {
  std::string own;
  for (const auto& each : fs::directory_iterator("/proc/" + std::to_string(process) + "/fd")) {
    std::error_code gone;
    own += fs::read_symlink(each.path(), gone).string() + "\n";
  }
  Listening found;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::vector<std::string> word(10);
      for (std::string& each : word) words >> each;
      if (word[3] != "0A" || !own.contains("socket:[" + word[9] + "]\n")) continue;
      ++(word[1].starts_with("0100007F:") ? found.here : found.elsewhere);
    }
  }
  return found;
}

class Web : public ::testing::Test {
 protected:
  // A trial is a block; it waits for the file "go".
  void SetUp() override {
    lab_.write("trial.sh", "#!/bin/sh\nuntil [ -e " + lab_.path("go") + " ]; do sleep 0.02; done\n",
               true);
    lab_.write("plan.toml",
               "[experiment]\nname = \"<b>web</b>\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 4\n"
               "run = [\"" +
                   lab_.path("trial.sh") + "\"]\n");
    ASSERT_TRUE(lab_.start_daemon());
    id_ = std::to_string(lab_.submit("plan.toml"));
    ASSERT_NE(id_, "0");
  }
  void TearDown() override {
    if (watch_ > 0) kill(watch_, SIGKILL);
    if (watch_ > 0) end_of(watch_);
  }
  // Starts it and learns where the page is.
  void watch(const std::vector<std::string>& more = {"--web"}) {
    std::vector<std::string> argv{std::string(STAB_BIN_DIR) + "/stabctl", "--socket",
                                  lab_.path("s.sock"), "watch"};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.push_back(id_);
    start(argv);
  }
  void start(const std::vector<std::string>& argv) {
    watch_ = start_program(argv, lab_.folder(), lab_.path("watch"));
    ASSERT_TRUE(wait_for_text(lab_.path("watch"), "/\n")) << said();
    const std::string words = said();
    const std::size_t at = words.find("http://127.0.0.1:");
    ASSERT_NE(at, std::string::npos) << words;
    const std::size_t slash = words.find('/', at + 7);
    port_ = static_cast<std::uint16_t>(std::stoi(words.substr(at + 17, slash - at - 17)));
    path_ = words.substr(slash, words.find('\n', slash) - slash);
  }
  int end() { return end_of(std::exchange(watch_, 0), long_enough); }
  [[nodiscard]] std::string said() const {
    return read_file(lab_.path("watch"), 1 << 20).value_or("");
  }
  [[nodiscard]] std::string ask(const std::string& request) const {
    const Fd socket = connect_to(port_);
    if (!socket) return "nobody listens";
    send_all(socket, request);
    return rest_of(socket);
  }
  [[nodiscard]] std::string request(const std::string& method, const std::string& path,
                                    const std::string& host) const {
    return method + " " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
  }
  [[nodiscard]] std::string get() const { return ask(request("GET", path_, "localhost")); }
  // Looks until the page is like that, or for long enough.
  std::string look_until(const std::function<bool(const std::string&)>& is) const {
    const auto end = steady_clock::now() + long_enough;
    std::string answer = get();
    while (!is(answer) && steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      answer = get();
    }
    return answer;
  }
  void let_go() const { lab_.write("go", ""); }

  Lab lab_;
  std::string id_;
  pid_t watch_ = 0;
  std::uint16_t port_ = 0;
  std::string path_;
};

TEST_F(Web, ShowsHowFarItIsWhileItRunsAndTheLastReportAtTheEnd) {
  watch();
  ASSERT_FALSE(HasFatalFailure());
  const std::string first =
      look_until([](const std::string& page) { return page.contains("0 of 4 trials"); });
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(first, HasSubstr("No trial has ended yet"));
  EXPECT_THAT(first, HasSubstr("data-final=\"no\""));
  EXPECT_EQ(report::html::parse(body_of(first)).problem, "");

  let_go();
  const std::string last =
      look_until([](const std::string& page) { return page.contains("data-final=\"yes\""); });
  EXPECT_THAT(last, HasSubstr("4 of 4 trials, 4 ok, 0 failed"));
  EXPECT_THAT(last, HasSubstr("The experiment has ended, and this is its final report."));
  EXPECT_THAT(last, HasSubstr("<h1>&lt;b&gt;web&lt;/b&gt; (experiment 1)</h1>"));
  EXPECT_THAT(last, Not(HasSubstr("<b>")));
  const auto parsed = report::html::parse(body_of(last));
  EXPECT_EQ(parsed.problem, "");
  EXPECT_EQ(elements_named(parsed, "script").size(), 1U);

  // It was seen: nothing is left to wait for.
  EXPECT_EQ(end(), 0);
  EXPECT_THAT(said(), HasSubstr("experiment 1: done"));
  EXPECT_EQ(get(), "nobody listens");
}

TEST_F(Web, TheReportIsNewerWhenTrialsHaveCome) {
  // Trials that do not wait for us, and more than a look takes.
  lab_.write("many.toml",
             "[experiment]\nname = \"many\"\n[[benchmark]]\nname = \"b\"\nrepetitions = 1000\n"
             "run = [\"sleep\", \"0.2\"]\n");
  ASSERT_EQ(lab_.ctl({"cancel", id_}).code, 0);
  id_ = std::to_string(lab_.submit("many.toml"));
  watch();
  ASSERT_FALSE(HasFatalFailure());
  const auto has = [](const char* words) {
    return [words](const std::string& page) { return page.contains(words); };
  };
  const std::string first = look_until(has("data-report=\"1\""));
  EXPECT_THAT(first, HasSubstr("<h1>many (experiment 2)</h1>"));
  EXPECT_THAT(first, HasSubstr("The report below was made at "));
  EXPECT_THAT(look_until(has("data-report=\"2\"")), HasSubstr("<h1>many (experiment 2)</h1>"));
  // It ends otherwise than by measuring all: that is in the exit code, as of watch without a page.
  ASSERT_EQ(lab_.ctl({"cancel", id_}).code, 0);
  EXPECT_THAT(look_until(has("data-final=\"yes\"")), HasSubstr("cancelled"));
  EXPECT_EQ(end(), 5);
}

TEST_F(Web, AnswersThePageAndNothingElse) {
  watch();
  ASSERT_FALSE(HasFatalFailure());
  const std::string page = get();
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; "));
  const std::string head = ask(request("HEAD", path_, "127.0.0.1"));
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  EXPECT_THAT(ask("POST " + path_ + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na=b"),
              StartsWith("HTTP/1.1 405 "));
  // Another user of this machine knows no path.
  for (const std::string& path : {std::string("/"), std::string("/favicon.ico"), path_ + "x",
                                  path_ + "../", std::string("/") + std::string(32, '0') + "/"})
    EXPECT_THAT(ask(request("GET", path, "localhost")), StartsWith("HTTP/1.1 404 ")) << path;
  // A name of somebody else's that leads to this machine.
  for (const char* host : {"example.org", "example.org:80", "127.0.0.1.example.org", "10.0.0.1"})
    EXPECT_THAT(ask(request("GET", path_, host)), StartsWith("HTTP/1.1 403 ")) << host;
  EXPECT_THAT(ask("GET " + path_ + " HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("\x16\x03\x01 nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("GET " + path_ +
                  " HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 431 "));
  // None of them has the page's words, and it still answers.
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
  const Listening where = listening(watch_);
  EXPECT_EQ(where.here, 1);
  EXPECT_EQ(where.elsewhere, 0);
}

TEST_F(Web, WhatHasNotChangedIsNotSentAgain) {
  watch();
  ASSERT_FALSE(HasFatalFailure());
  const std::string page =
      look_until([](const std::string& text) { return text.contains("0 of 4 trials"); });
  const std::size_t at = page.find("ETag: ");
  ASSERT_NE(at, std::string::npos);
  const std::string tag = page.substr(at + 6, page.find('\r', at) - at - 6);
  const auto again = [&] {
    return ask("GET " + path_ + " HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: " + tag +
               "\r\n\r\n");
  };
  EXPECT_THAT(again(), StartsWith("HTTP/1.1 304 "));
  let_go();
  look_until([](const std::string& text) { return text.contains("data-final=\"yes\""); });
  EXPECT_THAT(again(), StartsWith("HTTP/1.1 200 "));
}

TEST_F(Web, SlowOnesAndManyKeepNobodyOut) {
  watch();
  ASSERT_FALSE(HasFatalFailure());
  std::vector<Fd> idle;
  for (int i = 0; i < 40; ++i) {
    idle.push_back(connect_to(port_));
    send_all(idle.back(), "GET " + path_);
  }
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
  // Those are let go without an answer.
  EXPECT_EQ(rest_of(idle.front()), "");
  // One that asks and does not read.
  const Fd deaf = connect_to(port_);
  send_all(deaf, request("GET", path_, "localhost"));
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(Web, CtrlCLeavesTheExperimentRunning) {
  watch();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
  kill(watch_, SIGINT);
  EXPECT_EQ(end(), 128 + SIGINT);
  EXPECT_THAT(said(), HasSubstr("experiment 1 continues"));
  let_go();
  EXPECT_TRUE(lab_.wait_for(1, "done"));
}

TEST_F(Web, AStoppedDaemonKeepsNeitherThePageNorCtrlCWaiting) {
  watch();
  ASSERT_FALSE(HasFatalFailure());
  look_until([](const std::string& page) { return page.contains("0 of 4 trials"); });
  kill(lab_.daemon(), SIGSTOP);
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
  kill(watch_, SIGINT);
  EXPECT_EQ(end(), 128 + SIGINT);
  kill(lab_.daemon(), SIGCONT);
}

TEST_F(Web, WhoHasLookedIsWaitedForAfterTheEndAndCtrlCEndsThat) {
  watch();
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_THAT(get(), StartsWith("HTTP/1.1 200 OK\r\n"));
  let_go();
  EXPECT_TRUE(wait_for_text(lab_.path("watch"), "experiment 1 has ended; stabctl will exit when"));
  kill(watch_, SIGINT);
  EXPECT_EQ(end(), 0);
  EXPECT_THAT(said(), HasSubstr("experiment 1: done"));
}

TEST_F(Web, WithoutALookItEndsAsItDoesWithoutAPage) {
  watch({"--web", "--json"});
  ASSERT_FALSE(HasFatalFailure());
  let_go();
  EXPECT_EQ(end(), 0);
  EXPECT_THAT(said(), HasSubstr("\n{\"kind\":\"progress\","));
  EXPECT_THAT(said(), HasSubstr("http://127.0.0.1:"));
  const Output json = lab_.ctl({"watch", "--web", "--json", id_});
  EXPECT_EQ(json.code, 0);
  EXPECT_THAT(json.err, HasSubstr("experiment 1 has ended, so no page is served: 'stabctl report 1 "
                                  "--format html' prints the report"));
  EXPECT_THAT(json.err, Not(HasSubstr("http://")));
  EXPECT_EQ(nlohmann::json::parse(json.out),
            nlohmann::json::parse(lab_.ctl({"watch", "--json", id_}).out));
}

// With a daemon of its own that nobody else knows. What ab compares differs by so much that it ends
// long before its budget, and begins on a slow machine, too.
TEST_F(Web, ARunOfItsOwnHasThePageToo) {
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"run", "--web", "--state", lab_.path("of-run"),
                                 lab_.path("plan.toml")},
        {"ab", "--web", "--budget", "1min", "--state", lab_.path("of-ab"), "--", "sleep 0.01",
         "sleep 0.3"}}) {
    std::vector<std::string> argv{std::string(STAB_BIN_DIR) + "/stabctl"};
    argv.insert(argv.end(), verb.begin(), verb.end());
    fs::remove(lab_.path("watch"));
    start(argv);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_THAT(get(), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("<html")));
    let_go();
    EXPECT_THAT(look_until([](const std::string& page) {
                  return page.contains("this is its final report");
                }),
                HasSubstr("this is its final report"));
    EXPECT_EQ(end(), 0) << said();
  }
}

TEST_F(Web, ARunWithoutAPlaceForThePageMeasuresNothing) {
  const Output refused =
      lab_.ctl({"run", "--web=0.0.0.0:0", "--state", lab_.path("no-run"), lab_.path("plan.toml")});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("127.0.0.1:PORT"));
  EXPECT_FALSE(fs::exists(lab_.path("no-run")));
}

TEST_F(Web, IsServedOnThisMachineOnlyAndOnlyIfAsked) {
  for (const char* where : {"0.0.0.0:0", "[::]:0", "10.0.0.1:80", "example.org:80", "80x"}) {
    const Output refused = lab_.ctl({"watch", std::string("--web=") + where, id_});
    EXPECT_EQ(refused.code, 1) << where;
    EXPECT_THAT(refused.err, HasSubstr("127.0.0.1:PORT")) << where;
  }
  const pid_t plain = start_program(
      {std::string(STAB_BIN_DIR) + "/stabctl", "--socket", lab_.path("s.sock"), "watch", id_},
      lab_.folder(), lab_.path("plain"));
  ASSERT_TRUE(wait_for_text(lab_.path("plain"), "0 of 4 trials"));
  const Listening where = listening(plain);
  EXPECT_EQ(where.here + where.elsewhere, 0);
  kill(plain, SIGINT);
  EXPECT_EQ(end_of(plain), 128 + SIGINT);

  watch({"--web=localhost:0"});
  ASSERT_FALSE(HasFatalFailure());
  const Output taken = lab_.ctl({"watch", "--web=" + std::to_string(port_), id_});
  EXPECT_EQ(taken.code, 1);
  EXPECT_THAT(taken.err, HasSubstr("Address already in use"));
}

}  // namespace
}  // namespace stab::test
