// SPDX-License-Identifier: MIT
#include "instrumenter/driver/linking/inputs.h"

#include <ar.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/elf.h"
#include "base/fd.h"

namespace stab::driver {
namespace {

constexpr std::string_view kOrdinary = "!<arch>\n";
constexpr std::string_view kThin = "!<thin>\n";
constexpr std::size_t kLimit = std::size_t{2} << 30;
constexpr std::size_t kHeader = sizeof(ar_hdr);
constexpr std::size_t kNameField = sizeof(ar_hdr::ar_name);
constexpr std::size_t kSizeField = offsetof(ar_hdr, ar_size);

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Walks through an archive once and rewrites it.
class Rewriter {
 public:
  Rewriter(std::string_view archive, const std::string& path) : archive_(archive), path_(path) {}
  Result<std::string> run(const std::function<std::string(std::string)>& change);
  Result<void> read(const std::function<void(std::string_view, std::string_view)>& take);

 private:
  [[nodiscard]] Error damaged() const { return {fmt::format("{} is a damaged archive", path_)}; }
  Result<std::string> content(std::string_view name, std::uint64_t size);
  [[nodiscard]] std::string file_of(std::string_view name) const;
  void append(std::string_view header, std::string_view data);
  bool correct_index();

  std::string_view archive_;
  const std::string& path_;
  std::string_view names_;
  std::size_t at_ = kOrdinary.size();
  bool thin_ = false;
  std::string out_{kOrdinary};
  std::size_t index_ = 0;  // the place of the index's header in out_; 0 if there is no index
  std::size_t index_size_ = 0;
  std::size_t index_width_ = 0;                    // the size of each of its numbers
  std::map<std::uint64_t, std::uint64_t> places_;  // of the members' headers: the old, the new
};

// "/12" stands for the name that starts at byte 12 of the table of names and ends with "/\n";
// "a.o/" stands for "a.o".
std::string Rewriter::file_of(std::string_view name) const {
  std::string_view file = name.substr(0, name.rfind('/'));
  if (name.starts_with('/')) {
    const auto start = number(name.substr(1));
    if (!start || *start >= names_.size()) return "";
    file = names_.substr(*start);
    file = file.substr(0, file.find("/\n"));
  }
  return std::filesystem::path(path_).parent_path() / file;
}

Result<std::string> Rewriter::content(std::string_view name, std::uint64_t size) {
  const bool special = name == "/" || name == "//" || name == "/SYM64/";
  if (thin_ && !special) return read_file(file_of(name), kLimit);
  if (size > archive_.size() - at_) return std::unexpected(damaged());
  std::string data(archive_.substr(at_, size));
  if (name == "//") names_ = archive_.substr(at_, size);
  at_ += size + size % 2;
  return data;
}

void Rewriter::append(std::string_view header, std::string_view data) {
  std::string changed(header);
  changed.replace(kSizeField, sizeof(ar_hdr::ar_size),
                  fmt::format("{:<{}}", data.size(), sizeof(ar_hdr::ar_size)));
  out_ += changed;
  out_ += data;
  if (data.size() % 2 != 0) out_ += '\n';
}

Result<void> Rewriter::read(const std::function<void(std::string_view, std::string_view)>& take) {
  thin_ = archive_.starts_with(kThin);
  while (at_ < archive_.size()) {
    if (archive_.size() - at_ < kHeader) return std::unexpected(damaged());
    const std::string_view header = archive_.substr(at_, kHeader);
    const auto size = number(header.substr(kSizeField));
    if (!size) return std::unexpected(damaged());
    at_ += kHeader;
    const std::string_view name = trimmed(header.substr(0, kNameField));
    const bool special = name == "/" || name == "//" || name == "/SYM64/";
    if (!special && thin_) {
      auto data = content(name, *size);
      if (!data) return std::unexpected(data.error());
      take(std::filesystem::path(file_of(name)).filename().string(), *data);
      continue;
    }
    if (*size > archive_.size() - at_) return std::unexpected(damaged());
    const std::string_view data = archive_.substr(at_, *size);
    at_ += *size + *size % 2;
    if (name == "//") names_ = data;
    if (!special) take(std::filesystem::path(file_of(name)).filename().string(), data);
  }
  return {};
}

// Writes the members' new places into the index, which consists of the number of symbols, the place
// of each symbol's member, and the symbols' names. Returns false if that is not possible.
bool Rewriter::correct_index() {
  const std::size_t start = index_ + kHeader;
  const auto number_at = [&](std::size_t at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < index_width_; ++i)
      value = (value << 8) | static_cast<unsigned char>(out_[at + i]);
    return value;
  };
  if (index_size_ < index_width_) return false;
  const std::uint64_t symbols = number_at(start);
  if (symbols > index_size_ / index_width_ - 1) return false;
  for (std::uint64_t i = 1; i <= symbols; ++i) {
    const std::size_t at = start + i * index_width_;
    const auto place = places_.find(number_at(at));
    if (place == places_.end()) return false;
    std::uint64_t value = place->second;
    if (index_width_ == 4 && value > UINT32_MAX) return false;
    for (std::size_t k = index_width_; k > 0; --k, value >>= 8)
      out_[at + k - 1] = static_cast<char>(value & 0xff);
  }
  return true;
}

Result<std::string> Rewriter::run(const std::function<std::string(std::string)>& change) {
  thin_ = archive_.starts_with(kThin);
  while (at_ < archive_.size()) {
    if (archive_.size() - at_ < kHeader) return std::unexpected(damaged());
    const std::string_view header = archive_.substr(at_, kHeader);
    const auto size = number(header.substr(kSizeField));
    if (!size) return std::unexpected(damaged());
    places_[at_] = out_.size();
    at_ += kHeader;
    const std::string_view name = trimmed(header.substr(0, kNameField));
    auto data = content(name, *size);
    if (!data) return std::unexpected(data.error());
    const bool is_index = name == "/" || name == "/SYM64/";
    if (is_index && index_ != 0) continue;
    if (is_index) {
      index_ = out_.size();
      index_size_ = data->size();
      index_width_ = name == "/" ? 4 : 8;
    }
    append(header, is_index || name == "//" ? *data : change(*std::move(data)));
  }
  if (index_ != 0 && !correct_index()) out_.erase(index_, kHeader + index_size_ + index_size_ % 2);
  return std::move(out_);
}

}  // namespace

