// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/output.h"

#include <algorithm>
#include <cstring>

#include "instrumenter/postlink/code/code.h"

namespace stab::instrumenter {
namespace {

// The table.

// The number of pinned functions: only movable ones are numbered in the table, but the analysis
// numbers all.
constexpr std::uint32_t not_in_table = UINT32_MAX;

class TableBuilder {
 public:
  explicit TableBuilder(const Program& program)
      : program_(program), base_(program.file->lowest()) {}

  Result<std::string> build() {
    if (program_.file->highest() - base_ > INT32_MAX) return fail("the image is larger than 2 GB");
    number_functions();
    for (const Function& function : program_.functions) {
      if (function.movable())
        add_function(function);
      else
        add_pinned(function);
      header_.text_bytes += function.size;
    }
    for (const Function& function : program_.unsized) {
      add_pinned(function);
      header_.text_bytes += function.size;
    }
    add_labels();
    add_ranges();
    add_pointers();
    add_pad_bytes();
    for (const Hider& hider : program_.hiders)
      hiders_.push_back(
          {place(hider.address), add_name(hider.name), static_cast<std::uint32_t>(hider.reason)});
    for (const CieInfo& cie : program_.cies)
      cies_.push_back({place(cie.address), cie.size, cie.personality_field, 0});
    return assemble();
  }

 private:
  [[nodiscard]] std::uint32_t place(std::uint64_t address) const {
    return static_cast<std::uint32_t>(address - base_);
  }

  void number_functions() {
    std::uint32_t next = 0;
    for (const Function& function : program_.functions)
      numbers_.push_back(function.movable() ? next++ : not_in_table);
  }

  std::uint32_t add_name(std::string_view name) {
    const auto at = static_cast<std::uint32_t>(names_.size());
    names_ += name;
    names_ += '\0';
    return at;
  }

  void add_function(const Function& function) {
    abi::Function entry{};
    entry.address_registers = function.address_registers;
    entry.start = place(function.start);
    entry.size = function.size;
    entry.first_fixup = static_cast<std::uint32_t>(fixups_.size());
    for (const abi::Fixup& fixup : function.fixups) add_fixup(fixup);
    entry.fixup_count = static_cast<std::uint32_t>(fixups_.size()) - entry.first_fixup;
    entry.first_word = static_cast<std::uint32_t>(words_.size());
    entry.word_count = static_cast<std::uint32_t>(function.words.size());
    words_.insert(words_.end(), function.words.begin(), function.words.end());
    if (function.frame.fde != 0) {
      entry.fde = place(function.frame.fde);
      entry.fde_size = function.frame.fde_size;
      entry.cie = static_cast<std::uint16_t>(function.frame.cie);
      entry.lsda_field = function.frame.lsda_field;
      add_exceptions(function, entry);
    }
    entry.name = add_name(function.name);
    entry.hash = abi::hash_code(function.code.data(), function.size);
    entry.flags |= (function.keeps_entry ? abi::function_keeps_entry : 0) |
                   (function.anchored ? abi::function_anchored : 0);
    functions_.push_back(entry);
    add_frame(function.pad);
  }

  void add_frame(const StackPad& pad) {
    header_.framed += pad.changes_stack ? 1 : 0;
    abi::Frame frame{};
    frame.first_field = static_cast<std::uint32_t>(frame_fields_.size());
    frame.reason = static_cast<std::uint8_t>(pad.reason);
    frame.step = static_cast<std::uint8_t>(pad.step / abi::pad_unit);
    frame.most = static_cast<std::uint16_t>(pad.most / abi::pad_unit);
    if (pad.reason == abi::PadReason::none) {
      header_.padded_by_pass += pad.by_pass ? 1 : 0;
      frame.above = static_cast<std::uint32_t>(pad.above);
      frame.part_of = pad.part_of ? numbers_[*pad.part_of] + 1 : 0;
      frame.code_fields = static_cast<std::uint16_t>(pad.code_fields.size());
      frame.description_fields = static_cast<std::uint16_t>(pad.description_fields.size());
      for (const std::uint32_t field : pad.code_fields) frame_fields_.push_back(field);
      for (const std::uint32_t field : pad.description_fields) frame_fields_.push_back(field);
    }
    frames_.push_back(frame);
  }

