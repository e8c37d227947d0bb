// SPDX-License-Identifier: MIT
#include <csignal>
#include <exception>
#include <string>

#include "base/streams.h"
#include "client/exit_code.h"
#include "client/streams.h"
#include "stabd/command_line/command_line.h"

int main(int argc, char** argv) {
  stab::open_closed_streams();
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return stab::command_line::CommandLine().run(argc, argv);
  } catch (const std::exception& error) {
    // A reader that has read enough, such as 'head', is no failure.
    if (stab::client::reader_has_gone()) return stab::client::exit_ok;
    stab::client::tell(std::string("stabctl: ") + error.what());
    return stab::client::exit_error;
  }
}
