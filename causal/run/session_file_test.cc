// SPDX-License-Identifier: MIT
// What a program leaves is anybody's bytes.
#include "causal/run/session_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/random.h"
#include "causal/run/prepare_program.h"

namespace stab::causal {
namespace {

LineMap two_lines() {
  return {.lines = {"/s/a.cc:3", "/s/a.cc:9"},
          .objects = {{.path = "/proc/self/exe",
                       .ranges = {{.start = 16, .size = 4, .line = 0}},
                       .has_lines = true}}};
}

void expect_invariants(const stats::causal::Profile& profile) {
  for (const auto& run : profile.runs) {
    EXPECT_LT(run.effective_ns, std::uint64_t{1} << 60);
    for (const auto& each : run.experiments) {
      EXPECT_LT(each.line, profile.lines.size());
      EXPECT_LE(each.speedup, 1000U);
      EXPECT_GT(each.effective_ns, 0U);
      EXPECT_LT(each.effective_ns, std::uint64_t{1} << 60);
      for (const auto& visits : each.visits) EXPECT_LT(visits.point, profile.points.size());
    }
    for (const auto& samples : run.samples) EXPECT_LT(samples.line, profile.lines.size());
  }
}

// A session of a run with two experiments and a latency.
class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    map_ = two_lines();
    layout_ = layout_of(map_, 8, 32);
    bytes_.resize(layout_.size);
    auto& head = at<Head>(0);
    head.started_ns = 1000;
    head.ended_ns = 1000 + 10'000'000;
    head.owed_ns = 2'000'000;
    head.samples = 40;
    head.samples_outside = 10;
    head.sampled_ns = 40'000'000;
    head.counter_count = 3;
    head.experiments = 2;
    counter(0, throughput, "p", 70);
    counter(1, begin, "q", 30);
    counter(2, end, "q", 20);
    at<LineCount>(layout_.line_counts).samples = 30;
    at<Visits>(layout_.visits, 0) = {0, 0, 10, 60, 0, 0};
    at<Visits>(layout_.visits, 1) = {1, 0, 4, 24, 0, 0};
    at<Visits>(layout_.visits, 2) = {2, 0, 0, 14, 0, 0};
    at<Experiment>(layout_.experiments, 0) = {5000, 4'000'000, 0, 9, 12, 0, 0, 0, 3, 0, 0};
    at<Experiment>(layout_.experiments, 1) = {9000, 5'000'000, 1'000'000, 8, 12, 1,
                                              500,  0,         1,         0, 0};
  }

  template <class T>
  T& at(std::uint64_t offset, std::size_t index = 0) {
    return reinterpret_cast<T*>(bytes_.data() + offset)[index];
  }
  void counter(std::size_t index, std::uint32_t kind, const char* name, std::uint64_t count) {
    auto& made = at<Counter>(layout_.counters, index);
    made.kind = kind;
    made.count = count;
    std::strncpy(made.name, name, counter_name_bytes - 1);
  }
  Seen read(bool is_end_to_end = false, bool by_itself = true) {
    profile_ = {};
    return add_run(layout_, map_.lines, is_end_to_end, bytes_,
                   {.passed_ns = 77'000'000, .by_itself = by_itself}, profile_);
  }

  LineMap map_;
  Layout layout_;
  std::vector<std::byte> bytes_;
  stats::causal::Profile profile_;
};

TEST_F(SessionTest, ExperimentsPointsAndSamplesAreAsTheyWereWritten) {
  const Seen seen = read();
  EXPECT_TRUE(seen.has_begun);
  EXPECT_EQ(seen.damaged, 0U);
  EXPECT_EQ(seen.period_ns, 1'000'000U);
  ASSERT_EQ(profile_.runs.size(), 1U);
  const auto& run = profile_.runs[0];
  EXPECT_EQ(run.effective_ns, 8'000'000U);
  ASSERT_EQ(run.experiments.size(), 2U);
  const auto& first = run.experiments[0];
  EXPECT_EQ(first.effective_ns, 4'000'000U);
  ASSERT_EQ(first.visits.size(), 2U);
  EXPECT_EQ(first.visits[0].count, 50U);
  EXPECT_EQ(first.visits[1].count, 20U);
  EXPECT_EQ(first.visits[1].departures, 14U);
  EXPECT_EQ(first.visits[1].inside, 7) << "4 at its start, 10 at its end";
  EXPECT_EQ(run.experiments[1].effective_ns, 4'000'000U);
  EXPECT_EQ(profile_.lines[run.experiments[1].line], "/s/a.cc:9");
  ASSERT_EQ(run.samples.size(), 1U);
  EXPECT_EQ(run.samples[0].count, 30U);
}

