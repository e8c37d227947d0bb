// SPDX-License-Identifier: MIT
// Reads frame descriptions: which of them belongs to which function, and where a function's
// canonical frame address is at each instruction.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

#include "instrumenter/postlink/elf/elf_file.h"
#include "instrumenter/postlink/frames/frames.h"

namespace stab::instrumenter {
namespace {

using abi::PinReason;

constexpr std::uint8_t pcrel_sdata4 = 0x1b;
constexpr std::uint8_t omit = 0xff;

struct Cie {
  std::uint32_t index = 0;
  std::uint8_t fde_encoding = 0;
  std::uint8_t lsda_encoding = omit;
  bool augmented = false;
  bool understood = false;
  bool knows_landing_base = true;  // the personality function does, see knows_landing_base()
};

// Returns the size of a pointer in this encoding, or 0 if its length varies.
std::uint32_t pointer_size(std::uint8_t encoding) {
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      return 8;
    case 0x03:
    case 0x0b:
      return 4;
    case 0x02:
    case 0x0a:
      return 2;
    default:
      return 0;
  }
}

bool relative(std::uint8_t encoding) {
  return (encoding & 0x70) == 0x10;
}

// A relative pointer can only be adjusted if it has 32 bits. Absolute pointers need no adjustment.
bool can_follow(std::uint8_t encoding) {
  return (encoding & 0x70) == 0 || (relative(encoding) && pointer_size(encoding) == 4);
}

// DW_CFA_set_loc contains an absolute address. Everything else is relative to the start of the
// function.
bool moves_location_absolutely(ByteReader& reader) {
  // Operands by opcode: u = LEB128, 1/2/4 = bytes, b = block, '-' = none, x = not understood.
  static constexpr std::array<const char*, 0x17> operands = {
      "",   "x", "1", "2", "4",  "uu", "u",  "u", "u",  "uu", "",  "",
      "uu", "u", "u", "b", "ub", "uu", "uu", "u", "uu", "uu", "ub"};
  while (!reader.at_end()) {
    const std::uint8_t opcode = reader.byte();
    if ((opcode & 0xc0) == 0x80) reader.uleb();
    if ((opcode & 0xc0) != 0) continue;
    const char* shape = opcode < operands.size() ? operands[opcode]
                        : opcode == 0x2e         ? "u"
                        : opcode == 0x2f         ? "uu"
                                                 : "x";
    for (; *shape != '\0'; ++shape) {
      if (*shape == 'x') return true;
      if (*shape == 'u')
        reader.uleb();
      else if (*shape == 'b')
        reader.skip(reader.uleb());
      else
        reader.skip(static_cast<std::uint64_t>(*shape - '0'));
    }
  }
  return !reader.ok();
}

// libgcc's shared library has a personality function of this name, which is right. In compiler-rt,
// which programs link statically, it ignores the address that landing pads count from.
constexpr std::string_view c_personality = "__gcc_personality_v0";

// The exception tables of copies count landing pads from an address (code/lsda.cc). These
// personality functions understand that; others may know only the start of the function.
bool knows_landing_base(std::string_view personality) {
  constexpr std::array<std::string_view, 8> names = {
      "__gxx_personality_v0",   c_personality,
      "rust_eh_personality",    "__gnat_personality_v0",
      "__gdc_personality_v0",   "__objc_personality_v0",
      "__gnu_objc_personality", "__gnustep_objc_personality"};
  return std::ranges::any_of(names, [&](auto name) { return personality.contains(name); });
}

// Reads .eh_frame to learn which description belongs to which function, and which of its fields
// are relative to their place.
class FrameReader {
 public:
  FrameReader(Program& program, const Elf64_Shdr& section)
      : program_(program),
        address_(section.sh_addr),
        bytes_(program.file->contents(section)),
        defines_c_personality_(defines(c_personality)) {}

  void run() {
    std::size_t at = 0;
    while (at + 8 <= bytes_.size()) {
      const std::uint32_t length = word_at(at);
      if (length == 0) break;
      if (length == UINT32_MAX || length < 4 || length > bytes_.size() - at - 4) return pin_all();
      const std::uint32_t id = word_at(at + 4);
      if (id == 0)
        read_cie(at, length + 4);
      else
        read_fde(at, length + 4, at + 4 - id);
      at += length + 4;
    }
  }

 private:
  [[nodiscard]] std::uint32_t word_at(std::size_t at) const {
    std::uint32_t value = 0;
    std::memcpy(&value, bytes_.data() + at, 4);
    return value;
  }

