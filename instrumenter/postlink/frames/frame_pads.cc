// SPDX-License-Identifier: MIT
// The pass (instrumenter/pass/pads.h) has added an unused object to frames, so that the size of
// each frame is a 32-bit number. This file removes the object again where that is certainly right,
// and finds the places of the numbers. foreign_pads.cc does what it can for other functions.
#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/frames/frame_numbers.h"
#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

using abi::PadReason;

constexpr std::int64_t static_pad = 144;
constexpr unsigned arguments_in_registers = 1;
constexpr unsigned rarest_on_top = 2;
constexpr unsigned only_spilled_below = 4;

struct Record {
  std::uint64_t address = 0;
  unsigned flags = 0;
  std::optional<Memory> place;  // lea object, %rax
};

std::vector<Record> read_records(const Program& program) {
  std::vector<Record> records;
  const Elf64_Shdr* section = program.file->section(abi::frames_section);
  if (section == nullptr) return records;
  const auto bytes = program.file->contents(*section);
  ByteReader reader(bytes);
  while (!reader.at_end()) {
    Record record;
    record.address = reader.number<std::uint64_t>();
    record.flags = reader.byte();
    const std::uint8_t length = reader.byte();
    if (!reader.ok() || length > bytes.size() - reader.position()) break;
    const auto lea = read_instruction(bytes.subspan(reader.position(), length), 0);
    reader.skip(length);
    if (lea && lea->length == length) record.place = lea->memory;
    records.push_back(record);
  }
  return records;
}

// A record is | address in a function (8) | address of its bytes (8) | their number (4) |, as
// pads.h says.
void read_entry_pads(Program& program, const std::vector<bool>& recursive) {
  const Elf64_Shdr* section = program.file->section(abi::entries_section);
  const Elf64_Shdr* all = program.file->section(abi::pad_bytes_section);
  if (section == nullptr || all == nullptr) return;
  ByteReader reader(program.file->contents(*section));
  while (!reader.at_end()) {
    Function* function = program.find(reader.number<std::uint64_t>());
    const auto start = reader.number<std::uint64_t>();
    const std::uint32_t size = reader.word();
    const bool inside = start >= all->sh_addr && size <= all->sh_size &&
                        start - all->sh_addr <= all->sh_size - size;
    if (function == nullptr || !inside || !reader.ok()) continue;
    const bool modest = recursive[program.index(*function)] || program.small_stacks;
    program.entry_pads.push_back({start, size, modest});
    function->pad.reason = PadReason::taken_on_entry;
    function->pad.most = modest ? abi::modest_pad : abi::largest_pad;
  }
  std::ranges::sort(program.entry_pads, {}, &EntryPad::start);
  const auto [first, last] = std::ranges::unique(
      program.entry_pads, {}, &EntryPad::start);  // the compiler may double an asm
  program.entry_pads.erase(first, last);
}

// Finds functions whose copies may run in a frame that other code made: other functions jump into
// them, or the function's own original does.
std::unordered_set<std::uint64_t> entered_inside(Program& program) {
  const std::unordered_set<std::uint64_t> labelled = functions_with_labels(program);
  std::unordered_set<std::uint64_t> found;
  for (const Function& function : program.functions) {
    if (function.keeps_entry && labelled.contains(function.start)) found.insert(function.start);
    for (const Operand& operand : function.decoded.operands) {
      if (!operand.is_branch() || function.contains(operand.target)) continue;
      const Function* other = program.find(operand.target);
      if (other != nullptr && other->start != operand.target) found.insert(other->start);
    }
  }
  return found;
}

// The bytes that can be taken out of the frame, and the displacements that grow by as much.
struct Removal {
  std::int64_t bytes = 0;
  std::vector<std::uint32_t> raised{};
};

// Decides about one function with records.
class PassPads {
 public:
  PassPads(Program& program, Function& function)
      : program_(program),
        function_(function),
        numbers_(program, std::array{&function}, abi::pad_unit) {}

  void run(const std::vector<const Record*>& records) {
    function_.pad.reason = analyse(records);
    if (function_.pad.reason != PadReason::none) return;
    const Removal removal = removable(records);
    if (removal.bytes != 0) {
      for (const std::uint32_t field : removal.raised) add_to_code(field, removal.bytes);
      change_by(-removal.bytes);
    }
    function_.pad.reason = numbers_.set_pad(abi::largest_pad);
    function_.pad.by_pass = true;
  }

 private:
  [[nodiscard]] const FrameFlow& flow() const { return numbers_.flow(); }

