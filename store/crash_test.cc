// SPDX-License-Identifier: MIT
// S1, S2: kill -9 at any instant loses nothing that was acknowledged and leaves nothing half
// stored.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "base/random.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

// Stores trial after trial, from `position` on, and tells the pipe after each one. Never returns.
[[noreturn]] void write_trials(const std::string& path, Id experiment, std::uint32_t position,
                               int told) {
  const auto store = Store::open(path);
  if (!store) _exit(1);
  for (;; ++position) {
    if (!(*store)->add_trial(example_trial(experiment, position))) _exit(2);
    if (write(told, &position, sizeof position) != sizeof position) _exit(3);
  }
}

// The last position that a writer acknowledged before it was killed after `life`, or `before` if
// there was none. Life starts at the first acknowledgement half of the time, so that the opening is
// hit as well.
std::int64_t killed_writer(const std::string& path, Id experiment, std::int64_t before,
                           std::chrono::microseconds life, bool wait_for_first) {
  std::array<int, 2> told{};
  if (pipe(told.data()) != 0) std::abort();
  const pid_t child = fork();
  if (child == 0) write_trials(path, experiment, static_cast<std::uint32_t>(before + 1), told[1]);
  close(told[1]);
  std::int64_t last = before;
  std::uint32_t position = 0;
  if (wait_for_first && read(told[0], &position, sizeof position) == sizeof position)
    last = position;
  std::this_thread::sleep_for(life);
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the writer failed by itself with " << WEXITSTATUS(status);
  while (read(told[0], &position, sizeof position) == sizeof position) last = position;
  close(told[0]);
  return last;
}

TEST(Crash, KillAtTwentyInstantsLosesNoAcknowledgedTrial) {
  const TemporaryDirectory directory;
  const std::string path = directory / "stab.db";
  const Id experiment = open_or_fail(path)->add_experiment(example_experiment()).value();
  Random random(20);
  std::int64_t stored = -1;
  for (int instant = 0; instant < 20; ++instant) {
    const auto life = std::chrono::microseconds(random.below(20000));
    const auto acknowledged = killed_writer(path, experiment, stored, life, instant % 2 == 0);
    const auto store = open_or_fail(path);
    EXPECT_TRUE(store->verify().value().empty());
    const auto trials = trials_of(*store, experiment);
    stored = static_cast<std::int64_t>(trials.size()) - 1;
    // The one in flight may be there as well: killed between the commit and the acknowledgement.
    ASSERT_GE(stored, acknowledged);
    ASSERT_LE(stored, acknowledged + 1);
    for (std::size_t i = 0; i < trials.size(); ++i)
      ASSERT_EQ(trials[i], example_trial(experiment, static_cast<std::uint32_t>(i)));
  }
  EXPECT_GE(stored, 9) << "at least every second writer got one trial through";
}

}  // namespace
}  // namespace stab::store
