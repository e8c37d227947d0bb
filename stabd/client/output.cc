// SPDX-License-Identifier: MIT
#include "stabd/client/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/fd.h"

namespace stab::client {

bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0');
}

Result<void> write_output(std::string_view text, const std::string& path) {
  if (!path.empty() && path != "-") return write_file_atomically(path, text);
  std::fflush(stdout);
  auto written = write_all(STDOUT_FILENO, text);
  if (!written && errno == EPIPE) return {};
  return written;
}

}  // namespace stab::client
