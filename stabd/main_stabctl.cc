// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <string>

#include "stabd/client/exit_code.h"
#include "stabd/client/output.h"
#include "stabd/command_line/command_line.h"

namespace {

// A connection never gets the number of a standard stream that our caller closed: what is printed
// would go there. Writing to these fails.
void open_closed_streams() {
  while (true) {
    const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (opened <= STDERR_FILENO && opened >= 0) continue;
    if (opened > STDERR_FILENO) close(opened);
    return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return stab::command_line::CommandLine().run(argc, argv);
  } catch (const std::exception& error) {
    stab::client::tell(std::string("stabctl: ") + error.what());
    return stab::client::exit_error;
  }
}
