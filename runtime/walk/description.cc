// SPDX-License-Identifier: MIT
#include "runtime/walk/description.h"

#include "runtime/base/memory.h"

namespace stab::rt {
namespace {

constexpr uint64_t header_size = 12;
constexpr uint64_t entry_size = 8;

bool holds(const Extent& image, uint64_t at, uint64_t size) {
  return at >= image.start && at <= image.end && image.end - at >= size;
}

int64_t signed32(const uint8_t* at) {
  return static_cast<int32_t>(load32(at));
}

// The entry of the last function that starts at or before pc, or null. Entries are pairs of
// distances from the header: function, description.
const uint8_t* find_entry(uint64_t pc, const uint8_t* header) {
  const uint32_t count = load32(header + 8);
  const uint8_t* entries = header + header_size;
  const auto distance = static_cast<int64_t>(pc - address_of(header));
  uint32_t low = 0;
  uint32_t high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (signed32(entries + middle * entry_size) <= distance)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? nullptr : entries + (low - 1) * entry_size;
}

// The size of the entry of .eh_frame at an address, its length field included, or 0 if no whole
// entry is there.
uint64_t entry_bytes(const Extent& image, uint64_t at) {
  if (!holds(image, at, 8)) return 0;
  const uint64_t size = uint64_t{load32(reinterpret_cast<const uint8_t*>(at))} + 4;
  return size >= 12 && holds(image, at, size) ? size : 0;
}

bool describe_entry(const Extent& image, uint64_t fde, uint64_t start, FrameDescription& result) {
  constexpr uint64_t fields = 16;  // length, CIE, start and size, as the table's kind implies
  result.fde = reinterpret_cast<const uint8_t*>(fde);
  result.fde_size = entry_bytes(image, fde);
  if (result.fde_size < fields) return false;
  const uint64_t cie = fde + 4 - load32(result.fde + 4);
  result.cie = reinterpret_cast<const uint8_t*>(cie);
  result.cie_size = entry_bytes(image, cie);
  result.function_start = start;
  result.function_size = load32(result.fde + 12);
  const uint64_t own_start = fde + 8 + static_cast<uint64_t>(signed32(result.fde + 8));
  return result.cie_size != 0 && own_start == start;
}

}  // namespace

bool find_in_image_header(uint64_t pc, const uint8_t* eh_frame_hdr, const Extent& image,
                          FrameDescription& description) {
  if (!holds(image, address_of(eh_frame_hdr), header_size)) return false;
  // Version 1; .eh_frame is pc-relative, then a count, and pairs relative to the header, all with
  // 32 bits.
  const bool usual = eh_frame_hdr[0] == 1 && eh_frame_hdr[1] == 0x1b && eh_frame_hdr[2] == 0x03 &&
                     eh_frame_hdr[3] == 0x3b;
  const uint64_t table = uint64_t{load32(eh_frame_hdr + 8)} * entry_size;
  if (!usual || !holds(image, address_of(eh_frame_hdr), header_size + table)) return false;
  const uint8_t* entry = find_entry(pc, eh_frame_hdr);
  if (entry == nullptr) return false;
  const uint64_t start = address_of(eh_frame_hdr) + static_cast<uint64_t>(signed32(entry));
  const uint64_t fde = address_of(eh_frame_hdr) + static_cast<uint64_t>(signed32(entry + 4));
  return describe_entry(image, fde, start, description) &&
         pc - description.function_start < description.function_size;
}

namespace {

constexpr uint64_t longest = 1u << 30;  // places in a description fit into 31 bits
// The bytes of an encoded address, or 0 for an encoding that isn't used on this machine.
uint32_t encoded_size(uint8_t encoding) {
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    case 0x02:
    case 0x0a:
      return 2;
    case 0x03:
    case 0x0b:
      return 4;
    default:
      return 0;
  }
}

void skip_encoded(ByteReader& reader, uint8_t encoding) {
  constexpr uint8_t omitted = 0xff;
  constexpr uint8_t aligned = 0x50;
  if (encoding == omitted) return;
  const uint32_t size = encoded_size(encoding);
  if (size == 0 || (encoding & 0x70) == aligned) return reader.fail();
  reader.skip(size);
}

// Reads the letters of the augmentation and the data for each letter, which follows the other
// fields.
void read_augmentation(ByteReader& reader, ByteReader letters, Common& common) {
  if (letters.at_end()) return;
  if (letters.byte() != 'z') return reader.fail();
  common.augmented = true;
  ByteReader data = reader.block(reader.uleb());
  while (!letters.at_end()) {
    const uint8_t letter = letters.byte();
    if (letter == 'R')
      common.encoding = data.byte();
    else if (letter == 'L')
      data.byte();
    else if (letter == 'P')
      skip_encoded(data, data.byte());
    else if (letter == 'S')
      common.signal_frame = true;
    else
      data.fail();
  }
  if (data.failed()) reader.fail();
}

// An entry starts with its length, and then a number that is 0 in a CIE only. Returns a reader of
// the bytes that the length covers.
ByteReader open_entry(const uint8_t* entry, uint64_t size, uint64_t& identity) {
  ByteReader whole(entry, size);
  const uint64_t length = whole.fixed(4);
  ByteReader body = whole.block(length);
  identity = body.fixed(4);
  if (whole.failed() || size > longest) body.fail();
  return body;
}

}  // namespace

ByteReader read_common(const FrameDescription& description, Common& common) {
  uint64_t identity = 0;
  ByteReader reader = open_entry(description.cie, description.cie_size, identity);
  const uint8_t version = reader.byte();
  if (identity != 0 || (version != 1 && version != 3)) reader.fail();
  const uint8_t* letters = reader.at();
  uint64_t letter_count = 0;
  while (reader.byte() != 0) ++letter_count;
  common.code_align = reader.uleb();
  common.data_align = reader.sleb();
  const uint64_t column = version == 1 ? reader.byte() : reader.uleb();
  if (column != return_column) reader.fail();
  if (!reader.failed()) read_augmentation(reader, ByteReader(letters, letter_count), common);
  return reader;
}

ByteReader read_description(const FrameDescription& description, const Common& common) {
  uint64_t identity = 0;
  ByteReader reader = open_entry(description.fde, description.fde_size, identity);
  const uint32_t size = encoded_size(common.encoding);
  if (identity == 0 || size == 0) reader.fail();
  reader.skip(uint64_t{2} * size);
  if (common.augmented) reader.skip(reader.uleb());
  return reader;
}

namespace {

constexpr uint32_t most_remembered = 8;

class Interpreter {
 public:
  Interpreter(const FrameDescription& description, const Common& common, uint64_t target, Row& row)
      : description_(description), common_(common), target_(target), row_(row) {}

  bool run(ByteReader common_code, ByteReader code) {
    in_cie_ = true;
    // The initial instructions apply to the whole function.
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
      default:  // set_loc, which no compiler emits
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

  // Returns a number that no row can hold if the product overflows.
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

  // Columns beyond the return address are vector registers, which a walk doesn't need.
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
