// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "stabd/daemon/daemon.h"
#include "stabd/paths.h"
#include "stabd/reader/reader.h"
#include "stabd/worker/worker.h"

namespace {

using stab::daemon::Daemon;
using stab::daemon::DaemonOptions;

int serve(const DaemonOptions& options, const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_logger_st("stabd"));
  spdlog::set_level(spdlog::level::from_str(level));
  auto daemon = Daemon::open(options);
  if (!daemon) {
    fmt::print(stderr, "stabd: {}\n", daemon.error().message);
    return 1;
  }
  (*daemon)->run();
  return 0;
}

int run(int argc, char** argv) {
  DaemonOptions options;
  options.state_directory = stab::default_state_directory();
  options.cache_directory = stab::default_cache_directory() + "/builds";
  options.socket_path = stab::default_socket_path();
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string level = "info";
  std::string mode = "0600";
  bool worker = false;
  bool reader = false;
  auto read_limit = options.read_limit.count();
  bool no_namespaces = false;

  CLI::App app{
      "stabd runs experiments from a queue and stores every trial. Talk to it with stabctl."};
  app.set_version_flag("--version", "stabd " STAB_VERSION);
  app.add_option("--state", options.state_directory, "Folder of the database")
      ->capture_default_str();
  app.add_option("--socket", options.socket_path, "Unix socket to serve")->capture_default_str();
  app.add_option("--socket-mode", mode, "Who may connect, as in chmod")
      ->capture_default_str()
      ->check(CLI::IsMember({"0600", "0660", "0666"}));
  app.add_option("--cache", options.cache_directory, "Folder of builds")->capture_default_str();
  app.add_option("--log", level, "Least level that is logged")
      ->capture_default_str()
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  std::int64_t idle_seconds = options.idle_limit.count();
  app.add_option("--idle-limit", idle_seconds,
                 "Seconds after which a client that says nothing is let go; 0: never")
      ->capture_default_str()
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--ready-fd", options.ready_fd,
                 "Descriptor that gets a line when clients can connect");
  app.add_flag("--no-namespaces", no_namespaces, "Do not contain trials in pid namespaces");
  app.add_option("--read-limit", read_limit,
                 "Seconds after which a report, an export or an analysis is given up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--worker", worker)->group("");
  app.add_flag("--reader", reader)->group("");
  CLI11_PARSE(app, argc, argv);
  if (worker) return stab::worker::serve();
  if (reader) return stab::reader::serve();
  options.idle_limit = std::chrono::seconds(idle_seconds);

  options.isolate = !no_namespaces;
  options.read_limit = std::chrono::seconds(read_limit);
  options.socket_mode = static_cast<unsigned>(std::stoul(mode, nullptr, 8));
  // Children get paths from us, and we may be started anywhere.
  options.state_directory = std::filesystem::absolute(options.state_directory).string();
  options.cache_directory = std::filesystem::absolute(options.cache_directory).string();
  options.socket_path = std::filesystem::absolute(options.socket_path).string();
  return serve(options, level);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "stabd: {}\n", error.what());
    return 1;
  }
}
