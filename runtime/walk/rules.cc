// SPDX-License-Identifier: MIT
#include "runtime/walk/rules.h"

#include "runtime/walk/description.h"

namespace stab::rt {
namespace {

constexpr uint32_t most_remembered = 8;

class Interpreter {
 public:
  Interpreter(const FrameDescription& description, const Common& common, uint64_t target, Row& row)
      : description_(description), common_(common), target_(target), row_(row) {}

  bool run(ByteReader common_code, ByteReader code) {
    in_cie_ = true;
    // Initial instructions hold everywhere.
    if (!run_all(common_code) || location_ != 0) return false;
    in_cie_ = false;
    initial_ = row_;
    return run_all(code);
  }

 private:
  bool run_all(ByteReader& code) {
    while (!code.at_end() && location_ <= target_)
      if (!run_one(code) || code.failed()) return false;
    return !code.failed();
  }

  bool run_one(ByteReader& code) {
    const uint8_t instruction = code.byte();
    const uint8_t low = instruction & 0x3f;
    switch (instruction >> 6) {
      case 1:
        return advance(low);
      case 2:
        return set_factored(low, Rule::offset, unsigned_factored(code));
      case 3:
        return restore(low);
      default:
        return low < 0x07   ? run_move(low, code)
               : low < 0x0c ? run_plain(low, code)
               : low < 0x10 ? run_cfa(low, code)
                            : run_extended(low, code);
    }
  }

  // 0x00 to 0x06
  bool run_move(uint8_t instruction, ByteReader& code) {
    switch (instruction) {
      case 0x00:  // nop
        return true;
      case 0x02:
        return advance(code.fixed(1));
      case 0x03:
        return advance(code.fixed(2));
      case 0x04:
        return advance(code.fixed(4));
      case 0x05: {  // offset_extended
        const uint64_t column = code.uleb();
        return set_factored(column, Rule::offset, unsigned_factored(code));
      }
      case 0x06:
        return restore(code.uleb());
      default:  // set_loc: nobody emits it
        return false;
    }
  }

  // 0x07 to 0x0b
  bool run_plain(uint8_t instruction, ByteReader& code) {
    switch (instruction) {
      case 0x07:
        return set(code.uleb(), Rule::undefined, 0);
      case 0x08:
        return set(code.uleb(), Rule::same, 0);
      case 0x09: {
        const uint64_t column = code.uleb();
        return set(column, Rule::other, static_cast<int64_t>(code.uleb()));
      }
      case 0x0a:
        return remember();
      default:
        return recall();
    }
  }

  // 0x0c to 0x0f
  bool run_cfa(uint8_t instruction, ByteReader& code) {
    switch (instruction) {
      case 0x0c: {
        const uint64_t number = code.uleb();
        return set_cfa(number, code.uleb());
      }
      case 0x0d:
        return !row_.cfa_is_expression && set_cfa_register(code.uleb());
      case 0x0e:
        return !row_.cfa_is_expression && set_cfa_number(static_cast<int64_t>(code.uleb()));
      default:
        row_.cfa_is_expression = true;
        row_.cfa_number = expression(code);
        return true;
    }
  }

  // From 0x10
  bool run_extended(uint8_t instruction, ByteReader& code) {
    constexpr uint8_t args_size = 0x2e;
    if (instruction == args_size) {
      code.uleb();
      return true;
    }
    if (instruction == 0x13)  // def_cfa_offset_sf
      return !row_.cfa_is_expression && set_cfa_number(factored(code.sleb()));
    const uint64_t column = code.uleb();
    switch (instruction) {
      case 0x10:
        return set(column, Rule::expression, expression(code));
      case 0x16:
        return set(column, Rule::value_formula, expression(code));
      case 0x11:
        return set_factored(column, Rule::offset, factored(code.sleb()));
      case 0x12:  // def_cfa_sf
        return set_cfa(column, static_cast<uint64_t>(factored(code.sleb())));
      case 0x14:
        return set_factored(column, Rule::value_offset, unsigned_factored(code));
      case 0x15:
        return set_factored(column, Rule::value_offset, factored(code.sleb()));
      case 0x2f:  // GNU's negative offset
        return set_factored(column, Rule::offset, -unsigned_factored(code));
      default:
        return false;
    }
  }

