// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/frames/cfa.h"

#include <algorithm>
#include <string>

#include "instrumenter/postlink/elf/byte_reader.h"

namespace stab::instrumenter {
namespace {

struct State {
  unsigned base = CfaRow::unknown;
  std::uint64_t offset = 0;
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
    return reader.ok() && run(reader, false);
  }

  bool read_own(std::span<const std::uint8_t> fde) {
    ByteReader reader(fde);
    reader.skip(16);
    reader.skip(reader.uleb());  // all our CIEs are augmented
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
        reader.uleb();
        return true;
      case 0xc0:
        return true;
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
      case 0x07:
      case 0x08:
      case 0x2e:
        reader.uleb();
        return true;
      case 0x05:
      case 0x09:
        reader.uleb();
        reader.uleb();
        return true;
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
        state_.base = CfaRow::unknown;
        return note_row();
      case 0x10:
      case 0x16:
        reader.uleb();
        reader.skip(reader.uleb());
        return true;
      case 0x11:
        reader.uleb();
        reader.sleb();
        return true;
      default:
        return false;
    }
  }

  bool advance(std::uint64_t delta) {
    location_ += delta * code_align_;
    return location_ <= UINT32_MAX;
  }

  bool set_offset(ByteReader& reader, bool own) {
    const auto place = static_cast<std::uint32_t>(reader.position());
    state_.offset = reader.uleb();
    const auto width = static_cast<std::uint32_t>(reader.position()) - place;
    if (own && state_.base == dwarf_rsp) result.fields.push_back({place, width, state_.offset});
    return note_row();
  }

  bool note_row() {
    const auto from = static_cast<std::uint32_t>(location_);
    if (!result.rows.empty() && result.rows.back().from == from) result.rows.pop_back();
    result.rows.push_back({from, state_.base, state_.offset});
    return true;
  }

  State state_;
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
