// SPDX-License-Identifier: MIT
// The commands of one link: lld with our flags, and the post-link step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "instrumenter/driver/compilers.h"
#include "instrumenter/driver/link_arguments.h"

namespace stab::driver {

// The settings of this link, from szc's flags or from the user's environment.
struct LinkSettings {
  std::string linker;  // the path of the linker to run
  bool off = false;
  bool strict = false;
  bool quiet = false;
  bool exec_stack = false;  // as GNU ld would decide
  std::string clang;        // the path of the compiler that links, "" if it is unknown
  std::optional<std::uint64_t> link_order;
  std::optional<std::uint64_t> link_padding;
  bool linker_pads = false;  // by its own flag, which also pads code that is made when linking
};

// Flags for lld: GNU ld's choice where the two linkers differ and clang users rely on it, and the
// order of the sections. A random order needs one more flag behind the user's words.
Words lld_flags(const LinkSettings& settings);

// The user's link, with the additions that the post-link step and the runtime need. `exports` is a
// file with exports_script(), or "" if needs_exports_script says that it is not needed.
Words instrumented_link(const LinkArguments& link, const LinkSettings& settings,
                        const Companions& companions, const std::string& exports);

// The user's version script may hide all names that it does not list ("local: *"). Then moved code
// could not throw exceptions. In that case the names that our runtime offers need a script of their
// own.
bool needs_exports_script(const LinkArguments& link);
std::string exports_script();

// The user's link, with no other additions than lld_flags and the flag behind the user's words.
Words plain_link(const LinkArguments& link, const LinkSettings& settings);

Words postlink_command(const LinkArguments& link, const Companions& companions);

// The first lld with a flag for padding.
inline constexpr unsigned padding_lld = 22;

}  // namespace stab::driver
