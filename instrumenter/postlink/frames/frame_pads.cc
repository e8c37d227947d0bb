// SPDX-License-Identifier: MIT
// The pass (instrumenter/pass/pads.h) has added an unused object to frames, so that the size of
// each frame is a 32-bit number. This file removes the object again where that is certainly right,
// and finds the places of the numbers. Functions of other compilers get pads as far as their
// numbers are large enough, and only if their code shows that it would not notice.
#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "instrumenter/postlink/decode/stack_switches.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

using abi::PadReason;

constexpr std::int64_t static_pad = 144;
constexpr std::int64_t return_address = 8;  // bytes between the CFA and what a function pushes
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

// Finds functions that others jump into: their frame may be another function's.
std::unordered_set<std::uint64_t> entered_inside(Program& program) {
  std::unordered_set<std::uint64_t> found;
  for (const Function& function : program.functions)
    for (const Operand& operand : function.decoded.operands) {
      if (!operand.is_branch() || function.contains(operand.target)) continue;
      const Function* other = program.find(operand.target);
      if (other != nullptr && other->start != operand.target) found.insert(other->start);
    }
  return found;
}

// The bytes that can be taken out of the frame, and the displacements that grow by as much.
struct Removal {
  std::int64_t bytes = 0;
  std::vector<std::uint32_t> raised{};
};

// Finds how far above its return address a function uses the stack, which belongs to its caller.
class CallersFrames {
 public:
  static constexpr std::int64_t anywhere = INT64_MAX;

  explicit CallersFrames(const Program& program) : program_(program) {}

  // Returns the end of what the code at this address accesses there, counted from the return
  // address, or `anywhere` if that is not certain. Functions of other files use only their
  // arguments, as the ABI says, and so do functions whose address the code loads.
  std::int64_t by(std::uint64_t target) {
    if (target == 0) return 0;
    std::int64_t end = 0;
    std::vector<std::uint64_t> waiting{target};
    std::unordered_set<std::uint64_t> seen{target};
    while (!waiting.empty()) {
      const std::uint64_t next = waiting.back();
      waiting.pop_back();
      const Function* function = program_.find_code(next);
      if (function == nullptr && is_inside_function(next)) return anywhere;
      if (function == nullptr) continue;
      auto found = known_.find(next);
      if (found == known_.end()) found = known_.emplace(next, look_at(*function)).first;
      end = std::max(end, found->second.end);
      for (const std::uint64_t jump : found->second.jumps)
        if (seen.insert(jump).second) waiting.push_back(jump);
    }
    return end;
  }

 private:
  struct Reach {
    std::int64_t end = 0;
    std::vector<std::uint64_t> jumps{};  // to code that then has the same caller
  };

  [[nodiscard]] bool is_inside_function(std::uint64_t target) const {
    const auto after = std::ranges::upper_bound(program_.functions, target, {}, &Function::start);
    return after != program_.functions.begin() && (after - 1)->contains(target);
  }