  void add_exceptions(const Function& function, abi::Function& entry) {
    if (function.frame.lsda_absolute != 0)
      entry.flags |= function.frame.lsda_absolute == 8 ? abi::function_lsda_absolute8
                                                       : abi::function_lsda_absolute4;
    if (function.frame.lsda == 0) return;
    entry.exceptions = static_cast<std::uint32_t>(exceptions_.size());
    const std::vector<std::uint8_t> table = write_exceptions(
        function.exceptions, [this](std::uint32_t label) { return label_number(label); });
    exceptions_.insert(exceptions_.end(), table.begin(), table.end());
    entry.exceptions_size = static_cast<std::uint32_t>(table.size());
    entry.exception_types = function.exceptions.types == 0 ? 0 : place(function.exceptions.types);
  }

  void add_fixup(abi::Fixup fixup) {
    if (abi::kind_of(fixup) == abi::FixupKind::branch) {
      fixup.value = numbers_[fixup.value];
      if (fixup.value == not_in_table) fixup = {abi::offset_of(fixup), 0};  // it becomes a shift
    }
    if (abi::kind_of(fixup) == abi::FixupKind::label) fixup.value = label_number(fixup.value);
    fixups_.push_back(fixup);
  }

  // A label gets its number when something uses it, so labels of functions that were pinned later
  // are left out.
  std::uint32_t label_number(std::uint32_t label) {
    if (label_numbers_.empty()) label_numbers_.resize(program_.labels.size(), not_in_table);
    if (label_numbers_[label] == not_in_table) {
      label_numbers_[label] = static_cast<std::uint32_t>(labels_.size());
      const abi::Label& known = program_.labels[label];
      labels_.push_back({numbers_[known.function], known.offset});
    }
    return label_numbers_[label];
  }

  void add_labels() {
    for (const Slot& slot : program_.slots)
      if (numbers_[program_.labels[slot.label].function] != not_in_table)
        slots_.push_back({place(slot.where), label_number(slot.label)});
  }

  void add_pinned(const Function& function) {
    header_.pinned_bytes += function.size;
    const std::string_view name = function.name.empty() ? "(code without a name)" : function.name;
    pinned_.push_back({place(function.start), function.size, add_name(name),
                       static_cast<std::uint32_t>(function.pin())});
  }

  void grow(abi::RangeKind kind, std::size_t group, std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t first = place(begin);
    const auto last = static_cast<std::uint32_t>(end - base_);
    if (!ranges_.empty() && group == last_group_ &&
        ranges_.back().kind == static_cast<std::uint32_t>(kind)) {
      ranges_.back().size = last - ranges_.back().start;
      return;
    }
    last_group_ = group;
    ranges_.push_back({static_cast<std::uint32_t>(first), last - static_cast<std::uint32_t>(first),
                       static_cast<std::uint32_t>(kind), 0});
  }

  void add_ranges() {
    for (const Function& function : program_.functions)
      if (function.movable() && !function.keeps_entry)
        grow(abi::RangeKind::code, function.section, function.start,
             std::max(function.end(), function.start + abi::entry_bytes));
    for (const Slot& slot : program_.slots) {
      if (numbers_[program_.labels[slot.label].function] == not_in_table) continue;
      const auto kind =
          slot.readonly ? abi::RangeKind::readonly_slots : abi::RangeKind::writable_slots;
      grow(kind, section_of(slot.where), slot.where, slot.where + 8);
    }
  }

  void add_bytes(std::uint64_t start, std::uint64_t end, bool modest) {
    if (start >= end) return;
    constexpr auto kind = static_cast<std::uint32_t>(abi::RangeKind::pad_bytes);
    const std::uint32_t few = modest ? 1 : 0;
    if (!ranges_.empty() && ranges_.back().kind == kind && ranges_.back().modest == few &&
        ranges_.back().start + ranges_.back().size == place(start))
      ranges_.back().size += static_cast<std::uint32_t>(end - start);
    else
      ranges_.push_back({place(start), static_cast<std::uint32_t>(end - start), kind, few});
  }

  // The output has one section of this name. The pads of loops lie between those of entries.
  void add_pad_bytes() {
    const Elf64_Shdr* section = program_.file->section(abi::pad_bytes_section);
    if (section == nullptr || section->sh_size == 0 || (section->sh_flags & SHF_WRITE) == 0) return;
    std::uint64_t at = section->sh_addr;
    for (const EntryPad& pad : program_.entry_pads) {
      add_bytes(at, pad.start, program_.small_stacks);
      add_bytes(pad.start, pad.start + pad.size, pad.modest);
      at = pad.start + pad.size;
    }
    add_bytes(at, section->sh_addr + section->sh_size, program_.small_stacks);
  }

