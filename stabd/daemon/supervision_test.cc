// SPDX-License-Identifier: MIT
// The test is the service manager.
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "stabd/daemon/clock_testing.h"
#include "stabd/daemon/service.h"
#include "store/test_support.h"

namespace stab::daemon {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class SupervisionTest : public testing::Test {
 protected:
  SupervisionTest() {
    const std::string path = directory_ / "notify";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    setenv("WATCHDOG_USEC", "20000000", 1);
    supervision_.emplace(clock_, service::Manager::from_environment().value());
  }
  // The messages since the last call.
  std::vector<std::string> told() {
    std::vector<std::string> messages;
    std::array<char, 1000> buffer;
    for (ssize_t n = 0; (n = recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0;)
      messages.emplace_back(buffer.data(), static_cast<std::size_t>(n));
    return messages;
  }

  store::TemporaryDirectory directory_;
  Fd socket_{socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  ClockOfTest clock_;
  std::optional<Supervision> supervision_;
};

TEST_F(SupervisionTest, TheWatchdogIsFedAtHalfOfItsTimeOnceWeServe) {
  clock_.pass(1h);
  EXPECT_THAT(told(), IsEmpty());
  supervision_->ready();
  EXPECT_THAT(told(), ElementsAre("READY=1"));
  clock_.pass(9999ms);
  EXPECT_THAT(told(), IsEmpty());
  clock_.pass(10001ms);
  EXPECT_THAT(told(), ElementsAre("WATCHDOG=1", "WATCHDOG=1"));
}

TEST_F(SupervisionTest, EachChangeOfTheRunningExperimentIsToldOnce) {
  supervision_->show(0, "", std::nullopt);
  supervision_->show(0, "", std::nullopt);
  supervision_->show(3, "sort", State::building);
  supervision_->show(3, "sort", State::building);
  supervision_->show(3, "sort", State::running);
  EXPECT_THAT(told(), ElementsAre("STATUS=no experiment is running",
                                  "STATUS=experiment 3 (sort) is building",
                                  "STATUS=experiment 3 (sort) is running"));
}

TEST_F(SupervisionTest, TheManagerKnowsHowLongTheEndTakes) {
  supervision_->stopping(2s, "stopping");
  EXPECT_THAT(told(), ElementsAre("STOPPING=1\nEXTEND_TIMEOUT_USEC=2000000\nSTATUS=stopping"));
}

TEST_F(SupervisionTest, WithoutAManagerNoTimerRuns) {
  Supervision alone(clock_, {});
  alone.ready();
  EXPECT_EQ(clock_.running(), 0U);
}

}  // namespace
}  // namespace stab::daemon