  [[nodiscard]] Reach look_at(const Function& function) const {
    const auto steps = read_instructions(function.code, function.start);
    CfaTable cfa = read_cfa(program_, function);
    if (!function.decoded.complete) return {.end = anywhere};
    // Without a description, the stack pointer must not change.
    if (cfa.rows.empty()) cfa.rows = {{.base = dwarf_rsp, .offset = return_address}};
    Reach reach;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Instruction& step = steps[i];
      if (step.padding) continue;
      const CfaRow& row = *cfa.at(step.offset);
      if (!is_described(step, row, i + 1 < steps.size() ? cfa.at(steps[i + 1].offset) : nullptr))
        return {.end = anywhere};
      reach.end = std::max(reach.end, end_of_access(step, row));
      const bool jumps_on =
          step.does == Instruction::Does::jump || step.does == Instruction::Does::branch;
      if (jumps_on && !function.contains(step.target) && step.target != function.end())
        reach.jumps.push_back(step.target);
    }
    if (function.decoded.open_end) reach.jumps.push_back(function.end());
    return reach;
  }

  // Whether the description knows the place of the stack pointer, as far as it counts from there,
  // before and after the instruction.
  static bool is_described(const Instruction& step, const CfaRow& row, const CfaRow* next) {
    constexpr std::uint64_t far = std::uint64_t{1} << 31;
    const bool by_rsp = row.base == dwarf_rsp;
    if (row.base == CfaRow::unknown) return false;
    if (by_rsp && (row.offset < std::uint64_t{return_address} || row.offset > far)) return false;
    if (step.does == Instruction::Does::return_anywhere) return false;
    if (step.does == Instruction::Does::ret)
      return by_rsp && row.offset == std::uint64_t{return_address};
    if (!by_rsp || next == nullptr || next->base != dwarf_rsp || step.ends_here() ||
        step.does == Instruction::Does::call)
      return true;
    const auto lowered = lowered_by(step);
    return lowered && static_cast<std::int64_t>(next->offset) ==
                          static_cast<std::int64_t>(row.offset) + *lowered;
  }

  // Returns the bytes by which the instruction lowers the stack pointer, if they are known.
  static std::optional<std::int64_t> lowered_by(const Instruction& step) {
    const bool to_rsp = step.to == rsp_number;
    if (step.does == Instruction::Does::push) return *step.number;
    if (step.does == Instruction::Does::pop && !to_rsp) return -*step.number;
    if (to_rsp && step.added()) return -*step.added();
    if (step.does == Instruction::Does::address && to_rsp && step.memory->base == rsp_number &&
        !step.memory->is_indexed() && step.bits == 64)
      return -step.memory->displacement;
    return has(step.writes, rsp_number) ? std::nullopt : std::optional<std::int64_t>(0);
  }

  // Addresses that are computed may be that of the end.
  static std::int64_t end_of_access(const Instruction& step, const CfaRow& row) {
    if (!step.memory || step.memory->base != number_of(row.base)) return 0;
    const std::int64_t place =
        step.memory->displacement - static_cast<std::int64_t>(row.offset) + return_address;
    if (step.memory->is_indexed()) return place < 0 ? 0 : anywhere;
    return step.does == Instruction::Does::address ? place : place + 1;
  }

  // The number that the decoder has for a register of DWARF.
  static std::uint8_t number_of(unsigned dwarf) {
    constexpr std::array<std::uint8_t, register_count> numbers = {
        0, 2, 1, 3, rsi_number, rdi_number, rbp_number, rsp_number, 8, 9, 10, 11, 12, 13, 14, 15};
    return dwarf < numbers.size() ? numbers[dwarf] : no_register;
  }

  const Program& program_;
  std::unordered_map<std::uint64_t, Reach> known_;
};

class PadAnalysis {
 public:
  PadAnalysis(Program& program, Function& function) : program_(program), function_(function) {
    steps_ = read_instructions(function.code, function.start);
    cfa_ = read_cfa(program, function);
  }

  // For a function with records of the pass.
  void run(const std::vector<const Record*>& records) {
    function_.pad.reason = analyse(records);
    if (function_.pad.reason != PadReason::none) return;
    const Removal removal = removable(records);
    if (removal.bytes != 0) {
      for (const std::uint32_t field : removal.raised) add_to_code(field, removal.bytes);
      change_by(-removal.bytes);
    }
    set_pad(abi::largest_pad);
    function_.pad.by_pass = true;
  }

  // For a function of another compiler. `part` is the same function, and the stack is aligned to
  // `alignment` when functions of the program are called.
  void run_without_records(CodePart part, CallersFrames& reaches, std::uint32_t alignment) {
    alignment_ = std::max(alignment, abi::pad_unit);
    function_.pad.reason = analyse_without_records(part, reaches);
    if (function_.pad.reason == PadReason::none) set_pad(room());
  }

 private:
  [[nodiscard]] std::uint32_t step() const {
    return flow_.shape == FrameShape::realigned ? std::max(flow_.alignment, alignment_)
                                                : alignment_;
  }

  void set_pad(std::int64_t most) {
    const auto steps = static_cast<std::uint32_t>(most) / step();
    if (steps == 0) {
      function_.pad.reason = PadReason::narrow_number;
      return;
    }
    function_.pad.step = step();
    function_.pad.most = steps * step();
    function_.pad.above = bytes_above();
    for (const SizeField& field : flow_.fields)
      function_.pad.code_fields.push_back(abi::code_field(field.place, field.width));
    for (const CfaField& field : fields_)
      function_.pad.description_fields.push_back(abi::description_field(field.place, field.width));
  }