  // Whether the program has a function of this name, and not only a reference to it.
  [[nodiscard]] bool defines(std::string_view name) const {
    return std::ranges::any_of(program_.file->symbols(), [&](const Elf64_Sym& symbol) {
      return symbol.st_shndx != SHN_UNDEF && program_.file->name(symbol) == name;
    });
  }

  void pin_all() {
    for (Function& function : program_.functions) program_.pin(function, PinReason::unwind_info);
  }

  void read_cie(std::size_t at, std::uint32_t size) {
    ByteReader reader(bytes_.subspan(at, size));
    reader.skip(8);
    const std::uint8_t version = reader.byte();
    std::string augmentation;
    for (char c = static_cast<char>(reader.byte()); c != '\0'; c = static_cast<char>(reader.byte()))
      augmentation += c;
    reader.uleb();
    reader.uleb();
    if (version == 1)
      reader.byte();
    else
      reader.uleb();
    Cie cie;
    CieInfo info{address_ + at, size, 0};
    cie.understood = (version == 1 || version == 3) &&
                     read_augmentation(reader, augmentation, cie, info) &&
                     !moves_location_absolutely(reader) && reader.ok();
    cie.index = static_cast<std::uint32_t>(program_.cies.size());
    program_.cies.push_back(info);
    cies_[at] = cie;
  }

  bool read_augmentation(ByteReader& reader, std::string_view augmentation, Cie& cie,
                         CieInfo& info) {
    if (augmentation.empty()) return true;
    if (augmentation.front() != 'z') return false;
    cie.augmented = true;
    reader.uleb();
    for (const char letter : augmentation.substr(1)) {
      if (letter == 'R')
        cie.fde_encoding = reader.byte();
      else if (letter == 'L')
        cie.lsda_encoding = reader.byte();
      else if (letter == 'P') {
        const std::uint8_t encoding = reader.byte();
        if (!can_follow(encoding) || pointer_size(encoding) == 0) return false;
        const auto field = static_cast<std::uint32_t>(reader.position());
        if (relative(encoding)) info.personality_field = field;
        cie.knows_landing_base = is_known_personality(info.address + field, encoding);
        reader.skip(pointer_size(encoding));
      } else if (letter != 'S')
        return false;
    }
    return true;
  }

  // Looks for the name of the function that the pointer at this address leads to. With
  // indirection, the pointer leads to a word with the function's address.
  [[nodiscard]] bool is_known_personality(std::uint64_t field, std::uint8_t encoding) const {
    constexpr std::uint8_t indirect = 0x80;
    constexpr std::string_view of_word = "DW.ref.";
    std::int64_t value = 0;
    if (pointer_size(encoding) == 4)
      value = static_cast<std::int32_t>(word_at(field - address_));
    else if (pointer_size(encoding) == 8)
      std::memcpy(&value, bytes_.data() + (field - address_), 8);
    const std::uint64_t place =
        static_cast<std::uint64_t>(value) + (relative(encoding) ? field : std::uint64_t{0});
    for (const Elf64_Sym& symbol : program_.file->symbols()) {
      if (symbol.st_value != place) continue;
      const std::string_view name = program_.file->name(symbol);
      if ((encoding & indirect) != 0 && !name.starts_with(of_word)) continue;
      if (defines_c_personality_ && name.contains(c_personality)) continue;
      if (knows_landing_base(name)) return true;
    }
    return false;
  }

  void read_fde(std::size_t at, std::uint32_t size, std::size_t cie_at) {
    const auto found = cies_.find(cie_at);
    if (found == cies_.end() || size < 16) return pin_all();
    const Cie& cie = found->second;
    if (cie.fde_encoding != pcrel_sdata4) return pin_all();
    const std::uint64_t begin = address_ + at + 8 +
                                static_cast<std::uint64_t>(static_cast<std::int64_t>(
                                    static_cast<std::int32_t>(word_at(at + 8))));
    const std::uint32_t range = word_at(at + 12);
    pin_behind(begin, begin + range);
    Function* function = program_.find(begin);
    if (function == nullptr || range == 0) return;
    if (function->start != begin || range > function->size || function->frame.fde != 0 ||
        !cie.understood)
      return program_.pin(*function, PinReason::unwind_info);
    function->frame = {address_ + at, size, cie.index, 0, 0, 0};
    if (!read_lsda(at, size, cie, function->frame)) program_.pin(*function, PinReason::unwind_info);
    if (function->frame.lsda != 0 && !cie.knows_landing_base)
      program_.pin(*function, PinReason::foreign_exceptions);
  }

