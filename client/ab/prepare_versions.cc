// SPDX-License-Identifier: MIT
#include "client/ab/prepare_versions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "client/plan_file.h"
#include "client/streams.h"
#include "counters/events/counting.h"
#include "counters/readings.h"
#include "machine/measured_run.h"
#include "machine/processes.h"
#include "machine/program.h"
#include "machine/topology.h"
#include "plan/measures/names.h"
#include "plan/reading/key_list.h"
#include "plan/texts.h"
#include "protocol/paths.h"
#include "revisions/revisions.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;
using machine::Ended;

constexpr std::chrono::hours longest_build{2};
constexpr std::uint64_t bytes_kept = std::uint64_t{64} << 20;

}  // namespace

Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return fail("the version does not contain the current folder");
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
      "{}; the complete output of the build is in {}\n{}",
      exited ? fmt::format("the build ended with exit code {}", ended.exit_code) : ended.reason,
      log, tail(ended.out, 2000)));
}

namespace {

// A process for one build: machine::run() ends all descendants of its caller after a build, so
// builds that run at the same time can't share a process.
struct Builder {
  const BuildPlace* place = nullptr;
  pid_t pid = 0;
  Fd said{};  // a pipe with the error, if any; it closes when the builder ends
  std::string error{};
};

Result<Builder> start_builder(const BuildPlace& place, const BuildOf& build) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t us = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid > 0) return Builder{.place = &place, .pid = pid, .said = std::move(from)};
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  auto built = getppid() == us ? machine::adopt_orphans() : Result<void>();
  if (built) built = build_in(place.folder, place.log, build);
  if (!built) {
    const auto written = write_all(to.get(), built.error().message);
    static_cast<void>(written);
  }
  _exit(built ? 0 : 1);
}