bool is_archive(std::string_view content) {
  return content.starts_with(kOrdinary) || content.starts_with(kThin);
}

Result<std::string> change_members(std::string_view archive, const std::string& path,
                                   const std::function<std::string(std::string)>& change) {
  return Rewriter(archive, path).run(change);
}

Result<void> for_each_member(
    std::string_view archive, const std::string& path,
    const std::function<void(std::string_view name, std::string_view content)>& take) {
  return Rewriter(archive, path).read(take);
}

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

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestInput = std::size_t{4} << 30;

// The copies of one link. Each input draws from a seed of its own, by its place in the link.
class PaddedCopies {
 public:
  PaddedCopies(const LinkArguments& link, std::uint64_t seed, const std::string& folder)
      : link_(link), seed_(seed), folder_(folder) {}

  // The path of the padded copy; nothing if there is nothing to pad in it.
  Result<std::optional<std::string>> of_input(std::size_t word);
  Result<std::string> write(std::size_t number, std::string_view name, std::string_view content);
  [[nodiscard]] Random random(std::size_t number) const {
    return Random(derive(seed_, "link_padding", {number}));
  }

 private:
  const LinkArguments& link_;
  std::uint64_t seed_;
  const std::string& folder_;
};

Result<std::optional<std::string>> PaddedCopies::of_input(std::size_t word) {
  const std::string path = file_of_input(link_, word);
  std::error_code error;
  if (path.empty() || !fs::is_regular_file(path, error)) return std::nullopt;
  auto content = read_file(path, kLargestInput);
  if (!content) return std::unexpected(content.error());
  Random draw = random(word + 1);
  Result<std::string> padded = *content;
  if (is_archive(*content)) {
    padded = change_members(
        *content, path, [&](std::string member) { return pad_object(std::move(member), draw); });
  } else {
    padded = pad_object(*content, draw);
  }
  if (!padded) return std::unexpected(padded.error());
  if (*padded == *content) return std::nullopt;
  auto copy = write(word + 1, fs::path(path).filename().string(), *padded);
  if (!copy) return std::unexpected(copy.error());
  return *copy;
}

Result<std::string> PaddedCopies::write(std::size_t number, std::string_view name,
                                        std::string_view content) {
  const fs::path place = fs::path(folder_) / fmt::to_string(number);
  std::error_code error;
  fs::create_directory(place, error);
  std::string path = place / name;
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail_errno(fmt::format("cannot create {}", path));
  if (auto written = write_all(file.get(), content); !written)
    return std::unexpected(written.error());
  return path;
}

}  // namespace