  void add_pointers() {
    for (const Pointer& pointer : program_.pointers) {
      if (numbers_[pointer.function] == not_in_table) continue;
      if (!pointers_.empty() && pointers_.back().where == place(pointer.where)) continue;
      pointers_.push_back({place(pointer.where), numbers_[pointer.function]});
      grow(abi::RangeKind::pointers, section_of(pointer.where), pointer.where, pointer.where + 8);
    }
  }

  [[nodiscard]] std::size_t section_of(std::uint64_t address) const {
    const auto sections = program_.file->sections();
    for (std::size_t i = 0; i < sections.size(); ++i)
      if ((sections[i].sh_flags & SHF_ALLOC) != 0 && address >= sections[i].sh_addr &&
          address - sections[i].sh_addr < sections[i].sh_size)
        return i;
    return sections.size();
  }

  template <class T>
  abi::Array append(std::string& table, const std::vector<T>& elements) {
    table.resize((table.size() + 7) / 8 * 8);
    const abi::Array array{static_cast<std::uint32_t>(table.size()),
                           static_cast<std::uint32_t>(elements.size())};
    table.append(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T));
    return array;
  }

  Result<std::string> assemble() {
    std::string table(sizeof header_, '\0');
    header_.functions = append(table, functions_);
    header_.fixups = append(table, fixups_);
    header_.labels = append(table, labels_);
    header_.slots = append(table, slots_);
    header_.pointers = append(table, pointers_);
    header_.ranges = append(table, ranges_);
    header_.cies = append(table, cies_);
    header_.words = append(table, words_);
    header_.exceptions = append(table, exceptions_);
    header_.frames = append(table, frames_);
    header_.frame_fields = append(table, frame_fields_);
    header_.pinned = append(table, pinned_);
    header_.hiders = append(table, hiders_);
    header_.names = append(table, std::vector<char>(names_.begin(), names_.end()));
    table.resize((table.size() + 7) / 8 * 8);
    if (table.size() > INT32_MAX) return fail("the table would be larger than 2 GB");
    header_.magic = abi::magic;
    header_.version = abi::version;
    header_.header_size = sizeof header_;
    header_.total_size = table.size();
    header_.flags = (program_.hiders.empty() ? 0 : abi::image_hides_addresses) |
                    (program_.small_stacks ? abi::image_small_stacks : 0);
    header_.base = base_;
    header_.image_size = program_.file->highest() - base_;
    header_.checksum = 0;
    std::memcpy(table.data(), &header_, sizeof header_);
    const auto* bytes = reinterpret_cast<const unsigned char*>(table.data());
    header_.checksum = abi::hash_table(bytes, bytes, header_.pinned.offset);
    std::memcpy(table.data(), &header_, sizeof header_);
    return table;
  }

  const Program& program_;
  std::uint64_t base_;
  std::vector<std::uint32_t> numbers_;
  std::vector<std::uint32_t> label_numbers_;
  std::size_t last_group_ = SIZE_MAX;
  abi::Header header_{};
  std::vector<abi::Function> functions_;
  std::vector<abi::Fixup> fixups_;
  std::vector<abi::Label> labels_;
  std::vector<abi::Slot> slots_;
  std::vector<abi::Pointer> pointers_;
  std::vector<abi::Range> ranges_;
  std::vector<abi::Cie> cies_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint8_t> exceptions_;
  std::vector<abi::Frame> frames_;
  std::vector<std::uint32_t> frame_fields_;
  std::vector<abi::Pinned> pinned_;
  std::vector<abi::Hider> hiders_;
  std::string names_;
};

}  // namespace

Result<std::string> build_table(const Program& program) {
  return TableBuilder(program).build();
}

namespace {

// The file with the table.
//
// The runtime's note has a program header of its own, because its alignment makes the linker give
// it one. That header becomes the table's: a read-only segment behind all others, which a section
// covers so that strip keeps it.

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
    return holds_relocations(section) || name == abi::frames_section ||
           name == abi::calls_section || name == abi::entries_section ||
           name == abi::compiled_section || name == abi::alone_section ||
           name == abi::bytes_section || (strip_all_ && symbols) ||
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
