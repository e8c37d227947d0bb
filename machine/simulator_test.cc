// SPDX-License-Identifier: MIT
#include "machine/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stab::machine {
namespace {

using counters::Reading;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::StartsWith;

const std::string counts =
    "desc: I1 cache: 32768 B\ncmd: ./p summary: 1\nevents: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw "
    "Bc Bcm Bi Bim\nfl=a.c\nfn=main\n1 7 0 0 1 0 0 1 0 0 0 0 0 0\n"
    "summary: 100 1 2 30 4 5 60 7 8 90 10 11 12\n";
const std::string log = "==42== Cachegrind\n--42-- warning\n==42== Command: ./p\n==42== \n";

std::vector<Reading> read(const std::string& text, const std::string& said = log) {
  return simulated_readings(text, said, 42);
}

auto all_absent(const std::string& why) {
  return Each(testing::AllOf(Field(&Reading::status, counters::Status::absent),
                             Field(&Reading::reason, HasSubstr(why))));
}

TEST(Simulator, ItsCountsAreSumsOfItsEvents) {
  EXPECT_THAT(read(counts), ElementsAre(counters::counted("simulated-instructions", "", 100),
                                        counters::counted("simulated-data-accesses", "", 90),
                                        counters::counted("simulated-branches", "", 101),
                                        counters::counted("simulated-i1-misses", "", 1),
                                        counters::counted("simulated-d1-misses", "", 11),
                                        counters::counted("simulated-ll-misses", "", 15),
                                        counters::counted("simulated-branch-misses", "", 22)));
}

TEST(Simulator, AnEventThatItDoesNotHaveIsAbsent) {
  const auto readings = read("events: Ir Dr\nsummary: 5 6\n");
  EXPECT_EQ(readings[0].value, counters::Number(5));
  EXPECT_THAT(readings[1].reason,
              HasSubstr("this version of cachegrind does not count this event"));
}

TEST(Simulator, OfAProgramThatWasEndedThereAreNoCounts) {
  for (const std::string& text :
       {std::string(), counts.substr(0, counts.find("summary: 100")),
        counts.substr(0, counts.size() - 1), std::string("events: Ir\nsummary: 1 2\n"),
        std::string("events: Ir\nsummary: -1\n"), std::string("events: Ir\nsummary: 1e3\n"),
        std::string("events: Ir\nsummary: 99999999999999999999\n"),
        std::string("events: Ir Ir\nsummary: 1 2\n"), counts + counts, std::string("summary: 1\n"),
        std::string(1000, '\0')})
    EXPECT_THAT(read(text), all_absent("cachegrind wrote no counts")) << text;
}

TEST(Simulator, AProgramThatStartedOthersIsNotCounted) {
  EXPECT_THAT(read(counts, log + "==43== Command: ./q\n"), all_absent("started other programs"));
  // Who begins writes over what there is.
  EXPECT_THAT(read(counts, "==4==42== I refs\n==42== D refs\n"),
              all_absent("started other programs"));
  EXPECT_THAT(read(counts, "==43== Command: ./q\n"), all_absent("started other programs"));
  EXPECT_THAT(read(counts, ""), all_absent("did not run under cachegrind"));
  EXPECT_THAT(read(counts, "====\n== ==\n=="), all_absent("did not run under cachegrind"));
}

TEST(Simulator, SaysItsVersion) {
  EXPECT_THAT(simulator_version("/usr/bin/valgrind", Containment::process_tree),
              StartsWith("valgrind-3."));
  EXPECT_EQ(simulator_version("/no/such/program", Containment::process_tree), "");
}

TEST(Simulator, IsFoundInFoldersAsPathHasThem) {
  const auto found = find_simulator("/nowhere:/usr/bin");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, "/usr/bin/valgrind");
  for (const std::string path : {"", "/nowhere", "/proc"}) {
    const auto none = find_simulator(path);
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("apt-get install valgrind"));
  }
}

}  // namespace
}  // namespace stab::machine
