// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/streams.h"
#include "cluster/relays.h"
#include "protocol/paths.h"
#include "stabd/daemon/daemon.h"
#include "stabd/daemon/service.h"
#include "stabd/manual.h"
#include "stabd/reader/reader_process.h"
#include "stabd/settings.h"
#include "toml/value.h"
#include "worker/worker.h"

namespace {

using stab::Result;
using stab::daemon::Daemon;
using stab::daemon::DaemonOptions;
namespace settings = stab::settings;

struct Mode {
  std::string config;  // a file that must exist; "": the usual file, which may be missing
  bool check = false;
  bool man = false;
  bool worker = false;
  bool reader = false;
  std::string on_head;  // cluster/relays.h
  std::string on_node;  // the same
  std::optional<std::uint32_t> limits_of;
};

// Adds the command-line options, which override the values in `options`.
void add_options(CLI::App& app, DaemonOptions& options, Mode& mode,
                 stab::Whose whose = stab::own()) {
  using std::chrono::seconds;
  const auto in_seconds = [](std::chrono::nanoseconds time) {
    return std::to_string(std::chrono::duration_cast<seconds>(time).count());
  };
  app.set_version_flag("--version", "stabd " STAB_VERSION);
  app.add_option("--config", mode.config,
                 "Settings file (see doc/operations.md); options on the command line take "
                 "precedence; by default " +
                     stab::default_settings_file(whose) + ", if it exists");
  app.add_flag("--check", mode.check,
               "Read the settings file and the options, print the resulting settings and exit");
  app.add_option("--state", options.state_directory, "Folder of the database")
      ->capture_default_str();
  app.add_option("--socket", options.socket_path, "Unix socket to serve")->capture_default_str();
  app.add_option_function<std::string>(
         "--socket-mode",
         [&options](const std::string& octal) {
           options.socket_mode = static_cast<unsigned>(std::stoul(octal, nullptr, 8));
         },
         "File mode of the socket, written as for chmod: 0600 for its owner, 0660 for a group, "
         "0666 for all")
      ->default_str(fmt::format("{:04o}", options.socket_mode))
      ->check(CLI::IsMember({"0600", "0660", "0666"}));
  app.add_option("--socket-group", options.socket_group,
                 "Group (name or number) whose members may connect when the socket's mode is 0660");
  app.add_option("--cache", options.cache_directory, "Folder for builds")->capture_default_str();
  app.add_option("--log", options.log, "Lowest level to log")
      ->capture_default_str()
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app.add_option_function<std::int64_t>(
         "--idle-limit", [&options](std::int64_t given) { options.idle_limit = seconds(given); },
         "Disconnect clients after this many seconds of silence, unless they watch an experiment; "
         "0: never")
      ->default_str(in_seconds(options.idle_limit))
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--ready-fd", options.ready_fd,
                 "File descriptor to which stabd writes a line when clients can connect");
  app.add_flag_callback(
      "--no-namespaces", [&options] { options.isolate = false; },
      "Run trials without pid namespaces of their own");
  app.add_option_function<std::int64_t>(
         "--read-limit", [&options](std::int64_t given) { options.read_limit = seconds(given); },
         "Stop a report, an export or an analysis that takes longer than this many seconds")
      ->default_str(in_seconds(options.read_limit))
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--machine-root", options.machine_root)->group("");
  app.add_flag("--man", mode.man)->group("");
  app.add_flag("--worker", mode.worker)->group("");
  app.add_flag("--reader", mode.reader)->group("");
  app.add_option("--on-head", mode.on_head)->group("");
  app.add_option("--on-node", mode.on_node)->group("");
  const auto hidden_ms = [&app](const char* name, std::chrono::milliseconds& time) {
    app.add_option_function<std::int64_t>(
           name, [&time](std::int64_t given) { time = std::chrono::milliseconds(given); })
        ->group("")
        ->check(CLI::Range(1, 1'000'000'000));
  };
  hidden_ms("--node-silence-ms", options.node_silence);
  hidden_ms("--node-wait-ms", options.node_wait);
  app.add_option("--limits-of", mode.limits_of)->group("");
}

DaemonOptions standard_options(stab::Whose whose = stab::own()) {
  DaemonOptions options;
  static_cast<settings::Settings&>(options) = settings::standard();
  options.state_directory = stab::default_state_directory(whose);
  options.cache_directory = stab::default_cache_directory(whose) + "/builds";
  options.socket_path = stab::default_socket_path(whose);
  options.program = std::filesystem::read_symlink("/proc/self/exe").string();
  return options;
}

// Reads the settings file into `into`. Returns a TOML comment that names the file. Only the usual
// file may be missing.
Result<std::string> read_settings(const Mode& mode, settings::Settings& into) {
  const bool usual = mode.config.empty();
  const std::string path = usual ? stab::default_settings_file() : mode.config;
  const auto text = settings::load(path);
  if (!text) return std::unexpected(text.error());
  if (!*text && !usual)
    return stab::fail("there is no settings file " + path + ", or it is not accessible");
  if (!*text) return fmt::format("# {} does not exist: these are the defaults\n", path);
  auto read = settings::read(**text, into);
  if (!read) {
    std::string problems = stab::toml::describe(read.error(), path);
    problems.pop_back();
    return stab::fail(std::move(problems));
  }
  into = *std::move(read);
  return fmt::format("# from {}\n", path);
}

int refuse(const stab::Error& error) {
  fmt::print(stderr, "stabd: {}\n", error.message);
  return 1;
}

int serve(DaemonOptions options) {
  spdlog::set_default_logger(spdlog::stderr_logger_st("stabd"));
  spdlog::set_level(spdlog::level::from_str(options.log));
  auto manager = stab::service::Manager::from_environment();
  if (!manager) return refuse(manager.error());
  auto daemon = Daemon::open(std::move(options), *std::move(manager));
  if (!daemon) return refuse(daemon.error());
  (*daemon)->run();
  return 0;
}

void make_absolute(DaemonOptions& options) {
  // We pass these paths to children, and we may be started in any folder.
  for (std::string* path :
       {&options.state_directory, &options.cache_directory, &options.socket_path})
    *path = std::filesystem::absolute(*path).string();
}

// Reads the file again. The original command line still overrides it.
Result<settings::Settings> read_again(const Mode& mode, std::vector<std::string> arguments) {
  DaemonOptions options = standard_options();
  if (auto origin = read_settings(mode, options); !origin) return std::unexpected(origin.error());
  Mode unused;
  CLI::App app;
  add_options(app, options, unused);
  std::ranges::reverse(arguments);
  app.parse(arguments);
  make_absolute(options);
  return options;
}

constexpr const char* about =
    "stabd runs experiments from a queue and stores every trial. Use stabctl to control it.";

// The manual describes the system's daemon, no matter which user prints it.
int print_manual() {
  DaemonOptions options = standard_options(stab::Whose::system);
  Mode mode;
  CLI::App app{about};
  add_options(app, options, mode, stab::Whose::system);
  fmt::print(
      "{}",
      stab::manual::page_of(
          app,
          {.name = "stabd",
           .section = 8,
           .parts = {
               {.title = "FILES",
                .text =
                    "The default folders above are for root. The daemon of another user follows "
                    "the XDG rules: ~/.local/state/stabd, ~/.cache/stabd, ~/.config/stabd "
                    "and $XDG_RUNTIME_DIR/stabd.\n"},
               {.title = "SEE ALSO", .text = "stabctl(1)\n"}}}));
  return 0;
}

int run(int argc, char** argv) {
  Mode mode;
  DaemonOptions options = standard_options();
  {
    // This first pass only finds the mode and the file's name. The second pass below lets the
    // command line override the file.
    DaemonOptions unused = options;
    CLI::App app{about};
    add_options(app, unused, mode);
    CLI11_PARSE(app, argc, argv);
  }
  if (mode.man) return print_manual();
  if (mode.worker) return stab::worker::serve();
  if (mode.reader) return stab::reader::serve();
  if (!mode.on_head.empty()) return stab::cluster::serve_head(mode.on_head);
  if (!mode.on_node.empty()) return stab::cluster::serve_node(mode.on_node);
  if (mode.limits_of) return stab::worker::print_limits_of(*mode.limits_of);
  const auto origin = read_settings(mode, options);
  if (!origin) return refuse(origin.error());
  CLI::App app{about};
  add_options(app, options, mode);
  CLI11_PARSE(app, argc, argv);
  make_absolute(options);
  options.machine_logs = options.machine_root + stab::default_state_directory();
  options.read_again = [mode, arguments = std::vector<std::string>(argv + 1, argv + argc)] {
    return read_again(mode, arguments);
  };
  if (!mode.check) return serve(std::move(options));
  fmt::print("{}{}", *origin, settings::print(options));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  stab::open_closed_streams();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "stabd: {}\n", error.what());
    return 1;
  }
}