  bool advance(uint64_t delta) {
    uint64_t bytes = 0;
    return !__builtin_mul_overflow(delta, common_.code_align, &bytes) &&
           !__builtin_add_overflow(location_, bytes, &location_);
  }

  // Far outside of what a row can hold if it overflows.
  [[nodiscard]] int64_t factored(int64_t number) const {
    constexpr int64_t beyond = int64_t{1} << 62;
    int64_t result = 0;
    return __builtin_mul_overflow(number, common_.data_align, &result) || result < -beyond ? beyond
                                                                                           : result;
  }
  int64_t unsigned_factored(ByteReader& code) {
    return factored(static_cast<int64_t>(code.uleb()));
  }

  int32_t expression(ByteReader& code) {
    const uint8_t* start = in_cie_ ? description_.cie : description_.fde;
    const auto place = static_cast<int32_t>(code.at() - start);
    code.skip(code.uleb());
    return in_cie_ ? ~place : place;
  }

  bool set_factored(uint64_t column, Rule rule, int64_t number) {
    return set(column, rule, number);
  }

  // Columns beyond the return address are vector registers, which nobody asks for.
  bool set(uint64_t column, Rule rule, int64_t number) {
    if (column >= column_count) return true;
    if (number != static_cast<int32_t>(number)) return false;
    row_.rules[column] = rule;
    row_.numbers[column] = static_cast<int32_t>(number);
    return true;
  }
  bool restore(uint64_t column) {
    if (in_cie_) return false;
    return column >= column_count || set(column, initial_.rules[column], initial_.numbers[column]);
  }

  bool set_cfa(uint64_t number, uint64_t offset) {
    row_.cfa_is_expression = false;
    return set_cfa_register(number) && set_cfa_number(static_cast<int64_t>(offset));
  }
  bool set_cfa_register(uint64_t number) {
    if (number >= register_count) return false;
    row_.cfa_register = static_cast<uint8_t>(number);
    return true;
  }
  bool set_cfa_number(int64_t number) {
    if (number != static_cast<int32_t>(number)) return false;
    row_.cfa_number = static_cast<int32_t>(number);
    return true;
  }

  bool remember() {
    if (in_cie_ || remembered_ == most_remembered) return false;
    stack_[remembered_++] = row_;
    return true;
  }
  bool recall() {
    if (remembered_ == 0) return false;
    row_ = stack_[--remembered_];
    return true;
  }

  const FrameDescription& description_;
  const Common& common_;
  const uint64_t target_;
  Row& row_;
  uint64_t location_ = 0;
  bool in_cie_ = true;
  uint32_t remembered_ = 0;
  Row initial_;
  Row stack_[most_remembered];
};

void clear(Row& row) {
  for (uint32_t i = 0; i < column_count; ++i) {
    row.rules[i] = Rule::unspecified;
    row.numbers[i] = 0;
  }
  row.cfa_is_expression = false;
  row.cfa_register = 0xff;
  row.cfa_number = 0;
}

}  // namespace

bool interpret(const FrameDescription& description, uint64_t offset, Row& row, bool& signal_frame) {
  Common common;
  const ByteReader common_code = read_common(description, common);
  const ByteReader code = read_description(description, common);
  if (common_code.failed() || code.failed()) return false;
  signal_frame = common.signal_frame;
  clear(row);
  return Interpreter(description, common, offset, row).run(common_code, code) &&
         (row.cfa_is_expression || row.cfa_register < register_count);
}

ByteReader expression_of(const FrameDescription& description, int32_t number) {
  const bool in_cie = number < 0;
  const auto place = static_cast<uint64_t>(in_cie ? ~number : number);
  ByteReader reader(in_cie ? description.cie : description.fde,
                    in_cie ? description.cie_size : description.fde_size);
  reader.skip(place);
  return reader.block(reader.uleb());
}

}  // namespace stab::rt
