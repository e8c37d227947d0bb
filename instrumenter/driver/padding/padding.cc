// SPDX-License-Identifier: MIT
#include "instrumenter/driver/padding/padding.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>

namespace stab::driver {
namespace {

constexpr std::uint64_t kOneIn = 16;
constexpr std::uint64_t kMaxTail = 4096;
constexpr char kTrapByte = '\xcc';
constexpr auto kPadded =
    std::to_array<std::string_view>({".text", ".rodata", ".data.rel.ro", ".data", ".bss"});

template <class T>
T load(std::string_view bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

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
  std::uint64_t at;
  std::uint64_t count;
  std::string names;
};

// Of an x86-64 object; nothing if it is something else or damaged.
std::optional<SectionTable> section_table(std::string_view object) {
  if (object.size() < sizeof(Elf64_Ehdr) || !object.starts_with(ELFMAG)) return std::nullopt;
  const auto header = load<Elf64_Ehdr>(object, 0);
  constexpr std::uint64_t kEntry = sizeof(Elf64_Shdr);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_REL ||
      header.e_machine != EM_X86_64 || header.e_shentsize != kEntry ||
      !fits(object, header.e_shoff, kEntry))
    return std::nullopt;
  // With 0xff00 sections and more, the real numbers stand in section 0.
  const auto first = load<Elf64_Shdr>(object, header.e_shoff);
  const std::uint64_t count = header.e_shnum != 0 ? header.e_shnum : first.sh_size;
  const std::uint64_t names = header.e_shstrndx != SHN_XINDEX ? header.e_shstrndx : first.sh_link;
  if (count > object.size() / kEntry || !fits(object, header.e_shoff, count * kEntry) ||
      names >= count)
    return std::nullopt;
  const auto table = load<Elf64_Shdr>(object, header.e_shoff + names * kEntry);
  if (!fits(object, table.sh_offset, table.sh_size)) return std::nullopt;
  return SectionTable{header.e_shoff, count,
                      std::string(object.substr(table.sh_offset, table.sh_size))};
}

std::string_view name_at(std::string_view names, std::uint32_t at) {
  if (at >= names.size()) return "";
  return names.substr(at, names.substr(at).find('\0'));
}

}  // namespace

std::string pad_object(std::string object, Random& random) {
  const auto table = section_table(object);
  if (!table) return object;
  for (std::uint64_t i = 1; i < table->count; ++i) {
    const std::uint64_t at = table->at + i * sizeof(Elf64_Shdr);
    auto section = load<Elf64_Shdr>(object, at);
    const bool in_file =
        section.sh_type == SHT_NOBITS || fits(object, section.sh_offset, section.sh_size);
    if (!in_file || !wants_tail(section, name_at(table->names, section.sh_name))) continue;
    if (random.below(kOneIn) != 0) continue;
    grow(object, section);
    std::memcpy(object.data() + at, &section, sizeof section);
  }
  return object;
}

}  // namespace stab::driver