  PadReason analyse(const std::vector<const Record*>& records) {
    if (!function_.decoded.complete) return PadReason::unclear_flow;
    if (cfa_.rows.empty()) return PadReason::no_description;
    flow_ = follow_frame(steps_, function_, cfa_);
    if (flow_.reason != PadReason::none) return flow_.reason;
    const unsigned flags = records.front()->flags;
    if (std::ranges::any_of(records, [&](const Record* r) { return r->flags != flags; }))
      return PadReason::records_differ;
    if (flow_.shape == FrameShape::plain && (flags & arguments_in_registers) == 0)
      return PadReason::arguments;
    if (flow_.size < static_pad) return PadReason::no_number;
    const PadReason reason = choose_fields();
    if (reason != PadReason::none) return reason;
    return room_in_description() < abi::largest_pad ? PadReason::description_width
                                                    : PadReason::none;
  }

  PadReason analyse_without_records(CodePart& part, CallersFrames& reaches) {
    if (!function_.decoded.complete) return PadReason::unclear_flow;
    if (cfa_.rows.empty()) return PadReason::no_description;
    flow_ = follow_frame(steps_, function_, cfa_);
    if (flow_.reason != PadReason::none) return flow_.reason;
    if (flow_.varies) return PadReason::unclear_stack;
    if (cfa_.has_expressions) return PadReason::description;
    const PadReason reason = choose_fields();
    if (reason != PadReason::none) return reason;
    if (room() < step()) return PadReason::narrow_number;
    if (!upper_part_is_saved() || callees_reach_pad(reaches)) return PadReason::above_pad;
    if (jumps_inside() && part.jump_targets.empty()) return PadReason::unclear_flow;
    add_ends(part);
    const StackUse use = find_stack_use(part);
    if (use.remembers) return PadReason::remembers;
    switch (flow_.shape) {
      case FrameShape::plain:
        if (!use.is_followed || use.highest >= -flow_.upper) return PadReason::arguments;
        if (!agrees(use)) return PadReason::unclear_flow;
        break;
      case FrameShape::framed:
        // Registers that were pushed below the pad move with the stack pointer.
        if (cfa_.deepest > flow_.upper + flow_.size + return_address) return PadReason::description;
        if (reaches_by_rsp() || std::min(flow_.lowest_by_rbp, flow_.lowest_indexed) < 0)
          return PadReason::mixed_access;
        break;
      case FrameShape::realigned:
        // Code does not know the distance between the parts, so it reaches neither from the other.
        if (cfa_.deepest > flow_.upper + return_address) return PadReason::description;
        break;
    }
    return PadReason::none;
  }

