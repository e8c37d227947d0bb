// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/random.h"
#include "counters/profiles/profiler.h"

namespace stab::counters {
namespace {

Symbols symbols_of(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return Symbols::of(file.get());
}

// Where the function lies in libc's file, by what the loader says.
struct Known {
  std::string path;
  std::uint64_t offset = 0;
};
Known known(const void* function) {
  Dl_info info{};
  link_map* map = nullptr;
  Known found;
  if (dladdr1(function, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return found;
  found.path = info.dli_fname;
  const auto address = reinterpret_cast<std::uint64_t>(function) - map->l_addr;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto* to = static_cast<std::pair<Known*, std::uint64_t>*>(data);
        if (to->first->path != object->dlpi_name) return 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          if (segment.p_type == PT_LOAD && to->second >= segment.p_vaddr &&
              to->second - segment.p_vaddr < segment.p_filesz)
            to->first->offset = to->second - segment.p_vaddr + segment.p_offset;
        }
        return 1;
      },
      std::array<std::pair<Known*, std::uint64_t>, 1>{{{&found, address}}}.data());
  return found;
}

TEST(Symbols, OfALibraryAreAtTheirOffsets) {
  const Known function = known(reinterpret_cast<const void*>(&getpagesize));
  ASSERT_NE(function.offset, 0U);
  const Symbols symbols = symbols_of(function.path);
  // glibc calls it by two names, of which the public one is shorter.
  EXPECT_EQ(symbols.at(function.offset), "getpagesize");
  EXPECT_EQ(symbols.at(function.offset + 1), "getpagesize");
  EXPECT_EQ(symbols.at(0), "");  // the file's header
  EXPECT_EQ(symbols.at(~std::uint64_t{0}), "");
}

TEST(Symbols, OfWhatIsNoProgramAreNone) {
  EXPECT_EQ(symbols_of("/etc/passwd").at(64), "");
  EXPECT_EQ(symbols_of("/dev/null").at(64), "");
  EXPECT_EQ(Symbols::of(-1).at(64), "");
}

// Whatever is wrong with a file, it is read or has no functions.
TEST(Symbols, OfADamagedFileAreReadOrNone) {
  const auto whole = read_file(STAB_SUBJECT, std::size_t{16} << 20);
  ASSERT_TRUE(whole);
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    std::string text = *whole;
    for (int i = 0; i < 8; ++i)
      text[random.below(i < 4 ? 64 : text.size())] = static_cast<char>(random.below(256));
    if (round % 4 == 0) text.resize(random.below(text.size()));
    const Fd file(memfd_create("damaged", MFD_CLOEXEC));
    ASSERT_TRUE(write_all(file.get(), text));
    const Symbols symbols = Symbols::of(file.get());
    for (std::uint64_t at = 0; at < text.size(); at += 97) (void)symbols.at(at);
  }
}

}  // namespace

// What was told is made up, so that each case is there: the programs are real.

namespace {

constexpr std::uint64_t code = 0x10000;  // where the program's file lies, from its beginning
constexpr std::uint32_t process = 7;

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Where in the program a function begins; 0: there is none of that name.
std::uint64_t offset_of(const std::string& path, const std::string& function) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const Symbols symbols = Symbols::of(fd);
  close(fd);
  for (std::uint64_t at = 0; at < std::filesystem::file_size(path); at += 2)
    if (symbols.at(at) == function) return at;
  return 0;
}

class Naming : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/stab_naming_XXXXXX";
    folder_ = mkdtemp(name);
    program_ = folder_ + "/program";
    std::filesystem::copy_file(STAB_SUBJECT, program_);
    few_ = code + offset_of(program_, "few");
    ASSERT_NE(few_, code);
    // Kernels note changes by a clock that ticks.
    const timespec tick{0, 50'000'000};
    nanosleep(&tick, nullptr);
    start_ = now();
    taken_.mapped = {program_at(code)};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] Mapped program_at(std::uint64_t address) const {
    struct stat status{};
    stat(program_.c_str(), &status);
    return {.time = start_,
            .process = process,
            .start = address,
            .size = static_cast<std::uint64_t>(status.st_size),
            .inode = status.st_ino,
            .path = program_};
  }
  // A moment after the start.
  void sample(std::uint64_t after, std::uint64_t address, std::uint32_t of = process,
              Side side = Side::program) {
    taken_.samples.push_back(
        {.time = start_ + after, .address = address, .weight = 10, .process = of, .side = side});
  }
  // "few/program 2, [kernel] 1": what the samples came to.
  std::string names(const PlaceList& places = {}) {
    std::map<std::string, std::uint64_t> found;
    for (const ProfiledFunction& each : name_samples(taken_, places, known_)) {
      EXPECT_EQ(each.weight, 10 * each.samples);
      found[each.name + (each.object.empty() ? "" : "/" + each.object)] += each.samples;
    }
    std::string text;
    for (const auto& [name, samples] : found)
      text += (text.empty() ? "" : ", ") + name + " " + std::to_string(samples);
    return text;
  }

  std::string folder_;
  std::string program_;
  std::uint64_t few_ = 0;
  std::uint64_t start_ = 0;
  Taken taken_;
  KnownFiles known_;
};

