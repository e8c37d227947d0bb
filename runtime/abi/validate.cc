// SPDX-License-Identifier: MIT
#include "runtime/abi/validate.h"

#include <elf.h>

#include "runtime/base/memory.h"

namespace stab::rt {
namespace {

using abi::Header;

// Arrays lie one behind the other; `at` is the first offset at which the next one may begin.
bool array_fits(const abi::Array& array, uint64_t element, uint64_t& at, uint64_t size) {
  if (array.offset % 8 != 0 || array.offset < at || array.offset > size) return false;
  if (array.count > (size - array.offset) / element) return false;
  at = array.offset + array.count * element;
  return true;
}

bool arrays_fit(const Header& h) {
  uint64_t at = sizeof h;
  const uint64_t size = h.total_size;
  return array_fits(h.functions, sizeof(abi::Function), at, size) &&
         array_fits(h.fixups, sizeof(abi::Fixup), at, size) &&
         array_fits(h.labels, sizeof(abi::Label), at, size) &&
         array_fits(h.slots, sizeof(abi::Slot), at, size) &&
         array_fits(h.pointers, sizeof(abi::Pointer), at, size) &&
         array_fits(h.ranges, sizeof(abi::Range), at, size) &&
         array_fits(h.cies, sizeof(abi::Cie), at, size) && array_fits(h.words, 4, at, size) &&
         array_fits(h.exceptions, 1, at, size) &&
         array_fits(h.frames, sizeof(abi::Frame), at, size) &&
         array_fits(h.frame_fields, 4, at, size) &&
         array_fits(h.pinned, sizeof(abi::Pinned), at, size) &&
         array_fits(h.hiders, sizeof(abi::Hider), at, size) && array_fits(h.names, 1, at, size);
}

class Checker {
 public:
  Checker(const Header& header, const Shape& shape) : h_(header), shape_(shape) {}

  [[nodiscard]] TableError run() const {
    if (!ranges_hold()) return TableError::bad_range;
    if (!labels_hold()) return TableError::bad_label;
    if (!slots_hold() || !pointers_hold()) return TableError::bad_slot;
    if (!cies_hold()) return TableError::bad_frame;
    if (h_.frames.count != 0 && h_.frames.count != h_.functions.count)
      return TableError::bad_frame_size;
    return functions_hold();
  }

 private:
  [[nodiscard]] bool mapped(uint64_t start, uint64_t size, uint32_t flags) const {
    for (uint32_t i = 0; i < shape_.count; ++i) {
      const Segment& s = shape_.segments[i];
      if ((s.flags & flags) == flags && start >= s.start && start <= s.end && size <= s.end - start)
        return true;
    }
    return false;
  }

  enum class Use : uint8_t { code, slots, pointers, bytes };

  static Use use_of(const abi::Range& r) {
    if (r.kind == static_cast<uint32_t>(abi::RangeKind::code)) return Use::code;
    if (r.kind == static_cast<uint32_t>(abi::RangeKind::pad_bytes)) return Use::bytes;
    return r.kind == static_cast<uint32_t>(abi::RangeKind::pointers) ? Use::pointers : Use::slots;
  }

  [[nodiscard]] bool in_range_of(uint64_t start, uint64_t size, Use use) const {
    const auto* ranges = elements<abi::Range>(h_, h_.ranges);
    for (uint32_t i = 0; i < h_.ranges.count; ++i) {
      const abi::Range& r = ranges[i];
      if (use_of(r) == use && start >= r.start && start - r.start <= r.size &&
          size <= r.size - (start - r.start))
        return true;
    }
    return false;
  }

  [[nodiscard]] bool ranges_hold() const {
    const auto* ranges = elements<abi::Range>(h_, h_.ranges);
    for (uint32_t i = 0; i < h_.ranges.count; ++i) {
      const abi::Range& r = ranges[i];
      const bool code = r.kind == static_cast<uint32_t>(abi::RangeKind::code);
      const bool writable = r.kind == static_cast<uint32_t>(abi::RangeKind::writable_slots) ||
                            r.kind == static_cast<uint32_t>(abi::RangeKind::pad_bytes);
      if (r.kind > static_cast<uint32_t>(abi::RangeKind::pad_bytes) || r.size == 0) return false;
      if (!mapped(r.start, r.size, code ? PF_X : writable ? PF_W : PF_R)) return false;
    }
    return true;
  }

  [[nodiscard]] bool labels_hold() const {
    const auto* labels = elements<abi::Label>(h_, h_.labels);
    const auto* functions = elements<abi::Function>(h_, h_.functions);
    for (uint32_t i = 0; i < h_.labels.count; ++i)
      if (labels[i].function >= h_.functions.count ||
          labels[i].offset >= functions[labels[i].function].size)
        return false;
    return true;
  }

  [[nodiscard]] bool slots_hold() const {
    const auto* slots = elements<abi::Slot>(h_, h_.slots);
    uint64_t end = 0;
    for (uint32_t i = 0; i < h_.slots.count; ++i) {
      if (slots[i].where < end || slots[i].where % 8 != 0 || slots[i].label >= h_.labels.count)
        return false;
      if (!in_range_of(slots[i].where, 8, Use::slots)) return false;
      end = uint64_t{slots[i].where} + 8;
    }
    return true;
  }

