// SPDX-License-Identifier: MIT
#include "counters/profiles/space.h"

#include <utility>

namespace stab::counters {

// A mapping without a file does not cut layouts: the kernel may report neighbouring mappings as
// one, and the runtime itself reports what becomes of its layouts.
void Space::tell(const Mapped& mapped) {
  const std::uint64_t end = mapped.start + mapped.size;
  if (end < mapped.start) return;
  files_.put(mapped.start, end,
             {.file = std::make_shared<const MappedFile>(
                  MappedFile{.path = mapped.path, .inode = mapped.inode, .mapped_at = mapped.time}),
              .offset = mapped.offset});
  if (mapped.inode != 0) layouts_.cut(mapped.start, end);
}

void Space::tell(std::uint64_t /*time*/, const NewImage& image) {
  images_[image.base] = image.image;
}

void Space::tell(std::uint64_t /*time*/, const NewLayout& layout) {
  const auto image = images_.find(layout.base);
  if (image == images_.end()) return layouts_.cut(layout.start, layout.start + layout.size);
  const auto* const code = files_.next(layout.base);
  layouts_.put(layout.start, layout.start + layout.size,
               {.layout = layout,
                .image = image->second,
                .file = code == nullptr ? nullptr : code->what.file});
}

void Space::tell(std::uint64_t /*time*/, const GoneImage& image) {
  images_.erase(image.base);
  layouts_.remove_if([&](const Moved& moved) { return moved.layout.base == image.base; });
}

Spot Space::find(std::uint64_t address) const {
  if (const auto* const here = layouts_.find(address)) {
    const Moved& moved = here->what;
    const places::Place* const place = find_place(moved.layout, *moved.image, address);
    return {.file = moved.file,
            .function = place == nullptr ? "" : moved.image->name(place->function),
            .is_moved = true};
  }
  const auto* const here = files_.find(address);
  if (here == nullptr) return {};
  return {.file = here->what.file, .file_offset = address - here->origin + here->what.offset};
}

}  // namespace stab::counters
