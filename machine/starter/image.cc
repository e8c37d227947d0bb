// SPDX-License-Identifier: MIT
#include "machine/starter/image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

asm(".pushsection .rodata\n"
    "stab_starter_begin: .incbin \"" STAB_STARTER
    "\"\n"
    "stab_starter_end:\n"
    ".popsection\n");
extern "C" const char stab_starter_begin[];
extern "C" const char stab_starter_end[];

namespace stab::machine {
namespace {

// MFD_EXEC. Kernels before 6.3 refuse this flag and do not need it.
constexpr unsigned mfd_exec = 0x0010;

Fd executable_file() {
  Fd file = sealable_file("stab-starter", mfd_exec);
  if (!file && errno == EINVAL) file = sealable_file("stab-starter", 0);
  return file;
}

}  // namespace

Fd sealable_file(const char* name, unsigned flags) {
  const Fd low(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  return Fd(low ? fcntl(low.get(), F_DUPFD_CLOEXEC, first_free) : -1);
}

int starter_image() {
  static Fd image;
  if (image) return image.get();
  Fd file = executable_file();
  if (!file || !write_all(file.get(), {stab_starter_begin, stab_starter_end})) return -1;
  // Sealed, because another program of the same user could open the file and change the code that
  // starts later trials.
  if (fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return -1;
  image = std::move(file);
  return image.get();
}

}  // namespace stab::machine