  // If one description covers several functions, only the first of them can take it along.
  void pin_behind(std::uint64_t begin, std::uint64_t end) {
    auto& functions = program_.functions;
    auto next = std::ranges::upper_bound(functions, begin, {}, &Function::start);
    for (; next != functions.end() && next->start < end; ++next)
      program_.pin(*next, PinReason::unwind_info);
  }

  bool read_lsda(std::size_t at, std::uint32_t size, const Cie& cie, FrameInfo& frame) {
    ByteReader reader(bytes_.subspan(at, size));
    reader.skip(16);
    if (cie.augmented) reader.uleb();
    if (cie.augmented && cie.lsda_encoding != omit) {
      const std::size_t field = reader.position();
      const std::uint32_t width = pointer_size(cie.lsda_encoding);
      if (width < 4 || !can_follow(cie.lsda_encoding) || field + width > size) return false;
      std::int64_t value = 0;
      if (width == 4)
        value = static_cast<std::int32_t>(word_at(at + field));
      else
        std::memcpy(&value, bytes_.data() + at + field, 8);
      reader.skip(width);
      if (value != 0) {
        const std::uint64_t base = relative(cie.lsda_encoding) ? address_ + at + field : 0;
        frame.lsda_field = static_cast<std::uint16_t>(field);
        frame.lsda_absolute =
            relative(cie.lsda_encoding) ? std::uint8_t{0} : static_cast<std::uint8_t>(width);
        frame.lsda = base + static_cast<std::uint64_t>(value);
        if (!lands_relative_to_start(frame.lsda)) return false;
      }
    }
    return !moves_location_absolutely(reader) && reader.ok();
  }

  // The first byte of the exception table tells whether landing pads count from the function's
  // start.
  [[nodiscard]] bool lands_relative_to_start(std::uint64_t lsda) const {
    const auto first = program_.file->at(lsda, 1);
    return !first.empty() && first[0] == omit;
  }

  Program& program_;
  std::uint64_t address_;
  std::span<const std::uint8_t> bytes_;
  bool defines_c_personality_;
  std::map<std::size_t, Cie> cies_;
};

}  // namespace

void read_frames(Program& program) {
  if (const Elf64_Shdr* section = program.file->section(".eh_frame"))
    FrameReader(program, *section).run();
}

namespace {

constexpr unsigned dwarf_registers = 17;  // with the return address

struct State {
  unsigned base = CfaRow::unknown;
  std::uint64_t offset = 0;
  std::size_t field = CfaRow::no_field;
  std::array<std::int64_t, dwarf_registers> saved{};  // bytes below the CFA, or 0
};

class Interpreter {
 public:
  // Reads a CIE: version, augmentation and alignments, then instructions.
  bool read_common(std::span<const std::uint8_t> cie) {
    ByteReader reader(cie);
    reader.skip(8);
    const std::uint8_t version = reader.byte();
    bool sized = false;
    for (std::uint8_t c = reader.byte(); c != 0 && reader.ok(); c = reader.byte())
      sized |= c == 'z';
    code_align_ = reader.uleb();
    data_align_ = reader.sleb();
    if (version == 1)
      reader.byte();
    else
      reader.uleb();
    if (sized) reader.skip(reader.uleb());
    if (!reader.ok() || !run(reader, false)) return false;
    initial_ = state_;
    return true;
  }

  bool read_own(std::span<const std::uint8_t> fde) {
    ByteReader reader(fde);
    reader.skip(16);
    reader.skip(reader.uleb());  // all our CIEs are augmented
    location_ = 0;
    result.rows.clear();
    note_row();
    return reader.ok() && run(reader, true);
  }

  CfaTable result;

 private:
  bool run(ByteReader& reader, bool own) {
    while (!reader.at_end())
      if (!run_one(reader, own) || !reader.ok()) return false;
    return true;
  }

  bool run_one(ByteReader& reader, bool own) {
    const std::uint8_t code = reader.byte();
    switch (code & 0xc0) {
      case 0x40:
        return advance(code & 0x3f);
      case 0x80:
        return save_at(code & 0x3f, static_cast<std::int64_t>(reader.uleb()));
      case 0xc0:
        return restore(code & 0x3f);
      default:
        return run_extended(code, reader, own);
    }
  }

