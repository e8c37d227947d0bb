// SPDX-License-Identifier: MIT
#include "instrumenter/driver/help.h"

#include <fmt/format.h>
#include <sys/stat.h>

namespace stab::driver {
namespace {

// Size and time of change, as ccache looks at compilers.
std::string fingerprint(const char* name, const std::string& path) {
  struct stat status{};
  if (path.empty() || stat(path.c_str(), &status) != 0)
    return fmt::format("{}: not installed\n", name);
  return fmt::format("{}: {} {:x}-{:x}.{:x}\n", name, path, status.st_size, status.st_mtim.tv_sec,
                     status.st_mtim.tv_nsec);
}

}  // namespace

std::string help_text() {
  return R"(szc, szc++: clang and clang++ whose programs can choose their code layout anew at each start.
Every flag of clang works as it does there. At run time STABILIZER_OPTIONS=help=1 lists the program's options.

Our own flags, and the environment variables that do the same where flags get lost:
  --stab-help               this text
  --stab-version            our version and fingerprints of our parts
  --stab-print              print the command that would run, and run nothing
  --stab-explain BINARY     which functions of a binary can move, which cannot, and why (--json for programs)
  --stab-off                plain clang with the same code generation: the baseline        STAB_OFF=1
  --stab-strict             a binary that cannot be randomized is an error                 STAB_STRICT=1
  --stab-quiet              no notes on stderr                                             STAB_QUIET=1
  --stab-stack=MODE         how frames get random pads: frame (default: their size is   STAB_STACK=MODE
                            patched in copies), byte, table (read on entry, for
                            comparison), or off (frames as clang makes them)
  --stab-link-order=SEED    link the sections in the random order of this seed             STAB_LINK_ORDER=SEED
  --stab-link-padding=SEED  keep the order, insert small random gaps between sections      STAB_LINK_PADDING=SEED
                            and at the start of text, rodata and data

STAB_CLANG names another clang, or a command such as "ccache clang-19". Frames get pads only from a clang
of the version that szc's pass was built for, which --stab-version names; functions move with any clang.
)";
}

std::string version_text(const Companions& companions) {
  return fmt::format(
      "szc {}\n{}{}{}{}{}pads: for clang {}\n", STAB_VERSION,
      fingerprint("ld.stab", companions.linker), fingerprint("stab-link", companions.postlink),
      fingerprint("runtime", companions.runtime), fingerprint("library", companions.library),
      fingerprint("pass", companions.plugin), STAB_LLVM_VERSION);
}

}  // namespace stab::driver