// Waits until a builder writes or ends. Returns whether `stop_fd` has become readable.
bool wait_for_one(std::vector<Builder>& running, int stop_fd) {
  std::vector<pollfd> polled;
  for (const Builder& each : running)
    polled.push_back({.fd = each.said.get(), .events = POLLIN, .revents = 0});
  polled.push_back({.fd = stop_fd, .events = POLLIN, .revents = 0});
  while (poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  return polled.back().revents != 0;
}

// Whether the builder has ended. Appends what it has written to its `error`.
bool has_ended(Builder& builder) {
  pollfd one{.fd = builder.said.get(), .events = POLLIN, .revents = 0};
  char piece[4096];
  while (poll(&one, 1, 0) == 1) {
    const ssize_t got = read(builder.said.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    builder.error.append(piece, static_cast<std::size_t>(got));
  }
  return false;
}

// "" if the build succeeded, otherwise its error.
std::string outcome_of(Builder& builder) {
  int status = 0;
  while (waitpid(builder.pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  return builder.error.empty() ? "its builder ended unexpectedly" : builder.error;
}

}  // namespace

Result<void> build_all(const std::vector<BuildPlace>& places, const BuildOf& build) {
  cpu_set_t cpus;
  const bool known = sched_getaffinity(0, sizeof cpus, &cpus) == 0;
  const std::size_t most = std::max(known ? CPU_COUNT(&cpus) : 1, 1);
  std::vector<Builder> running;
  const BuildPlace* failed = nullptr;  // the first in the list
  std::string why;
  int stop_fd = build.stop_fd;
  for (auto next = places.begin(); next != places.end() || !running.empty();) {
    while (next != places.end() && running.size() < most) {
      tell("building " + next->name);
      auto started = start_builder(*next, build);
      if (started) {
        running.push_back(std::move(*started));
        ++next;
        continue;
      }
      failed = &*next;
      why = started.error().message;
      next = places.end();
    }
    if (running.empty()) break;
    if (wait_for_one(running, stop_fd)) {
      for (const Builder& each : running) kill(each.pid, SIGTERM);
      next = places.end();
      stop_fd = -1;
    }
    std::erase_if(running, [&](Builder& each) {
      if (!has_ended(each)) return false;
      const std::string error = outcome_of(each);
      if (error.empty() || (failed != nullptr && failed < each.place)) return true;
      failed = each.place;
      why = error;
      return true;
    });
    if (failed == nullptr) continue;
    next = places.end();
    for (const Builder& each : running)
      if (each.place > failed) kill(each.pid, SIGTERM);
  }
  if (failed == nullptr) return {};
  return fail(fmt::format("{} cannot be built: {}", failed->name, why));
}

namespace {

bool is_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// Whether the user may set a variable of this name. Names that begin with STABD_ are reserved.
bool is_variable(std::string_view name) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view digits = "0123456789";
  return !name.empty() &&
         name.find_first_not_of(std::string(letters) + std::string(digits)) ==
             std::string_view::npos &&
         !digits.contains(name.front()) && !name.starts_with("STABD_");
}

Result<std::map<std::string, std::string>> environment_of(const std::vector<std::string>& given) {
  std::map<std::string, std::string> result;
  if (const char* path = std::getenv("PATH")) result["PATH"] = path;
  for (const std::string& each : given) {
    const auto equals = each.find('=');
    const std::string name = each.substr(0, equals);
    if (!is_variable(name))
      return wrong_call(fmt::format(
          "--env {}: this is not a valid name for an environment variable (names that begin with "
          "STABD_ are reserved)",
          one_line(each, 60)));
    const char* ours = std::getenv(name.c_str());
    if (equals != std::string::npos)
      result[name] = each.substr(equals + 1);
    else if (ours != nullptr)
      result[name] = ours;
    else
      return wrong_call(fmt::format(
          "--env {}: this variable is not set: set it, or write NAME=VALUE", one_line(name, 60)));
  }
  return result;
}

bool is_margin(const std::string& text) {
  double percent = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  return error == std::errc() && std::string_view(stop, end) == "%" && percent > 0 && percent < 50;
}

Result<plan::Check> check_of(const std::string& codes) {
  plan::Check check;
  std::vector<int> all;
  for (std::size_t at = 0; at <= codes.size();) {
    const std::size_t end = std::min(codes.find(',', at), codes.size());
    int code = -1;
    const auto [stop, error] = std::from_chars(codes.data() + at, codes.data() + end, code);
    if (error != std::errc() || stop != codes.data() + end || code < 0 || code > 255)
      return wrong_call(fmt::format(
          "--exit-codes {}: give whole numbers from 0 to 255, separated by commas, for example 0,1",
          one_line(codes, 60)));
    if (std::ranges::find(all, code) == all.end()) all.push_back(code);
    at = end + 1;
  }
  check.exit = all.front();
  check.other_exits.assign(all.begin() + 1, all.end());
  return check;
}

// Reads a list of CPUs, and fails if trials can't have them on this machine. Nodes of a cluster may
// have other CPUs, so `on_nodes` leaves that question to them.
Result<std::vector<unsigned>> cpus_of(const std::string& list, bool on_nodes) {
  if (list.empty()) return std::vector<unsigned>();
  const machine::CpuSet cpus = machine::cpus_in(list);
  if (cpus.empty())
    return wrong_call(
        fmt::format("--cpu {}: give CPU numbers, for example 1 or 2-3", one_line(list, 60)));
  if (on_nodes) return cpus;
  const auto topology = machine::Topology::load();
  if (!topology) return std::unexpected(topology.error());
  if (auto choice = topology->take_cpus(cpus); !choice)
    return wrong_call(fmt::format("--cpu {}: {}", one_line(list, 60), choice.error().message));
  return cpus;
}

// Opens an event once, so that an event that can't be counted is refused at once. If trials run on
// nodes of a cluster, the event only has to exist, because each node tries to open it.
Result<void> check_response(const std::string& name, bool on_nodes) {
  if (is_response(name)) return {};
  std::string why =
      name == plan::compile_time ? "'stabctl ab' does not measure builds" : "nothing has this name";
  if (name != plan::compile_time) {
    if (const auto event = counters::find_event(name); !event) {
      why = event.error().message;
    } else if (on_nodes) {
      return {};
    } else {
      const auto opened = counters::open_event(*event, 0);
      if (opened) return {};
      why = opened.error();
    }
  }
  return fail(fmt::format(
      "--metric {}: {}. Give one of {}, {}, or an event that can be counted here ('stabctl "
      "counters' lists these events)",
      one_line(name, 60), one_line(why, 300), fmt::join(plan::words::responses, ", "),
      plan::code_size));
}

Kind kind_of(const AbOptions& options) {
  if (!options.build.empty()) return Kind::folders;
  return options.programs.empty() ? Kind::commands : Kind::programs;
}

// The folder for the copy of the revision with index `i`.
std::string copy_of(const WorkFolder& work, std::size_t i) {
  return fmt::format("{}/{:03}", work.path(), i + 1);
}

// Warns about what the user may not have meant: versions that do not differ, and changes that no
// version has.
Result<void> look_at_revisions(const std::vector<Revision>& all, const std::string& directory) {
  bool has_tree = false;
  for (const Revision& each : all) has_tree |= each.commit.empty();
  for (auto each = all.begin(); each != all.end(); ++each) {
    if (each->commit.empty()) continue;
    const auto twin = std::find_if(
        each + 1, all.end(), [&](const Revision& other) { return other.commit == each->commit; });
    if (twin != all.end())
      tell(fmt::format("{} and {} are the same commit: they can only differ by chance", each->said,
                       twin->said));
    if (!has_tree && each->said != "HEAD") continue;
    const auto clean = revisions::is_working_tree(directory, each->commit);
    if (!clean) return std::unexpected(clean.error());
    if (has_tree && *clean)
      tell(fmt::format(
          "the working tree is identical to {}, so the two versions can only differ by chance",
          each->said));
    if (!has_tree && !*clean)
      tell(
          "uncommitted changes are not measured: to include them, name '.', which is the working "
          "tree");
  }
  return {};
}

// Builds and runs begin in the folder of a copy that corresponds to the user's current folder.
Result<std::vector<Version>> check_out_revisions(const AbOptions& options,
                                                 const std::string& directory, WorkFolder& work) {
  const auto said_ones = revisions::revisions_to_compare(options.words, directory);
  if (!said_ones) return std::unexpected(said_ones.error());
  const auto way = revisions::way_from_top(directory);
  if (!way) return std::unexpected(way.error());
  if (auto made = work.make(); !made) return std::unexpected(made.error());
  std::vector<Revision> all;
  for (const std::string& said : *said_ones) {
    const auto commit =
        said == revisions::working_tree ? "" : revisions::commit_of(directory, said);
    if (!commit) return std::unexpected(commit.error());
    all.push_back({.said = said,
                   .commit = *commit,
                   .folder = fmt::format("{}/{}", copy_of(work, all.size()), *way)});
  }
  if (auto looked = look_at_revisions(all, directory); !looked)
    return std::unexpected(looked.error());
  auto versions = versions_of_revisions(all);
  if (!versions) return versions;
  for (std::size_t i = 0; i < versions->size(); ++i) (*versions)[i].copy = copy_of(work, i);
  for (std::size_t i = 0; i < versions->size(); ++i)
    if (auto there = revisions::check_out(
            directory, {.folder = copy_of(work, i), .revision = (*said_ones)[i]});
        !there)
      return std::unexpected(there.error());
  // This comes before any build, because it must not take over what the last version's build makes.
  const std::string& last = versions->back().text;
  for (const Version& each : *versions)
    if (each.text != last)
      if (auto same = revisions::take_over(options.same, last, each.text); !same)
        return std::unexpected(same.error());
  return versions;
}

// Builds find the szc beside stabctl.
std::map<std::string, std::string> variables_of_builds(const Comparison& comparison) {
  std::map<std::string, std::string> variables = comparison.env;
  const std::string szc = companion("szc");
  variables["PATH"] = szc.substr(0, szc.rfind('/')) + ":" + variables["PATH"];
  variables["CC"] = "szc";
  variables["CXX"] = "szc++";
  return variables;
}

}  // namespace

Result<void> build_versions(const AbOptions& options, const Comparison& comparison,
                            const WorkFolder& work, int stop_fd) {
  if (comparison.kind != Kind::folders) return {};
  const BuildOf build{
      .command = options.build, .stop_fd = stop_fd, .variables = variables_of_builds(comparison)};
  std::vector<BuildPlace> places;
  for (std::size_t i = comparison.versions.size(); i-- > 0;)
    places.push_back({.name = comparison.versions[i].name,
                      .folder = comparison.versions[i].text,
                      .log = copy_of(work, i) + ".log"});
  return build_all(places, build);
}

std::string compiler_of_builds(const AbOptions& options, const Comparison& comparison,
                               int stop_fd) {
  // A build that chooses the compiler itself may not use the one that szc calls by default.
  if (comparison.kind != Kind::folders || options.build.contains("STAB_C") ||
      options.build.contains("--stab-cc"))
    return "";
  auto variables = machine::base_variables(geteuid());
  for (const auto& [name, value] : variables_of_builds(comparison)) variables[name] = value;
  machine::Launch launch;
  launch.argv = {companion("szc"), "--version"};
  launch.environment = machine::make_environment(std::move(variables), 0);
  launch.directory = "/";
  launch.timeout = std::chrono::seconds(10);
  launch.output_limit = 65536;
  launch.stop_fd = stop_fd;
  const Ended ended = machine::run(launch);
  if (ended.how != machine::End::exited || ended.exit_code != 0) return "";
  return one_line(ended.out.substr(0, ended.out.find('\n')), 100);
}

WorkFolder::~WorkFolder() {
  std::error_code error;
  if (!kept_ && !path_.empty()) fs::remove_all(path_, error);
}

void WorkFolder::adopt(std::string path) {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
  path_ = std::move(path);
}

bool is_work_folder(const std::string& path) {
  std::error_code error;
  const fs::path folder(path);
  return folder.parent_path() == fs::absolute(default_cache_directory()) &&
         folder.filename().string().starts_with("ab-") &&
         fs::is_directory(fs::symlink_status(folder, error));
}

Result<void> WorkFolder::make() {
  std::error_code error;
  const std::string parent = fs::absolute(default_cache_directory()).string();
  fs::create_directories(parent, error);
  path_ = parent + "/ab-XXXXXX";
  if (path_.contains('\''))
    return fail(
        fmt::format("the name of the cache folder {} contains a quotation mark: set XDG_CACHE_HOME "
                    "to another folder",
                    one_line(std::exchange(path_, ""), 200)));
  if (mkdtemp(path_.data()) != nullptr) return {};
  return fail_errno("cannot make a folder in " + std::exchange(path_, ""));
}

Result<void> check_options(const AbOptions& options) {
  if (!is_margin(options.margin))
    return wrong_call(
        fmt::format("--margin {}: give a percentage above 0 and below 50 %, for example 1%",
                    one_line(options.margin, 60)));
  if (auto good = check_response(options.response, !options.machines.empty()); !good) return good;
  if (auto good = check_of(options.exit_codes); !good) return std::unexpected(good.error());
  if (auto good = cpus_of(options.cpus, !options.machines.empty()); !good)
    return std::unexpected(good.error());
  if (auto good = machines_table(options.machines); !good) return std::unexpected(good.error());
  if (plan::node_range(options.machines))
    return wrong_call(
        fmt::format("--machines {}: ab needs a single number of nodes, or the names of nodes",
                    options.machines));
  for (const auto* texts : {&options.words, &options.programs, &options.env})
    for (const std::string& text : *texts)
      if (!is_utf8(text))
        return fail(fmt::format("{}: this text is not UTF-8, but a plan must be UTF-8",
                                one_line(text, 100)));
  for (const auto& [name, text] :
       {std::pair{"--run", options.run}, std::pair{"--prepare", options.prepare},
        std::pair{"--cleanup", options.cleanup}})
    if (!is_utf8(text))
      return fail(fmt::format("{}: this text is not UTF-8, but a plan must be UTF-8", name));
  const bool builds = !options.build.empty();
  if (builds && !options.programs.empty())
    return wrong_call(
        "--build builds revisions, and --program measures existing programs: use only one of them");
  if (builds == options.run.empty())
    return fail(
        "revisions need both a build command (--build) and a command to measure (--run); 'stabctl "
        "ab --help' has an example");
  if (!builds && !options.same.empty()) return wrong_call("--share needs --build");
  if (builds && options.response == counters::relative_cpu &&
      (!options.prepare.empty() || !options.cleanup.empty()))
    return wrong_call(
        "if --build is given, --beside cannot be used together with --prepare or --cleanup: the "
        "first revision runs beside the trial in another folder, where the prepare and cleanup "
        "commands do not run");
  return {};
}

namespace {

// Refuses words that are all revisions: a shell would look for programs of these names.
Result<std::vector<Version>> commands_of(const AbOptions& options, const std::string& directory) {
  const bool are_revisions =
      !options.words.empty() && std::ranges::all_of(options.words, [&](const std::string& word) {
        return word == revisions::working_tree || revisions::commit_of(directory, word).has_value();
      });
  if (are_revisions)
    return fail(fmt::format(
        "{} {} of this repository. To compare revisions, give the build command with --build and "
        "the command to measure with --run; 'stabctl ab --help' has an example",
        fmt::join(options.words, " and "),
        options.words.size() == 1 ? "is a revision" : "are revisions"));
  return versions_of_commands(options.words);
}

}  // namespace

Result<Comparison> comparison_of(const AbOptions& options, const std::string& directory,
                                 WorkFolder& work) {
  Comparison result;
  result.kind = kind_of(options);
  auto env = environment_of(options.env);
  if (!env) return std::unexpected(env.error());
  result.env = std::move(*env);
  auto versions = result.kind == Kind::folders    ? check_out_revisions(options, directory, work)
                  : result.kind == Kind::commands ? commands_of(options, directory)
                                                  : versions_of_programs(options.programs);
  if (!versions) return std::unexpected(versions.error());
  result.versions = std::move(*versions);
  if (result.kind == Kind::programs) result.arguments = options.words;
  result.command = options.run;
  result.prepare = options.prepare;
  result.cleanup = options.cleanup;
  result.margin = options.margin;
  result.response = options.response;
  auto check = check_of(options.exit_codes);
  if (!check) return std::unexpected(check.error());
  result.check = std::move(*check);
  auto cpus = cpus_of(options.cpus, !options.machines.empty());
  if (!cpus) return std::unexpected(cpus.error());
  result.cpu = std::move(*cpus);
  auto machines = machines_table(options.machines);
  if (!machines) return std::unexpected(machines.error());
  result.machines = std::move(*machines);
  result.seed = options.seed;
  result.wanted_heap = options.heap;
  result.wanted_pads = options.pads;
  result.control = options.control;
  result.cost = options.cost;
  return result;
}

}  // namespace stab::client::ab
