// SPDX-License-Identifier: MIT
#include "stabd/client/ab/build.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>

#include "base/text.h"
#include "machine/child.h"
#include "machine/environment.h"
#include "stabd/client/output.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;
using machine::Ended;

constexpr std::chrono::hours longest_build{2};
constexpr std::uint64_t bytes_kept = std::uint64_t{64} << 20;

}  // namespace

Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail("there is no folder of this name in it");
  auto variables = machine::base_variables(geteuid());
  for (const auto& [name, value] : build.variables) variables[name] = value;
  machine::Launch launch;
  launch.argv = {"/bin/sh", "-c", build.command};
  launch.environment = machine::make_environment(std::move(variables), 0);
  launch.directory = folder;
  launch.timeout = longest_build;
  launch.output_limit = bytes_kept;
  launch.merge_stderr = true;
  launch.stop_fd = build.stop_fd;
  const Ended ended = machine::run(launch);
  if (auto written = write_output(ended.out, log, Colours::none); !written) return written;
  const bool exited = ended.how == machine::End::exited;
  if (exited && ended.exit_code == 0) return {};
  return fail(fmt::format(
      "{}; all that it printed is in {}\n{}",
      exited ? fmt::format("it ended with exit code {}", ended.exit_code) : ended.reason, log,
      tail(ended.out, 2000)));
}

}  // namespace stab::client::ab
