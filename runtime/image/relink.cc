// SPDX-License-Identifier: MIT
#include "runtime/image/relink.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/pads.h"

namespace stab::rt {
namespace {

uint64_t page_of(const Image& image, uint64_t offset) {
  return ((reinterpret_cast<uint64_t>(image.base) & (os::page_size - 1)) + offset) / os::page_size;
}

uint64_t first_page(const Image& image) {
  return reinterpret_cast<uint64_t>(image.base) & -os::page_size;
}

// An entry of /proc/self/pagemap describes one page. A page that was written to is present and does
// not belong to the file.
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

// The pages become executable before they move to the text, so that perf still knows them by the
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

namespace {

constexpr uint8_t trap_opcode = 0xcc;

extern "C" __attribute__((visibility("hidden"))) const uint8_t __start_stab_text[];
extern "C" __attribute__((visibility("hidden"))) const uint8_t __stop_stab_text[];

// The displacement at this offset as the linker wrote it.
uint32_t linked_field(const Image& image, uint32_t f, uint32_t offset) {
  if (offset + 4 <= saved_bytes) return load32(image.saved + uint64_t{f} * saved_bytes + offset);
  return load32(image.original(f) + offset);
}

bool fits_mark(const Image& image, uint32_t f) {
  return image.marks_calls() && !image.anchored(f);
}

// The address at which a function of the permanent layout is entered.
uint8_t* first_entry(const Image& image, uint32_t f) {
  return image.first().copy(f) - (fits_mark(image, f) ? mark_code : 0);
}

// The target of a branch of `f` in the first layout that goes `inside` bytes behind the start of
// `callee`.
uint8_t* branch_target(const Image& image, uint32_t f, uint32_t callee, uint64_t inside) {
  if (!image.first().has(callee)) return image.original(callee) + inside;
  if (inside != 0) return image.first().copy(callee) + inside;
  // A function that stays in the permanent layout must not keep other functions there.
  const bool by_stub = image.board.in_use() && image.anchored(f);
  return by_stub ? image.board.function_stub(callee) : first_entry(image, callee);
}

// The address of a label that the code takes. The label's function never moves again.
uint64_t label_address(const Image& image, uint32_t label) {
  const abi::Label& place = elements<abi::Label>(*image.table, image.table->labels)[label];
  const uint32_t f = place.function;
  return address_of(image.first().has(f) ? image.first().copy(f) : image.original(f)) +
         place.offset;
}

uint32_t distance(const uint8_t* field, uint64_t target) {
  const auto value = static_cast<int64_t>(target - (address_of(field) + 4));
  STAB_DEBUG(Image, 2, value == static_cast<int32_t>(value));
  return static_cast<uint32_t>(value);
}

uint32_t branch_value(const Image& image, uint32_t f, uint32_t offset, uint32_t callee) {
  const uint32_t linked = linked_field(image, f, offset);
  const uint64_t target = address_of(image.original(f)) + offset + 4 +
                          static_cast<uint64_t>(static_cast<int32_t>(linked));
  const uint64_t inside = target - address_of(image.original(callee));
  return distance(image.first().copy(f) + offset,
                  address_of(branch_target(image, f, callee, inside)));
}

// If a copy of the first layout leads to another copy there, the copy in a later layout leads to
// that layout's copy. `field` belongs to the first layout's copy. A function with a copy in a later
// layout is not anchored, and is entered at its start or at the mark before it.
uint32_t branch_again(const Image& image, const Layout& layout, const uint8_t* field,
                      const uint8_t* own_field, uint32_t callee) {
  const uint64_t target =
      address_of(field) + 4 + static_cast<uint64_t>(static_cast<int32_t>(load32(field)));
  const uint64_t start = address_of(image.first().copy(callee));
  const uint64_t inside = target > start ? target - start : 0;
  STAB_DEBUG(Image, 2,
             inside < copy_size(image.functions()[callee]) && target + mark_code >= start);
  return distance(own_field, address_of(layout.copy(callee)) + inside);
}

struct Pages {
  uint64_t start;
  uint64_t size;
};

Pages pages_of(const Image& image, const abi::Range& range) {
  const uint64_t first = address_of(image.base + range.start) & -os::page_size;
  const uint64_t last = align_up(address_of(image.base + range.start) + range.size, os::page_size);
  return {first, last - first};
}

bool overlaps_runtime(const Pages& pages) {
  return pages.start < address_of(__stop_stab_text) &&
         address_of(__start_stab_text) < pages.start + pages.size;
}

[[noreturn]] void die(const char* message) {
  os::write_all(2, message, length_of(message));
  os::exit_process(127);
}

int final_protection(abi::RangeKind kind) {
  if (kind == abi::RangeKind::code) return os::read | os::execute;
  return kind == abi::RangeKind::readonly_slots ? os::read : os::read | os::write;
}

bool is_patched_at_start(const abi::Range& range) {
  return range.kind == static_cast<uint32_t>(abi::RangeKind::code) ||
         range.kind == static_cast<uint32_t>(abi::RangeKind::readonly_slots);
}

bool protect_pointers(const Image& image, int protection) {
  const auto* ranges = elements<abi::Range>(*image.table, image.table->ranges);
  for (uint32_t i = 0; i < image.table->ranges.count; ++i) {
    if (ranges[i].kind != static_cast<uint32_t>(abi::RangeKind::pointers)) continue;
    const Pages pages = pages_of(image, ranges[i]);
    if (os::failed(os::protect(pages.start, pages.size, protection))) return false;
  }
  return true;
}

bool make_writable(const Image& image) {
  const auto* ranges = elements<abi::Range>(*image.table, image.table->ranges);
  for (uint32_t i = 0; i < image.table->ranges.count; ++i)
    if (overlaps_runtime(pages_of(image, ranges[i]))) return false;
  for (uint32_t i = 0; i < image.table->ranges.count; ++i) {
    if (!is_patched_at_start(ranges[i])) continue;
    const Pages pages = pages_of(image, ranges[i]);
    if (os::failed(os::protect(pages.start, pages.size, os::read | os::write))) return false;
    if (ranges[i].kind == static_cast<uint32_t>(abi::RangeKind::code))
      os::populate(pages.start, pages.size);
  }
  return true;
}

void restore(const Image& image) {
  const auto* ranges = elements<abi::Range>(*image.table, image.table->ranges);
  for (uint32_t i = 0; i < image.table->ranges.count; ++i) {
    if (!is_patched_at_start(ranges[i])) continue;
    const auto kind = static_cast<abi::RangeKind>(ranges[i].kind);
    const Pages pages = pages_of(image, ranges[i]);
    if (os::failed(os::protect(pages.start, pages.size, final_protection(kind))))
      die("stabilizer: the code cannot be made executable again\n");
  }
}

// Adds the pad to each field that contains the size of the frame. In a later layout, `pad` may be
// negative: it is the difference from the pad of the copy that was copied.
void pad_frame(const Image& image, uint8_t* copy, uint32_t f, uint32_t pad) {
  const abi::Frame* frame = frame_of(image, f);
  if (frame == nullptr || pad == 0) return;
  const uint32_t* fields =
      elements<uint32_t>(*image.table, image.table->frame_fields) + frame->first_field;
  for (uint32_t i = 0; i < frame->code_fields; ++i) {
    uint8_t* at = copy + abi::code_field_offset(fields[i]);
    if (abi::code_field_width(fields[i]) == 1) {
      *at = static_cast<uint8_t>(*at + pad * abi::pad_unit);
      STAB_DEBUG(Pads, 4, *at < 0x80);
    } else {
      store32(at, load32(at) + pad * abi::pad_unit);
    }
  }
}

}  // namespace

void write_copy(const Image& image, const Layout& layout, uint32_t f) {
  const abi::Function& function = image.functions()[f];
  uint8_t* copy = layout.copy(f);
  const uint64_t code =
      function.word_count == 0 ? copy_size(function) : abi::tables_offset(function.size);
  copy_bytes(copy, image.original(f), function.size);
  copy_bytes(copy, image.saved + uint64_t{f} * saved_bytes,
             function.size < saved_bytes ? function.size : saved_bytes);
  fill_bytes(copy + function.size, trap_opcode, code - function.size);
  copy_bytes(copy + code,
             elements<uint32_t>(*image.table, image.table->words) + function.first_word,
             uint64_t{function.word_count} * 4);
}

// movb $1, called(%rip)
void write_mark(const Image& image, const Layout& layout, uint32_t f) {
  uint8_t* at = layout.copy(f) - mark_code;
  at[0] = 0xc6;
  at[1] = 0x05;
  store32(at + 2,
          static_cast<uint32_t>(address_of(image.board.called(f)) - address_of(at + mark_code)));
  at[6] = 1;
}

void link_copy(const Image& image, const Layout& layout, uint32_t f) {
  const abi::Function& function = image.functions()[f];
  const auto* fixups =
      elements<abi::Fixup>(*image.table, image.table->fixups) + function.first_fixup;
  uint8_t* copy = layout.copy(f);
  const auto shift = static_cast<uint32_t>(address_of(image.original(f)) - address_of(copy));
  for (uint32_t i = 0; i < function.fixup_count; ++i) {
    const uint32_t offset = abi::offset_of(fixups[i]);
    const uint32_t value = fixups[i].value;
    uint32_t field = 0;
    switch (abi::kind_of(fixups[i])) {
      case abi::FixupKind::shift:
        field = linked_field(image, f, offset) + shift;
        break;
      case abi::FixupKind::branch:
        field = branch_value(image, f, offset, value);
        break;
      case abi::FixupKind::constant:
        field = value;
        break;
      case abi::FixupKind::label:
        field = distance(copy + offset, label_address(image, value));
        break;
    }
    store32(copy + offset, field);
  }
  pad_frame(image, copy, f, layout.pads[f]);
}

void copy_again(const Image& image, const Layout& layout, uint32_t f) {
  const abi::Function& function = image.functions()[f];
  const auto* fixups =
      elements<abi::Fixup>(*image.table, image.table->fixups) + function.first_fixup;
  const uint8_t* from = image.first().copy(f);
  uint8_t* copy = layout.copy(f);
  copy_bytes(copy, from, copy_size(function));
  const auto shift = static_cast<uint32_t>(address_of(from) - address_of(copy));
  for (uint32_t i = 0; i < function.fixup_count; ++i) {
    const uint32_t offset = abi::offset_of(fixups[i]);
    const uint32_t callee = fixups[i].value;
    switch (abi::kind_of(fixups[i])) {
      case abi::FixupKind::branch:
        if (layout.has(callee)) {
          store32(copy + offset, branch_again(image, layout, from + offset, copy + offset, callee));
          break;
        }
        [[fallthrough]];  // it leads to a fixed place, like the next two kinds
      case abi::FixupKind::shift:
      case abi::FixupKind::label:
        store32(copy + offset, load32(copy + offset) + shift);
        break;
      case abi::FixupKind::constant:
        break;
    }
  }
  pad_frame(image, copy, f, uint32_t{layout.pads[f]} - image.first().pads[f]);
}

void lead_to(const Image& image, const Layout& layout, StubsDraft& stubs) {
  const bool again = &layout != &image.first();
  for (uint32_t f = 0; f < image.count(); ++f) {
    if (!image.first().has(f) || (again && !layout.has(f))) continue;
    const uint8_t* entry = again ? layout.copy(f) : first_entry(image, f);
    stubs.lead(image.board.function_stub(f), address_of(entry));
  }
  const auto* labels = elements<abi::Label>(*image.table, image.table->labels);
  for (uint32_t i = 0; i < image.table->labels.count; ++i) {
    const uint32_t f = labels[i].function;
    if (!image.first().has(f) || (again && !layout.has(f))) continue;
    const uint8_t* copy = again ? layout.copy(f) : image.first().copy(f);
    stubs.lead(image.board.label_stub(i), address_of(copy) + labels[i].offset);
  }
}

void set_pointers(const Image& image) {
  if (!protect_pointers(image, os::read | os::write)) {
    protect_pointers(image, os::read);
    return;
  }
  const auto* pointers = elements<abi::Pointer>(*image.table, image.table->pointers);
  for (uint32_t i = 0; i < image.table->pointers.count; ++i) {
    const uint32_t f = pointers[i].function;
    auto* where = reinterpret_cast<uint64_t*>(image.base + pointers[i].where);
    if (image.first().has(f) && *where == address_of(image.original(f)))
      *where =
          address_of(image.board.in_use() ? image.board.function_stub(f) : image.first().copy(f));
  }
  protect_pointers(image, os::read);
}

bool patch_originals(const Image& image, const OwnText& /*untouched*/) {
  if (!make_writable(image)) {
    restore(image);
    return false;
  }
  for (uint32_t f = 0; f < image.count(); ++f) {
    if (!image.first().has(f) || (image.functions()[f].flags & abi::function_keeps_entry) != 0)
      continue;
    write_jump(image.original(f),
               image.board.in_use() ? image.board.function_stub(f) : image.first().copy(f));
  }
  const auto* slots = elements<abi::Slot>(*image.table, image.table->slots);
  const auto* labels = elements<abi::Label>(*image.table, image.table->labels);
  for (uint32_t i = 0; i < image.table->slots.count; ++i) {
    const uint32_t f = labels[slots[i].label].function;
    if (!image.first().has(f)) continue;
    const bool by_stub = image.board.in_use() && !image.anchored(f);
    __atomic_store_n(reinterpret_cast<uint64_t*>(image.base + slots[i].where),
                     by_stub ? address_of(image.board.label_stub(slots[i].label))
                             : label_address(image, slots[i].label),
                     __ATOMIC_RELEASE);
  }
  restore(image);
  return true;
}

}  // namespace stab::rt
