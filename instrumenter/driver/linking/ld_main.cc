// SPDX-License-Identifier: MIT
// ld.stab: clang calls it in the place of lld. It links with what our runtime needs, then runs the
// post-link step.
#include <fmt/format.h>

#include <string>

#include "instrumenter/driver/linking/link_job.h"

namespace stab::driver {
namespace {

Result<Ending> run(const Words& words, const std::string& argv0) {
  auto settings = read_link_settings();
  if (!settings) return std::unexpected(settings.error());
  const LinkArguments link = parse_link_arguments(words);
  if (link.kind == Output::executable || link.kind == Output::library)
    return run_link(link, *settings, find_companions(running_program(argv0)));
  Words command{settings->linker};
  command.insert(command.end(), words.begin(), words.end());
  return std::unexpected(become(command));
}

}  // namespace
}  // namespace stab::driver

int main(int argc, char** argv) {
  const std::string argv0 = argc > 0 ? argv[0] : "ld.stab";
  const stab::driver::Words words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto ending = stab::driver::run(words, argv0);
  if (!ending) {
    fmt::print(stderr, "szc: error: {}\n", ending.error().message);
    return 1;
  }
  stab::driver::end_like(*ending);
}
