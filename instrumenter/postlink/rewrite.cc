// SPDX-License-Identifier: MIT
// The runtime's note has a program header of its own, because its alignment makes the linker give
// it one. That header becomes the table's: a read-only segment behind all others, which a section
// covers so that strip keeps it.
#include <algorithm>
#include <cstring>

#include "instrumenter/postlink/output.h"

namespace stab::instrumenter {
namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t align_up(std::uint64_t value, std::uint64_t align) {
  return align <= 1 ? value : (value + align - 1) / align * align;
}

class Rewriter {
 public:
  Rewriter(const ElfFile& file, std::string_view table, std::span<const Patch> patches,
           bool strip_all, bool strip_debug)
      : file_(file),
        table_(table),
        patches_(patches),
        strip_all_(strip_all),
        strip_debug_(strip_debug) {}

  Result<std::string> run() {
    const Elf64_Shdr* note = file_.section(abi::note_section);
    if (note == nullptr || note->sh_size < sizeof(abi::Note))
      return fail("the runtime is not linked in: there is no section .note.stab");
    note_address_ = note->sh_addr;
    segments_.assign(file_.segments().begin(), file_.segments().end());
    if (!claim_segment()) return fail("there is no spare program header for the table");
    copy_image();
    apply_patches();
    place_table();
    write_note();
    copy_other_sections();
    finish();
    return std::move(out_);
  }

 private:
  bool claim_segment() {
    const auto own = std::ranges::find_if(segments_, [&](const Elf64_Phdr& segment) {
      return segment.p_type == PT_NOTE && segment.p_vaddr == note_address_;
    });
    if (own == segments_.end()) return false;
    segments_.erase(own);
    // Loadable segments must be sorted by address.
    std::size_t behind = 0;
    for (std::size_t i = 0; i < segments_.size(); ++i)
      if (segments_[i].p_type == PT_LOAD) behind = i + 1;
    segments_.insert(segments_.begin() + static_cast<std::ptrdiff_t>(behind), Elf64_Phdr{});
    segment_ = behind;
    return true;
  }

  void copy_image() {
    std::uint64_t end = file_.header().e_phoff + segments_.size() * sizeof(Elf64_Phdr);
    for (const Elf64_Phdr& segment : segments_)
      end = std::max(end, segment.p_offset + segment.p_filesz);
    out_ = file_.bytes().substr(0, end);
  }

  void apply_patches() {
    for (const Patch& patch : patches_)
      if (const auto at = file_.file_offset(patch.address, patch.bytes.size()))
        std::ranges::copy(patch.bytes, out_.begin() + static_cast<std::ptrdiff_t>(*at));
  }

  void place_table() {
    out_.resize(align_up(out_.size(), page));
    table_offset_ = out_.size();
    table_address_ = align_up(file_.highest(), page);
    out_ += table_;
    Elf64_Phdr& segment = segments_[segment_];
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R;
    segment.p_offset = table_offset_;
    segment.p_vaddr = segment.p_paddr = table_address_;
    segment.p_filesz = segment.p_memsz = table_.size();
    segment.p_align = page;
  }

  void write_note() {
    const auto at = file_.file_offset(note_address_, sizeof(abi::Note));
    if (!at) return;
    abi::Note note{};
    std::memcpy(&note, out_.data() + *at, sizeof note);
    note.own_address = note_address_;
    note.table_offset = static_cast<std::int64_t>(table_address_ - note_address_);
    note.table_size = table_.size();
    std::memcpy(out_.data() + *at, &note, sizeof note);
  }

  [[nodiscard]] bool dropped(std::size_t index) const {
    const Elf64_Shdr& section = file_.sections()[index];
    if (index == 0 || (section.sh_flags & SHF_ALLOC) != 0 || index == file_.header().e_shstrndx)
      return false;
    const std::string_view name = file_.name(section);
    const bool symbols = section.sh_type == SHT_SYMTAB || name == ".strtab";
    return section.sh_type == SHT_RELA || name == abi::frames_section ||
           name == abi::calls_section || name == abi::entries_section ||
           name == abi::compiled_section || name == abi::bytes_section || (strip_all_ && symbols) ||
           ((strip_all_ || strip_debug_) && name.starts_with(".debug"));
  }

