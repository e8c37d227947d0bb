// SPDX-License-Identifier: MIT
#include "base/elf.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <initializer_list>

#include "base/random.h"

namespace stab {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// A program with a segment for each of its parts: a dynamic section, symbols, and named sections.
struct SmallElf {
  Elf64_Ehdr header{};
  std::array<Elf64_Phdr, 2> segments{};
  std::array<Elf64_Dyn, 2> dynamic{};
  std::array<Elf64_Sym, 2> symbols{};
  std::array<char, 16> strings{"\0first\0second"};
  std::array<char, 40> names{"\0.symtab\0.strtab\0.shstrtab\0.note.test"};
  std::array<Elf64_Shdr, 5> sections{};

  SmallElf() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = offsetof(SmallElf, segments);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = segments.size();
    header.e_shoff = offsetof(SmallElf, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = sections.size();
    header.e_shstrndx = 3;
    segments[0].p_type = PT_LOAD;
    segments[0].p_flags = PF_R | PF_X;
    segments[0].p_filesz = sizeof(SmallElf);
    segments[1].p_type = PT_DYNAMIC;
    segments[1].p_offset = offsetof(SmallElf, dynamic);
    segments[1].p_filesz = sizeof dynamic;
    dynamic[0].d_tag = DT_FLAGS_1;
    dynamic[0].d_un.d_val = DF_1_PIE;
    symbols[1].st_name = 7;
    symbols[1].st_value = 0x1234;
    const auto set = [&](std::size_t index, std::uint32_t name, std::uint32_t type,
                         std::uint64_t offset, std::uint64_t size) {
      sections[index].sh_name = name;
      sections[index].sh_type = type;
      sections[index].sh_offset = offset;
      sections[index].sh_size = size;
    };
    set(1, 1, SHT_SYMTAB, offsetof(SmallElf, symbols), sizeof symbols);
    sections[1].sh_link = 2;
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    set(2, 9, SHT_STRTAB, offsetof(SmallElf, strings), sizeof strings);
    set(3, 17, SHT_STRTAB, offsetof(SmallElf, names), sizeof names);
    set(4, 27, SHT_NOTE, sizeof(SmallElf), 0);
  }

