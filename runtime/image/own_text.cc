// SPDX-License-Identifier: MIT
#include "runtime/image/own_text.h"

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

uint64_t page_of(const Image& image, uint64_t offset) {
  return ((reinterpret_cast<uint64_t>(image.base) & (os::page_size - 1)) + offset) / os::page_size;
}

uint64_t first_page(const Image& image) {
  return reinterpret_cast<uint64_t>(image.base) & -os::page_size;
}

// Of /proc/self/pagemap, a number for each page: one that was written to is neither the file's nor
// absent.
bool is_of_file(uint64_t entry) {
  constexpr uint64_t of_file = uint64_t{1} << 61;
  constexpr uint64_t somewhere = uint64_t{3} << 62;
  return (entry & somewhere) == 0 || (entry & of_file) != 0;
}

void look_at(int pages_file, uint64_t start, uint64_t count, uint8_t* of_file) {
  constexpr uint64_t at_a_time = 512;
  uint64_t entries[at_a_time];
  for (uint64_t done = 0; done < count; done += at_a_time) {
    const uint64_t now = count - done < at_a_time ? count - done : at_a_time;
    const uint64_t place = (start / os::page_size + done) * sizeof entries[0];
    const long got = os::read_at(pages_file, entries, now * sizeof entries[0], place);
    if (got != static_cast<long>(now * sizeof entries[0])) return;
    for (uint64_t i = 0; i < now; ++i) of_file[done + i] = is_of_file(entries[i]) ? 1 : 0;
  }
}

// The pages are made executable before they get there, so that perf goes on to know them by the
// file's name.
void replace(uint64_t start, uint64_t size) {
  const long memory = os::map(0, size, os::read | os::write);
  if (os::failed(memory)) return;
  const auto own = static_cast<uint64_t>(memory);
  os::populate(own, size);
  copy_bytes(reinterpret_cast<uint8_t*>(own), reinterpret_cast<const uint8_t*>(start), size);
  if (!os::failed(os::protect(own, size, os::read | os::execute))) os::move_pages(own, size, start);
  os::unmap(own, size);
}

}  // namespace

OwnText::OwnText(const Image& image) : image_(image) {
  const long file = os::open_read("/proc/self/pagemap");
  if (os::failed(file)) return;
  const uint64_t pages = page_of(image, image.table->image_size) + 1;
  size_ = align_up(pages, os::page_size);
  const long memory = os::map(0, size_, os::read | os::write);
  if (!os::failed(memory)) {
    of_file_ = reinterpret_cast<uint8_t*>(memory);
    look_at(static_cast<int>(file), first_page(image), pages, of_file_);
  }
  os::close_file(static_cast<int>(file));
}

OwnText::~OwnText() {
  if (of_file_ != nullptr) os::unmap(reinterpret_cast<uint64_t>(of_file_), size_);
}

void OwnText::take() const {
  if (of_file_ == nullptr) return;
  const auto* ranges = elements<abi::Range>(*image_.table, image_.table->ranges);
  for (uint32_t i = 0; i < image_.table->ranges.count; ++i) {
    if (ranges[i].kind != static_cast<uint32_t>(abi::RangeKind::code) || ranges[i].size == 0)
      continue;
    const uint64_t end = page_of(image_, ranges[i].start + ranges[i].size - 1) + 1;
    for (uint64_t page = page_of(image_, ranges[i].start); page < end;) {
      const uint64_t first = page;
      while (page < end && of_file_[page] != 0) ++page;
      if (page == first)
        ++page;
      else
        replace(first_page(image_) + first * os::page_size, (page - first) * os::page_size);
    }
  }
}

}  // namespace stab::rt
