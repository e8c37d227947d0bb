// SPDX-License-Identifier: MIT
#include "machine/quiet/knobs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "base/fd.h"
#include "machine/quiet/tree_testing.h"

namespace stab::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using KnobsTest = Tree;

std::vector<std::string> names(std::span<const Setting> settings) {
  std::vector<std::string> all;
  for (const Setting& setting : settings) all.push_back(setting.file);
  return all;
}

TEST(Knobs, EachHasANameOfItsOwnAndSaysWhatItDoes) {
  std::set<std::string_view> seen;
  for (const Knob& knob : knobs()) {
    EXPECT_TRUE(seen.insert(knob.name).second) << knob.name;
    EXPECT_FALSE(knob.effect.empty()) << knob.name;
    EXPECT_EQ(find_knob(knob.name), &knob);
  }
  EXPECT_EQ(find_knob("govenor"), nullptr);
}

TEST_F(KnobsTest, FindsTheFilesThatAreThere) {
  EXPECT_THAT(read_knob(*find_knob("governor"), cpus_, root_), SizeIs(4));
  const auto boost = read_knob(*find_knob("boost"), cpus_, root_);
  ASSERT_THAT(names(boost), ElementsAre("/sys/devices/system/cpu/intel_pstate/no_turbo"));
  EXPECT_EQ(boost[0].quiet, "1");
  EXPECT_FALSE(boost[0].is_quiet());
  EXPECT_THAT(read_knob(*find_knob("thp"), cpus_, root_), IsEmpty());
}

TEST_F(KnobsTest, IdleStatesAreThoseOfTrialCpusBelowTheFirstTwo) {
  EXPECT_THAT(names(read_knob(*find_knob("idle_states"), cpus_, root_)),
              ElementsAre("/sys/devices/system/cpu/cpu2/cpuidle/state2/disable",
                          "/sys/devices/system/cpu/cpu2/cpuidle/state3/disable"));
}

TEST_F(KnobsTest, InterruptsGoToTheOtherCpusHoweverTheyAreSpelt) {
  const Knob& knob = *find_knob("irq_affinity");
  EXPECT_EQ(read_knob(knob, cpus_, root_)[0].quiet, "0-1");
  put("/proc/irq/10/smp_affinity_list", "0,1\n");
  EXPECT_TRUE(read_knob(knob, cpus_, root_)[0].is_quiet());
  put("/proc/irq/10/smp_affinity_list", "0,1,2\n");
  EXPECT_FALSE(read_knob(knob, cpus_, root_)[0].is_quiet());
}

TEST_F(KnobsTest, SaysWhyAFileCannotBeRead) {
  std::filesystem::remove(root_ + "/sys/kernel/mm/ksm/run");
  std::filesystem::create_directory(root_ + "/sys/kernel/mm/ksm/run");
  const auto settings = read_knob(*find_knob("ksm"), cpus_, root_);
  ASSERT_THAT(settings, SizeIs(1));
  EXPECT_THAT(settings[0].error, testing::HasSubstr("Is a directory"));
  EXPECT_FALSE(settings[0].is_quiet());
}

TEST_F(KnobsTest, AMachineWithoutSiblingsHasQuietOnes) {
  for (const char* value : {"off", "forceoff", "notsupported", "notimplemented"}) {
    put("/sys/devices/system/cpu/smt/control", value);
    EXPECT_TRUE(read_knob(*find_knob("smt"), cpus_, root_)[0].is_quiet()) << value;
  }
  put("/sys/devices/system/cpu/smt/control", "on");
  EXPECT_FALSE(read_knob(*find_knob("smt"), cpus_, root_)[0].is_quiet());
}

// The table in doc/operations.md, with the quiet values, needs and effect of each knob.
std::string table_of_knobs() {
  std::string text =
      "| knob | file: quiet value | standard | needs | effect if it is not quiet "
      "|\n|---|---|---|---|---|\n";
  for (const Knob& knob : knobs()) {
    std::string files;
    for (const KnobFiles& each : knob.files)
      if (!each.pattern.empty())
        files += fmt::format("{}`{}`: `{}`", files.empty() ? "" : ", ", each.pattern, each.quiet);
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", knob.name, files,
                        knob.standard ? "yes" : "no", knob.needs, knob.effect);
  }
  return text;
}

TEST(Knobs, SayWhatTheyNeedAndTheDocumentHasEachOfThemAndNoOther) {
  for (const Knob& knob : knobs()) EXPECT_TRUE(knob.needs.starts_with("root")) << knob.name;
  const auto document = read_file(STAB_SOURCE_DIR "/doc/operations.md", 1 << 20);
  ASSERT_TRUE(document);
  // Up to the end of the table, so that a row of no knob is one too many.
  EXPECT_THAT(*document, testing::HasSubstr("\n\n" + table_of_knobs() + "\n"))
      << "paste into doc/operations.md:\n"
      << table_of_knobs();
}

TEST(Values, AreThoseInForce) {
  EXPECT_EQ(value_in("always [madvise] never\n", Form::choice), "madvise");
  EXPECT_EQ(value_in("always madvise never\n", Form::choice), "always madvise never");
  EXPECT_EQ(value_in("powersave \nrest", Form::word), "powersave");
  EXPECT_TRUE(same_value("0-3", "0,1,2-3", Form::cpus));
  EXPECT_FALSE(same_value("0-3", "0,1,2-3", Form::word));
  EXPECT_FALSE(same_value("", "x", Form::cpus));
  EXPECT_FALSE(same_value("3-0", "0-4294967295", Form::cpus));
}

TEST(Places, AreNoOtherFiles) {
  EXPECT_NE(files_of("irq_affinity", "/proc/irq/24/smp_affinity_list"), nullptr);
  EXPECT_NE(files_of("idle_states", "/sys/devices/system/cpu/cpu12/cpuidle/state3/disable"),
            nullptr);
  for (const char* other :
       {"/etc/passwd", "/proc/irq/24/../../../etc/passwd", "/proc/irq/2/4/smp_affinity_list",
        "/proc/irq/x/smp_affinity_list", "", "/proc/irq/24/smp_affinity_list/x"})
    EXPECT_EQ(files_of("irq_affinity", other), nullptr) << other;
  EXPECT_EQ(files_of("swappiness", "/proc/sys/kernel/nmi_watchdog"), nullptr);
  EXPECT_EQ(files_of("nothing", "/proc/sys/kernel/nmi_watchdog"), nullptr);
}

}  // namespace
}  // namespace stab::machine
