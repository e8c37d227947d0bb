// SPDX-License-Identifier: MIT
// The data that the post-link step writes into a binary for the runtime to read: one note, and one
// table in a segment of its own.
//
// The note (.note.stab, linked in with the runtime) says where the table is. The table is one
// block:
//   header | functions | fixups | labels | slots | pointers | ranges | cies | words | exceptions |
//   frames | frame fields | pinned | hiders | names
// Places in the image are 32-bit offsets from `base`, the lowest address of the image as it was
// linked.
//
// Invariants (the builder keeps them; runtime/abi/validate.h checks each of them before anything
// else is read):
//   1. Arrays lie inside the table in the order above, 8-aligned, without overlap.
//   2. Functions are sorted by start and do not overlap; each lies in one executable segment.
//   3. The fixups of a function are sorted by offset, do not overlap, and lie inside the function.
//   4. Indices (function, label, cie, name) are below the count of what they index.
//   5. Slots and pointers are sorted, 8-aligned, and lie inside a range of their kind.
//   6. CIEs and FDEs lie inside readable segments, and their fields inside them.
//   7. Exception tables lie inside `exceptions`, and the types that they name inside readable
//      segments.
//   8. A function has one frame or no frame. Its fields are sorted, lie inside the function and its
//      frame description, do not overlap, and the fields in code do not overlap the fixups either.
//      If a field has 8 bits or less, the frame's largest pad is at most narrow_pad. A part uses
//      the frame of a function that is not a part itself, and both may have the same pads.
//   9. The checksum covers the table from the header to where `pinned` begins.
// The C++23 programs and the runtime, which has no standard library, share this file: plain structs
// only.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace stab::abi {

constexpr uint32_t version = 10;
constexpr uint64_t magic = 0x31304c4254415453;  // "STATBL01" read as a little-endian number
constexpr char note_section[] = ".note.stab";
constexpr char table_section[] = ".stab.table";
constexpr char runtime_section[] = "stab_text";     // in an executable, on pages of its own
constexpr char library_section[] = "stab_library";  // the runtime's part of a shared library
constexpr char pad_bytes_section[] = "stab_pads";
constexpr char fixed_section[] = "stab_nomove";  // functions marked STAB_NO_MOVE are put here
// The pass writes these into object files, for the post-link step (instrumenter/pass/notes.h and
// pads.h). If their names began with .stab, GNU binutils would take them for debugging information:
// `strip -g` would remove them, and GNU as would fail.
constexpr char frames_section[] = ".szc_frames";
constexpr char calls_section[] = ".szc_calls";
constexpr char entries_section[] = ".szc_entries";
constexpr char compiled_section[] = ".szc_compiled";
constexpr char alone_section[] = ".szc_alone";
constexpr char bytes_section[] = ".szc_bytes";

// A jump to the copy overwrites this many bytes of the function's entry with one aligned store.
constexpr uint32_t entry_bytes = 8;
constexpr uint32_t code_align = 16;
// Tables lie behind the code and never directly at its end, since a call that does not return would
// return there.
constexpr uint64_t tables_offset(uint64_t code_size) {
  return (code_size / code_align + 1) * code_align;
}
constexpr uint64_t size_of_copy(uint64_t code_size, uint64_t table_words) {
  const uint64_t end = table_words == 0 ? code_size : tables_offset(code_size) + 4 * table_words;
  return (end + code_align - 1) / code_align * code_align;
}

// The note in the image, which the post-link step patches. If size is 0, the step did not run.
struct Note {
  uint32_t name_size;
  uint32_t desc_size;
  uint32_t type;
  char name[8];
  uint32_t abi_version;
  uint64_t own_address;  // the address of this note, as linked
  int64_t table_offset;  // from this note to the table
  uint64_t table_size;
};

struct Array {
  uint32_t offset;  // from the start of the table, in bytes
  uint32_t count;   // number of elements
};

