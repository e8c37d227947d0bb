// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/address_uses.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "instrumenter/postlink/decode/decoder_impl.h"

namespace stab::instrumenter {
namespace {

constexpr std::uint8_t rsi_number = 6;
// A called function may write to these: rax, rcx, rdx, rsi, rdi, r8 to r11.
constexpr std::uint32_t call_clobbered = 0b0000'1111'1100'0111;

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

// Whether the answer depends on which of two numbers is larger.
bool asks_for_order(std::int64_t condition) {
  constexpr std::int64_t equal = 4;
  constexpr std::int64_t not_equal = 5;
  constexpr std::int64_t parity = 10;
  constexpr std::int64_t no_parity = 11;
  return condition != equal && condition != not_equal && condition != parity &&
         condition != no_parity;
}

// A mask that clears 6 low bits or more may compute a page; other masks only look at a tag.
bool masks_page(std::int64_t mask) {
  constexpr std::int64_t line = 64;
  return mask < 0 && mask % line == 0;
}

}  // namespace

// Follows one function, instruction by instruction.
class AddressFlow {
 public:
  AddressFlow(const llvm::MCInstrInfo& instructions, const std::vector<std::uint8_t>& numbers,
              unsigned flags_register, std::uint64_t address, const AddressesTaken& taken)
      : instructions_(instructions),
        numbers_(numbers),
        flags_register_(flags_register),
        address_(address),
        taken_(taken) {}

  Holders now{};
  AddressUses uses{};
  Pairs either{};
  std::optional<std::uint64_t> goes_to{};  // target of the last instruction, if it jumps directly
  bool runs_on = true;

  void look_at(const Decoded& at) {
    instruction_ = &at.instruction;
    description_ = &instructions_.get(at.instruction.getOpcode());
    name_ = instructions_.getName(at.instruction.getOpcode());
    goes_to.reset();
    runs_on = !description_->isBarrier() && !description_->isReturn();
    const auto field = taken_.fields.lower_bound(static_cast<std::uint32_t>(at.offset));
    const bool has_field = field != taken_.fields.end() && field->first < at.offset + at.length;
    given_ = has_field ? field->second : 0;
    if (name_.starts_with("NOOP") || name_.starts_with("ENDBR")) return;
    look_at_memory();
    if (jumps_directly(name_)) {
      const std::int64_t distance = immediate_of(*instruction_, 0);
      goes_to = address_ + at.offset + at.length + static_cast<std::uint64_t>(distance);
    }
    look_at_flags();
    const bool calls = description_->isCall();
    if (calls || name_ == "JMP_4") look_at_arguments(at);
    if (calls) return forget_after_call();
    const std::uint64_t result = look_at_values();
    for (unsigned i = 0; i < description_->getNumDefs(); ++i) set(reg(i), 0);
    for (const auto defined : description_->implicit_defs()) {
      set(numbers_[defined], 0);
      if (defined == flags_register_) now.at[Holders::flags] = 0;
    }
    if (compares_) now.at[Holders::flags] = *compares_;
    compares_.reset();
    if (result != 0) set(reg(0), result);
  }

