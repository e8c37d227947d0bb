// SPDX-License-Identifier: MIT
// Pads for functions that the pass has not seen. They get pads as far as their numbers are large
// enough, and only if their code shows that it would not notice.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "instrumenter/postlink/decode/stack_switches.h"
#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/frames/frame_numbers.h"
#include "instrumenter/postlink/frames/frames.h"
#include "instrumenter/postlink/program/references.h"

namespace stab::instrumenter {
namespace {

using abi::PadReason;

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
    if (const Function* callee = around(target); callee != nullptr && callee->start != target)
      return anywhere;
    std::int64_t end = 0;
    std::vector<std::uint64_t> waiting{target};
    std::unordered_set<std::uint64_t> seen;
    while (!waiting.empty()) {
      const Function* function = around(waiting.back());
      waiting.pop_back();
      if (function == nullptr || !seen.insert(function->start).second) continue;
      auto found = known_.find(function->start);
      if (found == known_.end()) found = known_.emplace(function->start, look_at(*function)).first;
      end = std::max(end, found->second.end);
      const std::vector<std::uint64_t>& jumps = found->second.jumps;
      waiting.insert(waiting.end(), jumps.begin(), jumps.end());
    }
    return end;
  }

 private:
  struct Reach {
    std::int64_t end = 0;
    std::vector<std::uint64_t> jumps{};  // to code that then has the same caller
  };

  // Returns the function, or the code without a size, that contains this address.
  [[nodiscard]] const Function* around(std::uint64_t address) const {
    for (const auto* list : {&program_.functions, &program_.unsized}) {
      const auto after = std::ranges::upper_bound(*list, address, {}, &Function::start);
      if (after != list->begin() && (after - 1)->contains(address)) return &*(after - 1);
    }
    return nullptr;
  }

