// SPDX-License-Identifier: MIT
#include "instrumenter/driver/padding/padding.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "base/elf.h"

namespace stab::driver {
namespace {

constexpr std::uint64_t kOneIn = 16;
constexpr std::uint64_t kMaxTail = 4096;
constexpr char kTrapByte = '\xcc';
constexpr auto kPadded =
    std::to_array<std::string_view>({".text", ".rodata", ".data.rel.ro", ".data", ".bss"});

bool fits(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

// ".text" and ".text.f" belong to ".text"; ".data.rel.ro" names itself before ".data" does.
bool is_padded_name(std::string_view name) {
  return std::ranges::any_of(kPadded, [&](std::string_view base) {
    return name == base || (name.starts_with(base) && name[base.size()] == '.');
  });
}

bool wants_tail(const Elf64_Shdr& section, std::string_view name) {
  constexpr std::uint64_t kForbidden =
      SHF_MERGE | SHF_STRINGS | SHF_TLS | SHF_LINK_ORDER | SHF_COMPRESSED;
  return (section.sh_type == SHT_PROGBITS || section.sh_type == SHT_NOBITS) &&
         (section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & kForbidden) == 0 &&
         section.sh_size != 0 && section.sh_addralign <= kMaxTail && is_padded_name(name);
}

// Moves the section to the end of the file, where it has room to grow.
void grow(std::string& object, Elf64_Shdr& section) {
  const std::uint64_t tail = std::max<std::uint64_t>(section.sh_addralign, 1);
  if (section.sh_type == SHT_PROGBITS) {
    const std::string content = object.substr(section.sh_offset, section.sh_size);
    object.resize((object.size() + tail - 1) / tail * tail, 0);
    section.sh_offset = object.size();
    object += content;
    object.append(tail, (section.sh_flags & SHF_EXECINSTR) != 0 ? kTrapByte : 0);
  }
  section.sh_size += tail;
}

struct SectionTable {
  std::uint64_t at = 0;
  std::vector<Elf64_Shdr> headers{};
  std::string names{};  // a copy, because the object moves when it grows
};

// Nothing if it is not an x86-64 object, or if it is damaged.
std::optional<SectionTable> section_table(std::string_view object) {
  const auto elf = ElfReader::in_memory(object);
  if (!elf || elf->header().e_type != ET_REL || elf->header().e_machine != EM_X86_64)
    return std::nullopt;
  auto headers = elf->sections();
  if (!headers) return std::nullopt;
  const auto names = elf->section_names(*headers);
  if (!names) return std::nullopt;
  return SectionTable{elf->header().e_shoff, *std::move(headers), std::string(*names)};
}

}  // namespace

std::string pad_object(std::string object, Random& random) {
  const auto table = section_table(object);
  if (!table) return object;
  for (std::size_t i = 1; i < table->headers.size(); ++i) {
    Elf64_Shdr section = table->headers[i];
    const bool in_file =
        section.sh_type == SHT_NOBITS || fits(object, section.sh_offset, section.sh_size);
    if (!in_file || !wants_tail(section, ElfReader::text_at(table->names, section.sh_name)))
      continue;
    if (random.below(kOneIn) != 0) continue;
    grow(object, section);
    std::memcpy(object.data() + table->at + i * sizeof section, &section, sizeof section);
  }
  return object;
}

}  // namespace stab::driver
