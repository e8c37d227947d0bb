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

namespace {

template <class T>
std::span<const T> items(std::span<const std::byte> bytes, std::uint32_t count) {
  if (count > bytes.size() / sizeof(T)) return {};
  return {reinterpret_cast<const T*>(bytes.data()), count};
}

bool ascend(std::span<const places::Place> list) {
  return std::ranges::adjacent_find(list, std::ranges::greater_equal{}, &places::Place::offset) ==
         list.end();
}

// Returns false if the runtime can't have written the record.
bool add(const places::Record& record, std::span<const std::byte> rest, PlaceList& list) {
  PlaceEvent event{.time = record.time_ns, .process = record.process};
  switch (record.kind) {
    case places::image: {
      const auto functions = items<places::Function>(rest, record.count);
      if (functions.size() != record.count) return false;
      rest = rest.subspan(functions.size_bytes());
      if (record.bytes > rest.size()) return false;
      const std::string_view names(reinterpret_cast<const char*>(rest.data()), record.bytes);
      event.what = NewImage{.base = record.base,
                            .image = std::make_shared<const MovingImage>(functions, names)};
      break;
    }
    case places::layout: {
      const auto all = items<places::Place>(rest, record.count);
      if (all.size() != record.count || !ascend(all) || record.start + record.bytes < record.start)
        return false;
      event.what = NewLayout{.base = record.base,
                             .start = record.start,
                             .size = record.bytes,
                             .lead = record.lead,
                             .places = all};
      break;
    }
    case places::gone:
      event.what = GoneImage{.base = record.base};
      break;
    default:
      return false;
  }
  list.events.push_back(std::move(event));
  return true;
}

}  // namespace

std::string_view MovingImage::name(std::uint32_t function) const {
  const std::uint32_t at = function < functions.size() ? functions[function].name : 0;
  if (function >= functions.size() || at >= names.size()) return "";
  const std::string_view from = names.substr(at);
  const std::size_t end = from.find('\0');
  return end == std::string_view::npos ? "" : from.substr(0, end);
}

PlaceList read_places(std::span<const std::byte> file) {
  PlaceList list;
  places::Head head{};
  if (file.size() < sizeof head) return list;
  std::memcpy(&head, file.data(), sizeof head);
  if (head.ended_ns != 0) list.complete_until = head.ended_ns;
  const std::size_t end = std::min<std::uint64_t>(head.used, file.size());
  std::uint64_t latest = 0;
  for (std::size_t at = sizeof head; at < end;) {
    places::Record record{};
    const bool whole = end - at >= sizeof record;
    if (whole) std::memcpy(&record, file.data() + at, sizeof record);
    const bool good = whole && record.size >= sizeof record && record.size <= end - at &&
                      record.size % places::alignment == 0;
    if (good && add(record, file.subspan(at, record.size).subspan(sizeof record), list)) {
      latest = std::max(latest, record.time_ns);
      at += record.size;
      continue;
    }
    // A process was killed while it wrote this record, whose time is therefore unknown. The list is
    // complete only up to the latest known time.
    list.complete_until = std::min(list.complete_until, latest);
    if (!good) break;
    at += record.size;
  }
  return list;
}

const places::Place* find_place(const NewLayout& layout, const MovingImage& image,
                                std::uint64_t address) {
  const std::uint64_t offset = address - layout.start;
  if (offset >= layout.size) return nullptr;
  const auto above =
      std::ranges::upper_bound(layout.places, offset, {}, [&](const places::Place& place) {
        return place.offset - std::min(place.offset, layout.lead);
      });
  if (above == layout.places.begin()) return nullptr;
  const places::Place& place = *std::prev(above);
  const std::uint32_t function = place.function;
  if (function >= image.functions.size()) return nullptr;
  const std::uint64_t end = std::uint64_t{place.offset} + image.functions[function].size;
  return offset < end ? &place : nullptr;
}

}  // namespace stab::counters
