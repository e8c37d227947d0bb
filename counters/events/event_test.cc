// SPDX-License-Identifier: MIT
// LIBPFM_ENCODE_INACTIVE, which is set for this test, lets libpfm encode events of other machines' CPUs.
#include "counters/events/event.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>

namespace stab::counters {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsSupersetOf;

std::string wrong(const std::string& name) {
  const auto event = find_event(name);
  return event ? "it is one" : event.error().message;
}

perf_event_attr attr_of(const std::string& name) {
  const auto event = find_event(name);
  EXPECT_TRUE(event) << name << ": " << event.error().message;
  return event ? event->attr : perf_event_attr{};
}

// Where there are none every name has that answer.
class Events : public testing::Test {
 protected:
  void SetUp() override {
    if (access(paranoid_file, F_OK) != 0) {
      EXPECT_THAT(wrong("task-clock"), HasSubstr("this kernel has no perf events"));
      GTEST_SKIP();
    }
  }
};

TEST_F(Events, OfTheKernelsOwnNames) {
  EXPECT_EQ(attr_of("cycles").type, PERF_TYPE_HARDWARE);
  EXPECT_EQ(attr_of("cycles").config, PERF_COUNT_HW_CPU_CYCLES);
  EXPECT_EQ(attr_of("Instructions").config, PERF_COUNT_HW_INSTRUCTIONS);
  EXPECT_EQ(attr_of("task-clock").type, PERF_TYPE_SOFTWARE);
  EXPECT_EQ(attr_of("task-clock").config, PERF_COUNT_SW_TASK_CLOCK);
  EXPECT_EQ(attr_of("L1-icache-load-misses").type, PERF_TYPE_HW_CACHE);
  EXPECT_EQ(attr_of("L1-icache-load-misses").config, PERF_COUNT_HW_CACHE_L1I |
                                                         PERF_COUNT_HW_CACHE_OP_READ << 8 |
                                                         PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
  EXPECT_EQ(attr_of("r1c4").type, PERF_TYPE_RAW);
  EXPECT_EQ(attr_of("r1c4").config, 0x1c4);
}

TEST_F(Events, SaysWhichSideIsCounted) {
  const auto sides = [](const std::string& name) {
    const auto attr = attr_of(name);
    return std::pair(attr.exclude_user == 0, attr.exclude_kernel == 0);
  };
  EXPECT_EQ(sides("cycles"), std::pair(true, true));
  EXPECT_EQ(sides("cycles:u"), std::pair(true, false));
  EXPECT_EQ(sides("cycles:k"), std::pair(false, true));
  EXPECT_EQ(sides("page-faults:u"), std::pair(true, false));
}

TEST_F(Events, UnitsAreThoseOfClocks) {
  EXPECT_EQ(find_event("task-clock")->unit(), "ns");
  EXPECT_EQ(find_event("cpu-clock")->unit(), "ns");
  EXPECT_EQ(find_event("cycles")->unit(), "");
}

TEST_F(Events, ClocksHaveNoSides) {
  EXPECT_THAT(wrong("task-clock:u"), HasSubstr("leave out ':u' or ':k'"));
  EXPECT_THAT(wrong("cpu-clock:k"), HasSubstr("in the program and in the kernel together"));
  EXPECT_EQ(attr_of("task-clock:u:k").config, PERF_COUNT_SW_TASK_CLOCK);
}

TEST_F(Events, KnowsWhatOnlyHappensInTheKernel) {
  for (const char* name : {"context-switches", "cs", "cpu-migrations", "cgroup-switches"})
    EXPECT_TRUE(find_event(name)->is_of_kernel()) << name;
  for (const char* name :
       {"cycles", "task-clock", "page-faults", "L1-dcache-loads", "r1c4", "mem:0x10"})
    EXPECT_FALSE(find_event(name)->is_of_kernel()) << name;
  // What is not known counts as such.
  Event unknown = *find_event("cycles");
  unknown.attr.type = 4000;
  EXPECT_TRUE(unknown.is_of_kernel());
}

TEST_F(Events, Addresses) {
  const auto call = attr_of("mem:0x401000:x");
  EXPECT_EQ(call.type, PERF_TYPE_BREAKPOINT);
  EXPECT_EQ(call.bp_addr, 0x401000);
  EXPECT_EQ(call.bp_type, 4);  // HW_BREAKPOINT_X
  EXPECT_EQ(call.bp_len, 8);
  EXPECT_EQ(attr_of("mem:0x10/2:w").bp_type, 2);
  EXPECT_EQ(attr_of("mem:0x10/2:w").bp_len, 2);
  EXPECT_EQ(attr_of("mem:0x10").bp_type, 3);
  for (const char* name : {"mem:", "mem:10", "mem:0x", "mem:0xzz", "mem:0x10/3", "mem:0x10/8:x",
                           "mem:0x10:q", "mem:0x10/:w", "mem:0x10:", "mem:0x11112222333344445"})
    EXPECT_THAT(wrong(name), HasSubstr("write mem:0xADDRESS")) << name;
}

TEST_F(Events, AMisspeltOneGetsTheNearest) {
  EXPECT_EQ(wrong("cycels"),
            "'cycels' is not an event, did you mean 'cycles'?; 'stabctl counters' lists the events "
            "of this machine");
  EXPECT_THAT(wrong("L1-dcache-load-mises"), HasSubstr("did you mean 'l1-dcache-load-misses'?"));
  EXPECT_THAT(wrong("instruction:u"), HasSubstr("did you mean 'instructions'?"));
  EXPECT_THAT(wrong("no_group:no_point"), HasSubstr("where tracefs is mounted"));
}

TEST_F(Events, AnAttributeThatIsNone) {
  EXPECT_EQ(wrong("cycles:x"),
            "the event 'cycles' does not have this attribute; it has the modifiers 'u' (only user "
            "code) and 'k' (only kernel code), for example 'cycles:u'");
  // Neither side, or guests. On some CPUs 'cycles' is an event that libpfm knows without 'h'.
  for (const char* name : {"cycles:u=0", "page-faults:u=0:k=0", "cycles:h", "cycles:mg",
                           "cycles:mg:mh", "amd64_fam19h_zen4::RETIRED_INSTRUCTIONS:h"})
    EXPECT_THAT(wrong(name), testing::AnyOf(HasSubstr("user code, kernel code or both"),
                                            HasSubstr("does not have this attribute")))
        << name;
  // Those of sampling are none of a count.
  EXPECT_NE(wrong("cycles:period=1000"), "it is one");
  EXPECT_NE(wrong("cycles:freq=100"), "it is one");
  EXPECT_NE(wrong("cycles:cpu=0"), "it is one");
}

TEST_F(Events, NamesAreBounded) {
  EXPECT_THAT(wrong(""), HasSubstr("1 to 200"));
  EXPECT_THAT(wrong(std::string(300, 'c')), HasSubstr("1 to 200"));
  EXPECT_THAT(wrong("cyc\nles"), HasSubstr("1 to 200"));
  EXPECT_THAT(wrong("\x1b[31mcycles"), HasSubstr("1 to 200"));
}

// From the vendors' lists of events: number, unit mask << 8.
TEST_F(Events, EncodingsOfCpus) {
  const std::vector<std::pair<const char*, std::uint64_t>> known{
      {"skl::INST_RETIRED:ANY_P", 0xc0},
      {"skl::LONGEST_LAT_CACHE:MISS", 0x412e},
      {"skl::LONGEST_LAT_CACHE:REFERENCE", 0x4f2e},
      {"skl::BR_INST_RETIRED:CONDITIONAL", 0x01c4},
      {"skl::MEM_LOAD_RETIRED:L1_MISS", 0x08d1},
      {"icx::LONGEST_LAT_CACHE:MISS", 0x412e},
      {"icx::MEM_LOAD_RETIRED:L2_MISS", 0x10d1},
      {"icx::TOPDOWN:SLOTS", 0x0400},
      {"spr::INST_RETIRED:ANY_P", 0xc0},
      {"spr::TOPDOWN:SLOTS", 0x0400},
      {"spr::MEM_LOAD_RETIRED:L3_MISS", 0x20d1},
      {"amd64_fam19h_zen3::RETIRED_INSTRUCTIONS", 0xc0},
      {"amd64_fam19h_zen3::RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", 0xc3},
      {"amd64_fam19h_zen3::CYCLES_NOT_IN_HALT", 0x76},
      {"amd64_fam19h_zen4::RETIRED_INSTRUCTIONS", 0xc0},
      {"amd64_fam19h_zen4::RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", 0xc3},
  };
  for (const auto& [name, config] : known) {
    const auto attr = attr_of(name);
    EXPECT_EQ(attr.type, PERF_TYPE_RAW) << name;
    EXPECT_EQ(attr.config, config) << name;
    EXPECT_EQ(attr_of(std::string(name) + ":u").exclude_kernel, 1) << name;
  }
}

TEST_F(Events, AllThatAreListedAreFound) {
  const auto all = list_events();
  EXPECT_GT(all.size(), 50);
  std::vector<std::string> names;
  for (const Listed& listed : all) {
    names.push_back(listed.name);
    // Some of a CPU's need an attribute.
    if (listed.source == "perf" && listed.attributes.empty())
      EXPECT_TRUE(find_event(listed.name)) << listed.name;
  }
  EXPECT_THAT(names, IsSupersetOf({"cycles", "task-clock", "l1-dcache-load-misses"}));
}

}  // namespace
}  // namespace stab::counters
