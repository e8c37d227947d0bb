// SPDX-License-Identifier: MIT
// Reads every table of a file that may be damaged, from memory and from a file: both say the same.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/elf.h"

namespace {

using namespace stab;

void require(bool condition) {
  if (!condition) std::abort();
}

// All that the reader says of the file.
std::string answers(const Result<ElfReader>& elf) {
  std::string all;
  const auto add = [&](std::string_view bytes) { all.append(bytes).push_back('|'); };
  const auto add_table = [&](const auto& table) {
    require(table ? table->size() * sizeof(*table->data()) <= ElfReader::most_bytes
                  : !table.error().message.empty());
    if (table)
      add({reinterpret_cast<const char*>(table->data()), table->size() * sizeof(*table->data())});
    else
      add(table.error().message);
  };
  if (!elf) return "none";
  add_table(elf->segments());
  add_table(elf->dynamic());
  const auto sections = elf->sections();
  add_table(sections);
  const auto names = elf->section_names(sections.value_or(std::vector<Elf64_Shdr>()));
  add_table(names);
  add(elf->find_section(".note.stab").value_or(std::nullopt) ? "noted" : "");
  for (std::size_t i = 0; sections && i < sections->size() && i < 50; ++i) {
    const Elf64_Shdr& each = (*sections)[i];
    if (names) add(ElfReader::text_at(*names, each.sh_name));
    const auto symbols = elf->symbols(each);
    const auto text = elf->bytes(each.sh_offset, each.sh_size);
    add_table(symbols);
    add_table(text);
    if (symbols && text)
      for (const Elf64_Sym& symbol : *symbols) add(ElfReader::text_at(*text, symbol.st_name));
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Fd file(memfd_create("elf", MFD_CLOEXEC));
  require(write_all(file.get(), bytes).has_value());
  require(answers(ElfReader::in_memory(bytes)) == answers(ElfReader::of(file.get())));
  return 0;
}
