// SPDX-License-Identifier: MIT
// The first byte tells whether the rest is a record of the kernel or a file of the runtime.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "counters/profiles/records.h"

namespace {

using namespace stab;

void require(bool condition) {
  if (!condition) std::abort();
}

// Checks that each name lies in the file, and each place in its layout.
void walk(std::span<const std::byte> file) {
  const counters::PlaceList list = counters::read_places(file);
  const auto inside = [&](const void* at) {
    const auto* byte = static_cast<const std::byte*>(at);
    return byte >= file.data() && byte <= file.data() + file.size();
  };
  std::shared_ptr<const counters::MovingImage> image;
  for (const counters::PlaceEvent& event : list.events) {
    if (const auto* fresh = std::get_if<counters::NewImage>(&event.what)) image = fresh->image;
    const auto* layout = std::get_if<counters::NewLayout>(&event.what);
    if (layout == nullptr || image == nullptr) continue;
    for (const places::Place& each : layout->places) {
      const auto* found = counters::find_place(*layout, *image, layout->start + each.offset);
      if (found == nullptr) continue;
      require(inside(found) && found->function < image->functions.size());
      const std::string_view name = image->name(found->function);
      require(name.empty() || (inside(name.data()) && inside(name.data() + name.size())));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bool is_record = data[0] % 2 == 0;
  std::vector<std::uint64_t> words((size - 1 + 7) / 8);
  if (size > 1) std::memcpy(words.data(), data + 1, size - 1);
  const auto bytes = std::as_bytes(std::span(words)).first(size - 1);
  if (!is_record) {
    walk(bytes);
  } else if (const auto record = counters::parse_record(bytes)) {
    if (const auto* mapped = std::get_if<counters::Mapped>(&*record))
      require(mapped->path.size() < size);
  }
  return 0;
}
