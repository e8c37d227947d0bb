// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/frames/stack_flow.h"

#include <algorithm>
#include <unordered_map>

namespace stab::instrumenter {
namespace {

using abi::PadReason;
using Kind = StackStep::Kind;
using Base = StackStep::Base;

struct Flow {
  bool inside = false;
  bool dynamic = false;    // inside, and lowered further by an unknown number
  std::int64_t depth = 0;  // outside: bytes below the return address; inside: bytes below K
  bool operator==(const Flow&) const = default;
};

class Follower {
 public:
  Follower(const std::vector<StackStep>& steps, const Function& function, const CfaTable& cfa)
      : steps_(steps), function_(function), cfa_(cfa), states_(steps.size()) {
    for (std::size_t i = 0; i < steps.size(); ++i) numbers_[steps[i].offset] = i;
    varies_ = std::ranges::any_of(steps, [](const StackStep& s) { return s.kind == Kind::set; });
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
    const StackStep& step = steps_[i];
    apply(i, state);
    if (!ok()) return;
    switch (step.kind) {
      case Kind::end:
        return;
      case Kind::ret:
        if (state.inside || state.depth != 0) fail(PadReason::unclear_flow);
        return;
      case Kind::jump:
        return go_to(step, state);
      case Kind::branch:
        go_to(step, state);
        return add(i + 1, state, jumps_);
      case Kind::call:
        if (i + 1 < steps_.size()) add(i + 1, state, returns_);
        return;
      default:
        return add(i + 1, state, jumps_);
    }
  }

  // Compilers leave jumps to the function's end in blocks that are never reached.
  [[nodiscard]] bool goes_nowhere(const StackStep& step) const {
    return step.target == function_.end() &&
           std::ranges::none_of(function_.fixups, [&](const abi::Fixup& fixup) {
             return abi::offset_of(fixup) - step.offset < step.length;
           });
  }

  void go_to(const StackStep& step, const Flow& state) {
    const std::uint64_t target = step.target;
    if (goes_nowhere(step)) return;
    if (!function_.contains(target)) {
      // A jump to another function must find the stack as on entry.
      if (state.inside || state.depth != 0) fail(PadReason::unclear_flow);
      return;
    }
    const auto found = numbers_.find(static_cast<std::uint32_t>(target - function_.start));
    if (found == numbers_.end()) return fail(PadReason::unclear_flow);
    add(found->second, state, jumps_);
  }

  // Applies what the instruction does to the stack pointer.
  void apply(std::size_t i, Flow& state) {
    const StackStep& step = steps_[i];
    switch (step.kind) {
      case Kind::push:
        return add_to(i, state, -step.value);
      case Kind::pop:
        if (step.pops_base) popped_base(state);
        return add_to(i, state, step.value);
      case Kind::add:
        return add_to(i, state, step.value);
      case Kind::align:
        return align(state, step.value);
      case Kind::save:
        return save(state);
      case Kind::restore:
        return restore(state, step.value);
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
      default:
        return;
    }
  }

  void popped_base(const Flow& state) {
    if (has_base_ && state.inside) fail(PadReason::unclear_stack);
  }

  void add_to(std::size_t i, Flow& state, std::int64_t value) {
    if (state.dynamic) {
      if (value >= result_.size) fail(PadReason::unclear_stack);
      return;
    }
    if (!state.inside) return add_outside(i, state, value);
    const std::int64_t depth = state.depth - value;
    if (depth >= 0) {
      state.depth = depth;
      return;
    }
    // It must remove the whole frame, with what was pushed for a call before.
    if (value != result_.size + state.depth) return fail(PadReason::unclear_stack);
    note_field(i);
    state = {false, false, result_.upper};
  }

  void add_outside(std::size_t i, Flow& state, std::int64_t value) {
    const StackStep& step = steps_[i];
    if (step.kind != Kind::add) {
      state.depth -= value;
      if (state.depth < 0) fail(PadReason::unclear_stack);
      return;
    }
    if (value >= 0) return fail(PadReason::unclear_stack);
    // The number in `lea -K(%rsp), %rsp` would have to become smaller.
    if (step.field == 0 || steps_[i].length < 7 || is_lea(i)) return fail(PadReason::no_number);
    const bool first = !has_size_;
    if (first) {
      has_size_ = true;
      result_.size = -value;
      result_.upper = state.depth;
    }
    if (result_.size != -value || result_.upper != state.depth)
      return fail(PadReason::unclear_stack);
    note_field(i);
    state = {true, false, 0};
  }