struct Header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;
  uint64_t total_size;
  uint64_t checksum;
  uint64_t base;
  uint64_t image_size;
  uint64_t text_bytes;    // of all code in executable sections, pinned functions included
  uint64_t pinned_bytes;  // the part of text_bytes that can't move
  uint64_t flags;
  uint64_t framed;          // functions that can move and change the stack pointer
  uint64_t padded_by_pass;  // functions with pads for which szc's pass made room
  Array functions;
  Array fixups;
  Array labels;
  Array slots;
  Array pointers;
  Array ranges;
  Array cies;
  Array words;
  Array exceptions;  // in bytes
  Array frames;
  Array frame_fields;
  Array pinned;
  Array hiders;
  Array names;
};

// A copy consists of the code, padded to a multiple of 16, and then the function's jump tables
// (words).
struct Function {
  uint32_t start;
  uint32_t size;
  uint32_t first_fixup;
  uint32_t fixup_count;
  uint32_t first_word;
  uint32_t word_count;
  uint32_t fde;       // offset in the image; 0: the function has no FDE
  uint32_t fde_size;  // including its length field
  uint16_t cie;
  uint16_t lsda_field;  // offset in the FDE of the pointer to the exception table; 0: no table
  uint32_t name;        // offset in names
  uint32_t hash;        // of the code as linked; code that has changed since then is not moved
  uint32_t flags;
  // The exception table in a form whose landing pads are stubs (see ExceptionTable). If the
  // function has no exception table, the size is 0.
  uint32_t exceptions;
  uint32_t exceptions_size;
  uint32_t exception_types;  // the place that its type table counts from; 0: no types
  // A bit mask, by DWARF number, of call-preserved registers. The only 64-bit values that the
  // function writes into them are addresses computed by lea and values that it saved, and it never
  // writes only a part of one. So a value of this function in them that looks like the address of a
  // jump table is one.
  uint32_t address_registers;
};
// rbx, rbp, r12 to r15.
constexpr uint32_t preserved_registers = 0xf048;

// The entry has no room for the jump, so only direct calls reach the copy.
constexpr uint32_t function_keeps_entry = 1;
// The function may be re-entered through an address that nobody can find and change (a jmp_buf, a
// label on the heap), so it moves at start, and never again.
constexpr uint32_t function_anchored = 2;
// Its FDE holds the address of the exception table, in 4 or 8 bytes. Without these flags, the FDE
// holds the distance to the table.
constexpr uint32_t function_lsda_absolute4 = 4;
constexpr uint32_t function_lsda_absolute8 = 8;
constexpr uint32_t function_flags = 15;

// A flag of a table: addresses of code may be where nobody finds them (on stacks that do not belong
// to a thread, in a jmp_buf). `hiders` gives the reasons.
constexpr uint64_t image_hides_addresses = 1;
// Code of any image may run on stacks whose size the program chose, so pads must be small.
constexpr uint64_t image_small_stacks = 2;

// The beginning of an exception table that the post-link step rewrote. The runtime fills in two
// fields; the landing pad of label n is 8 * (n + 1) from landing_start.
struct ExceptionTable {
  uint8_t landing_encoding;  // absolute
  uint8_t landing_start[8];  // the stub of label 0, minus 8
  uint8_t types_encoding;    // unchanged
  // LEB128, from the end of this field. Absent if types_encoding is `omit`.
  uint8_t types_distance[10];
};
constexpr uint32_t exception_types_field = 10;  // offset of types_distance
constexpr uint32_t exception_types_bytes = 10;

// How to adjust the 32-bit field at `offset` of a copy. The meaning of `value` depends on the kind.
enum class FixupKind : uint32_t {
  shift = 0,     // pc-relative to a fixed place: add (original - copy); `value` is unused
  branch = 1,    // pc-relative to the function `value`, as far from its start as in the original
  constant = 2,  // store `value`: a place in the copy itself
  label = 3,     // pc-relative to the stub of label `value`
};

