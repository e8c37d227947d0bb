// SPDX-License-Identifier: MIT
// On a folder that has the form of the kernel's; what it counts for real is in counting_test.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "counters/events/event.h"

namespace stab::counters {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class KernelEvents : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "stab-events-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    files_ = {.devices = root_ + "/devices", .tracepoints = {root_ + "/none", root_ + "/tracing"}};
    write("devices/cpu/type", "4\n");
    write("devices/cpu/format/event", "config:0-7,32-35\n");
    write("devices/cpu/format/umask", "config:8-15\n");
    write("devices/cpu/format/edge", "config:18\n");
    write("devices/cpu/format/ldlat", "config1:0-15\n");
    write("devices/cpu/format/odd", "config9:0\n");
    write("devices/cpu/events/cpu-cycles", "event=0x3c\n");
    write("devices/cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=?\n");
    write("devices/cpu/events/slots", "event=0x0,umask=0x4\n");
    write("devices/cpu/events/slots.scale", "2\n");
    write("devices/msr/type", "9\n");
    write("devices/msr/format/event", "config:0-63\n");
    write("devices/msr/events/tsc", "event=0x00\n");
    write("devices/power/type", "12\n");
    write("devices/power/cpumask", "0\n");
    write("devices/power/events/energy-pkg", "event=0x02\n");
    write("devices/uprobe/type", "8\n");
    write("devices/breakpoint/type", "5\n");
    write("tracing/sched/sched_switch/id", "316\n");
    write("tracing/sched/filter", "none\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    const fs::path path = root_ + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }

  perf_event_attr attr_of(const std::string& name) {
    const auto attr = find_device_event(name, files_);
    EXPECT_TRUE(attr) << attr.error().message;
    return attr.value_or(perf_event_attr{});
  }
  std::string wrong(const std::string& name) {
    const auto attr = find_device_event(name, files_);
    return attr ? "it is one" : attr.error().message;
  }
  static std::vector<std::string> names_of(const std::vector<Listed>& all) {
    std::vector<std::string> names;
    for (const Listed& each : all) names.push_back(each.name);
    return names;
  }

  std::string root_;
  KernelFiles files_;
};

TEST_F(KernelEvents, TermsGoWhereTheDevicesFormatsSay) {
  const auto attr = attr_of("cpu/event=0x13c,umask=2,edge,ldlat=30/");
  EXPECT_EQ(attr.type, 4);
  EXPECT_EQ(attr.config, 0x1'0004'023cU);  // bits 0-7 and 32-35, 8-15, and 18
  EXPECT_EQ(attr.config1, 30);
  EXPECT_EQ(attr_of("cpu/config=0x1c4,config1=7/").config, 0x1c4);
  EXPECT_EQ(attr_of("cpu/config=0x1c4,config1=7/").config1, 7);
  EXPECT_EQ(attr_of("msr/event=0xffffffffffffffff/").config, ~std::uint64_t{0});
}

TEST_F(KernelEvents, NamedOnesAreTheirTermsAndLaterTermsHold) {
  EXPECT_EQ(attr_of("cpu/cpu-cycles/").config, 0x3c);
  EXPECT_EQ(attr_of("msr/tsc/").type, 9);
  EXPECT_EQ(attr_of("cpu/cpu-cycles,umask=1/").config, 0x13c);
  EXPECT_EQ(attr_of("cpu/cpu-cycles,event=0x42/").config, 0x42);
}

TEST_F(KernelEvents, SidesStandBehindTheLastSlash) {
  const auto sides = [&](const std::string& name) {
    const auto attr = attr_of(name);
    return std::pair(attr.exclude_user == 0, attr.exclude_kernel == 0);
  };
  EXPECT_EQ(sides("cpu/cpu-cycles/"), std::pair(true, true));
  EXPECT_EQ(sides("cpu/cpu-cycles/u"), std::pair(true, false));
  EXPECT_EQ(sides("cpu/cpu-cycles/k"), std::pair(false, true));
  EXPECT_EQ(sides("cpu/cpu-cycles/uk"), std::pair(true, true));
  for (const char* name : {"cpu/cpu-cycles/h", "cpu/cpu-cycles/pp", "cpu/cpu-cycles/u:k"})
    EXPECT_THAT(wrong(name), HasSubstr("may follow the last '/'")) << name;
  const Event plain{.name = "cpu/cpu-cycles/"};
  EXPECT_EQ(plain.on_program_side(), "cpu/cpu-cycles/u");
  EXPECT_FALSE(plain.has_side());
  EXPECT_TRUE(Event{.name = "cpu/cpu-cycles/k"}.has_side());
  EXPECT_EQ(Event{.name = "cycles"}.on_program_side(), "cycles:u");
}

TEST_F(KernelEvents, WhatIsWrongSaysWhatTheDeviceHas) {
  EXPECT_THAT(wrong("cpux/event=1/"), HasSubstr("there is no such device, did you mean 'cpu'?"));
  EXPECT_THAT(wrong("cpu/evnt=1/"),
              HasSubstr("'cpu' has no 'evnt'; it has the terms edge, event, ldlat, odd, umask, "
                        "config, and the events cpu-cycles, mem-loads, slots"));
  EXPECT_THAT(wrong("cpu/umask=0x100/"), HasSubstr("'umask' of the device 'cpu' has 8 bits"));
  EXPECT_THAT(wrong("cpu/edge=2/"), HasSubstr("has 1 bits, which cannot hold 0x2"));
  EXPECT_THAT(wrong("cpu/odd=1/"), HasSubstr("an unknown format: config9:0"));
  EXPECT_THAT(wrong("cpu/config/"), HasSubstr("needs a number"));
  EXPECT_THAT(wrong("cpu/mem-loads/"), HasSubstr("filled in: event=0xcd,umask=0x1,ldlat=?"));
  for (const char* name : {"cpu/event=x/", "cpu/event=0x/", "cpu/event=-1/", "cpu/=1/", "cpu//",
                           "cpu/event=0x11112222333344445/"})
    EXPECT_THAT(wrong(name), HasSubstr("is not a term: write TERM or TERM=NUMBER")) << name;
  for (const char* name : {"cpu/event=1", "/event=1/", "cpu/a/b/", "../cpu/event=1/"})
    EXPECT_THAT(wrong(name), HasSubstr("write an event of a device as DEVICE/TERM=NUMBER")) << name;
  EXPECT_THAT(wrong("../type=1/"), HasSubstr("write an event of a device as DEVICE/TERM=NUMBER"));
  EXPECT_THAT(wrong("cpu/..=1/"), HasSubstr("is not a term"));
}

// A number of the whole machine, or one that would have to be scaled, is none of a trial's.
TEST_F(KernelEvents, WhatIsNoCountOfAProgramIsRefused) {
  EXPECT_THAT(wrong("power/energy-pkg/"), HasSubstr("counts the whole machine"));
  EXPECT_THAT(wrong("cpu/slots/"), HasSubstr("would have to be multiplied by 2"));
  EXPECT_EQ(attr_of("cpu/event=0x0,umask=0x4/").config, 0x400);
  EXPECT_THAT(wrong("uprobe/config=1/"), HasSubstr("perf probe"));
  EXPECT_THAT(wrong("breakpoint/config=1/"), HasSubstr("mem:0xADDRESS"));
}

TEST_F(KernelEvents, OnesThatHaveNamesAreListedAndAreFound) {
  const auto all = names_of(list_device_events(files_));
  EXPECT_THAT(all, ElementsAre("cpu/cpu-cycles/", "cpu/mem-loads/", "cpu/slots/", "msr/tsc/"));
  EXPECT_THAT(names_of(list_tracepoints(files_)), ElementsAre("sched:sched_switch"));
  EXPECT_TRUE(list_device_events({.devices = root_ + "/none", .tracepoints = {}}).empty());
  EXPECT_TRUE(list_tracepoints({.devices = "", .tracepoints = {}}).empty());
}

TEST_F(KernelEvents, Tracepoints) {
  const auto found = find_tracepoint("sched:sched_switch", files_);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->type, PERF_TYPE_TRACEPOINT);
  EXPECT_EQ((*found)->config, 316);
  EXPECT_EQ((*found)->exclude_user, 0);
  const auto kernels = find_tracepoint("sched:sched_switch:k", files_);
  ASSERT_TRUE(kernels && *kernels);
  EXPECT_EQ((*kernels)->exclude_user, 1);
  EXPECT_EQ((*kernels)->exclude_kernel, 0);
  for (const char* name : {"sched:sched_switch:x", "sched:sched_switch:"}) {
    const auto wrong = find_tracepoint(name, files_);
    ASSERT_TRUE(wrong) << name;
    EXPECT_FALSE(*wrong) << name;
  }
  for (const char* name : {"sched:none", "sched:filter", "none:sched_switch", "sched", "sched:..",
                           "..:sched", "sched:../../tracing/sched/sched_switch", "cycles:u"})
    EXPECT_FALSE(find_tracepoint(name, files_)) << name;
  EXPECT_FALSE(hides_tracepoints(files_));
}

}  // namespace
}  // namespace stab::counters
