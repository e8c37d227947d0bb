// SPDX-License-Identifier: MIT
#include "counters/profiles/symbols.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/fd.h"
#include "base/random.h"

namespace stab::counters {
namespace {

Symbols symbols_of(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return Symbols::of(file.get());
}

// Where the function lies in libc's file, by what the loader says.
struct Known {
  std::string path;
  std::uint64_t offset = 0;
};
Known known(const void* function) {
  Dl_info info{};
  link_map* map = nullptr;
  Known found;
  if (dladdr1(function, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) return found;
  found.path = info.dli_fname;
  const auto address = reinterpret_cast<std::uint64_t>(function) - map->l_addr;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto* to = static_cast<std::pair<Known*, std::uint64_t>*>(data);
        if (to->first->path != object->dlpi_name) return 0;
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto& segment = object->dlpi_phdr[i];
          if (segment.p_type == PT_LOAD && to->second >= segment.p_vaddr &&
              to->second - segment.p_vaddr < segment.p_filesz)
            to->first->offset = to->second - segment.p_vaddr + segment.p_offset;
        }
        return 1;
      },
      std::array<std::pair<Known*, std::uint64_t>, 1>{{{&found, address}}}.data());
  return found;
}

TEST(Symbols, OfALibraryAreAtTheirOffsets) {
  const Known function = known(reinterpret_cast<const void*>(&getpagesize));
  ASSERT_NE(function.offset, 0U);
  const Symbols symbols = symbols_of(function.path);
  // glibc calls it by two names, of which the public one is shorter.
  EXPECT_EQ(symbols.at(function.offset), "getpagesize");
  EXPECT_EQ(symbols.at(function.offset + 1), "getpagesize");
  EXPECT_EQ(symbols.at(0), "");  // the file's header
  EXPECT_EQ(symbols.at(~std::uint64_t{0}), "");
}

TEST(Symbols, OfWhatIsNoProgramAreNone) {
  EXPECT_EQ(symbols_of("/etc/passwd").at(64), "");
  EXPECT_EQ(symbols_of("/dev/null").at(64), "");
  EXPECT_EQ(Symbols::of(-1).at(64), "");
}

// Whatever is wrong with a file, it is read or has no functions.
TEST(Symbols, OfADamagedFileAreReadOrNone) {
  const auto whole = read_file(STAB_SUBJECT, std::size_t{16} << 20);
  ASSERT_TRUE(whole);
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    std::string text = *whole;
    for (int i = 0; i < 8; ++i)
      text[random.below(i < 4 ? 64 : text.size())] = static_cast<char>(random.below(256));
    if (round % 4 == 0) text.resize(random.below(text.size()));
    const Fd file(memfd_create("damaged", MFD_CLOEXEC));
    ASSERT_TRUE(write_all(file.get(), text));
    const Symbols symbols = Symbols::of(file.get());
    for (std::uint64_t at = 0; at < text.size(); at += 97) (void)symbols.at(at);
  }
}

}  // namespace
}  // namespace stab::counters
