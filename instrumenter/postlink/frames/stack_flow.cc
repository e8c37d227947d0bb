// SPDX-License-Identifier: MIT
#include <algorithm>
#include <unordered_map>

#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

using abi::PadReason;
using Does = Instruction::Does;

// The change of the frame's size by an instruction.
struct Effect {
  enum class Kind : std::uint8_t {
    none,
    push,      // or pop: adds `value` to the stack pointer
    add,       // adds `value` to the stack pointer
    align,     // rounds the stack pointer to a multiple of `value`
    save,      // rbp = rsp
    restore,   // rsp = rbp + `value`
    leave,     // rsp = rbp, pop rbp
    set,       // rsp = anything
    set_base,  // rbp = anything
    unknown,   // does something else to the stack pointer
  };
  Kind kind = Kind::none;
  std::int64_t value = 0;
  SizeField field{};  // its width is 0 if the runtime cannot enlarge the number
};
using Kind = Effect::Kind;

// A negative number would have to become smaller: compilers write `add $-128, %rsp` because 128 does
// not fit in 8 bits.
SizeField size_field(const Instruction& step, NumberField field, std::int64_t encoded) {
  if ((field.size != 1 && field.size != 4) || encoded <= 0) return {};
  return {step.offset + field.at, field.size, encoded};
}

Effect effect_of_address(const Instruction& step) {
  const Memory& memory = *step.memory;
  const bool by_rsp = memory.base == rsp_number;
  if (memory.is_indexed() || (!by_rsp && memory.base != rbp_number)) return {Kind::set};
  return {by_rsp ? Kind::add : Kind::restore, memory.displacement,
          size_field(step, memory.field, memory.displacement)};
}

Effect effect_of_value(const Instruction& step) {
  const bool to_rsp = step.to == rsp_number && step.bits == 64;
  if (to_rsp && step.copies()) return {step.from == rbp_number ? Kind::restore : Kind::set};
  if (step.copies() && step.from == rsp_number)
    return {step.to == rbp_number ? Kind::save : Kind::none};
  if (to_rsp && step.does == Does::address) return effect_of_address(step);
  if (to_rsp && step.added())
    return {Kind::add, *step.added(), size_field(step, step.number_field, *step.number)};
  if (to_rsp && step.alignment()) return {Kind::align, *step.alignment()};
  if (to_rsp && step.writes == bit(rsp_number)) return {Kind::set};
  if (has(step.reads | step.writes, rsp_number)) return {Kind::unknown};
  return {has(step.writes, rbp_number) ? Kind::set_base : Kind::none};
}

Effect effect_of(const Instruction& step) {
  switch (step.does) {
    case Does::nothing:
    case Does::call:
    case Does::jump:
    case Does::branch:
    case Does::jump_anywhere:
    case Does::ret:
    case Does::end:
      return {};
    case Does::push:
      return {step.from == rsp_number ? Kind::unknown : Kind::push, -*step.number};
    case Does::pop:
      return {step.to == rsp_number ? Kind::unknown : Kind::push, *step.number};
    case Does::leave:
      return {Kind::leave};
    default:
      return effect_of_value(step);
  }
}

struct Flow {
  bool inside = false;
  bool dynamic = false;    // inside, and lowered further by an unknown number
  std::int64_t depth = 0;  // outside: bytes below the return address; inside: bytes below K
  bool operator==(const Flow&) const = default;
};

class Follower {
 public:
  explicit Follower(const FrameCode& code)
      : code_(code), steps_(code.steps), states_(code.steps.size()) {
    for (std::size_t i = 0; i < steps_.size(); ++i) numbers_[steps_[i].address] = i;
    varies_ = std::ranges::any_of(
        steps_, [](const Instruction& step) { return effect_of(step).kind == Kind::set; });
  }

  FrameFlow run() {
    add(0, Flow{}, jumps_);
    work();
    // Only a jump through a table or an exception can reach the rest.
    for (std::size_t i = 0; ok() && i < steps_.size(); ++i) {
      if (states_[i] || steps_[i].padding) continue;
      if (const auto state = state_by_description(i)) {
        add(i, *state, jumps_);
        work();
      } else {
        fail(PadReason::unclear_flow);
      }
    }
    if (ok() && !has_size_) fail(PadReason::no_number);
    if (ok() && !all_agree()) fail(PadReason::description);
    if (ok()) check_accesses();
    return std::move(result_);
  }