  bool run_extended(std::uint8_t code, ByteReader& reader, bool own) {
    switch (code) {
      case 0x00:
        return true;
      case 0x02:
        return advance(reader.byte());
      case 0x03:
        return advance(reader.number<std::uint16_t>());
      case 0x04:
        return advance(reader.word());
      case 0x06:
        return restore(reader.uleb());
      case 0x07:
      case 0x08:
        return forget(reader.uleb());
      case 0x2e:
        reader.uleb();
        return true;
      case 0x05: {
        const std::uint64_t number = reader.uleb();
        return save_at(number, static_cast<std::int64_t>(reader.uleb()));
      }
      case 0x09: {
        const std::uint64_t number = reader.uleb();
        reader.uleb();
        return forget(number);
      }
      case 0x0a:
        saved_.push_back(state_);
        return true;
      case 0x0b:
        if (saved_.empty()) return false;
        state_ = saved_.back();
        saved_.pop_back();
        return note_row();
      case 0x0c:
        state_.base = static_cast<unsigned>(reader.uleb());
        return set_offset(reader, own);
      case 0x0d:
        state_.base = static_cast<unsigned>(reader.uleb());
        return note_row();
      case 0x0e:
        return set_offset(reader, own);
      case 0x0f:
        reader.skip(reader.uleb());
        result.has_expressions = true;
        state_.base = CfaRow::unknown;
        return note_row();
      case 0x10:
      case 0x16: {
        const std::uint64_t number = reader.uleb();
        reader.skip(reader.uleb());
        result.has_expressions = true;
        return forget(number);
      }
      case 0x11: {
        const std::uint64_t number = reader.uleb();
        return save_at(number, reader.sleb());
      }
      default:
        return false;
    }
  }

  bool advance(std::uint64_t delta) {
    location_ += delta * code_align_;
    return location_ <= UINT32_MAX;
  }

  // The register is saved at the CFA plus this many alignment units.
  bool save_at(std::uint64_t number, std::int64_t units) {
    constexpr std::int64_t far = std::int64_t{1} << 31;
    if (units > far || units < -far || data_align_ > far || data_align_ < -far) return false;
    const std::int64_t below = -units * data_align_;
    if (below < 0) result.has_expressions = true;
    result.deepest = std::max(result.deepest, below);
    if (number < dwarf_registers) state_.saved[number] = std::max<std::int64_t>(below, 0);
    return note_row();
  }

  bool restore(std::uint64_t number) {
    if (number < dwarf_registers) state_.saved[number] = initial_.saved[number];
    return note_row();
  }

  bool forget(std::uint64_t number) {
    if (number < dwarf_registers) state_.saved[number] = 0;
    return note_row();
  }

  bool set_offset(ByteReader& reader, bool own) {
    const auto place = static_cast<std::uint32_t>(reader.position());
    state_.offset = reader.uleb();
    const auto width = static_cast<std::uint32_t>(reader.position()) - place;
    state_.field = own ? result.fields.size() : CfaRow::no_field;
    if (own) result.fields.push_back({place, width, state_.offset});
    if (state_.base == dwarf_rsp) forget_popped();
    return note_row();
  }

  // Compilers don't say that a register is no longer saved once it is popped.
  void forget_popped() {
    for (std::int64_t& below : state_.saved)
      if (static_cast<std::uint64_t>(below) > state_.offset) below = 0;
  }

  [[nodiscard]] std::uint64_t saved_words() const {
    std::uint64_t words = 0;
    for (const std::int64_t below : state_.saved)
      if (below > 0 && below % 8 == 0 && below / 8 < 64) words |= std::uint64_t{1} << (below / 8);
    return words;
  }

  bool note_row() {
    const auto from = static_cast<std::uint32_t>(location_);
    if (!result.rows.empty() && result.rows.back().from == from) result.rows.pop_back();
    result.rows.push_back({from, state_.base, state_.offset, saved_words(), state_.field});
    return true;
  }

  State state_;
  State initial_;  // after the CIE
  std::vector<State> saved_;
  std::uint64_t location_ = 0;
  std::uint64_t code_align_ = 1;
  std::int64_t data_align_ = 0;
};

}  // namespace

const CfaRow* CfaTable::at(std::uint32_t offset) const {
  const auto after = std::ranges::upper_bound(rows, offset, {}, &CfaRow::from);
  return after == rows.begin() ? nullptr : &*(after - 1);
}

CfaTable read_cfa(const Program& program, const Function& function) {
  if (function.frame.fde == 0) return {};
  const CieInfo& common = program.cies[function.frame.cie];
  const auto cie = program.file->at(common.address, common.size);
  const auto fde = program.file->at(function.frame.fde, function.frame.fde_size);
  Interpreter interpreter;
  const bool augmented = cie.size() > 9 && cie[9] == 'z';
  if (!augmented || fde.empty() || !interpreter.read_common(cie) || !interpreter.read_own(fde))
    return {};
  return std::move(interpreter.result);
}

}  // namespace stab::instrumenter
