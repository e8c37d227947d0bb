// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/switches.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "instrumenter/postlink/decode/stack_effects.h"

namespace stab::instrumenter {
namespace {

using Does = Instruction::Does;

class Search {
 public:
  Search(std::span<const CodePart> parts, bool compiled) : compiled_(compiled) {
    for (const CodePart& part : parts) {
      const std::size_t first = code_.size();
      for_each_instruction(part.code, part.start,
                           [&](const Instruction& next) { code_.push_back(next); });
      if (first == code_.size()) continue;
      starts_.push_back(first);
      if (part.is_entered) entries_.push_back(first);
      has_functions_ |= part.has_functions;
    }
    states_.resize(code_.size());
    waiting_.resize(code_.size());
    for (std::size_t i = 0; i < code_.size(); ++i) numbers_[code_[i].address] = i;
    for (const CodePart& part : parts)
      for (const std::uint32_t offset : part.jump_targets)
        if (const auto found = numbers_.find(part.start + offset); found != numbers_.end())
          targets_.push_back(found->second);
    std::ranges::sort(targets_);
    find_ends(parts);
    for (const CodePart& part : parts)
      for (const Landing& landing : part.landings)
        if (const auto pad = numbers_.find(part.start + landing.pad); pad != numbers_.end())
          landings_.push_back({part.start + landing.begin, part.start + landing.end, pad->second});
  }

  std::optional<std::uint64_t> run() {
    for (const std::size_t entry : entries_) reach(entry, state_on_entry());
    work();
    run_on_behind_ends();
    // Only a jump through a table or an exception can reach the rest.
    for (std::size_t i = 0; i < code_.size(); ++i) {
      if (states_[i] || code_[i].padding || is_dead(i)) continue;
      seeds_.push_back(i);
      reach(i, state_of_seeds(i));
      work();
    }
    return found_;
  }

 private:
  void find_ends(std::span<const CodePart> parts) {
    for (const CodePart& part : parts)
      for (const std::uint32_t offset : part.behind_ends)
        if (const auto found = numbers_.find(part.start + offset); found != numbers_.end())
          behind_ends_.push_back(found->second);
    for (const CodePart& part : parts)
      if (part.ends_in_nothing) void_ends_.push_back(part.start + part.code.size());
    std::ranges::sort(void_ends_);
    std::ranges::sort(behind_ends_);
    all_jumps_known_ = std::ranges::all_of(parts, &CodePart::landings_known) &&
                       std::ranges::none_of(code_, [](const Instruction& next) {
                         return next.does == Does::jump_anywhere;
                       });
  }

  [[nodiscard]] bool is_behind_end(std::size_t i) const {
    return std::ranges::binary_search(behind_ends_, i);
  }

  // clang leaves a jump to the function's end behind such a call. Neither a table nor an exception
  // leads to that jump.
  [[nodiscard]] bool is_dead(std::size_t i) const {
    return all_jumps_known_ && is_behind_end(i) && code_[i].does == Does::jump;
  }

  void reach(std::size_t i, const StackState& state) {
    if (i >= code_.size()) return;
    if (!states_[i]) {
      states_[i] = state;
    } else {
      StackState joined = *states_[i];
      joined.join(state);
      if (joined == *states_[i]) return;
      states_[i] = joined;
    }
    if (waiting_[i]) return;
    waiting_[i] = true;
    pending_.push_back(i);
  }

  void work() {
    while (!pending_.empty()) {
      const std::size_t i = pending_.back();
      pending_.pop_back();
      waiting_[i] = false;
      go_on(i);
    }
  }

  // Code behind a call that never returns is reached in another way, or not at all. If nothing
  // reaches it, treat the call as if it returned.
  void run_on_behind_ends() {
    while (!ending_calls_.empty()) {
      const auto [call, state] = ending_calls_.back();
      ending_calls_.pop_back();
      if (call + 1 >= code_.size() || states_[call + 1]) continue;
      run_on(call, state);
      work();
    }
  }

  void report(std::size_t i) {
    if (!found_ || code_[i].address < *found_) found_ = code_[i].address;
  }

