// SPDX-License-Identifier: MIT
#include "counters/profiles/records.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/random.h"

namespace stab::counters {
namespace {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes& operator<<(Bytes& to, const T& value) {
  static_assert(std::is_arithmetic_v<T>);
  const std::size_t at = to.size();
  to.resize(at + sizeof value);
  std::memcpy(to.data() + at, &value, sizeof value);
  return to;
}
Bytes& operator<<(Bytes& to, std::string_view text) {
  for (const char each : text) to.push_back(static_cast<std::byte>(each));
  while (to.size() % 8 != 0) to.push_back(std::byte{0});
  return to;
}

Bytes record(std::uint32_t type, std::uint16_t misc, const Bytes& body) {
  Bytes bytes;
  bytes << type << misc << static_cast<std::uint16_t>(body.size() + 8);
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

Bytes behind(Bytes body) {
  body << std::uint32_t{7} << std::uint32_t{8} << std::uint64_t{1234};  // process, thread, time
  return body;
}

Bytes sample(std::uint16_t misc = PERF_RECORD_MISC_USER) {
  Bytes body;
  body << std::uint64_t{0x401000} << std::uint32_t{7} << std::uint32_t{8} << std::uint64_t{99}
       << std::uint64_t{1'003'009};
  return record(PERF_RECORD_SAMPLE, misc, body);
}

Bytes mapped() {
  Bytes body;
  body << std::uint32_t{7} << std::uint32_t{8} << std::uint64_t{0x1000} << std::uint64_t{0x2000}
       << std::uint64_t{0x3000} << std::uint32_t{8} << std::uint32_t{1} << std::uint64_t{42}
       << std::uint64_t{0} << std::uint32_t{5} << std::uint32_t{2}
       << std::string_view("/bin/x\0", 7);
  return record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, behind(body));
}

Bytes pair(std::uint32_t type, std::uint16_t misc, std::uint32_t first, std::uint32_t second) {
  Bytes body;
  body << first << second << std::uint32_t{1} << std::uint32_t{1} << std::uint64_t{5};
  return record(type, misc, behind(body));
}

TEST(Records, AreReadAsTheKernelWritesThem) {
  const auto found = std::get<Sample>(parse_record(sample()).value());
  EXPECT_EQ(found.address, 0x401000);
  EXPECT_EQ(found.process, 7);
  EXPECT_EQ(found.time, 99);
  EXPECT_EQ(found.weight, 1'003'009);
  EXPECT_EQ(found.side, Side::program);
  EXPECT_EQ(std::get<Sample>(*parse_record(sample(PERF_RECORD_MISC_KERNEL))).side, Side::kernel);
  EXPECT_EQ(std::get<Sample>(*parse_record(sample(PERF_RECORD_MISC_GUEST_USER))).side,
            Side::elsewhere);
  const auto map = std::get<Mapped>(parse_record(mapped()).value());
  EXPECT_EQ(map.time, 1234);
  EXPECT_EQ(map.start, 0x1000);
  EXPECT_EQ(map.size, 0x2000);
  EXPECT_EQ(map.offset, 0x3000);
  EXPECT_EQ(map.inode, 42);
  EXPECT_EQ(map.path, "/bin/x");
  const auto forked = std::get<Forked>(*parse_record(pair(PERF_RECORD_FORK, 0, 9, 7)));
  EXPECT_EQ(forked.process, 9);
  EXPECT_EQ(forked.parent, 7);
  Bytes lost;
  lost << std::uint64_t{1} << std::uint64_t{17};
  EXPECT_EQ(std::get<Lost>(*parse_record(record(PERF_RECORD_LOST, 0, behind(lost)))).records, 17);
}

TEST(Records, ThreadsAndTheirNamesAreNothing) {
  const auto is_nothing = [](const Bytes& bytes) {
    const auto found = parse_record(bytes);
    return found && std::holds_alternative<Nothing>(*found) && time_of(*found) == 1234;
  };
  EXPECT_TRUE(is_nothing(pair(PERF_RECORD_FORK, 0, 7, 7)));
  EXPECT_TRUE(is_nothing(pair(PERF_RECORD_COMM, 0, 7, 7)));
  EXPECT_TRUE(is_nothing(pair(PERF_RECORD_EXIT, 0, 7, 7)));
  EXPECT_TRUE(is_nothing(pair(1000, 0, 7, 7)));
  const auto exec = parse_record(pair(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 7, 7));
  EXPECT_EQ(std::get<Executed>(exec.value()).process, 7);
}

TEST(Records, ThatAreTooShortAreNone) {
  for (const Bytes& whole : {sample(), pair(PERF_RECORD_FORK, 0, 9, 7)})
    for (std::size_t size = 0; size < whole.size(); ++size) {
      Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(parse_record(cut)) << size;
    }
  // With a size that is true, but too small for its kind.
  EXPECT_FALSE(parse_record(record(PERF_RECORD_SAMPLE, 0, Bytes(24))));
  EXPECT_FALSE(parse_record(record(PERF_RECORD_MMAP2, 0, Bytes(24))));
  EXPECT_FALSE(parse_record(record(PERF_RECORD_FORK, 0, Bytes(8))));
}

TEST(Records, AnyBytesAreReadOrNone) {
  Random random(3);
  for (int round = 0; round < 50'000; ++round) {
    Bytes bytes = round % 2 == 0 ? mapped() : sample();
    for (int i = 0; i < 4; ++i)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    parse_record(bytes);
  }
}

}  // namespace
}  // namespace stab::counters