  PadReason analyse(const std::vector<const Record*>& records) {
    if (const PadReason reason = numbers_.follow(); reason != PadReason::none) return reason;
    const unsigned flags = records.front()->flags;
    if (std::ranges::any_of(records, [&](const Record* r) { return r->flags != flags; }))
      return PadReason::records_differ;
    if (flow().shape == FrameShape::plain && (flags & arguments_in_registers) == 0)
      return PadReason::arguments;
    if (flow().size < static_pad) return PadReason::no_number;
    if (const PadReason reason = numbers_.choose(); reason != PadReason::none) return reason;
    return numbers_.room_in_descriptions() < abi::largest_pad ? PadReason::description_width
                                                              : PadReason::none;
  }

  // Returns where the object begins, counted from where the stack pointer is inside.
  [[nodiscard]] std::optional<std::int64_t> place_of(const Record& record) const {
    if (!record.place || record.place->is_indexed()) return std::nullopt;
    if (record.place->base == rbp_number && flow().shape == FrameShape::framed)
      return record.place->displacement + flow().size + flow().upper - flow().base;
    if (record.place->base != rsp_number || flow().shape == FrameShape::framed) return std::nullopt;
    const auto offset = static_cast<std::uint32_t>(record.address - function_.start);
    const std::vector<Instruction>& steps = numbers_.code().steps;
    const auto step = std::ranges::lower_bound(steps, offset, {}, &Instruction::offset);
    if (step == steps.end() || step->offset != offset) return std::nullopt;
    const auto depth = flow().depths[static_cast<std::size_t>(step - steps.begin())];
    if (!depth) return std::nullopt;
    return record.place->displacement - *depth;
  }

  // If only spilled values lie below the object and rbp alone reaches all of them, returns the
  // displacements that must grow with the lower part. Any other access may be to a place that is
  // computed from an object above, and so may an address that the code takes.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> spilled_below(std::int64_t place) const {
    const std::int64_t above = flow().size + flow().upper - flow().base;
    std::vector<std::uint32_t> fields;
    for (const Instruction& step : numbers_.code().steps) {
      if (!step.memory || step.memory->base != rbp_number) continue;
      const Memory& memory = *step.memory;
      const std::int64_t reached = memory.displacement + above;
      if (reached >= place + static_pad) continue;
      const bool is_address = step.does == Instruction::Does::address;
      if (memory.is_indexed() || is_address || reached >= place || memory.field.size != 4)
        return std::nullopt;
      fields.push_back(step.offset + memory.field.at);
    }
    return fields;
  }

  // The object must be the lowest one of the upper part or the highest one of the lower part, with
  // no room for another in between, or everything in between must be able to move.
  [[nodiscard]] Removal removable(const std::vector<const Record*>& records) const {
    const auto place = place_of(*records.front());
    if (!place) return {};
    if (std::ranges::any_of(records, [&](const Record* r) { return place_of(*r) != place; }))
      return {};
    const unsigned flags = records.front()->flags;
    const std::int64_t step = flow().shape == FrameShape::realigned ? flow().alignment : 16;
    const std::int64_t bytes = static_pad / step * step;
    const std::int64_t end = *place + static_pad;
    if (*place < 0 || end > flow().size) return {};
    if (flow().shape != FrameShape::framed) {
      const std::int64_t room = flow().size - end;
      const bool on_top =
          (flags & rarest_on_top) != 0 && room < 16 &&
          std::max(flow().highest_by_rsp, flow().highest_indexed_by_rsp) <= *place &&
          (room == 0 || flow().lowest_indexed_by_rsp >= 0);
      return {.bytes = on_top ? bytes : 0};
    }
    const std::int64_t arguments = std::max<std::int64_t>(1, flow().highest_by_rsp) - 1;
    if (arguments > *place) return {};
    if ((flags & only_spilled_below) != 0) {
      auto raised = spilled_below(*place);
      return raised ? Removal{.bytes = bytes, .raised = std::move(*raised)} : Removal{};
    }
    const bool lowest =
        *place - arguments <= 16 && std::min(flow().lowest_by_rbp, flow().lowest_indexed) >= end;
    return {.bytes = lowest ? bytes : 0};
  }

  void add_to_code(std::uint32_t field, std::int64_t delta) {
    std::uint32_t number = 0;
    std::memcpy(&number, function_.code.data() + field, sizeof number);
    number += static_cast<std::uint32_t>(delta);
    std::memcpy(function_.code.data() + field, &number, sizeof number);
    const std::uint8_t* bytes = function_.code.data() + field;
    program_.patches.push_back({function_.start + field, {bytes, bytes + sizeof number}});
  }

  void change_by(std::int64_t delta) {
    for (const SizeField& field : flow().fields) add_to_code(field.place, delta);
    for (const CfaField& field : numbers_.described(0)) {
      Patch patch{function_.frame.fde + field.place, {}};
      std::uint64_t value = field.value + static_cast<std::uint64_t>(delta);
      for (std::uint32_t i = 0; i < field.width; ++i, value >>= 7)
        patch.bytes.push_back(
            static_cast<std::uint8_t>((value & 0x7f) | (i + 1 < field.width ? 0x80 : 0)));
      program_.patches.push_back(std::move(patch));
    }
  }

  Program& program_;
  Function& function_;
  FrameNumbers numbers_;
};