  // Moves the sections that are not loaded, and renumbers all sections.
  void copy_other_sections() {
    const auto old = file_.sections();
    numbers_.assign(old.size(), 0);
    for (std::size_t i = 0; i < old.size(); ++i) {
      if (dropped(i)) continue;
      numbers_[i] = static_cast<std::uint32_t>(sections_.size());
      sections_.push_back(old[i]);
      // The note's alignment gave it a program header of its own. Readers of notes expect 4.
      if (old[i].sh_addr == note_address_ && old[i].sh_type == SHT_NOTE)
        sections_.back().sh_addralign = 4;
      if (i == file_.header().e_shstrndx)
        add_table_section();
      else if ((old[i].sh_flags & SHF_ALLOC) == 0 && i != 0)
        move_section(i);
    }
    for (Elf64_Shdr& section : sections_) {
      section.sh_link = section.sh_link < numbers_.size() ? numbers_[section.sh_link] : 0;
      const bool names_section =
          section.sh_type == SHT_RELA || (section.sh_flags & SHF_INFO_LINK) != 0;
      if (names_section && section.sh_info < numbers_.size())
        section.sh_info = numbers_[section.sh_info];
    }
  }

  // Appends our name to the section names; our section header follows theirs.
  void add_table_section() {
    const auto names = file_.contents(sections_.back());
    const std::uint64_t name_at = names.size();
    sections_.back().sh_offset = out_.size();
    sections_.back().sh_size = names.size() + sizeof abi::table_section;
    out_.append(reinterpret_cast<const char*>(names.data()), names.size());
    out_.append(abi::table_section, sizeof abi::table_section);
    Elf64_Shdr table{};
    table.sh_name = static_cast<std::uint32_t>(name_at);
    table.sh_type = SHT_PROGBITS;
    table.sh_flags = SHF_ALLOC;
    table.sh_addr = table_address_;
    table.sh_offset = table_offset_;
    table.sh_size = table_.size();
    table.sh_addralign = 8;
    sections_.push_back(table);
  }

  void move_section(std::size_t index) {
    Elf64_Shdr& section = sections_.back();
    const auto contents = file_.contents(file_.sections()[index]);
    out_.resize(align_up(out_.size(), section.sh_addralign));
    section.sh_offset = out_.size();
    out_.append(reinterpret_cast<const char*>(contents.data()), contents.size());
    if (section.sh_type == SHT_SYMTAB) symbols_at_.push_back({section.sh_offset, section.sh_size});
  }

  void renumber_symbols() {
    for (const auto& [offset, size] : symbols_at_) {
      for (std::uint64_t at = offset; at + sizeof(Elf64_Sym) <= offset + size;
           at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol{};
        std::memcpy(&symbol, out_.data() + at, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= numbers_.size()) continue;
        symbol.st_shndx = static_cast<std::uint16_t>(numbers_[symbol.st_shndx]);
        std::memcpy(out_.data() + at, &symbol, sizeof symbol);
      }
    }
  }

  void renumber_dynamic_symbols() {
    for (const Elf64_Shdr& section : sections_)
      if (section.sh_type == SHT_DYNSYM)
        symbols_at_.push_back({section.sh_offset, section.sh_size});
  }

  void finish() {
    renumber_dynamic_symbols();
    renumber_symbols();
    out_.resize(align_up(out_.size(), 8));
    Elf64_Ehdr header = file_.header();
    header.e_shoff = out_.size();
    header.e_shnum = static_cast<std::uint16_t>(sections_.size());
    header.e_shstrndx = static_cast<std::uint16_t>(numbers_[header.e_shstrndx]);
    out_.append(reinterpret_cast<const char*>(sections_.data()),
                sections_.size() * sizeof(Elf64_Shdr));
    std::memcpy(out_.data(), &header, sizeof header);
    std::memcpy(out_.data() + header.e_phoff, segments_.data(),
                segments_.size() * sizeof(Elf64_Phdr));
  }

  const ElfFile& file_;
  std::string_view table_;
  std::span<const Patch> patches_;
  bool strip_all_;
  bool strip_debug_;
  std::uint64_t note_address_ = 0;
  std::size_t segment_ = 0;
  std::uint64_t table_offset_ = 0;
  std::uint64_t table_address_ = 0;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> symbols_at_;
  std::string out_;
};

}  // namespace

Result<std::string> add_table(const ElfFile& file, std::string_view table,
                              std::span<const Patch> patches, bool strip_all, bool strip_debug) {
  return Rewriter(file, table, patches, strip_all, strip_debug).run();
}

}  // namespace stab::instrumenter
