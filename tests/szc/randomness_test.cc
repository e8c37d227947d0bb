// SPDX-License-Identifier: MIT
// Where the functions of a real program run, over many seeds: bits 4 to 17 of their addresses, and
// of the distances between them, are uniform. The seeds are fixed, so this passes or fails always.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "machine/measured_run.h"
#include "tests/randomness/uniformity.h"

namespace stab::testing {
namespace {

constexpr std::size_t seeds = 400;
constexpr std::size_t functions = 256;
constexpr unsigned first_bit = 4;
constexpr unsigned last_bit = 17;
constexpr std::uint64_t window = std::uint64_t{1} << (last_bit + 1);
constexpr double alpha = 0.001;

// What tests/programs/places.c prints.
struct Places {
  std::vector<std::uint64_t> running{};  // an address inside of each function, where it runs
  std::vector<std::uint64_t> entries{};  // what the program takes as the function's address
};

class Program {
 public:
  Program()
      : path_(std::filesystem::temp_directory_path() /
              ("stab-places." + std::to_string(getpid()))) {
    const std::string command = STAB_BIN_DIR "/szc -O2 -o " + path_.string() +
                                " " STAB_SOURCE_DIR "/tests/programs/places.c";
    built_ = std::system(command.c_str()) == 0;
  }
  ~Program() { std::filesystem::remove(path_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] bool built() const { return built_; }

  [[nodiscard]] Places run(const std::string& options) const {
    machine::Launch launch;
    launch.argv = {path_.string()};
    launch.environment = {"STABILIZER_OPTIONS=strict=1:" + options};
    launch.directory = "/";
    launch.output_limit = 1U << 20U;
    const machine::Ended ended = machine::run(launch);
    EXPECT_EQ(ended.how, machine::End::exited) << ended.reason;
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    Places places;
    std::istringstream lines(ended.out);
    for (std::uint64_t running = 0, entry = 0; lines >> running >> entry;) {
      places.running.push_back(running);
      places.entries.push_back(entry);
    }
    return places;
  }

 private:
  std::filesystem::path path_;
  bool built_ = false;
};

// The start of each function's copy, by seed.
Draws starts_of_copies(const Program& program) {
  const Places linked = program.run("code=0");
  Draws draws;
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    Places places = program.run("code=1:rerandomize=once:seed=" + std::to_string(seed));
    if (places.running.size() != linked.running.size()) return {};
    for (std::size_t i = 0; i < places.running.size(); ++i)
      places.running[i] -= linked.running[i] - linked.entries[i];
    draws.push_back(std::move(places.running));
  }
  return draws;
}

// Of each function to the next one in the order of linking, and to one far away.
Draws distances(const Draws& addresses) {
  Draws result;
  for (const auto& draw : addresses) {
    std::vector<std::uint64_t> row;
    for (std::size_t i = 0; i < draw.size(); ++i) {
      row.push_back(draw[(i + 1) % draw.size()] - draw[i]);
      row.push_back(draw[(i * 5 + draw.size() / 3) % draw.size()] - draw[i]);
    }
    result.push_back(std::move(row));
  }
  return result;
}

bool uniform(const Draws& draws) {
  return test_bits(draws, first_bit, last_bit).uniform(alpha) &&
         test_nibbles(draws, first_bit, last_bit).uniform(alpha);
}

void expect_uniform(const Draws& draws) {
  const Verdict bits = test_bits(draws, first_bit, last_bit);
  EXPECT_TRUE(bits.uniform(alpha))
      << bits.where << ": p = " << bits.smallest << " is the smallest of " << bits.tests;
  const Verdict nibbles = test_nibbles(draws, first_bit, last_bit);
  EXPECT_TRUE(nibbles.uniform(alpha))
      << nibbles.where << ": p = " << nibbles.smallest << " is the smallest of " << nibbles.tests;
}

class SzcRandomness : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const Program program;
    ASSERT_TRUE(program.built());
    copies_ = starts_of_copies(program);
  }
  void SetUp() override {
    ASSERT_EQ(copies_.size(), seeds);
    for (const auto& draw : copies_) ASSERT_EQ(draw.size(), functions);
  }

  static Draws copies_;
};

Draws SzcRandomness::copies_;

TEST_F(SzcRandomness, EachFunctionsAddressIsUniform) {
  expect_uniform(copies_);
}

TEST_F(SzcRandomness, DistancesBetweenFunctionsAreUniform) {
  expect_uniform(distances(copies_));
}

TEST_F(SzcRandomness, CopiesAreAlignedAsFunctionsAre) {
  for (const auto& draw : copies_)
    for (const std::uint64_t address : draw) ASSERT_EQ(address % 16, 0U);
}

// What the test is for: a compact block at one random place fools the addresses, not the distances.
TEST_F(SzcRandomness, OneRandomBaseForABlockIsFoundOut) {
  Random random(1);
  Draws block;
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    const std::uint64_t base = random.below(window / 16) * 16;
    std::vector<std::uint64_t> draw;
    for (const std::uint64_t address : copies_.front()) draw.push_back(address + base);
    block.push_back(std::move(draw));
  }
  EXPECT_TRUE(uniform(block));
  EXPECT_FALSE(uniform(distances(block)));
}

TEST_F(SzcRandomness, SmallGapsBetweenFunctionsInOrderAreFoundOut) {
  Random random(2);
  Draws padded;
  for (std::size_t seed = 0; seed < seeds; ++seed) {
    std::vector<std::uint64_t> draw;
    std::uint64_t at = random.below(window / 16) * 16;
    for (std::size_t i = 0; i < functions; ++i) {
      at += 256 + random.below(64) * 16;
      draw.push_back(at);
    }
    padded.push_back(std::move(draw));
  }
  EXPECT_TRUE(uniform(padded));
  EXPECT_FALSE(uniform(distances(padded)));
}

TEST_F(SzcRandomness, WholePagesAreFoundOut) {
  Random random(3);
  Draws pages(seeds, std::vector<std::uint64_t>(functions));
  for (auto& draw : pages)
    for (std::size_t i = 0; i < functions; ++i)
      draw[i] = random.next() / 4096 * 4096 + i % 256 * 16;
  EXPECT_FALSE(uniform(pages));
}

// The family-wise error is what it should be: independent uniform addresses pass.
TEST_F(SzcRandomness, IndependentUniformAddressesPass) {
  Random random(4);
  for (int family = 0; family < 10; ++family) {
    Draws ideal(seeds, std::vector<std::uint64_t>(functions));
    for (auto& draw : ideal)
      for (std::uint64_t& address : draw) address = random.below(window / 16) * 16;
    EXPECT_TRUE(uniform(ideal));
    EXPECT_TRUE(uniform(distances(ideal)));
  }
}

}  // namespace
}  // namespace stab::testing
