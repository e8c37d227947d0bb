// SPDX-License-Identifier: MIT
#include "client/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "client/client.h"
#include "client/follow.h"
#include "client/plan_file.h"
#include "client/run_folder.h"
#include "client/streams.h"
#include "client/verbs.h"
#include "plan/reading/read_plan.h"
#include "protocol/paths.h"
#include "stabd/daemon/allocations.h"
#include "toml/value.h"

namespace stab::client {
namespace {

// A daemon for one experiment, which ends with this process.
class EmbeddedDaemon {
 public:
  // Returns when clients can connect. The daemon's log goes to `state_directory`/stabd.log.
  static Result<EmbeddedDaemon> start(const std::string& state_directory);
  EmbeddedDaemon(EmbeddedDaemon&& other) noexcept;
  EmbeddedDaemon& operator=(EmbeddedDaemon&&) = delete;
  ~EmbeddedDaemon();

  [[nodiscard]] const std::string& socket_path() const { return socket_path_; }

 private:
  EmbeddedDaemon(pid_t pid, std::string state_directory, std::string socket_path,
                 std::string socket_folder);

  pid_t pid_;
  bool has_served_ = false;
  std::string state_directory_;
  std::string socket_path_;
  std::string socket_folder_;  // a temporary folder for the socket; "": it is beside the database
};

constexpr std::size_t max_log_bytes = std::size_t{64} << 20;

// The socket is beside the database, so that the next run reuses the file that a killed run leaves.
// Only if its path would be longer than this, the socket gets a folder in /tmp.
constexpr std::size_t max_socket_path = sizeof(sockaddr_un{}.sun_path) - 1;

Result<std::string> private_folder() {
  std::string path = "/tmp/stabd-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail_errno("cannot make a folder in /tmp");
  return path;
}

[[noreturn]] void become_daemon(const std::string& program, const std::string& state,
                                const std::string& socket, int log, int ready, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // stabctl has died already
  setpgid(0, 0);                      // Ctrl-C is for stabctl, not for the daemon
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(log, 2);
  fcntl(ready, F_SETFD, 0);
  const std::string ready_text = std::to_string(ready);
  // The administrator's settings are for daemons that several users share.
  execl(program.c_str(), program.c_str(), "--config", "/dev/null", "--state", state.c_str(),
        "--socket", socket.c_str(), "--ready-fd", ready_text.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

// Names the jobs that a cluster may still have after the daemon has ended, because no daemon frees
// their nodes later.
void tell_left_jobs(const std::string& state_directory) {
  const auto owners = daemon::read_owners(daemon::allocations_in(state_directory));
  if (!owners) return tell("this run may have left jobs on a cluster: " + owners.error().message);
  std::vector<std::string> commands;
  for (const daemon::Owner& owner : *owners)
    for (const std::string& job : owner.jobs) commands.push_back("scancel --name=" + job);
  if (commands.empty()) return;
  tell(
      fmt::format("Slurm has not confirmed that it freed the nodes of this run, so they may stay "
                  "allocated. When Slurm answers again, end the jobs that are left: {}",
                  fmt::join(commands, "; ")));
}

EmbeddedDaemon::EmbeddedDaemon(pid_t pid, std::string state_directory, std::string socket_path,
                               std::string socket_folder)
    : pid_(pid),
      state_directory_(std::move(state_directory)),
      socket_path_(std::move(socket_path)),
      socket_folder_(std::move(socket_folder)) {}

EmbeddedDaemon::EmbeddedDaemon(EmbeddedDaemon&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      has_served_(other.has_served_),
      state_directory_(std::move(other.state_directory_)),
      socket_path_(std::move(other.socket_path_)),
      socket_folder_(std::move(other.socket_folder_)) {}

EmbeddedDaemon::~EmbeddedDaemon() {
  if (pid_ == 0) return;
  kill(pid_, SIGTERM);
  waitpid(pid_, nullptr, 0);
  // A daemon that could not start may have met another one in this folder, whose jobs go on.
  if (has_served_) tell_left_jobs(state_directory_);
  std::error_code error;
  if (!socket_folder_.empty()) std::filesystem::remove_all(socket_folder_, error);
}

Result<EmbeddedDaemon> EmbeddedDaemon::start(const std::string& state_directory) {
  const std::string log_path = state_directory + "/stabd.log";
  const Fd log(open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log) return fail_errno("cannot write " + log_path);
  std::string socket = state_directory + "/run.sock";
  std::string folder;
  if (socket.size() > max_socket_path) {
    auto made = private_folder();
    if (!made) return std::unexpected(made.error());
    folder = std::move(*made);
    socket = folder + "/stabd.sock";
  }
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  const Fd ready(ends[0]);
  Fd told(ends[1]);
  const std::string program = companion("stabd");
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) become_daemon(program, state_directory, socket, log.get(), told.get(), parent);
  if (pid < 0) return fail_errno("cannot start stabd");
  told.reset();
  EmbeddedDaemon daemon(pid, state_directory, socket, folder);
  char c = 0;
  if (read(ready.get(), &c, 1) == 1) {
    daemon.has_served_ = true;
    return daemon;
  }
  const auto text = read_file(log_path, max_log_bytes);
  return fail(
      fmt::format("stabd ({}) does not start:\n{}", program, text ? tail(*text, 2000) : ""));
}

// Each run has a database of its own, so a file in the user's folder carries the results of
// calibrations from one database to the next.

using protocol::KnownMachine;

constexpr std::size_t max_file_bytes = std::size_t{4} << 20;

Result<std::vector<KnownMachine>> read_known(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::vector<KnownMachine>();
  const auto text = read_file(path, max_file_bytes);
  if (!text) return std::unexpected(text.error());
  auto known = protocol::from_text<std::vector<KnownMachine>>(*text);
  if (!known)
    return fail(fmt::format("{} is not a valid file of calibrations: remove the file ({})", path,
                            known.error().message));
  return known;
}

// calibrations.json in the user's default state directory.
std::string calibrations_file() {
  return default_state_directory() + "/calibrations.json";
}

// Sends the calibrations in the file to the daemon. A missing file has no calibrations.
Result<void> tell_calibrations(Client& client, const std::string& path) {
  const auto known = read_known(path);
  if (!known) return std::unexpected(known.error());
  if (known->empty()) return {};
  // A request must be short (protocol::most_decoded), so each has a few calibrations. stabd adds
  // them to the ones that it has.
  constexpr std::size_t at_once = 32;
  for (const KnownMachine& machine : *known) {
    for (std::size_t i = 0; i < machine.calibrations.size(); i += at_once) {
      KnownMachine part{.key = machine.key, .host = machine.host, .facts = machine.facts};
      const auto rest = std::span(machine.calibrations).subspan(i);
      const auto some = rest.first(std::min(at_once, rest.size()));
      part.calibrations.assign(some.begin(), some.end());
      const auto answer = client.ask(protocol::LearnRequest{.machines = {std::move(part)}});
      if (!answer) return fail(fmt::format("{}: {}", path, answer.error().message));
    }
  }
  return {};
}

// Writes the daemon's calibrations to the file, and keeps those of machines that only the file has.
Result<void> keep_calibrations(Client& client, const std::string& path) {
  const auto known = read_known(path);
  if (!known) return std::unexpected(known.error());
  auto answer = client.ask(protocol::CalibrationsRequest{});
  if (!answer) return std::unexpected(answer.error());
  std::vector<KnownMachine> all = std::move(answer->machines);
  for (const KnownMachine& machine : *known)
    if (std::ranges::find(all, machine.key, &KnownMachine::key) == all.end())
      all.push_back(machine);
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return write_file_atomically(path, protocol::to_text(all, 1) + "\n");
}

}  // namespace

Result<void> check_page(const std::string& path) {
  if (path.empty()) return {};
  if (path == "-") return wrong_call("--html -: name a file, not -");
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return wrong_call(fmt::format("--html {}: this is a folder; name a file", path));
  // A pipe or a device is written in place, so its folder need not be writable.
  if (const auto status = std::filesystem::status(path, error);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    if (access(path.c_str(), W_OK) == 0) return {};
    return fail_errno(fmt::format("--html {}: the file cannot be written", path));
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return wrong_call(fmt::format("--html {}: the folder {} is not writable: {}", path, folder,
                                std::strerror(errno)));
}

Result<void> write_page(const Analysed& analysed, const std::string& path) {
  if (path.empty()) return {};
  const auto page = analysed.as({.format = "html"});
  if (!page) return std::unexpected(page.error());
  if (auto written = write_output(page->text, path, Colours::none); !written) return written;
  tell("the page is " + path);
  return {};
}

namespace {

bool is_final(const std::string& state) {
  return state == "done" || state == "failed" || state == "cancelled";
}

struct Earlier {
  std::int64_t id = 0;
  bool ended = false;
};

// Finds the last experiment of this plan in the folder. An unfinished experiment of another plan is
// an error, or is cancelled if `cancel_others` is set.
Result<std::optional<Earlier>> earlier(Client& client, const PlanFile& plan, bool cancel_others) {
  const auto answer = client.ask(protocol::ListRequest{});
  if (!answer) return std::unexpected(answer.error());
  std::optional<Earlier> found;
  for (const protocol::Summary& row : answer->experiments) {
    const auto status = client.ask(protocol::StatusRequest{.id = row.id});
    if (!status) continue;  // it is damaged
    const bool ended = is_final(row.state);
    if (plan::without_defaults(status->plan) == plan::without_defaults(plan.text) &&
        status->experiment.directory == plan.directory)
      found = {.id = row.id, .ended = ended};
    else if (!ended && cancel_others) {
      if (auto gone = client.ask(protocol::CancelRequest{.id = row.id}); !gone)
        return std::unexpected(gone.error());
    } else if (!ended)
      return wrong_call(
          fmt::format("the folder holds an unfinished experiment of another plan, '{}': run that "
                      "plan, or choose another folder with --folder",
                      row.name));
  }
  return found;
}

Result<std::int64_t> submit_or_resume(Client& client, const PlanFile& plan, bool again,
                                      bool cancel_others) {
  const auto known = earlier(client, plan, cancel_others);
  if (!known) return std::unexpected(known.error());
  if (*known && !(*known)->ended && again) {
    if (auto ended = client.ask(protocol::CancelRequest{.id = (*known)->id}); !ended)
      return std::unexpected(ended.error());
  } else if (*known && !(*known)->ended) {
    tell(fmt::format("experiment {} continues where it was interrupted", (*known)->id));
    return (*known)->id;
  }
  if (*known && !again) {
    tell(fmt::format("experiment {} has ended; use --again to measure again", (*known)->id));
    return (*known)->id;
  }
  const auto text = with_chosen_nodes(plan);
  if (!text) return std::unexpected(text.error());
  const auto answer = client.ask(protocol::SubmitRequest{.plan = *text,
                                                         .directory = plan.directory,
                                                         .file = plan.path,
                                                         .branch = plan.branch,
                                                         .commit = plan.commit});
  if (!answer) return std::unexpected(answer.error());
  return answer->id;
}

Result<Followed> follow_on_terminal(const std::vector<std::string>& sockets, std::int64_t id,
                                    const SignalFd& signals, const Notice& notice) {
  auto watching = start_watching(sockets, id);
  if (!watching) return std::unexpected(watching.error());
  return follow(*watching, signals, notice);
}

}  // namespace

Result<Ran> run_to_end(const PlanFile& file, const RunOptions& options) {
  const auto plan = plan::read_plan(file.text);
  if (!plan) return fail(plan::describe(plan.error(), file.path));
  const auto folder = choose_folder(
      options.state_directory,
      {.experiment = plan->name, .plan = file.text, .directory = file.directory}, options.again);
  if (!folder) return std::unexpected(folder.error());

  if (options.begin)
    if (auto begun = options.begin(folder->path); !begun) return std::unexpected(begun.error());

  const SignalFd signals;
  const auto daemon = EmbeddedDaemon::start(folder->path);
  if (!daemon) return std::unexpected(daemon.error());
  auto client = Client::connect({daemon->socket_path()});
  if (!client) return std::unexpected(client.error());
  const std::string known =
      options.calibrations.empty() ? calibrations_file() : options.calibrations;
  if (auto told = tell_calibrations(*client, known); !told)
    tell("earlier calibrations are not used: " + told.error().message);
  const auto id = submit_or_resume(*client, file, options.again, options.cancel_others);
  if (!id) return std::unexpected(id.error());
  const auto follow_it = options.follow ? options.follow : Follower(follow_on_terminal);
  const auto followed = follow_it({daemon->socket_path()}, *id, signals, options.notice);
  if (!followed) return std::unexpected(followed.error());
  const Ran ran{.state = folder->path, .id = *id, .signal = followed->signal};
  if (ran.signal != 0) return ran;
  mark_ended(*folder);
  if (plan->design.kind == plan::DesignKind::calibration)
    if (auto kept = keep_calibrations(*client, known); !kept)
      tell("later runs will not use this calibration: " + kept.error().message);
  return ran;
}

Result<int> run(const RunOptions& options) {
  if (auto good = check_page(options.html); !good) return std::unexpected(good.error());
  const auto file = read_plan_file(options.plan_path, options.machines);
  if (!file) return std::unexpected(file.error());
  tell_plan_warnings(*file);
  const auto ran = run_to_end(*file, options);
  if (!ran) return std::unexpected(ran.error());
  if (ran->signal != 0) {
    // The daemon ends the running trial, which runs again when the user repeats the command.
    std::string same;
    if (!options.machines.empty()) same += "--machines " + shell_quote(options.machines) + " ";
    if (!options.calibrations.empty())
      same += "--calibrations " + shell_quote(options.calibrations) + " ";
    tell(fmt::format("the experiment is paused; to continue: stabctl run {}--folder {} {}", same,
                     shell_quote(ran->state), shell_quote(options.plan_path)));
    return exit_interrupted + ran->signal;
  }
  const auto analysed = analyse_stored(ran->state, ran->id);
  if (!analysed) return std::unexpected(analysed.error());
  const auto answer = analysed->as({.format = options.format,
                                    .colour = wants_colour(),
                                    .full = options.full,
                                    .width = terminal_width()});
  if (!answer) return std::unexpected(answer.error());
  if (auto written = write_output(answer->text, "", Colours::ours); !written)
    return std::unexpected(written.error());
  if (auto page = write_page(*analysed, options.html); !page) return std::unexpected(page.error());
  tell_how_to_report(ran->state, ran->id);
  return exit_code(ending_of(*answer), options.fail_on);
}

}  // namespace stab::client
