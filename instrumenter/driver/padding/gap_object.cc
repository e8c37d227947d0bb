// SPDX-License-Identifier: MIT
#include "instrumenter/driver/padding/gap_object.h"

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace stab::driver {
namespace {

constexpr std::uint64_t kMaxPage = 4096;
constexpr std::uint64_t kRetain = 1 << 21;  // SHF_GNU_RETAIN: --gc-sections keeps it
constexpr char kTrap = '\xcc';

struct Part {
  std::string_view name;
  std::uint32_t type;
  std::uint64_t flags;
  std::uint64_t align;
  std::string content;
};

template <class T>
std::string_view raw(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// "Ready for IBT and shadow stacks": the linker keeps the property only if every input has it.
std::string property_note() {
  const std::array<std::uint32_t, 8> words = {
      4,
      16,
      NT_GNU_PROPERTY_TYPE_0,
      0x00554e47 /* "GNU" */,
      GNU_PROPERTY_X86_FEATURE_1_AND,
      4,
      GNU_PROPERTY_X86_FEATURE_1_IBT | GNU_PROPERTY_X86_FEATURE_1_SHSTK,
      0};
  return std::string(raw(words));
}

std::string gap(Random& random, char fill) {
  return std::string(1 + random.below(kMaxPage), fill);
}

std::string assemble(const std::vector<Part>& parts) {
  std::string names(1, '\0');
  std::string body(sizeof(Elf64_Ehdr), '\0');
  std::vector<Elf64_Shdr> headers(1);
  const auto add = [&](const Part& part) {
    body.resize((body.size() + part.align - 1) / part.align * part.align);
    Elf64_Shdr header{};
    header.sh_name = static_cast<std::uint32_t>(names.size());
    header.sh_type = part.type;
    header.sh_flags = part.flags;
    header.sh_offset = body.size();
    header.sh_size = part.content.size();
    header.sh_addralign = part.align;
    headers.push_back(header);
    names += part.name;
    names += '\0';
    body += part.content;
  };
  for (const Part& part : parts) add(part);
  const std::string all_names = names + ".shstrtab" + '\0';
  add({".shstrtab", SHT_STRTAB, 0, 1, all_names});
  body.resize((body.size() + 7) / 8 * 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = body.size();
  header.e_shnum = static_cast<std::uint16_t>(headers.size());
  header.e_shstrndx = static_cast<std::uint16_t>(headers.size() - 1);
  std::memcpy(body.data(), &header, sizeof header);
  for (const Elf64_Shdr& section : headers) body += raw(section);
  return body;
}

}  // namespace

std::string gap_object(Random& random) {
  constexpr std::uint64_t kRead = SHF_ALLOC | kRetain;
  constexpr std::uint64_t kWrite = SHF_ALLOC | SHF_WRITE | kRetain;
  return assemble({
      {".text", SHT_PROGBITS, kRead | SHF_EXECINSTR, 16, gap(random, kTrap)},
      {".rodata", SHT_PROGBITS, kRead, 16, gap(random, '\0')},
      {".data.rel.ro", SHT_PROGBITS, kWrite, 16, gap(random, '\0')},
      {".data", SHT_PROGBITS, kWrite, 16, gap(random, '\0')},
      {".note.gnu.property", SHT_NOTE, SHF_ALLOC, 8, property_note()},
      {".note.GNU-stack", SHT_PROGBITS, 0, 1, ""},
  });
}

}  // namespace stab::driver