 private:
  [[nodiscard]] std::uint8_t reg(unsigned i) const {
    return i < instruction_->getNumOperands() && instruction_->getOperand(i).isReg()
               ? numbers_[instruction_->getOperand(i).getReg()]
               : no_register;
  }
  [[nodiscard]] std::uint64_t held(std::uint8_t number) const {
    return number == no_register ? 0 : now.at[number];
  }
  [[nodiscard]] bool is_general(unsigned i) const { return reg(i) != no_register; }
  void set(std::uint8_t number, std::uint64_t value) {
    if (number != no_register) now.at[number] = value;
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
  void look_at_memory() {
    const bool lea = name_.starts_with("LEA");
    memory_ = find_memory_operands(*description_, *instruction_, lea);
    if (!memory_) return;
    // A pointer to a member function may be an offset in a vtable, plus 1.
    const bool member =
        reg(*memory_ + 2) != no_register && immediate_of(*instruction_, *memory_ + 3) == -1;
    if (member) return;
    for (const unsigned i : {*memory_, *memory_ + 2})
      lea ? compute(held(reg(i))) : use(held(reg(i)));
    // In code for a fixed address, the displacement may be the function's address: f(%rax).
    const bool absolute = given_ != 0 && static_cast<std::uint64_t>(
                                             immediate_of(*instruction_, *memory_ + 3)) == given_;
    if (!absolute) return;
    if (!lea) use(given_);
    if (lea && (is_general(*memory_) || is_general(*memory_ + 2))) compute(given_);
  }

  [[nodiscard]] bool in_memory_operand(unsigned i) const {
    return memory_ && i >= *memory_ && i < *memory_ + memory_operands;
  }

  // Calls `each` for all registers that the instruction reads as numbers, even if it changes them.
  template <class Each>
  void for_each_read(Each each) const {
    for (unsigned i = 0; i < instruction_->getNumOperands(); ++i)
      if (!in_memory_operand(i) && i >= description_->getNumDefs()) each(held(reg(i)));
    for (const auto read : description_->implicit_uses()) each(held(numbers_[read]));
  }

  void look_at_flags() {
    const std::uint64_t compared = now.at[Holders::flags];
    if (compared == 0) return;
    if (name_.starts_with("SBB") || name_.starts_with("ADC")) return compute(compared);
    const bool conditional =
        name_.starts_with("JCC") || name_.starts_with("SETCC") || name_.starts_with("CMOV");
    const unsigned last = instruction_->getNumOperands() - 1;
    if (conditional && asks_for_order(immediate_of(*instruction_, last))) compute(compared);
  }

  // Looks at the arguments of a call, or of a jump in the place of a call.
  void look_at_arguments(const Decoded& at) {
    constexpr std::uint64_t field = 4;
    if (at.length <= field ||
        !taken_.works_on_bytes(static_cast<std::uint32_t>(at.offset + at.length - field)))
      return;
    use(held(rdi_number));
    use(held(rsi_number));
  }

  void forget_after_call() {
    for (std::uint8_t i = 0; i < register_count; ++i)
      if ((call_clobbered >> i & 1U) != 0) now.at[i] = 0;
    now.at[Holders::flags] = 0;
  }

  // Whether this is a string instruction, which uses rsi and rdi, once or repeated.
  [[nodiscard]] bool works_on_strings() const {
    if (name_.size() != 5 || !llvm::StringRef("BWLQ").contains(name_.back())) return false;
    return llvm::is_contained({"MOVS", "STOS", "CMPS", "SCAS", "LODS"}, name_.drop_back());
  }

  // Returns the function whose address the first register holds afterwards, or 0.
  std::uint64_t look_at_values() {
    if (name_.starts_with("LEA")) return given_;
    if (name_.starts_with("MOV64ri") || name_.starts_with("MOV32ri")) return given_;
    if (name_.starts_with("MOV64rr") || name_.starts_with("MOV32rr")) return held(reg(1));
    if (name_.starts_with("CMOV")) return one_of(held(reg(1)), held(reg(2)));
    const unsigned last = instruction_->getNumOperands() - 1;
    const auto each_read = [&](auto what) {
      what(given_);
      for_each_read(what);
    };
    if (works_on_strings()) {
      each_read([&](std::uint64_t function) { use(function); });
    } else if (name_.starts_with("CMP")) {
      compares_ = 0;
      each_read([&](std::uint64_t function) { compares_ = std::max(*compares_, function); });
    } else if (name_.starts_with("ADD") || name_.starts_with("SUB")) {
      each_read([&](std::uint64_t function) { compute(function); });
    } else if (name_.starts_with("SHR") ||
               (name_.starts_with("AND") && masks_page(immediate_of(*instruction_, last)))) {
      each_read([&](std::uint64_t function) { use(function); });
    }
    return 0;
  }

  const llvm::MCInstrInfo& instructions_;
  const std::vector<std::uint8_t>& numbers_;
  const unsigned flags_register_;
  const std::uint64_t address_;
  const AddressesTaken& taken_;
  const llvm::MCInst* instruction_ = nullptr;
  const llvm::MCInstrDesc* description_ = nullptr;
  llvm::StringRef name_;
  std::optional<unsigned> memory_;
  std::optional<std::uint64_t> compares_;
  std::uint64_t given_ = 0;
};

AddressUses Decoder::address_uses(std::span<const std::uint8_t> code, std::uint64_t address,
                                  const AddressesTaken& taken) const {
  AddressFlow flow(*impl_->instructions, impl_->general_numbers, impl_->flags, address, taken);
  std::map<std::uint64_t, Holders> at_targets;
  // A loop carries what is known at its end to its beginning. More rounds would find little.
  constexpr unsigned rounds = 3;
  bool changed = true;
  for (unsigned round = 0; changed && round < rounds; ++round) {
    changed = false;
    flow.now = {};
    (void)impl_->read(code, address, [&](const Decoded& at) {
      if (const auto known = at_targets.find(address + at.offset); known != at_targets.end())
        flow.now.join(known->second, flow.either);
      flow.look_at(at);
      if (flow.goes_to) changed |= at_targets[*flow.goes_to].join(flow.now, flow.either);
      if (!flow.runs_on) flow.now = {};
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