bool has_bitcode(const LinkArguments& link) {
  const auto is_bitcode = [](std::string_view content) {
    return content.starts_with("BC\xc0\xde") || content.starts_with("\xde\xc0\x17\x0b");
  };
  return std::ranges::any_of(link.inputs, [&](std::size_t word) {
    const std::string path = file_of_input(link, word);
    std::error_code error;
    if (path.empty() || !fs::is_regular_file(path, error)) return false;
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto start = read_piece(file, 16);
    if (!start) return false;
    if (!is_archive(*start)) return is_bitcode(*start);
    const auto content = read_file(path, kLargestInput);
    bool found = false;
    if (content)
      (void)for_each_member(*content, path,
                            [&](std::string_view /*name*/, std::string_view member) {
                              found = found || is_bitcode(member);
                            });
    return found;
  });
}

std::string file_of_input(const LinkArguments& link, std::size_t input) {
  const std::string& word = link.words[input];
  if (!word.starts_with("-l")) return word;
  const std::string name = word.substr(2);
  const bool exact = name.starts_with(':');
  for (const std::string& library_folder : link.library_folders) {
    const fs::path where(library_folder);
    std::error_code error;
    if (!exact && fs::exists(where / fmt::format("lib{}.so", name), error)) return "";
    const fs::path file = where / (exact ? name.substr(1) : fmt::format("lib{}.a", name));
    if (fs::exists(file, error)) return file;
  }
  return "";
}

Result<Words> pad_inputs(const LinkArguments& link, std::uint64_t seed, const std::string& folder) {
  PaddedCopies copies(link, seed, folder);
  Words words = link.words;
  for (const std::size_t word : link.inputs) {
    auto copy = copies.of_input(word);
    if (!copy) return std::unexpected(copy.error());
    if (*copy) words[word] = **copy;
  }
  Random draw = copies.random(0);
  auto gaps = copies.write(0, "gaps.o", gap_object(draw));
  if (!gaps) return std::unexpected(gaps.error());
  words.insert(words.begin(), *gaps);
  return words;
}

namespace {

// A file that is mapped into memory, so that only the parts that are used are read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
      return;
    size_ = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory != MAP_FAILED) start_ = static_cast<const char*>(memory);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (start_ != nullptr) munmap(const_cast<char*>(start_), size_);
  }
  [[nodiscard]] std::string_view content() const {
    return start_ == nullptr ? std::string_view() : std::string_view(start_, size_);
  }

 private:
  const char* start_ = nullptr;
  std::size_t size_ = 0;
};

std::string describe(StackWish wish, std::string_view who) {
  return wish == StackWish::executable ? fmt::format("{} requests it", who)
                                       : fmt::format(
                                             "{} has no section .note.GNU-stack, so ld assumes "
                                             "that it needs an executable stack",
                                             who);
}

bool matters(StackWish wish) {
  return wish == StackWish::executable || wish == StackWish::unknown;
}

// Describes the first member that matters and is linked.
Result<std::string> of_archive(const std::string& path, std::string_view content,
                               const ListLinked& list_linked) {
  std::map<std::string, StackWish, std::less<>> suspects;
  const auto looked =
      for_each_member(content, path, [&](std::string_view name, std::string_view object) {
        if (const StackWish wish = stack_wish(object); matters(wish)) suspects.emplace(name, wish);
      });
  if (!looked || suspects.empty()) return "";
  const auto linked = list_linked();
  if (!linked) return linked;
  for (const auto& [name, wish] : suspects) {
    const std::string line = fmt::format("{}({})", path, name);
    if (("\n" + *linked).contains("\n" + line + "\n")) return describe(wish, line);
  }
  return "";
}

}  // namespace

StackWish stack_wish(std::string_view object) {
  const auto elf = ElfReader::in_memory(object);
  if (!elf || elf->header().e_type != ET_REL || elf->header().e_shoff == 0)
    return StackWish::silent;
  if (const auto sections = elf->sections(); sections && sections->size() < 2)
    return StackWish::silent;
  const auto note = elf->find_section(".note.GNU-stack");
  if (!note) return StackWish::silent;
  if (!*note) return StackWish::unknown;
  return ((*note)->sh_flags & SHF_EXECINSTR) != 0 ? StackWish::executable : StackWish::none;
}

Result<std::string> why_executable_stack(const LinkArguments& link, const ListLinked& list_linked) {
  if (link.stack_is_decided) return "";
  std::optional<Result<std::string>> linked;
  const auto list_once = [&] {
    if (!linked) linked = list_linked();
    return *linked;
  };
  for (const std::size_t word : link.inputs) {
    const std::string path = file_of_input(link, word);
    if (path.empty()) continue;
    const MappedFile file(path);
    if (is_archive(file.content())) {
      auto why = of_archive(path, file.content(), list_once);
      if (!why || !why->empty()) return why;
    } else if (const StackWish wish = stack_wish(file.content()); matters(wish)) {
      return describe(wish, path);
    }
  }
  return "";
}

}  // namespace stab::driver
