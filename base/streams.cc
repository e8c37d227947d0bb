// SPDX-License-Identifier: MIT

#include "base/streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace stab {

void open_closed_streams() {
  while (true) {
    const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (opened <= STDERR_FILENO && opened >= 0) continue;
    if (opened > STDERR_FILENO) close(opened);
    return;
  }
}

namespace {

constexpr const char* name = "user.stabd.output";

}  // namespace

void mark_as_output(const std::string& path) {
  const int ignored = setxattr(path.c_str(), name, "1", 1, 0);
  static_cast<void>(ignored);
}

void mark_redirected_output() {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat status{};
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size != 0) continue;
    const int ignored = fsetxattr(fd, name, "1", 1, 0);
    static_cast<void>(ignored);
  }
}

bool is_marked_as_output(const std::string& path) {
  return lgetxattr(path.c_str(), name, nullptr, 0) >= 0;
}

}  // namespace stab
