// SPDX-License-Identifier: MIT
#include "machine/interrupts.h"

#include <gmock/gmock.h>

#include "base/fd.h"

namespace stab::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view table =
    "           CPU0       CPU2       CPU3       \n"
    "  0:         45          0          0   IO-APIC   2-edge      timer\n"
    " 36:          0       9999       2001   PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\n"
    " 37:         10          2          0   PCI-MSIX-0000:00:03.0   0-edge      eth0\n"
    "NMI:          0          0          0   Non-maskable interrupts\n"
    "LOC:    9406603    9580743    9000000   Local timer interrupts\n"
    "ERR:          0\n";

TEST(Interrupts, OfDevicesCountByTheTimeSinceBoot) {
  EXPECT_THAT(cpus_of_devices(table, "1001.00 1800.00\n"), IsEmpty());
  EXPECT_THAT(cpus_of_devices(table, "999.00 1800.00\n"), ElementsAre(2));
  EXPECT_THAT(cpus_of_devices(table, "200.0 1800.00\n"), ElementsAre(2, 3));
  EXPECT_THAT(cpus_of_devices(table, "1.0 1.00\n"), ElementsAre(0, 2, 3));
}

TEST(Interrupts, OfAnUnknownFormSayNothing) {
  for (const std::string_view strange : {"", "CPU\n", "cores CPU0\n 1: 5000\n", "no table"})
    EXPECT_THAT(cpus_of_devices(strange, "1.0 1.0\n"), IsEmpty()) << strange;
  for (const std::string_view strange : {"", "long ago", "1.0x 2"})
    EXPECT_THAT(cpus_of_devices(table, strange), IsEmpty()) << strange;
  EXPECT_THAT(cpus_of_devices("CPU0 CPU1\n 9: 5000\n 10: 1 5000\n", "1.0 1.0\n"), ElementsAre(1));
}

TEST(Interrupts, OfThisMachineAreOfCpusThatItHas) {
  const auto interrupts = read_file("/proc/interrupts", 1 << 20);
  if (!interrupts) GTEST_SKIP() << interrupts.error().message;
  // As if it had been on for no time at all: all that ever served a device.
  const CpuSet busy = cpus_of_devices(*interrupts, "0.000001 0\n");
  EXPECT_LE(busy.size(), Topology::load()->counts().cpus);
}

}  // namespace
}  // namespace stab::machine
