// SPDX-License-Identifier: MIT
#include "instrumenter/driver/linking/exec_stack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <string_view>

#include "base/elf.h"
#include "base/fd.h"
#include "instrumenter/driver/linking/archive.h"
#include "instrumenter/driver/linking/padding.h"

namespace stab::driver {
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