  [[nodiscard]] std::string bytes() const {
    return {reinterpret_cast<const char*>(this), sizeof *this};
  }
};

std::string changed(const std::function<void(SmallElf&)>& change) {
  SmallElf elf;
  change(elf);
  return elf.bytes();
}

// Reads a file with these bytes, once from memory and once from the file.
void for_both(const std::string& bytes, const std::function<void(const Result<ElfReader>&)>& look) {
  look(ElfReader::in_memory(bytes));
  const Fd file(memfd_create("elf", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(file.get(), bytes));
  look(ElfReader::of(file.get()));
}

std::string why_not(const std::string& bytes) {
  std::vector<std::string> why;
  for_both(bytes, [&](const auto& elf) { why.push_back(elf ? "" : elf.error().message); });
  EXPECT_EQ(why.front(), why.back()) << "memory and file are read alike";
  return why.front();
}

TEST(Elf, EachTableIsRead) {
  for_both(SmallElf().bytes(), [](const auto& elf) {
    ASSERT_TRUE(elf);
    EXPECT_EQ(elf->header().e_type, ET_DYN);
    EXPECT_EQ(elf->segments().value().size(), 2U);
    EXPECT_TRUE(elf->has_segment(PT_DYNAMIC));
    EXPECT_FALSE(elf->has_segment(PT_INTERP));
    EXPECT_EQ(elf->dynamic().value().at(0).d_un.d_val, Elf64_Xword{DF_1_PIE});
    const auto sections = elf->sections().value();
    ASSERT_EQ(sections.size(), 5U);
    const auto symbols = elf->symbols(sections[1]).value();
    const auto strings = elf->bytes(sections[2].sh_offset, sections[2].sh_size).value();
    ASSERT_EQ(symbols.size(), 2U);
    EXPECT_EQ(symbols[1].st_value, 0x1234U);
    EXPECT_EQ(ElfReader::text_at(strings, symbols[1].st_name), "second");
    EXPECT_EQ(ElfReader::text_at(elf->section_names(sections).value(), sections[3].sh_name),
              ".shstrtab");
    EXPECT_EQ(elf->find_section(".note.test").value()->sh_type, Elf64_Word{SHT_NOTE});
    // A name is found whole, and not as a part of another.
    for (const char* none : {".note", "note.test", ".note.test2", ".debug_line"})
      EXPECT_EQ(elf->find_section(none).value().has_value(), false) << none;
  });
}

// Members of an archive begin at any even address.
TEST(Elf, BytesInMemoryNeedNoAlignment) {
  const std::string bytes = "x" + SmallElf().bytes();
  const auto elf = ElfReader::in_memory(std::string_view(bytes).substr(1));
  ASSERT_TRUE(elf);
  EXPECT_TRUE(elf->has_segment(PT_DYNAMIC));
  EXPECT_EQ(elf->dynamic().value().at(0).d_un.d_val, Elf64_Xword{DF_1_PIE});
  EXPECT_EQ(elf->symbols(elf->find_section(".symtab").value().value()).value()[1].st_value,
            0x1234U);
}

TEST(Elf, TheRunningProgramIsRead) {
  const auto elf = ElfReader::open("/proc/self/exe");
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_TRUE(elf->has_segment(PT_LOAD));
  EXPECT_TRUE(elf->find_section(".text").value());
}

TEST(Elf, TheErrorSaysWhatAnotherFileIs) {
  const auto error = [](const std::string& path) { return ElfReader::open(path).error().message; };
  EXPECT_THAT(error("/does/not/exist"), HasSubstr("cannot be read: No such file"));
  EXPECT_EQ(error("/dev/zero"), "the file is not a regular file");
  EXPECT_EQ(error("/etc/passwd"), "the file is not a 64-bit little-endian ELF file");
  for (const std::string& other :
       {std::string(), std::string("#!/bin/sh\n"), SmallElf().bytes().substr(0, 63),
        changed([](auto& elf) { elf.header.e_ident[EI_CLASS] = ELFCLASS32; }),
        changed([](auto& elf) { elf.header.e_ident[EI_DATA] = ELFDATA2MSB; })})
    EXPECT_EQ(why_not(other), "the file is not a 64-bit little-endian ELF file");
}

// If the section headers are damaged, the program headers still count.
TEST(Elf, DamagedSectionHeadersLeaveTheSegments) {
  using Change = std::function<void(SmallElf&)>;
  for (const Change& change :
       std::initializer_list<Change>{[](auto& elf) { elf.header.e_shoff = sizeof elf; },
                                     [](auto& elf) { elf.header.e_shoff = sizeof elf - 1; },
                                     [](auto& elf) { elf.header.e_shoff = UINT64_MAX; },
                                     [](auto& elf) { elf.header.e_shnum = 0xfeff; },
                                     [](auto& elf) { elf.header.e_shentsize = 1; }})
    for_both(changed(change), [](const auto& elf) {
      ASSERT_TRUE(elf);
      EXPECT_THAT(elf->sections().error().message, HasSubstr("section headers"));
      EXPECT_FALSE(elf->find_section(".symtab"));
      EXPECT_TRUE(elf->has_segment(PT_DYNAMIC));
    });
  // A program without any is whole, as sstrip leaves it.
  const auto stripped = changed([](auto& elf) {
    elf.header.e_shoff = 0;
    elf.header.e_shnum = 0;
    elf.header.e_shstrndx = 0;
  });
  for_both(stripped, [](const auto& elf) {
    EXPECT_EQ(elf->sections().value().size(), 0U);
    EXPECT_EQ(elf->find_section(".symtab").value().has_value(), false);
    EXPECT_TRUE(elf->has_segment(PT_DYNAMIC));
  });
}

TEST(Elf, DamagedProgramHeadersLeaveTheSections) {
  using Change = std::function<void(SmallElf&)>;
  for (const Change& change :
       std::initializer_list<Change>{[](auto& elf) { elf.header.e_phoff = sizeof elf - 8; },
                                     [](auto& elf) { elf.header.e_phoff = UINT64_MAX - 8; },
                                     [](auto& elf) { elf.header.e_phnum = 0xfffe; },
                                     [](auto& elf) { elf.header.e_phnum = PN_XNUM; },
                                     [](auto& elf) { elf.header.e_phentsize = 1; }})
    for_both(changed(change), [](const auto& elf) {
      ASSERT_TRUE(elf);
      EXPECT_THAT(elf->segments().error().message, HasSubstr("program headers"));
      EXPECT_FALSE(elf->has_segment(PT_LOAD));
      EXPECT_FALSE(elf->dynamic());
      EXPECT_TRUE(elf->find_section(".symtab").value());
    });
}

TEST(Elf, ASectionOutsideTheFileIsNotRead) {
  for (const std::uint64_t size :
       {std::uint64_t{sizeof(SmallElf)}, ElfReader::most_bytes, std::uint64_t{1} << 40, UINT64_MAX})
    for (const std::uint64_t offset :
         {std::uint64_t{sizeof(SmallElf)} - 1, std::uint64_t{1} << 40, UINT64_MAX})
      for_both(changed([&](auto& elf) {
                 elf.sections[1].sh_size = elf.sections[3].sh_size = size;
                 elf.sections[1].sh_offset = elf.sections[3].sh_offset = offset;
                 elf.segments[1].p_filesz = size;
                 elf.segments[1].p_offset = offset;
               }),
               [](const auto& elf) {
                 ASSERT_TRUE(elf);
                 const auto sections = elf->sections().value();
                 EXPECT_FALSE(elf->symbols(sections[1]));
                 EXPECT_FALSE(elf->find_section(".symtab"));
                 EXPECT_FALSE(elf->dynamic());
               });
}

TEST(Elf, ANameOutsideItsTableIsEmpty) {
  for (const std::uint16_t index : {5, 0xfefe, 0xffff})
    for_both(changed([&](auto& elf) { elf.header.e_shstrndx = index; }), [&](const auto& elf) {
      // 0xffff says that the index is in section 0, which names no table here.
      EXPECT_EQ(elf->section_names(elf->sections().value()).value_or("?"),
                index == 0xffff ? "" : "?");
    });
  for_both(changed([](auto& elf) { elf.sections[4].sh_name = UINT32_MAX; }),
           [](const auto& elf) { EXPECT_FALSE(elf->find_section(".note.test").value()); });
  // A table that doesn't end with a zero.
  for_both(changed([](auto& elf) { elf.sections[3].sh_size = 37; }),
           [](const auto& elf) { EXPECT_FALSE(elf->find_section(".note.test").value()); });
  EXPECT_EQ(ElfReader::text_at(std::string_view("a\0b", 3), 0), "a");
  EXPECT_EQ(ElfReader::text_at(std::string_view("a\0b", 3), 2), "");
  EXPECT_EQ(ElfReader::text_at("", 0), "");
}

// A file with many sections has their number in section 0.
TEST(Elf, AClaimOfTooManySectionsIsRefused) {
  const auto many = [](std::uint64_t count) {
    return changed([&](auto& elf) {
      elf.header.e_shnum = 0;
      elf.sections[0].sh_size = count;
    });
  };
  for_both(many(5), [](const auto& elf) { EXPECT_EQ(elf->sections().value().size(), 5U); });
  for_both(many(1000), [](const auto& elf) { EXPECT_FALSE(elf->sections()); });
  EXPECT_THAT(why_not(many(ElfReader::most_sections + 1)),
              HasSubstr("the ELF file has 1048577 sections"));
  EXPECT_THAT(why_not(many(UINT64_MAX)), HasSubstr("at most 1048576 are allowed"));
}

TEST(Elf, ATableThatIsLargerThanTheLimitIsNotRead) {
  const Fd file(memfd_create("elf", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(file.get(), SmallElf().bytes()));
  ASSERT_EQ(ftruncate(file.get(), off_t{ElfReader::most_bytes} + 1), 0);
  const auto elf = ElfReader::of(file.get());
  ASSERT_TRUE(elf);
  EXPECT_EQ(elf->bytes(0, ElfReader::most_bytes + 1).error().message,
            "the ELF file has a table of 268435457 bytes, but at most 268435456 are allowed");
}

TEST(Elf, AFileThatIsCutAnywhereIsReadOrNot) {
  const std::string whole = SmallElf().bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    for_both(whole.substr(0, size), [&](const auto& elf) {
      ASSERT_EQ(elf.has_value(), size >= sizeof(Elf64_Ehdr)) << size;
      if (elf) EXPECT_FALSE(elf->find_section(".note.test")) << size;
    });
}

TEST(Elf, AFileThatShrinksWhileItIsReadIsAnError) {
  const Fd file(memfd_create("elf", MFD_CLOEXEC));
  ASSERT_TRUE(write_all(file.get(), SmallElf().bytes()));
  const auto elf = ElfReader::of(file.get());
  ASSERT_TRUE(elf);
  ASSERT_EQ(ftruncate(file.get(), 64), 0);
  EXPECT_FALSE(elf->segments());
  EXPECT_FALSE(elf->find_section(".symtab"));
  EXPECT_FALSE(elf->bytes(64, 8));
}

}  // namespace
}  // namespace stab
