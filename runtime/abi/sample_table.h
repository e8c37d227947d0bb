// SPDX-License-Identifier: MIT
// A small valid table for tests: two functions with every kind of fixup.
#pragma once

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

#include "runtime/abi/abi.h"
#include "runtime/abi/validate.h"

namespace stab::rt::testing {

class SampleTable {
 public:
  std::vector<abi::Function> functions = {
      {0x1000, 40, 0, 3, 0, 2, 0x200, 24, 0, 16, 0, 0x1234, 0, 0, 24, 0x300, 0},
      {0x1040, 20, 3, 1, 2, 0, 0, 0, 0, 0, 5, 0x5678, abi::function_keeps_entry, 0, 0, 0, 0}};
  std::vector<abi::Fixup> fixups = {
      fixup(abi::FixupKind::shift, 3, 0), fixup(abi::FixupKind::branch, 10, 1),
      fixup(abi::FixupKind::constant, 20, 48 - 24), fixup(abi::FixupKind::label, 8, 0)};
  std::vector<abi::Label> labels = {{1, 12}};
  std::vector<abi::Slot> slots = {{0x3000, 0}, {0x3008, 0}};
  std::vector<abi::Pointer> pointers = {{0x3010, 1}, {0x3018, 0}};
  std::vector<abi::Range> ranges = {{0x1000, 0x100, 0, 0}, {0x3000, 16, 2, 0}, {0x3010, 16, 3, 0}};
  std::vector<abi::Cie> cies = {{0x180, 24, 18, 0}};
  std::vector<std::uint32_t> words = {1, 2};
  std::vector<std::uint8_t> exceptions = std::vector<std::uint8_t>(24);
  std::vector<abi::Frame> frames = {{0, 2, 1, 255, 1, 0, 16, 0}, {3, 0, 0, 0, 1, 1, 0, 0}};
  std::vector<std::uint32_t> frame_fields = {14, 30, abi::description_field(20, 2)};
  std::vector<abi::Pinned> pinned = {{0x1100, 16, 0, 1}};
  std::vector<abi::Hider> hiders = {{0x1010, 5, 1}};
  std::string names{'m', 'a', 'i', 'n', 0, 'l', 'e', 'a', 'f', 0};

  static abi::Fixup fixup(abi::FixupKind kind, std::uint32_t offset, std::uint32_t value) {
    return {static_cast<std::uint32_t>(kind) << abi::fixup_kind_shift | offset, value};
  }

  static Shape shape() {
    Shape shape{};
    shape.count = 3;
    shape.segments[0] = {0, 0x800, PF_R};
    shape.segments[1] = {0x1000, 0x2000, PF_R | PF_X};
    shape.segments[2] = {0x3000, 0x4000, PF_R | PF_W};
    return shape;
  }

  [[nodiscard]] std::vector<std::uint64_t> build() const {
    std::string table(sizeof(abi::Header), '\0');
    abi::Header header{};
    header.functions = append(table, functions);
    header.fixups = append(table, fixups);
    header.labels = append(table, labels);
    header.slots = append(table, slots);
    header.pointers = append(table, pointers);
    header.ranges = append(table, ranges);
    header.cies = append(table, cies);
    header.words = append(table, words);
    header.exceptions = append(table, exceptions);
    header.frames = append(table, frames);
    header.frame_fields = append(table, frame_fields);
    header.pinned = append(table, pinned);
    header.hiders = append(table, hiders);
    header.names = append(table, std::vector<char>(names.begin(), names.end()));
    table.resize((table.size() + 7) / 8 * 8);
    header.magic = abi::magic;
    header.version = abi::version;
    header.header_size = sizeof header;
    header.total_size = table.size();
    header.image_size = 0x4000;
    std::vector<std::uint64_t> aligned(table.size() / 8);
    std::memcpy(aligned.data(), table.data(), table.size());
    std::memcpy(aligned.data(), &header, sizeof header);
    sign(aligned);
    return aligned;
  }

  // Recomputes the checksum, provided that the header's offsets are usable.
  static void sign(std::vector<std::uint64_t>& table) {
    auto* header = reinterpret_cast<abi::Header*>(table.data());
    if (table.size() * 8 < sizeof *header) return;
    if (header->pinned.offset < sizeof *header || header->pinned.offset > table.size() * 8) return;
    header->checksum = 0;
    const auto* bytes = reinterpret_cast<const unsigned char*>(table.data());
    header->checksum = abi::hash_table(bytes, bytes, header->pinned.offset);
  }

 private:
  template <class T>
  static abi::Array append(std::string& table, const std::vector<T>& elements) {
    table.resize((table.size() + 7) / 8 * 8);
    const abi::Array array{static_cast<std::uint32_t>(table.size()),
                           static_cast<std::uint32_t>(elements.size())};
    table.append(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
    return array;
  }
};

inline TableError check(const std::vector<std::uint64_t>& table) {
  return validate(reinterpret_cast<const std::uint8_t*>(table.data()), table.size() * 8,
                  SampleTable::shape());
}

}  // namespace stab::rt::testing
