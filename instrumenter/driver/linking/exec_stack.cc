// SPDX-License-Identifier: MIT
#include "instrumenter/driver/linking/exec_stack.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "instrumenter/driver/padding/archive.h"
#include "instrumenter/driver/padding/padding.h"

namespace stab::driver {
namespace {

// A file in memory, of which only what is looked at is read.
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

template <class T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t offset) {
  T value{};
  if (offset > bytes.size() || sizeof value > bytes.size() - offset) return std::nullopt;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string describe(StackWish wish, std::string_view who) {
  return wish == StackWish::executable ? fmt::format("{} requests it", who)
                                       : fmt::format(
                                             "{} has no section .note.GNU-stack, which would say "
                                             "that the stack need not be executable",
                                             who);
}

bool matters(StackWish wish) {
  return wish == StackWish::executable || wish == StackWish::unknown;
}

// The phrase of the first member that matters and is linked.
std::string of_archive(const std::string& path, std::string_view content,
                       const std::function<std::string()>& list_linked) {
  std::map<std::string, StackWish, std::less<>> suspects;
  const auto looked =
      for_each_member(content, path, [&](std::string_view name, std::string_view object) {
        if (const StackWish wish = stack_wish(object); matters(wish)) suspects.emplace(name, wish);
      });
  if (!looked || suspects.empty()) return "";
  const std::string linked = list_linked();
  for (const auto& [name, wish] : suspects) {
    const std::string line = fmt::format("{}({})", path, name);
    if (("\n" + linked).contains("\n" + line + "\n")) return describe(wish, line);
  }
  return "";
}

}  // namespace

StackWish stack_wish(std::string_view object) {
  const auto header = read_at<Elf64_Ehdr>(object, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL ||
      header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shnum < 2)
    return StackWish::silent;
  const auto section = [&](std::size_t index) {
    return read_at<Elf64_Shdr>(object, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section(header->e_shstrndx);
  if (!names || names->sh_offset > object.size()) return StackWish::silent;
  const std::string_view strings = object.substr(names->sh_offset, names->sh_size);
  constexpr std::string_view note(".note.GNU-stack\0", 16);
  for (std::size_t i = 1; i < header->e_shnum; ++i) {
    const auto one = section(i);
    if (!one || one->sh_name >= strings.size()) return StackWish::silent;
    if (strings.substr(one->sh_name).starts_with(note))
      return (one->sh_flags & SHF_EXECINSTR) != 0 ? StackWish::executable : StackWish::none;
  }
  return StackWish::unknown;
}

Result<std::string> why_executable_stack(const LinkArguments& link,
                                         const std::function<std::string()>& list_linked) {
  if (link.stack_is_decided) return "";
  std::optional<std::string> linked;
  const auto list_once = [&] {
    if (!linked) linked = list_linked();
    return *linked;
  };
  for (const std::size_t word : link.inputs) {
    const std::string path = file_of_input(link, word);
    if (path.empty()) continue;
    const MappedFile file(path);
    if (is_archive(file.content())) {
      std::string why = of_archive(path, file.content(), list_once);
      if (!why.empty()) return why;
    } else if (const StackWish wish = stack_wish(file.content()); matters(wish)) {
      return describe(wish, path);
    }
  }
  return "";
}

}  // namespace stab::driver