  // Whether a jump with this row finds the stack as the code at its target expects it. Functions
  // expect it at their beginning as it is after a call. A part, or the middle of a function, must
  // have the same row.
  [[nodiscard]] bool fits(const CfaRow& row, std::uint64_t target) const {
    const Function* other = around(target);
    if (other == nullptr || (other->start == target && !is_cold_part(other->name))) return true;
    const CfaTable cfa = read_cfa(program_, *other);
    if (cfa.rows.empty() || !other->starts_instruction(target)) return false;
    const CfaRow& there = *cfa.at(static_cast<std::uint32_t>(target - other->start));
    return there.base == row.base && there.offset == row.offset;
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
      if (jumps_on && !function.contains(step.target) && step.target != function.end()) {
        if (!fits(row, step.target)) return {.end = anywhere};
        reach.jumps.push_back(step.target);
      }
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

// Decides about one function and its parts.
class ForeignPads {
 public:
  // The stack is aligned to `alignment` when functions of the program are called.
  ForeignPads(const Program& program, std::span<Function* const> functions, CallersFrames& reaches,
              std::uint32_t alignment)
      : reaches_(reaches), numbers_(program, functions, std::max(alignment, abi::pad_unit)) {}

  // `parts` are the same functions. Returns why they get no pads.
  PadReason run(std::vector<CodePart> parts) {
    const PadReason reason = analyse(parts);
    return reason == PadReason::none ? numbers_.set_pad(numbers_.room()) : reason;
  }

 private:
  [[nodiscard]] const FrameCode& code() const { return numbers_.code(); }
  [[nodiscard]] const std::vector<Instruction>& steps() const { return numbers_.code().steps; }
  [[nodiscard]] const FrameFlow& flow() const { return numbers_.flow(); }

  PadReason analyse(std::vector<CodePart>& parts) {
    if (const PadReason reason = numbers_.follow(); reason != PadReason::none) return reason;
    if (flow().varies) return PadReason::unclear_stack;
    if (has_expressions()) return PadReason::description;
    if (const PadReason reason = numbers_.choose(); reason != PadReason::none) return reason;
    if (numbers_.room() < numbers_.step()) return PadReason::narrow_number;
    if (!upper_part_is_saved() || callees_reach_pad()) return PadReason::above_pad;
    const bool knows_targets =
        std::ranges::any_of(parts, [](const CodePart& part) { return !part.jump_targets.empty(); });
    if (jumps_inside() && !knows_targets) return PadReason::unclear_flow;
    for (std::size_t part = 0; part < parts.size(); ++part) add_ends(part, parts[part]);
    const StackUse use = find_stack_use(parts);
    if (use.remembers) return PadReason::remembers;
    switch (flow().shape) {
      case FrameShape::plain:
        if (!use.is_followed || use.highest >= -flow().upper) return PadReason::arguments;
        if (!agrees(use)) return PadReason::unclear_flow;
        break;
      case FrameShape::framed:
        // Registers that were pushed below the pad move with the stack pointer.
        if (deepest() > flow().upper + flow().size + return_address) return PadReason::description;
        if (reaches_by_rsp() || std::min(flow().lowest_by_rbp, flow().lowest_indexed) < 0)
          return PadReason::mixed_access;
        break;
      case FrameShape::realigned:
        // Code does not know the distance between the two halves, so it reaches neither from the
        // other.
        if (deepest() > flow().upper + return_address) return PadReason::description;
        break;
    }
    return PadReason::none;
  }

  [[nodiscard]] bool has_expressions() const {
    return std::ranges::any_of(code().parts,
                               [](const auto& part) { return part.cfa.has_expressions; });
  }

  [[nodiscard]] std::int64_t deepest() const {
    std::int64_t all = 0;
    for (const FrameCode::Part& part : code().parts) all = std::max(all, part.cfa.deepest);
    return all;
  }

  // Values that were pushed before the frame was made could be arguments of a call. They are not if
  // the description says at each call that they are saved registers.
  [[nodiscard]] bool upper_part_is_saved() const {
    constexpr std::int64_t word = 8;
    for (std::size_t i = 0; i < steps().size(); ++i) {
      if (steps()[i].does != Instruction::Does::call || !flow().depths[i]) continue;
      const std::uint64_t saved = code().row_at(i)->saved;
      if (flow().upper % word != 0 || flow().upper >= 62 * word) return false;
      for (std::int64_t n = 2; n <= flow().upper / word + 1; ++n)
        if ((saved >> n & 1U) == 0) return false;
    }
    return true;
  }

  // Hand-written code may use the frame of its caller. In a framed function, only values that are
  // pushed for calls certainly belong to the lower part.
  [[nodiscard]] bool callees_reach_pad() const {
    const std::int64_t lower = flow().shape == FrameShape::framed ? 0 : flow().size;
    for (std::size_t i = 0; i < steps().size(); ++i)
      if (steps()[i].does == Instruction::Does::call && flow().depths[i] &&
          reaches_.by(steps()[i].target) > return_address + lower + *flow().depths[i])
        return true;
    return false;
  }

  [[nodiscard]] bool jumps_inside() const {
    for (std::size_t i = 0; i < steps().size(); ++i)
      if (steps()[i].does == Instruction::Does::jump_anywhere && flow().depths[i]) return true;
    return false;
  }

  // The stack pointer behind such a call is another one, so the call never returns.
  void add_ends(std::size_t part, CodePart& to) const {
    for (std::size_t i = part == 0 ? 0 : code().parts[part - 1].end; !code().ends_part(i); ++i)
      if (steps()[i].does == Instruction::Does::call &&
          flow().below_entry[i] != flow().below_entry[i + 1])
        to.behind_ends.push_back(steps()[i].end());
  }

  // Whether both analyses found the same stack pointer. One of them may know that control does not
  // come to an instruction.
  [[nodiscard]] bool agrees(const StackUse& use) const {
    if (use.below_entry.size() != flow().below_entry.size()) return false;
    for (std::size_t i = 0; i < use.below_entry.size(); ++i)
      if (use.below_entry[i] && flow().below_entry[i] &&
          use.below_entry[i] != flow().below_entry[i])
        return false;
    return true;
  }

  // In a framed function of the pass, what the stack pointer reaches belongs to the arguments of
  // calls. Nothing is known of other compilers, so only pushes, pops and calls may use it.
  [[nodiscard]] bool reaches_by_rsp() const {
    return std::ranges::any_of(steps(), [](const Instruction& step) {
      if (step.copies() && step.from == rsp_number && step.to != rbp_number) return true;
      if (!step.memory || (step.does == Instruction::Does::address && step.to == rsp_number))
        return false;
      return step.memory->base == rsp_number || step.memory->index == rsp_number;
    });
  }

  CallersFrames& reaches_;
  FrameNumbers numbers_;
};

// Gives pads to functions that the pass has not seen.
class OtherCompilers {
 public:
  OtherCompilers(Program& program, const std::unordered_set<std::uint64_t>& entered)
      : program_(program),
        entered_(entered),
        labelled_(functions_with_labels(program)),
        reaches_(program),
        recursive_(recursive_functions(program, CallsByPointer::all)) {
    read_alone();
    find_cold_parts();
    find_other_entries();
    find_labels();
    knows_frames_ = something_knows_frames();
    for (const Function& function : program.functions)
      alignment_ = std::max(alignment_, function.decoded.needs_alignment);
  }

  // Takes the functions of a group (groups_by_jumps). Parts are in it with the function that jumps
  // to them. If several functions do, the parts belong to none of them.
  void run(const std::vector<Function*>& group) {
    std::vector<Function*> all_in_order;
    std::vector<Function*> parts;
    for (Function* function : group)
      (is_cold_part(function->name) ? parts : all_in_order).push_back(function);
    const std::size_t functions = all_in_order.size();
    all_in_order.insert(all_in_order.end(), parts.begin(), parts.end());
    const std::span<Function* const> all(all_in_order);
    if (functions == 1)
      pad(all);
    else
      for (std::size_t i = 0; i < functions; ++i) pad(all.subspan(i, 1));
    for (Function* part : parts)
      if (is_undecided(*part) && part->decoded.calls) part->pad.reason = PadReason::entered_inside;
  }

 private:
  static bool is_undecided(const Function& function) {
    return function.movable() && function.pad.reason == PadReason::calls_nothing;
  }

  static bool any_calls(std::span<Function* const> functions) {
    return std::ranges::any_of(functions, [](const Function* f) { return f->decoded.calls; });
  }

  // Takes a function, then its parts. If the parts can't get the same pad as the function, they may
  // have frames of their own, and the function alone may get a pad.
  void pad(std::span<Function* const> functions) {
    Function& function = *functions.front();
    if (!is_undecided(function) || !any_calls(functions)) return;
    const std::span<Function* const> alone = functions.first(1);
    const PadReason reason = pad_together(functions);
    const bool retries =
        reason != PadReason::none && functions.size() > 1 && function.decoded.calls;
    function.pad.reason =
        retries && pad_together(alone) == PadReason::none ? PadReason::none : reason;
  }

  PadReason pad_together(std::span<Function* const> functions) {
    if (const PadReason reason = obstacle(functions); reason != PadReason::none) return reason;
    std::vector<CodePart> parts;
    for (const Function* function : functions) parts.push_back(part_of(*function));
    for (std::size_t i = 1; i < parts.size(); ++i) parts[i].is_entered = false;
    const PadReason reason =
        ForeignPads(program_, functions, reaches_, alignment_).run(std::move(parts));
    if (reason == PadReason::none) finish(functions);
    return reason;
  }

  void finish(std::span<Function* const> functions) {
    bool many = program_.small_stacks;
    for (const Function* each : functions) many |= recursive_[program_.index(*each)];
    for (Function* each : functions) {
      if (many) keep_modest(each->pad);
      if (each != functions.front()) each->pad.part_of = program_.index(*functions.front());
    }
    functions.front()->pad.changes_stack = true;
  }

  // The pass saw a function that it noted types of, and gave it no pad for a reason.
  [[nodiscard]] PadReason obstacle(std::span<Function* const> functions) const {
    for (const Function* each : functions)
      if (!program_.pads_for_others || each->is_typed || alone_.contains(each->start))
        return PadReason::left_alone;
    if (knows_frames_) return PadReason::other_tool;
    const Function& function = *functions.front();
    if (functions.size() > 1) return are_only_parts(functions) ? PadReason::none : PadReason::parts;
    if (entered_.contains(function.start) || entered_otherwise_.contains(function.start))
      return PadReason::entered_inside;
    // A jump table of the function may lead to such a part, which uses the frame.
    if (function.decoded.jumps_anywhere && has_cold_part_.contains(function.start))
      return PadReason::unclear_flow;
    return PadReason::none;
  }

  // Whether only jumps of the function and its parts enter a part, and nothing but a copy enters a
  // copy.
  [[nodiscard]] bool are_only_parts(std::span<Function* const> functions) const {
    if (entered_otherwise_.contains(functions.front()->start)) return false;
    if (functions.front()->keeps_entry && original_enters_copies(functions)) return false;
    return std::ranges::all_of(functions.subspan(1), [&](const Function* part) {
      return is_undecided(*part) && !part->address_taken &&
             !entered_otherwise_.contains(part->start);
    });
  }

  // Whether the original of a function that keeps its entry, whose frame has no pad, may jump to a
  // copy of a part, or to a label in a copy.
  [[nodiscard]] bool original_enters_copies(std::span<Function* const> functions) const {
    return std::ranges::any_of(functions, [&](const Function* each) {
      return !each->keeps_entry || labelled_.contains(each->start);
    });
  }

  // Finds what enters a part by a call or from another image, and code that is not in any group and
  // enters a part, or a function behind its start.
  void find_other_entries() {
    const auto note = [this](std::uint64_t target, bool enters_parts_only) {
      const Function* entered = program_.find(target);
      if (entered == nullptr) return;
      if (is_cold_part(entered->name) || (!enters_parts_only && entered->start != target))
        entered_otherwise_.insert(entered->start);
    };
    const auto note_branches = [&](const Function& code) {
      references_of(code, [&](const Reference& reference) {
        if (reference.kind == Reference::Kind::branch) note(reference.first, false);
      });
    };
    for (const Function& code : program_.unsized) note_branches(code);
    for (const Function& function : program_.functions) {
      if (!function.decoded.complete) note_branches(function);
      for (const Operand& operand : function.decoded.operands)
        if (operand.use == Operand::Use::call) note(operand.target, false);
    }
    for (const std::uint64_t place : program_.file->exported_places()) note(place, true);
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
  const std::unordered_set<std::uint64_t> labelled_;  // starts
  CallersFrames reaches_;
  std::vector<bool> recursive_;  // by function
  std::uint32_t alignment_ = 0;
  std::unordered_set<std::uint64_t> alone_;              // starts
  std::unordered_set<std::uint64_t> has_cold_part_;      // starts
  std::unordered_set<std::uint64_t> entered_otherwise_;  // starts
  std::vector<std::vector<std::uint32_t>> labels_;       // by function
  bool knows_frames_ = false;
};

}  // namespace

void pad_other_compilers(Program& program, const std::unordered_set<std::uint64_t>& entered) {
  std::map<std::uint32_t, std::vector<Function*>> groups;
  const std::vector<std::uint32_t> first = groups_by_jumps(program);
  for (Function& function : program.functions)
    groups[first[program.index(function)]].push_back(&function);
  OtherCompilers others(program, entered);
  for (const auto& [_, group] : groups) others.run(group);
}

}  // namespace stab::instrumenter
