// SPDX-License-Identifier: MIT
#include "runtime/base/options.h"

#include <gtest/gtest.h>

#include <string>

namespace stab::rt {
namespace {

std::string text_of(const Text& text) {
  return text.size == 0 ? "" : std::string(text.start, text.size);
}
std::string text_of(const Line& line) {
  return {line.data(), line.size()};
}

TEST(Options, HaveDefaultsWithoutTheVariable) {
  Line complaints;
  const Options options = parse_options(nullptr, complaints);
  EXPECT_TRUE(options.code);
  EXPECT_FALSE(options.strict);
  EXPECT_FALSE(options.seed_given);
  EXPECT_EQ(complaints.size(), 0u);
}

TEST(Options, AreSeparatedByColons) {
  Line complaints;
  const Options options =
      parse_options("code=0:seed=42:rerandomize=once:report=/tmp/r:strict=1::", complaints);
  EXPECT_FALSE(options.code);
  EXPECT_EQ(options.seed, 42u);
  EXPECT_TRUE(options.seed_given);
  EXPECT_EQ(text_of(options.report), "/tmp/r");
  EXPECT_TRUE(options.strict);
  EXPECT_EQ(complaints.size(), 0u);
}

TEST(Options, MayBeQuoted) {
  Line complaints;
  EXPECT_EQ(text_of(parse_options("report='/a:b':seed=1", complaints).report), "/a:b");
  EXPECT_EQ(text_of(parse_options("seed=1:report=\"c:'d\"", complaints).report), "c:'d");
  EXPECT_EQ(text_of(parse_options("report='':seed=1", complaints).report), "");
  EXPECT_EQ(complaints.size(), 0u);
}

TEST(Options, BehindWrongQuotesCount) {
  Line complaints;
  const Options open = parse_options("report='/tmp/x:allocator=other:strict=1", complaints);
  EXPECT_EQ(text_of(open.report), "");
  EXPECT_TRUE(open.strict);
  const Options more = parse_options("report='a:b'seed=1:strict=1", complaints);
  EXPECT_EQ(text_of(more.report), "");
  EXPECT_FALSE(more.seed_given);
  EXPECT_TRUE(more.strict);
  parse_options("seed='", complaints);
  EXPECT_EQ(text_of(complaints),
            "wrong quotes around the value of report, bad value of allocator, "
            "wrong quotes around the value of report, wrong quotes around the value of seed");
}

TEST(Options, ABagHas8To4096Slots) {
  Line complaints;
  EXPECT_EQ(parse_options("", complaints).heap_bag, 256u);
  EXPECT_EQ(parse_options("heap_bag=8", complaints).heap_bag, 8u);
  EXPECT_EQ(parse_options("heap_bag=4096", complaints).heap_bag, 4096u);
  EXPECT_EQ(complaints.size(), 0u);
  EXPECT_EQ(parse_options("heap_bag=7:heap_bag=4097", complaints).heap_bag, 256u);
  EXPECT_EQ(text_of(complaints), "bad value of heap_bag, bad value of heap_bag");
}

TEST(Options, SeedTakesAll64Bits) {
  Line complaints;
  EXPECT_EQ(parse_options("seed=18446744073709551615", complaints).seed, UINT64_MAX);
  EXPECT_TRUE(parse_options("seed=0", complaints).seed_given);
  EXPECT_EQ(complaints.size(), 0u);
  parse_options("seed=18446744073709551616", complaints);
  EXPECT_EQ(text_of(complaints), "bad value of seed");
}

TEST(Options, ThatAreUnknownOrBadAreNamed) {
  Line complaints;
  const Options options = parse_options("cod=1:code=2:rerandomize=sometimes:x:=:seed=", complaints);
  EXPECT_TRUE(options.code);
  EXPECT_EQ(text_of(complaints),
            "unknown option cod, bad value of code, bad value of rerandomize, unknown option x, "
            "unknown option , "
            "bad value of seed");
}

TEST(Options, DurationsHaveUnits) {
  Line complaints;
  EXPECT_EQ(parse_options("period=1ms", complaints).period, 1'000'000u);
  EXPECT_EQ(parse_options("period=250us", complaints).period, 250'000u);
  EXPECT_EQ(parse_options("period=2s", complaints).period, 2'000'000'000u);
  EXPECT_EQ(complaints.size(), 0u);
  EXPECT_EQ(
      parse_options("period=5:period=5m:period=ms:period=19us:period=3601s", complaints).period,
      500'000'000u);
  EXPECT_EQ(text_of(complaints),
            "bad value of period, bad value of period, bad value of period, bad value of period, "
            "bad value of period");
}

TEST(Options, ABudgetIsAShareOrOff) {
  Line complaints;
  EXPECT_EQ(parse_options("", complaints).budget, 1u);
  EXPECT_EQ(parse_options("budget=off", complaints).budget, 0u);
  EXPECT_EQ(parse_options("budget=100%", complaints).budget, 100u);
  EXPECT_EQ(complaints.size(), 0u);
  EXPECT_EQ(parse_options("budget=0%:budget=101%:budget=5:budget=%:budget=", complaints).budget,
            1u);
  EXPECT_EQ(text_of(complaints),
            "bad value of budget, bad value of budget, bad value of budget, bad value of budget, "
            "bad value of budget");
}

TEST(Options, AllocatorsHaveNamesAndSizesHaveUnits) {
  Line complaints;
  EXPECT_EQ(parse_options("", complaints).allocator, Base::shuffled);
#define STAB_ITEM(name, ...) Base::name,
  for (const Base base : {STAB_EACH_ALLOCATOR(STAB_ITEM)}) {
#undef STAB_ITEM
    const std::string text = std::string("allocator=") + name_of(base);
    EXPECT_EQ(parse_options(text.c_str(), complaints).allocator, base);
  }
  EXPECT_EQ(parse_options("", complaints).heap_order, 256u << 10);
  EXPECT_EQ(parse_options("heap_order=64K", complaints).heap_order, 64u << 10);
  EXPECT_EQ(parse_options("heap_order=never", complaints).heap_order, UINT64_MAX);
  EXPECT_EQ(complaints.size(), 0u);
  EXPECT_EQ(parse_options("heap_order=64:heap_order=K:allocator=libc", complaints).heap_order,
            256u << 10);
  EXPECT_EQ(text_of(complaints),
            "bad value of heap_order, bad value of heap_order, bad value of allocator");
}

TEST(Options, SayHowOftenFunctionsMove) {
  Line complaints;
  EXPECT_TRUE(parse_options("", complaints).again());
  EXPECT_TRUE(parse_options("rerandomize=repeated", complaints).again());
  EXPECT_FALSE(parse_options("rerandomize=once", complaints).again());
  EXPECT_EQ(complaints.size(), 0u);
}

TEST(Options, AreDescribedOneByOne) {
  static std::string all;
  all.clear();
  describe_options([](const char* line, size_t size) { all.append(line, size); });
  EXPECT_NE(all.find("seed (number, default 0): "), std::string::npos);
  EXPECT_NE(all.find("report (text, default none)"), std::string::npos);
  EXPECT_NE(all.find("period (duration, default 500ms)"), std::string::npos);
  EXPECT_NE(all.find("budget (share, default 1%)"), std::string::npos);
  EXPECT_NE(all.find("heap_order (size, default 256K)"), std::string::npos);
}

}  // namespace
}  // namespace stab::rt