  void go_on(std::size_t i) {
    const Instruction& next = code_[i];
    StackState state = *states_[i];
    if (!carry_out(next, static_cast<std::uint32_t>(i) + 1, compiled_, state)) {
      report(i);
      state.rsp() = StackValue::somewhere(StackValue::no_base);
    }
    switch (next.does) {
      case Does::end:
        return;
      case Does::ret:
        return leave(i, state);
      case Does::jump:
        return go_to(i, state);
      case Does::branch:
        go_to(i, state);
        return run_on(i, state);
      case Does::jump_anywhere:
        return jump_anywhere(state);
      case Does::call:
        call_inside(i, *states_[i]);
        land(next.address, state);
        add_to_pool(call_pool_, state);
        if (is_behind_end(i + 1))
          note_ending_call(i, state);
        else
          run_on(i, state);
        return;
      default:
        return run_on(i, state);
    }
  }

  void run_on(std::size_t i, const StackState& state) {
    if (i + 1 < code_.size() && code_[i + 1].address == code_[i].address + code_[i].length)
      reach(i + 1, state);
  }

  // On return, the stack pointer must be the one on entry plus a number. It must not be lower by
  // an unknown number.
  void leave(std::size_t i, const StackState& state) {
    if (state.rsp().base != 0) report(i);
  }

  void note_ending_call(std::size_t i, const StackState& state) {
    if (is_dead(i + 1)) return;
    for (auto& [call, before] : ending_calls_)
      if (call == i) return before.join(state);
    ending_calls_.push_back({i, state});
  }

  void go_to(std::size_t i, const StackState& state) {
    if (std::ranges::binary_search(void_ends_, code_[i].target)) return;
    const auto target = numbers_.find(code_[i].target);
    if (target == numbers_.end()) return leave(i, state);
    reach(target->second, state);
  }

  void land(std::uint64_t call, const StackState& state) {
    for (const auto& [begin, end, pad] : landings_)
      if (call >= begin && call < end) reach(pad, state);
  }

  // A call of a place inside the function learns where the code is, or acts as a jump. A call of a
  // part's start is recursion and does not count.
  void call_inside(std::size_t i, StackState state) {
    const auto target = numbers_.find(code_[i].target);
    if (code_[i].target == 0 || target == numbers_.end() ||
        std::ranges::find(starts_, target->second) != starts_.end() || has_functions_)
      return;
    state.rsp() = state.rsp().plus(-8);
    reach(target->second, state);
  }

  // A jump that leaves no frame behind is the call of another function.
  void jump_anywhere(const StackState& state) {
    if (state.rsp() == StackValue::at(0, 0)) return add_to_pool(tail_pool_, state);
    add_to_pool(pool_, state);
    for (const std::size_t target : targets_) reach(target, *pool_);
  }

  void add_to_pool(std::optional<StackState>& pool, const StackState& state) {
    StackState joined = pool.value_or(state);
    joined.join(state);
    if (pool && joined == *pool) return;
    pool = joined;
    for (const std::size_t seed : seeds_) reach(seed, state_of_seeds(seed));
  }

  [[nodiscard]] StackState state_of_seeds(std::size_t i) const {
    if (has_functions_) return state_on_entry();
    const bool is_target = std::ranges::binary_search(targets_, i);
    if (is_target || !call_pool_) return pool_.value_or(tail_pool_.value_or(state_on_entry()));
    StackState state = *call_pool_;
    if (targets_.empty() && pool_) state.join(*pool_);
    return state;
  }

  const bool compiled_;
  bool has_functions_ = false;
  std::vector<Instruction> code_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> entries_;
  std::vector<std::size_t> seeds_;  // only a table or an exception leads to these
  std::vector<std::optional<StackState>> states_;
  std::vector<bool> waiting_;
  std::vector<std::pair<std::size_t, StackState>> ending_calls_;  // calls not continued yet
  std::vector<std::uint64_t> void_ends_;
  std::vector<std::size_t> pending_;
  std::vector<std::size_t> targets_;
  std::vector<std::size_t> behind_ends_;
  bool all_jumps_known_ = false;  // no jumps by registers, and no other landings
  struct LandingPlace {
    std::uint64_t begin, end;
    std::size_t pad;
  };
  std::vector<LandingPlace> landings_;
  std::optional<StackState> pool_;       // the state at jumps to anywhere
  std::optional<StackState> tail_pool_;  // the state at such jumps that may be calls
  std::optional<StackState> call_pool_;  // the state after calls, where exceptions come from
  std::optional<std::uint64_t> found_;
};

}  // namespace

std::optional<std::uint64_t> find_switch(std::span<const CodePart> parts, bool compiled) {
  return Search(parts, compiled).run();
}

}  // namespace stab::instrumenter
