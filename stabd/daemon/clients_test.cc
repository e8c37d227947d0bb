// SPDX-License-Identifier: MIT
// Clients of several users on a socket, at a time that the test sets. Other users need root.
#include "stabd/daemon/clients.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "stabd/daemon/clock_testing.h"

namespace stab::daemon {
namespace {

using std::chrono::minutes;
using testing::Test;

constexpr std::uint32_t somebody = 54321;
constexpr std::uint32_t her_subuid = 200'000;
constexpr std::uint32_t another = 54322;

class ClientsTest : public Test {
 protected:
  void SetUp() override {
    uv_loop_init(&loop_);
    uv_pipe_init(&loop_, &server_, 0);
    server_.data = this;
    ASSERT_EQ(uv_pipe_bind(&server_, path_.c_str()), 0);
    ASSERT_EQ(uv_pipe_chmod(&server_, UV_READABLE | UV_WRITABLE), 0);
    ASSERT_EQ(uv_listen(reinterpret_cast<uv_stream_t*>(&server_), 64,
                        [](uv_stream_t* server, int) {
                          static_cast<ClientsTest*>(server->data)->clients_.accept();
                        }),
              0);
    clients_.serve(reinterpret_cast<uv_stream_t*>(&server_),
                   [this](Connection& client, const std::string& line) { serve(client, line); });
  }
  void TearDown() override {
    clients_.close_all();
    uv_close(reinterpret_cast<uv_handle_t*>(&server_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    std::filesystem::remove(path_);
  }

  void serve(Connection& client, const std::string& line) {
    lines_.push_back(line);
    if (line == "echo") client.send("as you say");
    if (line == "watch") client.watched = 7;
    if (line == "much") client.send(std::string(limits_.unread_of_user, 'x'));
    if (line == "later") client.await_answer([this] { ++gone_; });
  }
  // Lets the loop serve what there is.
  void turn() {
    for (int i = 0; i < 10; ++i) uv_run(&loop_, UV_RUN_NOWAIT);
  }
  // A client whose process has this user id, which the kernel notes when it connects.
  Fd connect_as(std::uint32_t uid) {
    Fd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (uid != geteuid()) EXPECT_EQ(seteuid(uid), 0);
    EXPECT_EQ(connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    if (uid != own_) EXPECT_EQ(seteuid(own_), 0);
    turn();
    return client;
  }
  static void say(const Fd& client, const std::string& line) {
    const std::string text = line + "\n";
    EXPECT_EQ(write(client.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // Returns the text that has come, or "closed" at the end.
  std::string heard(const Fd& client) {
    turn();
    std::string text(4096, '\0');
    const ssize_t n = read(client.get(), text.data(), text.size());
    if (n == 0) return "closed";
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return text;
  }
  bool is_closed(const Fd& client) { return heard(client) == "closed"; }

  const std::uint32_t own_ = geteuid();
  const std::string path_ = testing::TempDir() + "clients" + std::to_string(getpid()) + ".sock";
  uv_loop_t loop_{};
  uv_pipe_t server_{};
  ClockOfTest clock_;
  settings::Limits limits_{.connections = 3, .connections_of_user = 2, .unread_of_user = 1 << 20};
  Accounts accounts_{"owner:200000:1000\n", own_,
                     [](const std::string&) { return std::optional<std::uint32_t>(somebody); }};
  Clients clients_{clock_, limits_, minutes(10), accounts_};
  std::vector<std::string> lines_;
  int gone_ = 0;
};

TEST_F(ClientsTest, RequestsAreLinesWhateverPiecesTheyComeIn) {
  const Fd client = connect_as(own_);
  EXPECT_EQ(write(client.get(), "ec", 2), 2);
  EXPECT_EQ(heard(client), "");
  EXPECT_EQ(write(client.get(), "ho\necho\nec", 10), 10);
  EXPECT_EQ(heard(client), "as you say\nas you say\n");
  EXPECT_EQ(lines_.size(), 2U);
}

TEST_F(ClientsTest, AfterARequestThatIsAnsweredLaterTheNextOneWaits) {
  const Fd client = connect_as(own_);
  say(client, "later");
  say(client, "echo");
  EXPECT_EQ(heard(client), "");
  EXPECT_EQ(lines_.size(), 1U);
  clients_.close_all();
  EXPECT_EQ(gone_, 1) << "whoever would have answered learns that the client has gone";
  EXPECT_TRUE(is_closed(client));
}

TEST_F(ClientsTest, WatchersAreFound) {
  const Fd client = connect_as(own_);
  const Fd other = connect_as(own_);
  EXPECT_FALSE(clients_.anyone_watches());
  say(client, "watch");
  turn();
  EXPECT_TRUE(clients_.anyone_watches());
  std::vector<std::int64_t> watched;
  clients_.for_each_watcher([&](Connection& each) { watched.push_back(each.watched); });
  EXPECT_EQ(watched, std::vector<std::int64_t>{7});
}

TEST_F(ClientsTest, ATrustedUserIsNeverRefusedAndNeverIdle) {
  std::vector<Fd> clients;
  for (int i = 0; i < 6; ++i) clients.push_back(connect_as(own_));
  clock_.pass(minutes(60));
  for (const Fd& each : clients) EXPECT_EQ(heard(each), "");
}

TEST_F(ClientsTest, WithoutClientsNoTimerRuns) {
  EXPECT_EQ(clock_.running(), 0U);
  {
    const Fd client = connect_as(own_);
    EXPECT_EQ(clock_.running(), 1U);
  }
  turn();
  clock_.pass(minutes(11));
  EXPECT_EQ(clock_.running(), 0U);
}

// These tests change the user id.
class OtherUsersTest : public ClientsTest {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can be other users";
    ClientsTest::SetUp();
  }
  void TearDown() override {
    if (geteuid() == 0) ClientsTest::TearDown();
  }
};

TEST_F(OtherUsersTest, AnIdleClientIsClosedUnlessItWatchesOrWaits) {
  const Fd idle = connect_as(somebody);
  const Fd watches = connect_as(somebody);
  const Fd waits = connect_as(another);
  say(watches, "watch");
  say(waits, "later");
  turn();
  clock_.pass(minutes(5));
  say(idle, "echo");
  EXPECT_EQ(heard(idle), "as you say\n");
  clock_.pass(minutes(9));
  EXPECT_EQ(heard(idle), "") << "it was active 9 minutes ago";
  clock_.pass(minutes(4));
  EXPECT_TRUE(is_closed(idle));
  EXPECT_EQ(heard(watches), "");
  EXPECT_EQ(heard(waits), "");
}

TEST_F(OtherUsersTest, AnAccountHasItsShareOfTheConnectionsWhateverItsUserIds) {
  const Fd first = connect_as(somebody);
  const Fd second = connect_as(her_subuid);
  const Fd third = connect_as(her_subuid + 1);
  EXPECT_NE(heard(third).find("you already have 2 connections"), std::string::npos);
  EXPECT_TRUE(is_closed(third));
  EXPECT_EQ(heard(first), "");
  const Fd others = connect_as(another);
  EXPECT_EQ(heard(others), "");
}

TEST_F(OtherUsersTest, AllUsersTogetherHaveALimitAndAClosedConnectionMakesRoom) {
  std::vector<Fd> clients;
  for (const std::uint32_t uid : {somebody, another, another + 1})
    clients.push_back(connect_as(uid));
  EXPECT_NE(heard(connect_as(another + 2)).find("too many clients"), std::string::npos);
  EXPECT_EQ(heard(connect_as(own_)), "") << "root has room";
  clients.pop_back();
  const Fd next = connect_as(another + 3);
  EXPECT_EQ(heard(next), "");
}

TEST_F(OtherUsersTest, WhoeverDoesNotReadAnswersLosesTheConnection) {
  const Fd client = connect_as(somebody);
  say(client, "much\nmuch\necho");
  turn();
  EXPECT_EQ(lines_, (std::vector<std::string>{"much", "much"})) << "the last request is not served";
  std::string text(std::size_t{1} << 22, '\0');
  ssize_t n = 0;
  while ((n = read(client.get(), text.data(), text.size())) > 0) turn();
  EXPECT_EQ(n, 0) << "the connection is closed";
}

}  // namespace
}  // namespace stab::daemon
