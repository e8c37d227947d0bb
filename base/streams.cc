// SPDX-License-Identifier: MIT
#include "base/streams.h"

#include <fcntl.h>
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

}  // namespace stab