  [[nodiscard]] bool pointers_hold() const {
    const auto* pointers = elements<abi::Pointer>(h_, h_.pointers);
    uint64_t end = 0;
    for (uint32_t i = 0; i < h_.pointers.count; ++i) {
      const abi::Pointer& p = pointers[i];
      if (p.where < end || p.where % 8 != 0 || p.function >= h_.functions.count) return false;
      if (!in_range_of(p.where, 8, Use::pointers)) return false;
      end = uint64_t{p.where} + 8;
    }
    return true;
  }

  [[nodiscard]] bool cies_hold() const {
    const auto* cies = elements<abi::Cie>(h_, h_.cies);
    for (uint32_t i = 0; i < h_.cies.count; ++i) {
      if (cies[i].size < 12 || !mapped(cies[i].offset, cies[i].size, PF_R)) return false;
      if (cies[i].personality_field > cies[i].size - 4) return false;
    }
    return true;
  }

  [[nodiscard]] TableError functions_hold() const {
    const auto* functions = elements<abi::Function>(h_, h_.functions);
    uint64_t end = 0;
    for (uint32_t i = 0; i < h_.functions.count; ++i) {
      const abi::Function& f = functions[i];
      if (f.start < end || f.size == 0 || f.size > abi::fixup_offset_mask / 2)
        return TableError::bad_function;
      if (!mapped(f.start, f.size, PF_X | PF_R)) return TableError::bad_function;
      if (f.flags > abi::function_flags || f.name >= h_.names.count)
        return TableError::bad_function;
      if ((f.address_registers & ~abi::preserved_registers) != 0) return TableError::bad_function;
      if (!entry_holds(f)) return TableError::bad_function;
      if (f.first_word > h_.words.count || f.word_count > h_.words.count - f.first_word)
        return TableError::bad_function;
      if (!fixups_hold(f)) return TableError::bad_fixup;
      if (!frame_holds(f)) return TableError::bad_frame;
      if (h_.frames.count != 0 && !frame_size_holds(f, elements<abi::Frame>(h_, h_.frames)[i]))
        return TableError::bad_frame_size;
      end = uint64_t{f.start} + f.size;
    }
    return TableError::ok;
  }

  [[nodiscard]] bool entry_holds(const abi::Function& f) const {
    if ((f.flags & abi::function_keeps_entry) != 0) return true;
    return f.start % abi::entry_bytes == 0 && in_range_of(f.start, abi::entry_bytes, Use::code);
  }

  [[nodiscard]] bool fixups_hold(const abi::Function& f) const {
    if (f.first_fixup > h_.fixups.count || f.fixup_count > h_.fixups.count - f.first_fixup)
      return false;
    const auto* fixups = elements<abi::Fixup>(h_, h_.fixups) + f.first_fixup;
    const uint64_t copy_size = abi::size_of_copy(f.size, f.word_count);
    uint64_t end = 0;
    for (uint32_t i = 0; i < f.fixup_count; ++i) {
      const uint64_t offset = abi::offset_of(fixups[i]);
      if (offset < end || f.size < 4 || offset > f.size - 4) return false;
      end = offset + 4;
      const uint32_t value = fixups[i].value;
      switch (abi::kind_of(fixups[i])) {
        case abi::FixupKind::shift:
          break;
        case abi::FixupKind::branch:
          if (value >= h_.functions.count) return false;
          break;
        case abi::FixupKind::constant:
          if (end + value >= copy_size) return false;
          break;
        case abi::FixupKind::label:
          if (value >= h_.labels.count) return false;
          break;
      }
    }
    return true;
  }

  [[nodiscard]] bool frame_holds(const abi::Function& f) const {
    if (f.fde == 0) return true;
    if (f.fde_size < 16 || f.cie >= h_.cies.count || !mapped(f.fde, f.fde_size, PF_R)) return false;
    const uint64_t width = (f.flags & abi::function_lsda_absolute8) != 0 ? 8 : 4;
    if (f.lsda_field > f.fde_size - width) return false;
    return f.exceptions_size == 0 || exceptions_hold(f);
  }

  [[nodiscard]] bool frame_size_holds(const abi::Function& f, const abi::Frame& frame) const {
    const uint64_t count = uint64_t{frame.code_fields} + frame.description_fields;
    if (frame.first_field > h_.frame_fields.count ||
        count > h_.frame_fields.count - frame.first_field)
      return false;
    if (frame.reason >= static_cast<uint8_t>(abi::PadReason::count)) return false;
    const bool on_entry = frame.reason == static_cast<uint8_t>(abi::PadReason::taken_on_entry);
    if (frame.reason != 0)
      return count == 0 && frame.above == 0 && frame.part_of == 0 && (frame.most == 0 || on_entry);
    if (!part_holds(frame)) return false;
    if (frame.step == 0 || frame.most % frame.step != 0 ||
        frame.most > abi::largest_pad / abi::pad_unit || frame.above % 8 != 0)
      return false;
    const uint32_t* fields = elements<uint32_t>(h_, h_.frame_fields) + frame.first_field;
    if (frame.most > abi::narrow_pad / abi::pad_unit && has_narrow_field(frame, fields))
      return false;
    return code_fields_hold(f, fields, frame.code_fields) &&
           description_fields_hold(f, fields + frame.code_fields, frame.description_fields);
  }

