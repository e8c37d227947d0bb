// SPDX-License-Identifier: MIT
#include "counters/profiles/records.h"

#include <algorithm>
#include <cstring>

namespace stab::counters {
namespace {

constexpr std::size_t header_bytes = sizeof(perf_event_header);
// The thread and the time, at the end of each record that is not a sample.
constexpr std::size_t id_bytes = 16;

// Reads consecutive numbers. Beyond the end all numbers are 0, and good() returns false.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> left) : left_(left) {}

  template <class T>
  T take() {
    T value{};
    if (left_.size() < sizeof value) {
      good_ = false;
      left_ = {};
      return value;
    }
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  std::uint32_t number() { return take<std::uint32_t>(); }
  std::uint64_t large() { return take<std::uint64_t>(); }

  // The text up to a zero byte or the end.
  std::string text() {
    const auto* start = reinterpret_cast<const char*>(left_.data());
    return {start, std::find(start, start + left_.size(), '\0')};
  }
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::span<const std::byte> left_;
  bool good_ = true;
};

Side side_of(std::uint16_t misc) {
  switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_USER:
      return Side::program;
    case PERF_RECORD_MISC_KERNEL:
      return Side::kernel;
    default:
      return Side::elsewhere;
  }
}

Record sample(Bytes& bytes, std::uint16_t misc) {
  Sample sample{.side = side_of(misc)};
  sample.address = bytes.large();
  sample.process = bytes.number();
  bytes.number();  // the thread
  sample.time = bytes.large();
  sample.weight = bytes.large();
  return sample;
}

Record mapped(Bytes& bytes, std::uint64_t time) {
  Mapped mapped{.time = time, .process = bytes.number()};
  bytes.number();  // the thread
  mapped.start = bytes.large();
  mapped.size = bytes.large();
  mapped.offset = bytes.large();
  bytes.large();  // the device, which on some file systems differs from the one in stat(2)
  mapped.inode = bytes.large();
  bytes.large();  // the inode's generation
  bytes.large();  // protection and flags
  mapped.path = bytes.text();
  return mapped;
}

// The kernel also reports new threads, which are not processes.
Record forked(Bytes& bytes, std::uint64_t time) {
  const std::uint32_t process = bytes.number();
  const std::uint32_t parent = bytes.number();
  if (process == parent) return Nothing{time};
  return Forked{.time = time, .process = process, .parent = parent};
}

Record lost(Bytes& bytes, std::uint64_t time) {
  bytes.large();  // which event
  return Lost{.time = time, .records = bytes.large()};
}

Record read_body(std::uint32_t type, std::uint16_t misc, Bytes& bytes, std::uint64_t time) {
  switch (type) {
    case PERF_RECORD_MMAP2:
      return mapped(bytes, time);
    case PERF_RECORD_FORK:
      return forked(bytes, time);
    case PERF_RECORD_LOST:
      return lost(bytes, time);
    case PERF_RECORD_COMM:
      if ((misc & PERF_RECORD_MISC_COMM_EXEC) == 0) return Nothing{time};
      return Executed{.time = time, .process = bytes.number()};
    default:
      return Nothing{time};
  }
}

}  // namespace

std::optional<Record> parse_record(std::span<const std::byte> bytes) {
  perf_event_header header{};
  if (bytes.size() < header_bytes) return std::nullopt;
  std::memcpy(&header, bytes.data(), header_bytes);
  if (header.size != bytes.size()) return std::nullopt;
  auto body = bytes.subspan(header_bytes);
  Record record;
  if (header.type == PERF_RECORD_SAMPLE) {
    Bytes left(body);
    record = sample(left, header.misc);
    return left.good() ? std::optional(std::move(record)) : std::nullopt;
  }
  if (body.size() < id_bytes) return std::nullopt;
  Bytes id(body.last(id_bytes));
  id.large();
  const std::uint64_t time = id.large();
  Bytes left(body.first(body.size() - id_bytes));
  record = read_body(header.type, header.misc, left, time);
  return left.good() ? std::optional(std::move(record)) : std::nullopt;
}

}  // namespace stab::counters