 private:
  using Pending = std::vector<std::pair<std::size_t, Flow>>;

  [[nodiscard]] bool ok() const { return result_.reason == PadReason::none; }
  void fail(PadReason reason) {
    if (ok()) result_.reason = reason;
  }

  void add(std::size_t step, const Flow& state, Pending& pending) {
    if (step >= steps_.size()) return fail(PadReason::unclear_flow);
    pending.emplace_back(step, state);
  }

  void work() {
    while (ok() && !(jumps_.empty() && returns_.empty())) {
      const bool sure = !jumps_.empty();
      Pending& pending = sure ? jumps_ : returns_;
      const auto [step, state] = pending.back();
      pending.pop_back();
      // A call that never returns may stand before any code.
      if (!sure && (states_[step] || !agrees(step, state))) continue;
      visit(step, state);
    }
  }

  void visit(std::size_t i, const Flow& state) {
    if (states_[i]) {
      if (*states_[i] == state) return;
      // On only one of the ways to this block, the frame has a variable part.
      if (states_[i]->inside && state.inside && result_.shape != FrameShape::plain && has_base_) {
        if (states_[i]->dynamic) return;
        states_[i] = Flow{true, true, 0};
        return go_on(i);
      }
      return fail(PadReason::unclear_flow);
    }
    if (!agrees(i, state)) return fail(PadReason::description);
    states_[i] = state;
    go_on(i);
  }

  void go_on(std::size_t i) {
    Flow state = *states_[i];
    const Instruction& step = steps_[i];
    apply(i, state);
    if (!ok()) return;
    switch (step.does) {
      case Does::end:
        return;
      case Does::jump_anywhere:
        jumps_by_table_ |= state.inside || state.depth != 0;
        return;
      case Does::ret:
        if (state.inside || state.depth != 0) fail(PadReason::unclear_flow);
        return;
      case Does::jump:
        return go_to(i, state);
      case Does::branch:
        go_to(i, state);
        return run_on(i, state);
      case Does::call:
        if (!code_.ends_part(i)) add(i + 1, state, returns_);
        return;
      default:
        return run_on(i, state);
    }
  }

  void run_on(std::size_t i, const Flow& state) {
    if (code_.ends_part(i)) return fail(PadReason::unclear_flow);
    add(i + 1, state, jumps_);
  }

  // Compilers leave jumps to the function's end in blocks that are never reached.
  [[nodiscard]] bool goes_nowhere(std::size_t i) const {
    const Instruction& step = steps_[i];
    const Function& function = *code_.parts[code_.part_at(i)].function;
    return step.target == function.end() &&
           std::ranges::none_of(function.fixups, [&](const abi::Fixup& fixup) {
             return abi::offset_of(fixup) - step.offset < step.length;
           });
  }

  void go_to(std::size_t i, const Flow& state) {
    const std::uint64_t target = steps_[i].target;
    if (goes_nowhere(i)) return;
    if (const auto found = numbers_.find(target); found != numbers_.end())
      return add(found->second, state, jumps_);
    // A jump to another function must find the stack as on entry.
    const bool leaves = std::ranges::none_of(code_.parts, [target](const FrameCode::Part& part) {
      return part.function->contains(target);
    });
    if (!leaves || state.inside || state.depth != 0) fail(PadReason::unclear_flow);
  }

  // Applies what the instruction does to the stack pointer.
  void apply(std::size_t i, Flow& state) {
    const Instruction& step = steps_[i];
    Effect effect = effect_of(step);
    effect.field.part = code_.part_at(i);
    switch (effect.kind) {
      case Kind::none:
        return;
      case Kind::push:
        if (step.to == rbp_number) popped_base(state);
        return add_to(effect, state);
      case Kind::add:
        return add_to(effect, state);
      case Kind::align:
        return align(state, effect.value);
      case Kind::save:
        return save(state);
      case Kind::restore:
        return restore(state, effect.value);
      case Kind::leave:
        restore(state, 0);
        if (ok()) state.depth -= 8;
        return;
      case Kind::set:
        if (!has_base_ || !state.inside) return fail(PadReason::unclear_stack);
        state = {true, true, 0};
        return;
      case Kind::set_base:
        if (has_base_) fail(PadReason::unclear_stack);
        return;
      case Kind::unknown:
        return fail(PadReason::unclear_stack);
    }
  }

  void popped_base(const Flow& state) {
    if (has_base_ && state.inside) fail(PadReason::unclear_stack);
  }