  // Values that were pushed before the frame was made could be arguments of a call. They are not if
  // the description says at each call that they are saved registers.
  [[nodiscard]] bool upper_part_is_saved() const {
    constexpr std::int64_t word = 8;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].does != Instruction::Does::call || !flow_.depths[i]) continue;
      const std::uint64_t saved = cfa_.at(steps_[i].offset)->saved;
      if (flow_.upper % word != 0 || flow_.upper >= 62 * word) return false;
      for (std::int64_t n = 2; n <= flow_.upper / word + 1; ++n)
        if ((saved >> n & 1U) == 0) return false;
    }
    return true;
  }

  // Hand-written code may use the frame of its caller. In a framed function, only values that are
  // pushed for calls certainly belong to the lower part.
  [[nodiscard]] bool callees_reach_pad(CallersFrames& reaches) const {
    const std::int64_t lower = flow_.shape == FrameShape::framed ? 0 : flow_.size;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].does == Instruction::Does::call && flow_.depths[i] &&
          reaches.by(steps_[i].target) > return_address + lower + *flow_.depths[i])
        return true;
    return false;
  }

  [[nodiscard]] bool jumps_inside() const {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].does == Instruction::Does::jump_anywhere && flow_.depths[i]) return true;
    return false;
  }

  // The stack pointer behind such a call is another one, so the call never returns.
  void add_ends(CodePart& part) const {
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i)
      if (steps_[i].does == Instruction::Does::call &&
          flow_.below_entry[i] != flow_.below_entry[i + 1])
        part.behind_ends.push_back(steps_[i].end());
  }

  // Whether both analyses found the same stack pointer. One of them may know that control does not
  // come to an instruction.
  [[nodiscard]] bool agrees(const StackUse& use) const {
    if (use.below_entry.size() != flow_.below_entry.size()) return false;
    for (std::size_t i = 0; i < use.below_entry.size(); ++i)
      if (use.below_entry[i] && flow_.below_entry[i] && use.below_entry[i] != flow_.below_entry[i])
        return false;
    return true;
  }

  // In a framed function of the pass, what the stack pointer reaches belongs to the arguments of
  // calls. Nothing is known of other compilers, so only pushes, pops and calls may use it.
  [[nodiscard]] bool reaches_by_rsp() const {
    return std::ranges::any_of(steps_, [](const Instruction& step) {
      if (step.copies() && step.from == rsp_number && step.to != rbp_number) return true;
      if (!step.memory || (step.does == Instruction::Does::address && step.to == rsp_number))
        return false;
      return step.memory->base == rsp_number || step.memory->index == rsp_number;
    });
  }

  // Returns how large a pad the numbers have room for. The whole frame stays smaller than a page,
  // so that a function that does not touch each page of its stack still meets the guard page.
  [[nodiscard]] std::int64_t room() const {
    constexpr std::int64_t most_narrow = 127;
    std::int64_t least = std::min(abi::largest_pad - flow_.size, room_in_description());
    for (const SizeField& field : flow_.fields)
      if (field.width == 1) least = std::min(least, most_narrow - field.value);
    return std::max<std::int64_t>(least, 0);
  }

  [[nodiscard]] std::int64_t room_in_description() const {
    std::int64_t least = abi::largest_pad;
    for (const CfaField& field : fields_) {
      const std::int64_t largest = (std::int64_t{1} << (7 * field.width)) - 1;
      least = std::min(least, largest - static_cast<std::int64_t>(field.value));
    }
    return std::max<std::int64_t>(least, 0);
  }

  // Chooses the fields in the code and in the description.
  PadReason choose_fields() {
    if (flow_.size > abi::largest_frame) return PadReason::no_number;
    std::ranges::sort(flow_.fields, {}, &SizeField::place);
    if (flow_.fields.size() < 1 || flow_.fields.size() > UINT16_MAX) return PadReason::no_number;
    return choose_description_fields();
  }

  // Returns the bytes from the end of a pad to the CFA. In other shapes it is not known where the
  // lower part ends, as code may reach it by a copy of the stack pointer.
  [[nodiscard]] std::int64_t bytes_above() const {
    return flow_.shape == FrameShape::plain ? return_address + flow_.upper : 0;
  }

  // Chooses the fields that hold while the frame is large.
  PadReason choose_description_fields() {
    if (flow_.shape != FrameShape::plain) return PadReason::none;
    // A pad lies between the CFA and everything in the lower part.
    if (cfa_.has_expressions || cfa_.deepest > flow_.upper + return_address)
      return PadReason::description;
    for (const CfaField& field : cfa_.fields) {
      const auto value = static_cast<std::int64_t>(field.value);
      if (value <= flow_.upper + return_address) continue;
      if (value < flow_.upper + return_address + flow_.size) return PadReason::description;
      if (field.width > 4) return PadReason::description_width;
      fields_.push_back(field);
    }
    return fields_.empty() ? PadReason::description : PadReason::none;
  }

  // Returns where the object begins, counted from where the stack pointer is inside.
  [[nodiscard]] std::optional<std::int64_t> place_of(const Record& record) const {
    if (!record.place || record.place->is_indexed()) return std::nullopt;
    if (record.place->base == rbp_number && flow_.shape == FrameShape::framed)
      return record.place->displacement + flow_.size + flow_.upper - flow_.base;
    if (record.place->base != rsp_number || flow_.shape == FrameShape::framed) return std::nullopt;
    const auto offset = static_cast<std::uint32_t>(record.address - function_.start);
    const auto step = std::ranges::lower_bound(steps_, offset, {}, &Instruction::offset);
    if (step == steps_.end() || step->offset != offset) return std::nullopt;
    const auto depth = flow_.depths[static_cast<std::size_t>(step - steps_.begin())];
    if (!depth) return std::nullopt;
    return record.place->displacement - *depth;
  }

  // If only spilled values lie below the object and rbp alone reaches all of them, returns the
  // displacements that must grow with the lower part. Any other access may be to a place that is
  // computed from an object above, and so may an address that the code takes.
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> spilled_below(std::int64_t place) const {
    const std::int64_t above = flow_.size + flow_.upper - flow_.base;
    std::vector<std::uint32_t> fields;
    for (const Instruction& step : steps_) {
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
    const std::int64_t step = flow_.shape == FrameShape::realigned ? flow_.alignment : 16;
    const std::int64_t bytes = static_pad / step * step;
    const std::int64_t end = *place + static_pad;
    if (*place < 0 || end > flow_.size) return {};
    if (flow_.shape != FrameShape::framed) {
      const std::int64_t room = flow_.size - end;
      const bool on_top = (flags & rarest_on_top) != 0 && room < 16 &&
                          std::max(flow_.highest_by_rsp, flow_.highest_indexed_by_rsp) <= *place &&
                          (room == 0 || flow_.lowest_indexed_by_rsp >= 0);
      return {.bytes = on_top ? bytes : 0};
    }
    const std::int64_t arguments = std::max<std::int64_t>(1, flow_.highest_by_rsp) - 1;
    if (arguments > *place) return {};
    if ((flags & only_spilled_below) != 0) {
      auto raised = spilled_below(*place);
      return raised ? Removal{.bytes = bytes, .raised = std::move(*raised)} : Removal{};
    }
    const bool lowest =
        *place - arguments <= 16 && std::min(flow_.lowest_by_rbp, flow_.lowest_indexed) >= end;
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
    for (const SizeField& field : flow_.fields) add_to_code(field.place, delta);
    for (const CfaField& field : fields_) {
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
  std::vector<Instruction> steps_;
  CfaTable cfa_;
  FrameFlow flow_;
  std::vector<CfaField> fields_;
  std::uint32_t alignment_ = abi::pad_unit;
};

// The frame description says that somewhere more than the return address is on the stack.
bool changes_stack(const Program& program, const Function& function) {
  return std::ranges::any_of(read_cfa(program, function).rows, [](const CfaRow& row) {
    return row.base != dwarf_rsp || row.offset != std::uint64_t{return_address};
  });
}

// Gives pads to functions that the pass has not seen.
class OtherCompilers {
 public:
  OtherCompilers(Program& program, const std::unordered_set<std::uint64_t>& entered)
      : program_(program), entered_(entered), reaches_(program) {
    read_alone();
    find_cold_parts();
    find_labels();
    knows_frames_ = something_knows_frames();
    for (const Function& function : program.functions)
      alignment_ = std::max(alignment_, function.decoded.needs_alignment);
  }

  // Returns false if the function is none of these.
  bool run(Function& function) {
    if (!function.movable() || function.pad.reason != PadReason::calls_nothing ||
        !function.decoded.calls)
      return false;
    const PadReason reason = obstacle(function);
    if (reason == PadReason::none)
      PadAnalysis(program_, function).run_without_records(part_of(function), reaches_, alignment_);
    else
      function.pad.reason = reason;
    return true;
  }

 private:
  // The pass saw a function that it noted types of, and gave it no pad for a reason.
  [[nodiscard]] PadReason obstacle(const Function& function) const {
    if (!program_.pads_for_others || function.is_typed || alone_.contains(function.start))
      return PadReason::left_alone;
    if (knows_frames_) return PadReason::other_tool;
    if (entered_.contains(function.start)) return PadReason::entered_inside;
    // A jump table of the function may lead to such a part, which uses the frame.
    if (function.decoded.jumps_anywhere && has_cold_part_.contains(function.start))
      return PadReason::unclear_flow;
    return PadReason::none;
  }

  void read_alone() {
    const Elf64_Shdr* section = program_.file->section(abi::alone_section);
    if (section == nullptr) return;
    ByteReader reader(program_.file->contents(*section));
    while (!reader.at_end())
      if (const Function* function = program_.find(reader.number<std::uint64_t>()))
        alone_.insert(function->start);
  }

  // The names tell which parts belong together. A function may have several.
  void find_cold_parts() {
    std::unordered_set<std::string_view> names;
    for (const Elf64_Sym& symbol : program_.file->symbols()) {
      const std::string_view name = program_.file->name(symbol);
      if (const auto end = name.find(".cold"); end != std::string_view::npos)
        names.insert(name.substr(0, end));
    }
    for (const Elf64_Sym& symbol : program_.file->symbols())
      if (names.contains(program_.file->name(symbol))) has_cold_part_.insert(symbol.st_value);
  }

  void find_labels() {
    labels_.resize(program_.functions.size());
    for (std::uint32_t i = 0; i < program_.labels.size(); ++i)
      labels_[program_.labels[i].function].push_back(i);
  }

  // Whether something in the program knows the sizes of frames, or relies on them.
  [[nodiscard]] bool something_knows_frames() const {
    // Sanitizers that mark places of frames, split stacks, and tables for garbage collection.
    constexpr std::array<std::string_view, 6> names = {"__asan_init",     "__hwasan_init",
                                                       "__msan_init",     "__morestack",
                                                       "caml_frametable", "__LLVM_StackMaps"};
    return program_.file->section(".llvm_stackmaps") != nullptr ||
           std::ranges::any_of(program_.file->symbols(), [&](const Elf64_Sym& symbol) {
             return std::ranges::find(names, program_.file->name(symbol)) != names.end();
           });
  }

  [[nodiscard]] CodePart part_of(const Function& function) const {
    CodePart part{.start = function.start, .code = function.code};
    part.jump_targets = function.table_targets;
    part.behind_ends = function.behind_ends;
    for (const Operand& operand : function.decoded.operands)
      if (operand.use == Operand::Use::call && leaves_rax(operand.target))
        part.behind_keepers.push_back(operand.offset + operand.size);
    const auto& sites = function.exceptions.call_sites;
    part.landings_known = function.frame.lsda == 0 || !sites.empty();
    for (const CallSite& site : sites)
      if (site.label)
        part.landings.push_back(
            {site.start, site.start + site.length, program_.labels[*site.label].offset});
    for (const std::uint32_t label : labels_[program_.index(function)])
      if (std::ranges::none_of(sites, [&](const CallSite& s) { return s.label == label; }))
        part.jump_targets.push_back(program_.labels[label].offset);
    return part;
  }

  // A compiler sees that too, in a function of the same file.
  [[nodiscard]] bool leaves_rax(std::uint64_t target) const {
    const Function* callee = program_.find_code(target);
    return callee != nullptr && !(callee->decoded.complete && has(callee->decoded.written, 0));
  }

  Program& program_;
  const std::unordered_set<std::uint64_t>& entered_;
  CallersFrames reaches_;
  std::uint32_t alignment_ = 0;
  std::unordered_set<std::uint64_t> alone_;          // starts
  std::unordered_set<std::uint64_t> has_cold_part_;  // starts
  std::vector<std::vector<std::uint32_t>> labels_;   // by function
  bool knows_frames_ = false;
};

void keep_modest(StackPad& pad) {
  pad.most = std::min(pad.most, std::max(abi::modest_pad / pad.step, 1u) * pad.step);
}

}  // namespace

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
    PadAnalysis(program, function).run(own);
    if (recursive[index] || program.small_stacks) keep_modest(function.pad);
  }
  const std::vector<bool> maybe_recursive = recursive_functions(program, CallsByPointer::all);
  OtherCompilers others(program, entered);
  for (Function& function : program.functions)
    if (!by_function.contains(program.index(function)) && others.run(function) &&
        (maybe_recursive[program.index(function)] || program.small_stacks))
      keep_modest(function.pad);
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
    case PadReason::count:
      break;
  }
  return "unknown";
}

}  // namespace stab::instrumenter