struct Fixup {
  uint32_t kind_and_offset;  // the kind in the top two bits
  uint32_t value;
};

constexpr uint32_t fixup_offset_mask = 0x3fffffff;
constexpr uint32_t fixup_kind_shift = 30;

// A place inside a function whose address the program takes (computed goto). Its stub jumps there.
struct Label {
  uint32_t function;
  uint32_t offset;
};

// A 64-bit pointer in data that held the address of the label. The runtime sets it to the stub.
struct Slot {
  uint32_t where;
  uint32_t label;
};

// A 64-bit pointer in a vtable. Only calls read it, so it may hold the address of the current copy.
struct Pointer {
  uint32_t where;
  uint32_t function;
};

enum class RangeKind : uint32_t {
  code = 0,
  writable_slots = 1,
  readonly_slots = 2,
  pointers = 3,   // read-only
  pad_bytes = 4,  // in data: pads of loops, in pad units
};

// Bytes that the runtime changes in place: entries in code, slots in data. Afterwards their
// protection is r-x, rw- or r-- again.
struct Range {
  uint32_t start;
  uint32_t size;
  uint32_t kind;
  uint32_t modest;  // for pad bytes: nonzero if the program makes small stacks
};

struct Cie {
  uint32_t offset;
  uint32_t size;
  uint32_t
      personality_field;  // offset in the CIE of a pc-relative 32-bit pointer; 0: nothing to adjust
  uint32_t unused;
};

// The reason why the frames of a function's copies have the same size as the original's.
enum class PadReason : uint8_t {
  none = 0,
  calls_nothing,
  no_description,
  unclear_flow,
  unclear_stack,
  no_number,
  description,
  outside_access,
  mixed_access,
  entered_inside,
  description_width,
  records_differ,
  arguments,
  taken_on_entry,  // the function makes pads of another kind itself: up to `most`
  left_alone,
  other_tool,
  narrow_number,
  remembers,
  above_pad,
  parts,
  count,
};

// To make the frames of a function's copies larger, the runtime adds the pad to each field. First
// come the fields in code (code_field), then the fields in the frame description
// (description_field). The post-link step chose `most` so that no field overflows.
constexpr uint32_t pad_unit = 16;
struct Frame {
  uint32_t first_field;
  uint16_t code_fields;
  uint16_t description_fields;
  uint16_t most;   // in pad units
  uint8_t step;    // every pad is a multiple of this many units
  uint8_t reason;  // a PadReason; none: the function has fields
  uint32_t above;  // bytes from the end of the pad, which nothing uses, to the CFA; 0: unknown
  // 0, or 1 more than the index of the function whose frame this code uses. Such code is a part of
  // that function (gcc's .cold), and always has the same pad.
  uint32_t part_of;
};
constexpr uint32_t largest_pad = 4080;
constexpr uint32_t modest_pad = 112;          // for frames that are many, or lie on a small stack
constexpr uint32_t narrow_pad = 112;          // the largest pad that a signed 8-bit number can hold
constexpr uint32_t largest_frame = 1u << 24;  // larger numbers are left as they are

// A field in code is a signed number of 1 or 4 bytes, and at least 0.
constexpr uint32_t narrow_code_field = 1u << 31;
inline constexpr uint32_t code_field(uint32_t offset, uint32_t width) {
  return width == 1 ? narrow_code_field | offset : offset;
}
inline constexpr uint32_t code_field_offset(uint32_t field) {
  return field & ~narrow_code_field;
}
inline constexpr uint32_t code_field_width(uint32_t field) {
  return (field & narrow_code_field) != 0 ? 1 : 4;
}

// A field in a frame description is an unsigned LEB128 number of `width` bytes.
inline constexpr uint32_t description_field(uint32_t offset, uint32_t width) {
  return width << 28 | offset;
}
inline constexpr uint32_t description_offset(uint32_t field) {
  return field & 0x0fffffff;
}
inline constexpr uint32_t description_width(uint32_t field) {
  return field >> 28;
}

