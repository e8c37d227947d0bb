// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "counters/profiles/profiler.h"
#include "counters/profiles/records.h"

namespace stab::counters {
namespace {

constexpr std::uint64_t base = 0x400000;
constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();

// A file as the runtime writes it, in words, so that it is aligned.
class File {
 public:
  File() { add(places::Head{.magic = places::magic, .size = 1 << 20, .used = 0, .ended_ns = 0}); }

  File& image(std::uint64_t time, const std::vector<std::string>& names, std::uint32_t size) {
    std::vector<places::Function> functions;
    std::string text;
    for (const std::string& name : names) {
      functions.push_back({size, static_cast<std::uint32_t>(text.size())});
      text += name + '\0';
    }
    places::Record one = of(places::image, time);
    one.bytes = text.size();
    return record(one, functions, text);
  }
  File& layout(std::uint64_t time, std::uint64_t start, const std::vector<places::Place>& all,
               std::uint32_t lead = 0) {
    places::Record one = of(places::layout, time);
    one.start = start;
    one.bytes = 4096;
    one.lead = lead;
    return record(one, all);
  }
  File& gone(std::uint64_t time) {
    return record(of(places::gone, time), std::vector<places::Place>());
  }
  [[nodiscard]] std::vector<std::uint64_t> words() const { return words_; }
  places::Head& head() { return *reinterpret_cast<places::Head*>(words_.data()); }

 private:
  static places::Record of(places::Kind kind, std::uint64_t time) {
    places::Record one{};
    one.kind = kind;
    one.time_ns = time;
    return one;
  }
  template <class T>
  void add(const T& value) {
    const std::size_t at = words_.size();
    words_.resize(at + sizeof value / 8);
    std::memcpy(words_.data() + at, &value, sizeof value);
  }
  template <class T>
  File& record(places::Record one, const std::vector<T>& items, const std::string& text = "") {
    std::vector<std::uint64_t> body((items.size() * sizeof(T) + text.size() + 7) / 8);
    if (!items.empty()) std::memcpy(body.data(), items.data(), items.size() * sizeof(T));
    if (!text.empty())
      std::memcpy(reinterpret_cast<char*>(body.data()) + items.size() * sizeof(T), text.data(),
                  text.size());
    one.size = static_cast<std::uint32_t>(sizeof one + body.size() * 8);
    one.process = 7;
    one.base = base;
    one.count = static_cast<std::uint32_t>(items.size());
    add(one);
    words_.insert(words_.end(), body.begin(), body.end());
    head().used = words_.size() * 8;
    return *this;
  }