  [[nodiscard]] bool is_lea(std::size_t i) const {
    return function_.code[steps_[i].offset + 1] == 0x8d;
  }

  void note_field(std::size_t i) {
    if (steps_[i].field == 0) return fail(PadReason::no_number);
    if (std::ranges::find(result_.fields, steps_[i].field) == result_.fields.end())
      result_.fields.push_back(steps_[i].field);
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
    const CfaRow* row = cfa_.at(steps_[i].offset);
    if (row == nullptr) return false;
    if (row->base == dwarf_rbp)
      return has_base_ && row->offset == static_cast<std::uint64_t>(result_.base) + 8;
    if (row->base != dwarf_rsp || state.dynamic) return false;
    const std::int64_t depth =
        state.inside ? result_.upper + result_.size + state.depth : state.depth;
    return !(state.inside && has_base_) && row->offset == static_cast<std::uint64_t>(depth) + 8;
  }

  [[nodiscard]] std::optional<Flow> state_by_description(std::size_t i) const {
    const CfaRow* row = cfa_.at(steps_[i].offset);
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
    result_.depths.resize(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (!states_[i]) continue;
      const Flow& state = *states_[i];
      if (state.inside && !state.dynamic) result_.depths[i] = state.depth;
      const StackStep& step = steps_[i];
      if (step.base == Base::rsp) check_by_rsp(step, state);
      if (step.base == Base::rbp && has_base_) check_by_rbp(step, state);
    }
    if (result_.shape == FrameShape::framed && result_.highest_by_rsp >= result_.lowest_by_rbp)
      fail(PadReason::mixed_access);
  }

  void check_by_rsp(const StackStep& step, const Flow& state) {
    if (!state.inside) return fail(PadReason::outside_access);
    if (state.dynamic) {
      // In a framed function, only a large displacement reaches the locals from so far down. In a
      // realigned one, another register reaches them.
      if (step.displacement >= 4096 && result_.shape == FrameShape::framed)
        fail(PadReason::mixed_access);
      return;
    }
    const std::int64_t place = step.displacement - state.depth;
    if (step.indexed) {
      result_.highest_indexed_by_rsp = std::max(result_.highest_indexed_by_rsp, place + 1);
      result_.lowest_indexed_by_rsp = std::min(result_.lowest_indexed_by_rsp, place);
      return;
    }
    if (result_.shape != FrameShape::framed && place >= result_.size)
      return fail(PadReason::outside_access);
    result_.highest_by_rsp = std::max(result_.highest_by_rsp, place + 1);
  }

  void check_by_rbp(const StackStep& step, const Flow& state) {
    if (step.displacement >= 0 || !state.inside) return;
    const std::int64_t place = step.displacement + result_.size + result_.upper - result_.base;
    if (step.indexed) {
      result_.lowest_indexed = std::min(result_.lowest_indexed, place);
      return;
    }
    if (result_.shape == FrameShape::realigned && step.displacement < result_.base - result_.upper)
      return fail(PadReason::mixed_access);
    result_.lowest_by_rbp = std::min(result_.lowest_by_rbp, place);
  }

  const std::vector<StackStep>& steps_;
  const Function& function_;
  const CfaTable& cfa_;
  std::unordered_map<std::uint32_t, std::size_t> numbers_;
  std::vector<std::optional<Flow>> states_;
  Pending jumps_;
  Pending returns_;
  bool has_size_ = false;
  bool varies_ = false;  // the function has frames of variable size
  bool has_base_ = false;
  FrameFlow result_;
};

}  // namespace

FrameFlow follow_frame(const std::vector<StackStep>& steps, const Function& function,
                       const CfaTable& cfa) {
  return Follower(steps, function, cfa).run();
}

}  // namespace stab::instrumenter