// The reason why a function stays where it was linked. The table keeps the reasons for people to
// read; the runtime only counts them.
enum class PinReason : uint32_t {
  none = 0,
  marked,
  startup,
  undecodable,
  relocation_mismatch,
  unknown_relocation,
  outside_reference,
  label_reference,
  data_in_code,
  falls_through,
  overlaps,
  too_large,
  unwind_info,
  caller_sensitive,
  runtime_page,
  unsized,
  large_model,
  own_place,
  go_code,
  foreign_exceptions,
  used_bytes,
  count,
};

struct Pinned {
  uint32_t start;
  uint32_t size;
  uint32_t name;
  uint32_t reason;
};

// The reason why all layouts of a run are kept.
enum class HideReason : uint32_t {
  none = 0,
  switches_stacks,
  makes_stacks,
  comes_back,
  saves_registers,
  count,
};

struct Hider {
  uint32_t place;  // the address of the function, or of the instruction
  uint32_t name;
  uint32_t reason;
};

static_assert(sizeof(Note) == 48 && offsetof(Note, own_address) == 24);
static_assert(sizeof(Array) == 8);
static_assert(sizeof(Header) == 200 && offsetof(Header, functions) == 88);
static_assert(sizeof(Function) == 64 && offsetof(Function, flags) == 44);
static_assert(sizeof(Pointer) == 8 && sizeof(Frame) == 20);
static_assert(sizeof(Fixup) == 8 && sizeof(Label) == 8 && sizeof(Slot) == 8);
static_assert(sizeof(ExceptionTable) == exception_types_field + exception_types_bytes);
static_assert(sizeof(Range) == 16 && sizeof(Cie) == 16 && sizeof(Pinned) == 16 &&
              sizeof(Hider) == 12);

inline constexpr FixupKind kind_of(const Fixup& fixup) {
  return static_cast<FixupKind>(fixup.kind_and_offset >> fixup_kind_shift);
}

inline constexpr uint32_t offset_of(const Fixup& fixup) {
  return fixup.kind_and_offset & fixup_offset_mask;
}

// Multiplies and rotates, eight bytes at a time. It detects accidents, not attacks. The runtime and
// the post-link step compute the same value.
__attribute__((always_inline)) inline uint64_t hash_bytes(const unsigned char* bytes, uint64_t size,
                                                          uint64_t seed) {
  uint64_t h = seed ^ (size * 0x9e3779b97f4a7c15u);
  uint64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    uint64_t word = 0;
    __builtin_memcpy(&word, bytes + i, 8);
    h = (h ^ word) * 0xd6e8feb86659fd93u;
    h ^= h >> 32;
  }
  for (; i < size; ++i) h = (h ^ bytes[i]) * 0x100000001b3u;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9u;
  return h ^ (h >> 32);
}

// The hash of a table covers the header with a zero in place of the checksum, then the rest up to
// `end`.
__attribute__((always_inline)) inline uint64_t hash_table(const unsigned char* header,
                                                          const unsigned char* table,
                                                          uint64_t end) {
  return hash_bytes(table + sizeof(Header), end - sizeof(Header),
                    hash_bytes(header, sizeof(Header), magic));
}

__attribute__((always_inline)) inline uint32_t hash_code(const unsigned char* code, uint32_t size) {
  const uint64_t h = hash_bytes(code, size, 0);
  return static_cast<uint32_t>(h ^ (h >> 32));
}

}  // namespace stab::abi

// The note that tells where the table is. Every executable and shared library that szc links holds
// one. The unusual alignment makes the linker give this note a program header of its own, which
// becomes the table's.
extern "C" __attribute__((section(".note.stab"), aligned(16), visibility("hidden")))
const stab::abi::Note stab_note;
