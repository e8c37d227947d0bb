// SPDX-License-Identifier: MIT
#include "counters/profiles/place_list.h"

#include <algorithm>
#include <cstring>

namespace stab::counters {
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
