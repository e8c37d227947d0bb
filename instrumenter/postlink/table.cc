// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>

#include "instrumenter/postlink/code/lsda.h"
#include "instrumenter/postlink/output.h"

namespace stab::instrumenter {
namespace {

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
    abi::Frame frame{};
    frame.first_field = static_cast<std::uint32_t>(frame_fields_.size());
    frame.reason = static_cast<std::uint8_t>(pad.reason);
    frame.step = static_cast<std::uint8_t>(pad.step / abi::pad_unit);
    frame.most = static_cast<std::uint16_t>(pad.most / abi::pad_unit);
    if (pad.reason == abi::PadReason::none) {
      frame.above = static_cast<std::uint32_t>(pad.above);
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

}  // namespace stab::instrumenter