  void add_to(const Effect& effect, Flow& state) {
    if (state.dynamic) {
      if (effect.value >= result_.size) fail(PadReason::unclear_stack);
      return;
    }
    if (!state.inside) return add_outside(effect, state);
    const std::int64_t depth = state.depth - effect.value;
    if (depth >= 0) {
      state.depth = depth;
      return;
    }
    // It must remove the whole frame, with what was pushed for a call before.
    if (effect.value != result_.size + state.depth) return fail(PadReason::unclear_stack);
    note_field(effect);
    state = {false, false, result_.upper};
  }

  void add_outside(const Effect& effect, Flow& state) {
    const std::int64_t value = effect.value;
    if (effect.kind != Kind::add) {
      state.depth -= value;
      if (state.depth < 0) fail(PadReason::unclear_stack);
      return;
    }
    if (value >= 0) return fail(PadReason::unclear_stack);
    if (effect.field.width == 0) return fail(PadReason::no_number);
    const bool first = !has_size_;
    if (first) {
      has_size_ = true;
      result_.size = -value;
      result_.upper = state.depth;
    }
    if (result_.size != -value || result_.upper != state.depth)
      return fail(PadReason::unclear_stack);
    note_field(effect);
    state = {true, false, 0};
  }

  void note_field(const Effect& effect) {
    if (effect.field.width == 0) return fail(PadReason::no_number);
    const auto is_same = [&effect](const SizeField& field) {
      return field.part == effect.field.part && field.place == effect.field.place;
    };
    if (std::ranges::none_of(result_.fields, is_same)) result_.fields.push_back(effect.field);
  }

  void align(Flow& state, std::int64_t to) {
    if (!has_base_) return fail(PadReason::unclear_stack);
    if (state.inside) {
      state = {true, true, 0};
      return;
    }
    if (to > 4096 || to < 16) return fail(PadReason::unclear_stack);
    result_.shape = FrameShape::realigned;
    result_.alignment = static_cast<std::uint32_t>(to);
  }

  // In the prologue, this makes rbp the frame pointer. Later, rbp may be a register like any
  // other.
  void save(const Flow& state) {
    if (state.inside && !has_base_) return;
    if (state.inside || (has_base_ && state.depth != result_.base))
      return fail(PadReason::unclear_stack);
    has_base_ = true;
    result_.base = state.depth;
    if (result_.shape == FrameShape::plain) result_.shape = FrameShape::framed;
  }

  void restore(Flow& state, std::int64_t value) {
    if (!has_base_) return fail(PadReason::unclear_stack);
    const std::int64_t depth = result_.base - value;
    if (depth < result_.base || (has_size_ && depth > result_.upper))
      return fail(PadReason::unclear_stack);
    state = {false, false, depth};
  }

  // Whether the description says the same.
  [[nodiscard]] bool agrees(std::size_t i, const Flow& state) const {
    const CfaRow* row = code_.row_at(i);
    if (row == nullptr) return false;
    if (row->base == dwarf_rbp)
      return has_base_ && row->offset == static_cast<std::uint64_t>(result_.base) + 8;
    if (row->base != dwarf_rsp || state.dynamic) return false;
    const std::int64_t depth =
        state.inside ? result_.upper + result_.size + state.depth : state.depth;
    return !(state.inside && has_base_) && row->offset == static_cast<std::uint64_t>(depth) + 8;
  }

  // Looks again at the steps that were visited before it was known that rbp is the frame pointer.
  [[nodiscard]] bool all_agree() const {
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (states_[i] && !agrees(i, *states_[i])) return false;
    return true;
  }

  [[nodiscard]] std::optional<Flow> state_by_description(std::size_t i) const {
    const CfaRow* row = code_.row_at(i);
    if (row == nullptr || !has_size_) return std::nullopt;
    if (row->base == dwarf_rbp && has_base_) return Flow{true, varies_, 0};
    if (row->base != dwarf_rsp || has_base_) return std::nullopt;
    const auto depth = static_cast<std::int64_t>(row->offset) - 8;
    if (depth >= result_.upper + result_.size)
      return Flow{true, false, depth - result_.upper - result_.size};
    if (depth > result_.upper || depth < 0) return std::nullopt;
    return Flow{false, false, depth};
  }

