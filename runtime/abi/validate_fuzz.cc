// SPDX-License-Identifier: MIT
// Changes a valid table as the input says, signs it again, and reads every table that the validator
// accepts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "runtime/abi/sample_table.h"
#include "runtime/abi/validate.h"

namespace {

using namespace stab;

void require(bool condition) {
  if (!condition) std::abort();
}

// Checks the properties that the runtime relies on.
void walk(const abi::Header& h) {
  const auto* functions = rt::elements<abi::Function>(h, h.functions);
  const auto* fixups = rt::elements<abi::Fixup>(h, h.fixups);
  volatile std::uint64_t sink = 0;
  for (std::uint32_t i = 0; i < h.functions.count; ++i) {
    const abi::Function& f = functions[i];
    require(f.start >= 0x1000 && std::uint64_t{f.start} + f.size <= 0x2000);
    require(f.fde == 0 || f.cie < h.cies.count);
    for (std::uint32_t k = 0; k < f.fixup_count; ++k) {
      require(abi::offset_of(fixups[f.first_fixup + k]) + 4 <= f.size);
      const auto kind = abi::kind_of(fixups[f.first_fixup + k]);
      if (kind == abi::FixupKind::branch)
        require(fixups[f.first_fixup + k].value < h.functions.count);
      if (kind == abi::FixupKind::label) require(fixups[f.first_fixup + k].value < h.labels.count);
    }
    for (std::uint32_t k = 0; k < f.word_count; ++k)
      sink += rt::elements<std::uint32_t>(h, h.words)[f.first_word + k];
    for (const char* c = rt::elements<char>(h, h.names) + f.name; *c != '\0'; ++c)
      sink += static_cast<unsigned char>(*c);
  }
  for (std::uint32_t i = 0; i < h.frames.count; ++i) {
    const auto* frames = rt::elements<abi::Frame>(h, h.frames);
    require(frames[i].part_of == 0 || frames[frames[i].part_of - 1].part_of == 0);
  }
  for (std::uint32_t i = 0; i < h.slots.count; ++i) {
    const abi::Slot& slot = rt::elements<abi::Slot>(h, h.slots)[i];
    require(slot.where < 0x4000 && slot.label < h.labels.count);
    require(rt::elements<abi::Label>(h, h.labels)[slot.label].function < h.functions.count);
  }
}

}  // namespace

// Three bytes of input make one change of the table: two bytes say where, and one says what. A last
// byte cuts off the table's end.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto table = rt::testing::SampleTable().build();
  auto* bytes = reinterpret_cast<std::uint8_t*>(table.data());
  for (; size >= 3; data += 3, size -= 3)
    bytes[(data[0] | static_cast<std::size_t>(data[1]) << 8) % (table.size() * 8)] = data[2];
  if (size == 2) table.resize(data[0] % table.size());
  if (size != 1) rt::testing::SampleTable::sign(table);
  if (rt::testing::check(table) == rt::TableError::ok)
    walk(*reinterpret_cast<const abi::Header*>(table.data()));
  return 0;
}
