// SPDX-License-Identifier: MIT
#include "machine/quiet/rights.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace stab::machine {

Access access_to(const std::string& path) {
  // This comes first, so that nobody is told to get rights that would not help.
  struct statvfs mounted{};
  if (statvfs(path.c_str(), &mounted) == 0 && (mounted.f_flag & ST_RDONLY) != 0)
    return Access::read_only;
  if (faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0) return Access::allowed;
  return geteuid() == 0 ? Access::nobody : Access::others;
}

std::string as_root(const std::string& command) {
  return (geteuid() == 0 ? "" : "sudo ") + command;
}

std::string way_to_set(const std::string& file, const std::string& value, const std::string& root,
                       const std::string& command) {
  switch (access_to(root + file)) {
    case Access::read_only:
      return fmt::format("set {} to {} on the host: it is mounted read-only here", file, value);
    case Access::nobody:
      return fmt::format("set {} to {} on the host: root may not write it here", file, value);
    case Access::allowed:
    case Access::others:
      break;
  }
  if (!command.empty()) return as_root(command);
  return fmt::format("echo {} | {}", value, as_root("tee " + file));
}

}  // namespace stab::machine
