// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/address_uses.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "instrumenter/postlink/decode/decoder.h"

namespace stab::instrumenter {
namespace {

using Does = Instruction::Does;

// Pairs of functions; a register may hold the address of either.
using Pairs = std::set<std::pair<std::uint64_t, std::uint64_t>>;

// The function whose address each register holds, or 0. The last element is the function that the
// last comparison compared.
struct Holders {
  std::array<std::uint64_t, register_count + 1> at{};
  static constexpr std::size_t flags = register_count;

  // Returns whether it added an address. If two paths meet with different addresses in a register,
  // the register keeps one of them and `either` gets the pair.
  bool join(const Holders& other, Pairs& either) {
    bool changed = false;
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (other.at[i] == 0 || at[i] == other.at[i]) continue;
      if (at[i] != 0) {
        either.emplace(at[i], other.at[i]);
        continue;
      }
      at[i] = other.at[i];
      changed = true;
    }
    return changed;
  }
};

// A mask that clears 6 low bits or more may compute a page, and so may a mask that is not in the
// code; other masks only look at a tag.
bool may_mask_page(std::optional<std::int64_t> mask) {
  constexpr std::int64_t line = 64;
  return !mask || (*mask < 0 && *mask % line == 0);
}

// Follows one function, instruction by instruction.
class AddressFlow {
 public:
  explicit AddressFlow(const AddressesTaken& taken) : taken_(taken) {}

  Holders now{};
  AddressUses uses{};
  Pairs either{};

  void look_at(const Instruction& next) {
    if (next.does == Does::nothing) return;
    const auto field = taken_.fields.lower_bound(next.offset);
    const bool has_field = field != taken_.fields.end() && field->first < next.end();
    given_ = has_field ? field->second : 0;
    if (next.memory) look_at_memory(*next.memory, next.does == Does::address);
    if (next.asks_for_order) compute(now.at[Holders::flags]);
    if (next.does == Does::call || next.does == Does::jump || next.does == Does::jump_anywhere)
      look_at_arguments(next);
    if (next.does == Does::call) return forget_after_call();
    const std::uint64_t compared = next.does == Does::compare ? any_read(next) : 0;
    use_values(next);
    const std::uint64_t result = result_of(next);
    for (std::uint8_t i = 0; i < register_count; ++i)
      if (has(next.writes, i)) now.at[i] = 0;
    if (next.writes_flags) now.at[Holders::flags] = compared;
    if (result != 0 && next.to != no_register) now.at[next.to] = result;
  }

 private:
  [[nodiscard]] std::uint64_t held(std::uint8_t number) const {
    return number == no_register ? 0 : now.at[number];
  }
  void use(std::uint64_t function) {
    if (function != 0) uses.bytes.insert(function);
  }
  void compute(std::uint64_t function) {
    if (function != 0) uses.range.insert(function);
  }
  // Returns one of the two, or 0 if both are 0.
  std::uint64_t one_of(std::uint64_t a, std::uint64_t b) {
    if (a != 0 && b != 0 && a != b) either.emplace(a, b);
    return std::max(a, b);
  }

  // Looks at the registers of the memory operand. A lea only computes with them.
  void look_at_memory(const Memory& memory, bool lea) {
    // A pointer to a member function may be an offset in a vtable, plus 1.
    const bool member = memory.index != no_register && memory.displacement == -1;
    if (member) return;
    for (const std::uint8_t number : {memory.base, memory.index})
      lea ? compute(held(number)) : use(held(number));
    // In code for a fixed address, the displacement may be the function's address: f(%rax).
    const bool absolute = given_ != 0 && !memory.pc_relative &&
                          static_cast<std::uint64_t>(memory.displacement) == given_;
    if (!absolute) return;
    if (!lea) use(given_);
    if (lea && (memory.base != no_register || memory.index != no_register)) compute(given_);
  }

  // Calls `each` for what the instruction's number and the registers that it reads as numbers hold.
  template <class Each>
  void for_each_read(const Instruction& next, Each each) const {
    each(given_);
    for (std::uint8_t i = 0; i < register_count; ++i)
      if (has(next.reads, i)) each(now.at[i]);
  }

  [[nodiscard]] std::uint64_t any_read(const Instruction& next) const {
    std::uint64_t any = 0;
    for_each_read(next, [&](std::uint64_t function) { any = std::max(any, function); });
    return any;
  }

  // Looks at the arguments of a call, or of a jump in the place of a call.
  void look_at_arguments(const Instruction& next) {
    constexpr std::uint32_t field = 4;
    if (next.length <= field || !taken_.works_on_bytes(next.end() - field)) return;
    use(held(rdi_number));
    use(held(rsi_number));
  }

  void forget_after_call() {
    for (std::uint8_t i = 0; i < register_count; ++i)
      if (has(lost_by_calls, i)) now.at[i] = 0;
    now.at[Holders::flags] = 0;
  }

  void use_values(const Instruction& next) {
    const bool computes = next.does == Does::add || next.does == Does::subtract;
    const bool takes_bytes = next.does == Does::string || next.does == Does::shift_right ||
                             (next.does == Does::mask && may_mask_page(mask_of(next)));
    if (computes) for_each_read(next, [&](std::uint64_t function) { compute(function); });
    if (takes_bytes) for_each_read(next, [&](std::uint64_t function) { use(function); });
  }

  // If the number is the function's address, the mask is in the register.
  [[nodiscard]] std::optional<std::int64_t> mask_of(const Instruction& next) const {
    return given_ == 0 ? next.number : std::nullopt;
  }

  // Whether the instruction reads the function's address from a word of the linker's table.
  [[nodiscard]] bool reads_table(const Instruction& next) const {
    return given_ != 0 && next.memory && next.memory->pc_relative;
  }

  // Returns the function whose address the first register holds afterwards, or 0.
  std::uint64_t result_of(const Instruction& next) {
    if (next.does == Does::address) return given_;
    const std::uint64_t moved = next.number || reads_table(next) ? given_ : held(next.from);
    if (next.does == Does::move_if) return one_of(held(next.to), moved);
    return next.does == Does::move && next.bits >= 32 && next.to != no_register ? moved : 0;
  }

  const AddressesTaken& taken_;
  std::uint64_t given_ = 0;
};

}  // namespace

AddressUses find_address_uses(std::span<const std::uint8_t> code, std::uint64_t address,
                              const AddressesTaken& taken) {
  AddressFlow flow(taken);
  std::map<std::uint64_t, Holders> at_targets;
  // A loop carries what is known at its end to its beginning. More rounds would find little.
  constexpr unsigned rounds = 3;
  bool changed = true;
  for (unsigned round = 0; changed && round < rounds; ++round) {
    changed = false;
    flow.now = {};
    for_each_instruction(code, address, [&](const Instruction& next) {
      if (const auto known = at_targets.find(next.address); known != at_targets.end())
        flow.now.join(known->second, flow.either);
      flow.look_at(next);
      if (next.does == Does::jump || next.does == Does::branch)
        changed |= at_targets[next.target].join(flow.now, flow.either);
      if (next.ends_here()) flow.now = {};
    });
  }
  // If one of two functions that a register may hold is used, neither moves.
  AddressUses& uses = flow.uses;
  const auto is_used = [&](std::uint64_t function) {
    return uses.bytes.contains(function) || uses.range.contains(function);
  };
  for (bool added = true; added;) {
    added = false;
    for (const auto& [a, b] : flow.either)
      if (is_used(a) || is_used(b))
        for (const std::uint64_t each : {a, b}) added = uses.bytes.insert(each).second || added;
  }
  return uses;
}

}  // namespace stab::instrumenter