TEST_F(Naming, CodeIsNamedByTheFileThatIsMappedThere) {
  sample(1, few_);
  sample(2, few_ + 1);
  sample(3, code);               // the file's header
  sample(4, code - 1);           // nothing
  sample(5, few_, process + 1);  // another process, which has nothing there
  sample(6, few_, process, Side::kernel);
  sample(7, few_, process, Side::elsewhere);
  EXPECT_EQ(names(), "[kernel] 1, [unknown] 3, [unknown]/program 1, few/program 2");
  EXPECT_EQ(names(), "[kernel] 1, [unknown] 3, [unknown]/program 1, few/program 2");
}

TEST_F(Naming, ASampleBeforeItsMappingHasNoName) {
  taken_.samples.push_back({.time = start_ - 1, .address = few_, .weight = 10, .process = process});
  EXPECT_EQ(names(), "[unknown] 1");
}

TEST_F(Naming, ChildrenHaveWhatTheirParentsHadUntilTheyExecute) {
  taken_.forked = {{.time = start_ + 10, .process = 8, .parent = process}};
  taken_.executed = {{.time = start_ + 20, .process = 8}};
  sample(5, few_, 8);
  sample(15, few_, 8);
  sample(25, few_, 8);
  sample(25, few_);
  EXPECT_EQ(names(), "[unknown] 2, few/program 2");
}

TEST_F(Naming, FromTheMomentOnAtWhichRecordsAreLostNothingIsNamed) {
  sample(5, few_);
  sample(15, few_);
  sample(15, few_, process, Side::kernel);
  taken_.complete_until = start_ + 10;
  EXPECT_EQ(names(), "[kernel] 1, [unknown] 1, few/program 1");
}

TEST_F(Naming, AFileThatHasChangedSinceHasNoNames) {
  sample(5, few_);
  EXPECT_EQ(names(), "few/program 1");
  ASSERT_EQ(chmod(program_.c_str(), 0700), 0);
  EXPECT_EQ(names(), "[unknown]/program 1");
  // Nor has another file of its name, or none.
  std::filesystem::remove(program_);
  EXPECT_EQ(names(), "[unknown]/program 1");
  std::filesystem::copy_file(STAB_SUBJECT, program_);
  EXPECT_EQ(names(), "[unknown]/program 1");
}

TEST_F(Naming, WhatAProgramMakesAtRunTimeHasNoName) {
  Mapped made = program_at(code);
  made.time = start_ + 10;
  made.inode = 0;
  made.path = "//anon";
  taken_.mapped.push_back(made);
  sample(5, few_);
  sample(15, few_);
  EXPECT_EQ(names(), "[unknown]///anon 1, few/program 1");
}

TEST_F(Naming, CodeThatMovedIsNamedAsLongAsItIsKnownWhereItWas) {
  const std::array<places::Function, 1> functions{{{64, 0}}};
  const std::array<places::Place, 1> layout{{{0, 0}}};
  const auto image = std::make_shared<const MovingImage>(
      MovingImage{.functions = functions, .names = std::string_view("moved\0", 6)});
  PlaceList places;
  places.events = {
      {.time = start_ + 1, .process = process, .what = NewImage{.base = code, .image = image}},
      {.time = start_ + 2,
       .process = process,
       .what =
           NewLayout{.base = code, .start = 0x900000, .size = 4096, .lead = 0, .places = layout}}};
  sample(1, 0x900000);
  sample(3, 0x900000);
  sample(4, 0x900000 + 64);
  sample(20, 0x900000);
  EXPECT_EQ(names(places), "[unknown] 1, [unknown]/program 1, moved/program 2");
  places.complete_until = start_ + 10;
  EXPECT_EQ(names(places), "[unknown] 1, [unknown]/program 2, moved/program 1");
}

TEST(Bounded, WhatHasNoRoomIsTakenTogether) {
  std::vector<ProfiledFunction> all;
  for (std::uint64_t i = 1; i <= 600; ++i)
    all.push_back({.name = "f" + std::to_string(i), .samples = i, .weight = 10 * i});
  const auto kept = bounded(all);
  ASSERT_EQ(kept.size(), most_profiled_functions + 1);
  EXPECT_EQ(kept.front().name, "f600");
  EXPECT_EQ(kept.back().name, other_functions);
  EXPECT_EQ(kept.back().samples, 400 * 401 / 2);
  EXPECT_EQ(kept.back().weight, 10 * 400 * 401 / 2);
  // By their texts, too.
  for (ProfiledFunction& each : all) each.object.assign(4000, '"');
  std::size_t bytes = 0;
  const auto fewer = bounded(all);
  for (const ProfiledFunction& each : fewer) bytes += 2 * (each.name.size() + each.object.size());
  EXPECT_EQ(fewer.back().name, other_functions);
  EXPECT_GT(fewer.size(), 20U);
  EXPECT_LE(bytes, most_profile_bytes);
}

TEST(SampleList, KeepsEverySecondOneWhenItIsFull) {
  SampleList list(8);
  for (std::uint64_t i = 0; i < 100; ++i) list.add({.time = i, .weight = 1});
  const auto kept = list.take();
  ASSERT_GE(kept.size(), 4U);
  ASSERT_LE(kept.size(), 8U);
  const std::uint64_t apart = kept[1].time;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i].time, i * apart);
    EXPECT_EQ(kept[i].weight, apart);
  }
}

}  // namespace
}  // namespace stab::counters
