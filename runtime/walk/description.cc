// SPDX-License-Identifier: MIT
#include "runtime/walk/description.h"

namespace stab::rt {
namespace {

constexpr uint64_t longest = 1u << 30;  // places in a description fit into 31 bits
// Bytes of an encoded address; 0 if it is one that nobody uses here.
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

// Letters and what they stand for, which follows the other fields.
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

// Length, then the number that tells a CIE (0) from an FDE. Returns what the length covers.
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

}  // namespace stab::rt
