// SPDX-License-Identifier: MIT
// Settings that refuse to be changed, as the kernel's do it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "machine/quiet/quiet.h"
#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using What = Outcome::What;

class RefusalTest : public Tree {
 protected:
  // All standard knobs.
  std::vector<Outcome> made_quiet() {
    return quiesce(log_, choose_knobs({}).value(), cpus_, root_).value();
  }
  static Outcome of(const std::vector<Outcome>& outcomes, const std::string& knob) {
    const auto found = std::ranges::find(outcomes, knob, &Outcome::knob);
    EXPECT_NE(found, outcomes.end()) << knob;
    return found == outcomes.end() ? Outcome{} : *found;
  }
  void expect_everything_as_it_was_but(const std::string& other) {
    EXPECT_THAT(restore(log_, root_).value(), Each(Field(&Outcome::what, What::restored)));
    EXPECT_THAT(log_.changes(), IsEmpty());
    for (const auto& [file, value] : files())
      if (file != other) EXPECT_EQ(at(file) + "\n", value) << file;
  }

  UndoLog log_ = UndoLog::open(log(), root_).value();
};

// A file that takes what is written and shows something else.
TEST_F(RefusalTest, WhatReadsBackOtherwiseLeavesNothingBehind) {
  const std::string swappiness = "/proc/sys/vm/swappiness";
  const std::string path = root_ + swappiness;
  std::filesystem::remove(path);
  if (mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0 || !Fd(open(path.c_str(), O_RDWR)))
    GTEST_SKIP() << "this user cannot make a device here";
  const auto outcomes = made_quiet();
  const Outcome refused = of(outcomes, "swappiness");
  EXPECT_EQ(refused.what, What::refused);
  EXPECT_THAT(refused.reason, HasSubstr("contains , although 0 was written to it"));
  EXPECT_EQ(refused.value, refused.found);
  EXPECT_EQ(of(outcomes, "nmi_watchdog").what, What::changed);
  expect_everything_as_it_was_but(swappiness);
}

// Opening it to write waits for who reads it.
TEST_F(RefusalTest, AFifoIsRefusedAndNobodyWaits) {
  for (const std::string file : {"/proc/sys/vm/swappiness", "/proc/sys/kernel/nmi_watchdog"}) {
    std::filesystem::remove(root_ + file);
    ASSERT_EQ(mkfifo((root_ + file).c_str(), 0600), 0);
  }
  alarm(60);
  const auto outcomes = made_quiet();
  alarm(0);
  for (const char* knob : {"swappiness", "nmi_watchdog"})
    EXPECT_EQ(of(outcomes, knob).what, What::refused) << knob;
  EXPECT_EQ(of(outcomes, "governor").what, What::changed);
}

// As a container has it.
TEST_F(RefusalTest, WhatIsMountedReadOnlyStaysAndTheRestIsPutBack) {
  if (!make_read_only("/proc/sys")) GTEST_SKIP() << "this user cannot mount";
  const auto outcomes = made_quiet();
  for (const char* knob : {"swappiness", "nmi_watchdog", "timer_migration", "compaction"}) {
    EXPECT_EQ(of(outcomes, knob).what, What::refused) << knob;
    EXPECT_THAT(of(outcomes, knob).reason, HasSubstr("Read-only file system")) << knob;
  }
  EXPECT_EQ(of(outcomes, "governor").what, What::changed);
  expect_everything_as_it_was_but("");
}

}  // namespace
}  // namespace stab::machine