  [[nodiscard]] bool part_holds(const abi::Frame& frame) const {
    if (frame.part_of == 0) return true;
    if (frame.part_of > h_.frames.count) return false;
    const abi::Frame& whole = elements<abi::Frame>(h_, h_.frames)[frame.part_of - 1];
    return whole.part_of == 0 && whole.reason == 0 && whole.most == frame.most &&
           whole.step == frame.step && whole.above == frame.above;
  }

  [[nodiscard]] static bool has_narrow_field(const abi::Frame& frame, const uint32_t* fields) {
    bool found = false;
    for (uint32_t i = 0; i < frame.code_fields; ++i) found |= abi::code_field_width(fields[i]) == 1;
    for (uint32_t i = 0; i < frame.description_fields; ++i)
      found |= abi::description_width(fields[frame.code_fields + i]) == 1;
    return found;
  }

  [[nodiscard]] bool code_fields_hold(const abi::Function& f, const uint32_t* fields,
                                      uint32_t count) const {
    const auto* fixups = elements<abi::Fixup>(h_, h_.fixups) + f.first_fixup;
    uint32_t fixup = 0;
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t offset = abi::code_field_offset(fields[i]);
      const uint64_t width = abi::code_field_width(fields[i]);
      if (offset < end || offset + width > f.size) return false;
      end = offset + width;
      while (fixup < f.fixup_count && abi::offset_of(fixups[fixup]) + uint64_t{4} <= offset)
        ++fixup;
      if (fixup < f.fixup_count && abi::offset_of(fixups[fixup]) < end) return false;
    }
    return true;
  }

  [[nodiscard]] static bool description_fields_hold(const abi::Function& f, const uint32_t* fields,
                                                    uint32_t count) {
    uint64_t end = 16;
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t width = abi::description_width(fields[i]);
      const uint64_t offset = abi::description_offset(fields[i]);
      if (f.fde == 0 || width < 1 || width > 4 || offset < end || offset + width > f.fde_size)
        return false;
      end = offset + width;
    }
    return true;
  }

  [[nodiscard]] bool exceptions_hold(const abi::Function& f) const {
    if (f.exceptions > h_.exceptions.count ||
        f.exceptions_size > h_.exceptions.count - f.exceptions)
      return false;
    if (f.exceptions_size < sizeof(abi::ExceptionTable)) return false;
    return f.exception_types == 0 || mapped(f.exception_types, 0, PF_R);
  }

  const Header& h_;
  const Shape& shape_;
};

}  // namespace

TableError validate(const uint8_t* table, uint64_t size, const Shape& shape) {
  if (size < sizeof(Header)) return TableError::too_short;
  const Header& header = *reinterpret_cast<const Header*>(table);
  if (header.magic != abi::magic) return TableError::not_a_table;
  if (header.version != abi::version) return TableError::other_version;
  if (header.header_size != sizeof header || header.total_size != size || size > INT32_MAX)
    return TableError::wrong_size;
  if (!arrays_fit(header)) return TableError::bad_array;
  // The checksum is computed with its own field set to zero.
  Header blank;
  copy_bytes(&blank, &header, sizeof blank);
  blank.checksum = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(&blank);
  if (abi::hash_table(bytes, table, header.pinned.offset) != header.checksum)
    return TableError::wrong_checksum;
  const bool names_end =
      header.names.count != 0 && table[header.names.offset + header.names.count - 1] == 0;
  if (!names_end && (header.functions.count != 0 || header.hiders.count != 0))
    return TableError::bad_array;
  return Checker(header, shape).run();
}

const char* describe(TableError error) {
  switch (error) {
    case TableError::ok:
      return "ok";
    case TableError::too_short:
      return "the table is too short";
    case TableError::not_a_table:
      return "there is other data in place of the table";
    case TableError::other_version:
      return "the table has another version";
    case TableError::wrong_size:
      return "the table was truncated";
    case TableError::wrong_checksum:
      return "the table was altered";
    case TableError::bad_array:
      return "an array lies outside the table";
    case TableError::bad_function:
      return "a function lies outside the code";
    case TableError::bad_fixup:
      return "a fix-up lies outside its function";
    case TableError::bad_label:
      return "a label lies outside its function";
    case TableError::bad_slot:
      return "a slot lies outside the data";
    case TableError::bad_range:
      return "a range lies outside the image";
    case TableError::bad_frame:
      return "unwind information lies outside the image";
    case TableError::bad_frame_size:
      return "a field for a frame's size lies outside the function";
  }
  return "unknown";
}

}  // namespace stab::rt
