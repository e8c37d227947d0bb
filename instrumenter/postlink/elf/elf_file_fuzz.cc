// SPDX-License-Identifier: MIT
// Reads all of a file that may be damaged: everything lies inside of the file, or is an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "instrumenter/postlink/elf/elf_file.h"

namespace {

using namespace stab::instrumenter;

void require(bool condition) {
  if (!condition) std::abort();
}

class Checker {
 public:
  explicit Checker(const ElfFile& file) : file_(file) {}

  void run() const {
    look_at_segments();
    look_at_sections();
    for (const Elf64_Sym& symbol : file_.symbols()) check(file_.name(symbol));
    look_at_exports();
    (void)file_.has_unread_relocations();
    (void)file_.lowest();
    (void)file_.highest();
  }

 private:
  void check(std::string_view bytes) const {
    const std::string& all = file_.bytes();
    require(bytes.empty() ||
            (bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size()));
  }
  void check(std::span<const std::uint8_t> bytes) const {
    check({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }

  void look_at_segments() const {
    for (const Elf64_Phdr& each : file_.segments()) {
      check(file_.at(each.p_vaddr, each.p_filesz));
      check(file_.at(each.p_vaddr + each.p_filesz, 1));
      const auto offset = file_.file_offset(each.p_vaddr, each.p_filesz);
      require(!offset || *offset <= file_.bytes().size());
    }
  }

  void look_at_sections() const {
    constexpr std::size_t most = 50;  // each of them looks at all tables of relocations
    for (std::size_t i = 0; i < file_.sections().size(); ++i) {
      const Elf64_Shdr& each = file_.sections()[i];
      check(file_.name(each));
      check(file_.contents(each));
      const Elf64_Shdr* found = file_.section(file_.name(each));
      require(found != nullptr && file_.name(*found) == file_.name(each));
      if (i >= most) continue;
      std::uint64_t last = 0;
      for (const Relocation& relocation : file_.relocations(i)) {
        require(relocation.where >= last);
        last = relocation.where;
      }
    }
  }

  void look_at_exports() const {
    for (const std::string_view name : {"", "main", "exported"})
      require(!file_.exports(name) || !file_.exported_places().empty());
  }

  const ElfFile& file_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto file = ElfFile::parse(bytes);
  if (!file) {
    require(!file.error().message.empty());
    return 0;
  }
  require(file->bytes() == bytes);
  Checker(*file).run();
  return 0;
}