  void check_accesses() {
    result_.varies = varies_;
    result_.depths.resize(steps_.size());
    result_.below_entry.resize(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!states_[i]) continue;
      const Flow& state = *states_[i];
      if (state.inside && !state.dynamic) result_.depths[i] = state.depth;
      if (!state.dynamic)
        result_.below_entry[i] =
            state.inside ? result_.upper + result_.size + state.depth : state.depth;
      result_.varies |= state.dynamic;
      result_.deep_outside |= !state.inside && state.depth > result_.upper;
      const Instruction& step = steps_[i];
      const bool moves_rsp = step.does == Does::address && step.to == rsp_number;
      if (!step.memory || moves_rsp) continue;
      if (step.memory->base == rsp_number) check_by_rsp(step, state);
      if (step.memory->base == rbp_number && has_base_) check_by_rbp(*step.memory, state);
    }
    // For code that a table or an exception leads to, only the distance in the description tells
    // whether it is inside. Deep outside, the distance may be the same.
    if (result_.shape == FrameShape::plain && result_.deep_outside && has_hidden_entries())
      fail(PadReason::description);
    if (result_.shape == FrameShape::framed && result_.highest_by_rsp >= result_.lowest_by_rbp)
      fail(PadReason::mixed_access);
  }

  [[nodiscard]] bool has_hidden_entries() const {
    return jumps_by_table_ || std::ranges::any_of(code_.parts, [](const FrameCode::Part& part) {
             return std::ranges::any_of(
                 part.function->exceptions.call_sites,
                 [](const CallSite& site) { return site.label.has_value(); });
           });
  }

  void check_by_rsp(const Instruction& step, const Flow& state) {
    if (!state.inside) return fail(PadReason::outside_access);
    // The address of what a pop stores counts from the stack pointer after the pop.
    const std::int64_t displacement =
        step.memory->displacement + (step.does == Does::pop ? *step.number : 0);
    if (state.dynamic) {
      // In a framed function, only a large displacement reaches the locals from so far down. In a
      // realigned one, another register reaches them.
      if (displacement >= 4096 && result_.shape == FrameShape::framed)
        fail(PadReason::mixed_access);
      return;
    }
    const std::int64_t place = displacement - state.depth;
    if (step.memory->is_indexed()) {
      result_.highest_indexed_by_rsp = std::max(result_.highest_indexed_by_rsp, place + 1);
      result_.lowest_indexed_by_rsp = std::min(result_.lowest_indexed_by_rsp, place);
      return;
    }
    if (result_.shape != FrameShape::framed && place >= result_.size)
      return fail(PadReason::outside_access);
    result_.highest_by_rsp = std::max(result_.highest_by_rsp, place + 1);
  }

  void check_by_rbp(const Memory& memory, const Flow& state) {
    if (memory.displacement >= 0 || !state.inside) return;
    const std::int64_t place = memory.displacement + result_.size + result_.upper - result_.base;
    if (memory.is_indexed()) {
      result_.lowest_indexed = std::min(result_.lowest_indexed, place);
      return;
    }
    if (result_.shape == FrameShape::realigned &&
        memory.displacement < result_.base - result_.upper)
      return fail(PadReason::mixed_access);
    result_.lowest_by_rbp = std::min(result_.lowest_by_rbp, place);
  }

  const FrameCode& code_;
  const std::vector<Instruction>& steps_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;  // of steps, by address
  std::vector<std::optional<Flow>> states_;
  Pending jumps_;
  Pending returns_;
  bool has_size_ = false;
  bool varies_ = false;  // the function has frames of variable size
  bool has_base_ = false;
  bool jumps_by_table_ = false;  // or by a pointer, with something on the stack
  FrameFlow result_;
};

}  // namespace

FrameCode::FrameCode(const Program& program, std::span<Function* const> functions) {
  for (Function* function : functions) {
    const auto own = read_instructions(function->code, function->start);
    steps.insert(steps.end(), own.begin(), own.end());
    parts.push_back({function, read_cfa(program, *function), steps.size()});
  }
}

std::size_t FrameCode::part_at(std::size_t step) const {
  std::size_t part = 0;
  while (step >= parts[part].end) ++part;
  return part;
}

const CfaRow* FrameCode::row_at(std::size_t step) const {
  return parts[part_at(step)].cfa.at(steps[step].offset);
}

bool FrameCode::ends_part(std::size_t step) const {
  return step + 1 == parts[part_at(step)].end;
}

FrameFlow follow_frame(const FrameCode& code) {
  return Follower(code).run();
}

}  // namespace stab::instrumenter