// Two are inside for a millisecond, and one for the three that follow: one leaves then, and twice one
// comes when another leaves.
TEST_F(SessionTest, TimesOfVisitsSayHowManyWereInside) {
  const std::uint64_t wrapped = ~std::uint64_t{0} - 1'000'000;
  auto& whole = at<Experiment>(layout_.experiments, 0);
  whole.start_ns = 100'000'000;
  whole.owed_ns = 30'000'000;
  whole.duration_ns = 5'000'000;
  whole.paused_ns = 1'000'000;
  // By effective time it is from 70 to 74 ms.
  at<Visits>(layout_.visits, 1) = {1, 1, 4, 6, wrapped, wrapped + 72'000'000 + 73'000'000};
  at<Visits>(layout_.visits, 2) = {2, 1, 2, 5, 0, 71'000'000 + 72'000'000 + 73'000'000};
  read();
  EXPECT_EQ(profile_.runs[0].experiments[0].visits[1].inside, 5.0 / 4);
}

TEST_F(SessionTest, ArrivalsAreThoseOfThreadsThatHaveSome) {
  at<Head>(0).arrivals[0] = {40, 160'000'000};
  at<Head>(0).arrivals[2] = {3, ~std::uint64_t{0} - 5};
  at<Head>(0).arrivals[63] = {7, 7'000};
  const Seen seen = read();
  ASSERT_EQ(seen.arrivals.size(), 2U) << "what is below 0 is no time";
  EXPECT_EQ(seen.arrivals[0].gaps, 40U);
  EXPECT_EQ(seen.arrivals[1].ns, 7'000U);
}

TEST_F(SessionTest, AnArrivalPointMayBeVisitedOnceInEachThread) {
  EXPECT_FALSE(read().has_arrived);
  at<Head>(0).counter_count = 4;
  counter(3, arrival, "request", 0);
  EXPECT_FALSE(read().has_arrived);
  counter(3, arrival, "request", 5);
  const Seen seen = read();
  EXPECT_TRUE(seen.has_arrived);
  EXPECT_TRUE(seen.arrivals.empty()) << "no thread has a gap";
}

TEST_F(SessionTest, ARunIsOneVisitFromEndToEnd) {
  read(true);
  const auto& visits = profile_.runs[0].experiments[0].visits;
  EXPECT_EQ(profile_.points[visits.back().point].name, "end to end");
  EXPECT_EQ(visits.back().count, 1U);
}

TEST_F(SessionTest, AKilledProgramsTimeIsWhatPassed) {
  EXPECT_EQ(read().duration_ns, 10'000'000U);
  // Another of its processes has ended by itself.
  EXPECT_EQ(read(false, false).duration_ns, 77'000'000U);
  EXPECT_EQ(profile_.runs[0].effective_ns, 75'000'000U);
  at<Head>(0).ended_ns = 0;
  EXPECT_EQ(read().duration_ns, 77'000'000U);
}

TEST_F(SessionTest, DamagedRecordsAreLeftOutAndCounted) {
  at<Experiment>(layout_.experiments, 1).line = 2;
  at<Visits>(layout_.visits, 1).counter = 250;
  at<Head>(0).experiments = 4'000'000'000;
  const Seen seen = read();
  EXPECT_EQ(seen.experiments, 0U);
  EXPECT_EQ(seen.damaged, 9U) << "all eight there is room for, and the number of them";
}

TEST_F(SessionTest, WhatGainedMoreTimeThanPassedIsLeftOut) {
  at<Experiment>(layout_.experiments, 0).paused_ns = 4'000'000;
  const Seen seen = read();
  EXPECT_EQ(seen.experiments, 1U);
  EXPECT_EQ(seen.timeless, 1U);
  EXPECT_EQ(seen.damaged, 0U);
}

TEST_F(SessionTest, WhateverTheBytesAreTheProfileHoldsItsInvariants) {
  const std::vector<std::byte> whole = bytes_;
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    bytes_ = whole;
    for (std::uint64_t n = 1 + random.below(40); n > 0; --n)
      bytes_[random.below(2) == 0 ? random.below(sizeof(Head)) : random.below(bytes_.size())] =
          std::byte{static_cast<unsigned char>(random.below(256))};
    read(i % 2 == 0);
    expect_invariants(profile_);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_F(SessionTest, WhoStillWritesMeanwhileChangesNoInvariant) {
  const std::vector<std::byte> whole = bytes_;
  auto* const words = reinterpret_cast<std::uint64_t*>(bytes_.data());
  std::atomic<bool> has_ended = false;
  std::thread writer([&] {
    Random random(8);
    while (!has_ended) {
      const std::uint64_t place =
          random.below(random.below(2) == 0 ? sizeof(Head) / 8 : bytes_.size() / 8);
      std::uint64_t word = 0;
      if (random.below(2) == 0)
        word = random.below(~std::uint64_t{0});
      else
        std::memcpy(&word, whole.data() + place * 8, sizeof word);
      __atomic_store_n(words + place, word, __ATOMIC_RELAXED);
    }
  });
  for (int i = 0; i < 5000; ++i) {
    read(i % 2 == 0);
    expect_invariants(profile_);
  }
  has_ended = true;
  writer.join();
}

TEST(SessionFileTest, WhatIsReadInPlaceTakesNoMoreMemoryThanWasWritten) {
  const LineMap map = two_lines();
  const auto session = SessionFile::make(map, {});
  ASSERT_TRUE(session) << session.error().message;
  stats::causal::Profile profile;
  EXPECT_FALSE(
      add_run(session->layout(), map.lines, false, session->bytes(), {.passed_ns = 1000}, profile)
          .has_begun);
  struct stat status{};
  ASSERT_EQ(stat(session->path().c_str(), &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), session->layout().size);
  EXPECT_LT(static_cast<std::uint64_t>(status.st_blocks) * 512, session->layout().size / 8);
}

TEST(MapTest, TextIsReadAndWhatIsWrongIsRefused) {
  const auto map = parse_map(
      "line\ta.cc:1\nline\ta.cc:2\nobject\t1\tp\nrange\t10\t8\t1\nfile\t1\t2\t3\t4\t5\t/p\n");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->files.size(), 1U);
  EXPECT_EQ(
      map->files[0],
      (FileRead{.path = "/p",
                .state = {.device = 1, .inode = 2, .size = 3, .modified_ns = 4, .changed_ns = 5}}));
  EXPECT_EQ(map->objects[0].ranges[0], (LineRange{.start = 16, .size = 8, .line = 1}));
  for (const char* wrong :
       {"line\t\n", "hello\n", "range\t1\t1\t0\n", "line\ta:1\nobject\t1\tp\nrange\t1\t1\t1\n",
        "line\ta:1\nobject\t1\tp\nrange\tx\t1\t0\n", "line\ta:1\nobject\t1\tp\nrange\t1\t0\t0\n",
        "line\ta:1\nobject\t1\tp\nrange\t8\t8\t0\nrange\t9\t8\t0\n",
        "line\ta:1\nobject\t1\tp\nrange\tffffffffffffffff\t8\t0\n", "file\t1\t2\t3\t4\t5\t\n",
        "file\t1\t2\t3\t4\t/p\n", "file\t-1\t2\t3\t4\t5\t/p\n"})
    EXPECT_FALSE(parse_map(wrong)) << wrong;
}

TEST(MapTest, ALineIsFoundByTheEndOfItsPath) {
  const LineMap map{.lines = {"/s/a.cc:3", "/s/a.cc:9", "/t/a.cc:3"}, .objects = {}};
  EXPECT_EQ(find_line(map, "/s/a.cc:3"), 0U);
  EXPECT_EQ(find_line(map, "a.cc:9"), 1U);
  EXPECT_EQ(find_line(map, "t/a.cc:3"), 2U);
  EXPECT_EQ(find_line(map, "a.cc:3").error().message,
            "'a.cc:3' matches /s/a.cc:3 and /t/a.cc:3; give more of the path");
  EXPECT_EQ(find_line(map, "s/a.cc:8").error().message,
            "there is no code for s/a.cc:8; the nearest line with code is /s/a.cc:9");
  EXPECT_FALSE(find_line(map, "b.cc:9"));
  EXPECT_FALSE(find_line(map, ".cc:9")) << "a name is whole from a slash on";
  EXPECT_FALSE(find_line(map, "a.cc"));
}

}  // namespace
}  // namespace stab::causal