  std::vector<std::uint64_t> words_;
};

std::span<const std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  return std::as_bytes(std::span(words));
}

// What the process had at an address when all until `time` had happened.
std::string name_at(const PlaceList& list, std::uint64_t time, std::uint64_t address) {
  Space space;
  for (const PlaceEvent& event : list.events)
    if (event.time <= time) std::visit([&](const auto& what) { space.tell(what); }, event.what);
  const Spot spot = space.find(address);
  return spot.is_moved ? std::string(spot.function) : "not there";
}

File two_layouts() {
  return File()
      .image(10, {"few", "many"}, 64)
      .layout(11, 0x10000, {{0, 128}, {1, 256}}, 16)
      .layout(20, 0x20000, {{1, 0}, {0, 512}})
      // The memory of the first one again.
      .layout(30, 0x10000, {{1, 128}, {0, 1024}});
}

TEST(PlaceList, SaysWhatWasWhereAndWhen) {
  const auto words = two_layouts().words();
  const PlaceList list = read_places(bytes_of(words));
  ASSERT_EQ(list.events.size(), 4U);
  EXPECT_EQ(list.complete_until, everything);
  EXPECT_EQ(name_at(list, 5, 0x10080), "not there");
  EXPECT_EQ(name_at(list, 12, 0x10080), "few");
  EXPECT_EQ(name_at(list, 12, 0x10080 + 63), "few");
  EXPECT_EQ(name_at(list, 12, 0x10080 + 64), "");     // between copies
  EXPECT_EQ(name_at(list, 12, 0x10080 - 16), "few");  // what lies before it is its own
  EXPECT_EQ(name_at(list, 12, 0x10080 - 17), "");
  EXPECT_EQ(name_at(list, 12, 0x10000), "");
  EXPECT_EQ(name_at(list, 12, 0x11000), "not there");
  EXPECT_EQ(name_at(list, 25, 0x10080), "few");  // old layouts stay
  EXPECT_EQ(name_at(list, 25, 0x20000), "many");
  EXPECT_EQ(name_at(list, 30, 0x10080), "many");  // and never keep the name of an earlier one
  EXPECT_EQ(name_at(list, 30, 0x10100), "");
}

TEST(PlaceList, AnImageThatIsGoneHasNoNames) {
  const auto words = two_layouts().gone(40).layout(50, 0x30000, {{0, 0}}).words();
  const PlaceList list = read_places(bytes_of(words));
  EXPECT_EQ(name_at(list, 39, 0x20000), "many");
  EXPECT_EQ(name_at(list, 40, 0x20000), "not there");
  EXPECT_EQ(name_at(list, 50, 0x30000), "not there");  // of an image that nobody knows
}

// Places 3.
TEST(PlaceList, FromWhereItLacksSomethingItIsNotComplete) {
  File file = two_layouts();
  file.head().ended_ns = 25;
  EXPECT_EQ(read_places(bytes_of(file.words())).complete_until, 25);
  // Cut anywhere behind the first record: killed while it was written.
  const auto whole = two_layouts().words();
  for (std::size_t size = 4; size < whole.size(); ++size) {
    auto words = whole;
    std::fill(words.begin() + static_cast<std::ptrdiff_t>(size), words.end(), 0);
    const PlaceList list = read_places(bytes_of(words));
    if (list.events.size() < 4) EXPECT_LE(list.complete_until, 30) << size;
  }
}

TEST(PlaceList, AnyBytesAreOne) {
  Random random(4);
  for (int round = 0; round < 20'000; ++round) {
    auto words = two_layouts().words();
    auto* bytes = reinterpret_cast<unsigned char*>(words.data());
    for (int i = 0; i < 3; ++i)
      bytes[random.below(words.size() * 8)] = static_cast<unsigned char>(random.below(256));
    const PlaceList list = read_places(bytes_of(words));
    for (const std::uint64_t address : {0x10080U, 0x10000U, 0x20200U})
      name_at(list, everything, address);
  }
}

Mapped file_at(std::uint64_t time, std::uint64_t start, std::uint64_t size, const char* path,
               std::uint64_t inode = 1) {
  return {.time = time, .process = 7, .start = start, .size = size, .inode = inode, .path = path};
}

std::string path_at(const Space& space, std::uint64_t address) {
  const Spot spot = space.find(address);
  return spot.file ? spot.file->path : "";
}

TEST(Space, WhatIsMappedLastIsThere) {
  Space space;
  space.tell(file_at(1, 0x1000, 0x4000, "/a"));
  space.tell(file_at(2, 0x2000, 0x1000, "/b"));
  EXPECT_EQ(path_at(space, 0x1fff), "/a");
  EXPECT_EQ(path_at(space, 0x2000), "/b");
  EXPECT_EQ(path_at(space, 0x3000), "/a");
  EXPECT_EQ(space.find(0x3000).file_offset, 0x2000);
  EXPECT_EQ(path_at(space, 0x5000), "");
  EXPECT_EQ(path_at(space, 0xfff), "");
  // Code that a program makes takes the name away.
  space.tell(file_at(3, 0x1000, 0x4000, "//anon", 0));
  EXPECT_EQ(path_at(space, 0x2000), "//anon");
}

TEST(Space, ALayoutEndsByAFileAndNotByItsNeighbours) {
  Space space;
  const auto words = two_layouts().words();
  const PlaceList list = read_places(bytes_of(words));
  space.tell(file_at(1, base + 0x1000, 0x1000, "/program"));
  for (const PlaceEvent& event : list.events)
    std::visit([&](const auto& what) { space.tell(what); }, event.what);
  EXPECT_EQ(path_at(space, 0x20000), "/program");
  space.tell(file_at(40, 0x10000, 0x20000, "//anon", 0));
  EXPECT_EQ(space.find(0x20000).function, "many");
  space.tell(file_at(50, 0x20000, 0x1000, "/library"));
  EXPECT_FALSE(space.find(0x20000).is_moved);
  EXPECT_EQ(path_at(space, 0x20000), "/library");
}

}  // namespace
}  // namespace stab::counters
