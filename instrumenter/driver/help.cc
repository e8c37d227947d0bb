// SPDX-License-Identifier: MIT
#include "instrumenter/driver/help.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "instrumenter/driver/added_compilers.h"

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
  --stab-cc=COMPILER        compile with this clang or gcc (gcc, g++, gfortran)            STAB_CC=COMPILER
  --stab-compilers          the compilers whose frames get pads (--json for programs)
  --stab-add-compiler CLANG build the pass for a clang of your own, so that frames get pads with it, too
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

A compiler may also be a command, such as "ccache clang-22". STAB_CLANG is an older name of STAB_CC.
Frames get pads if szc has a pass for the version of clang (--stab-compilers lists them). Functions move with any clang
and with gcc. gcc's -flto does not work with szc.
)";
}

std::string compilers_text(const Companions& companions, bool json) {
  const std::vector<unsigned> versions = pass_versions(companions);
  const std::vector<Added> added = added_compilers(companions);
  if (json) {
    using Json = nlohmann::ordered_json;
    Json all{{"versions", Json::array()}, {"added", Json::array()}};
    for (const unsigned version : versions)
      all["versions"].push_back(
          {{"llvm", version}, {"pass", pass_of_version(companions, version)}});
    for (const Added& each : added)
      all["added"].push_back(
          {{"compiler", each.compiler}, {"pass", each.pass}, {"changed", each.changed}});
    return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  std::string text;
  for (const unsigned version : versions)
    text += fmt::format("clang {}: {}\n", version, pass_of_version(companions, version));
  for (const Added& each : added)
    text += fmt::format(
        "{}: {}{}\n", each.compiler, each.pass,
        each.changed ? " (not used: the compiler has changed or is gone; add it again)" : "");
  return text;
}

std::string version_text(const Companions& companions) {
  std::string passes;
  for (const unsigned version : pass_versions(companions))
    passes += fingerprint("pass", pass_of_version(companions, version));
  for (const Added& each : added_compilers(companions))
    if (!each.changed) passes += fingerprint("pass", each.pass);
  return fmt::format(
      "szc {}\n{}{}{}{}{}pads: for {}\n", STAB_VERSION, fingerprint("ld.stab", companions.linker),
      fingerprint("stab-link", companions.postlink), fingerprint("runtime", companions.runtime),
      fingerprint("library", companions.library), passes, versions_with_pass(companions));
}

}  // namespace stab::driver