// The frame description says that somewhere more than the return address is on the stack.
bool changes_stack(const Program& program, const Function& function) {
  return std::ranges::any_of(read_cfa(program, function).rows, [](const CfaRow& row) {
    return row.base != dwarf_rsp || row.offset != std::uint64_t{return_address};
  });
}

}  // namespace

std::unordered_set<std::uint64_t> functions_with_labels(const Program& program) {
  std::unordered_set<std::uint64_t> found;
  const auto note = [&](std::uint32_t label) {
    found.insert(program.functions[program.labels[label].function].start);
  };
  for (const Slot& slot : program.slots) note(slot.label);
  for (const Function& function : program.functions)
    for (const abi::Fixup& fixup : function.fixups)
      if (abi::kind_of(fixup) == abi::FixupKind::label) note(fixup.value);
  return found;
}

void analyse_stack(Program& program) {
  const std::vector<Record> records = read_records(program);
  std::map<std::uint32_t, std::vector<const Record*>> by_function;
  for (const Record& record : records)
    if (const Function* function = program.find(record.address); function != nullptr)
      by_function[program.index(*function)].push_back(&record);
  read_call_types(program);
  const auto entered = entered_inside(program);
  const std::vector<bool> recursive = recursive_functions(program, CallsByPointer::noted);
  read_entry_pads(program, recursive);
  for (Function& function : program.functions)
    function.pad.changes_stack =
        function.movable() && !is_cold_part(function.name) && changes_stack(program, function);
  for (const auto& [index, own] : by_function) {
    Function& function = program.functions[index];
    if (!function.movable()) continue;
    if (entered.contains(function.start)) {
      function.pad.reason = PadReason::entered_inside;
      continue;
    }
    PassPads(program, function).run(own);
    if (recursive[index] || program.small_stacks) keep_modest(function.pad);
  }
  pad_other_compilers(program, entered);
}

std::string_view describe(abi::PadReason reason) {
  switch (reason) {
    case PadReason::none:
      return "";
    case PadReason::calls_nothing:
      return "the function makes no calls";
    case PadReason::no_description:
      return "the function has no frame description";
    case PadReason::unclear_flow:
      return "szc does not understand all paths through the function's code";
    case PadReason::unclear_stack:
      return "the function changes the stack pointer in a way that szc does not understand";
    case PadReason::no_number:
      return "the function's code has no number for the size of its frame that szc could increase";
    case PadReason::description:
      return "the function's code and its frame description disagree";
    case PadReason::outside_access:
      return "the function uses the stack pointer to access memory above its frame";
    case PadReason::mixed_access:
      return "the function may access one part of its frame in two ways, for example through both "
             "the stack pointer and the frame pointer";
    case PadReason::entered_inside:
      return "other code jumps into the function";
    case PadReason::description_width:
      return "with a pad, the size of the frame does not fit in the function's frame description";
    case PadReason::records_differ:
      return "szc's compiler pass stored contradictory records of the function";
    case PadReason::arguments:
      return "the function may have arguments on the stack, but has no frame pointer";
    case PadReason::taken_on_entry:
      return "the function allocates its pad anew at each call";
    case PadReason::left_alone:
      return "szc gives no pads to functions of this kind, or was told to give no pads "
             "(--stab-stack=off)";
    case PadReason::other_tool:
      return "szc did not add a pad when it compiled the function, and code in the program knows "
             "the sizes of frames (a sanitizer, split stacks, a garbage collector)";
    case PadReason::narrow_number:
      return "the number with the size of the function's frame has too few bits for a pad";
    case PadReason::remembers:
      return "the function may keep an address of its frame and expect a later frame there";
    case PadReason::above_pad:
      return "the stack above the place of the pad may hold arguments of a call, or a called "
             "function may use this part of the stack";
    case PadReason::parts:
      return "a part of the function lies elsewhere in the program, and szc cannot give both the "
             "same pad";
    case PadReason::count:
      break;
  }
  return "unknown";
}

}  // namespace stab::instrumenter
