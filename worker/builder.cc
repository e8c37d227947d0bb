// SPDX-License-Identifier: MIT

#include "worker/builder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/base64.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "design/trial_list.h"
#include "machine/measured_run.h"
#include "machine/program.h"
#include "plan/measures/names.h"
#include "plan/texts.h"
#include "protocol/codec.h"
#include "protocol/work.h"
#include "worker/binary.h"
#include "worker/build_cache.h"
#include "worker/sources.h"

namespace stab::worker {
namespace {

// A makefile can run these although the command does not name them.
constexpr std::string_view implied =
    "cc c++ gcc g++ clang clang++ clang-19 clang++-19 clang-22 clang++-22 ld ld.lld ld.lld-19 "
    "ld.lld-22 ar as make cmake ninja szc szc++";

// szc's parts can change separately, and a new runtime makes another binary.
std::string parts_of_szc(const std::string& program, const std::vector<std::string>& environment,
                         machine::Containment containment) {
  machine::Launch launch;
  launch.argv = {program, "--stab-version"};
  launch.environment = environment;
  launch.directory = "/";
  launch.timeout = std::chrono::seconds(10);
  launch.output_limit = 65536;
  launch.merge_stderr = true;
  launch.keep_aslr = true;
  launch.containment = containment;
  return machine::run(launch).out;
}

bool is_szc(const std::string& program) {
  const std::string name = std::filesystem::path(program).filename();
  return name == "szc" || name == "szc++";
}

}  // namespace

std::vector<std::string> words_of(std::string_view command) {
  constexpr std::string_view cuts = " \t\n'\"=;|&()`";
  std::set<std::string> words;
  while (!command.empty()) {
    const std::size_t end = std::min(command.find_first_of(cuts), command.size());
    if (end > 0) words.emplace(command.substr(0, end));
    command.remove_prefix(std::min(end + 1, command.size()));
  }
  return {words.begin(), words.end()};
}

std::string toolchain(std::string_view command, const std::vector<std::string>& environment,
                      machine::Containment containment) {
  std::string text;
  std::set<std::string> asked;
  for (const std::string& word : words_of(fmt::format("{} {}", command, implied))) {
    const auto program = machine::find_program(word, environment, "/");
    if (!program) continue;
    std::error_code error;
    const std::string real = std::filesystem::canonical(*program, error).string();
    struct stat status{};
    if (error || stat(real.c_str(), &status) != 0) continue;
    text += fmt::format("{} {} {} {}.{}\n", word, real, status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
    if (is_szc(real) && asked.insert(real).second)
      text += parts_of_szc(real, environment, containment);
  }
  return text;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view cache_format = "stabd build 2";
constexpr std::uint64_t max_build_output = std::uint64_t{64} << 20;
constexpr std::chrono::seconds most_tidying{60};
constexpr unsigned most_attempts = 5;  // at an entry that others keep removing
constexpr std::size_t key_digits = 32;
// Larger programs are built on each machine.
constexpr std::uint64_t most_travelling = std::uint64_t{1} << 30;
constexpr std::chrono::seconds most_keeping{60};  // for locks, and for reading the program

protocol::BuildReply failed(protocol::BuildReply reply, std::string why) {
  reply.status = store::BuildStatus::failed;
  reply.error = first_error(why, store::most_build_error);
  reply.output = std::move(why);
  return reply;
}

// Also looks at the disk, because a compiler that ran out of room may have removed its output.
bool lacks_room(const protocol::BuildReply& reply, const std::string& cache) {
  constexpr std::uint64_t too_little = std::uint64_t{1} << 20;
  if (reply.status != store::BuildStatus::failed) return false;
  if (reply.output.contains(std::strerror(ENOSPC)) || reply.output.contains(std::strerror(EDQUOT)))
    return true;
  struct statvfs disk{};
  return statvfs(cache.c_str(), &disk) == 0 &&
         (std::uint64_t{disk.f_bavail} * disk.f_frsize < too_little ||
          (disk.f_files != 0 && disk.f_favail == 0));
}

// Reading an entry of the cache may take as long as a build.
Reading reading_of(std::string_view key, const protocol::BuildRequest& request, int stop_fd) {
  return {
      .key = key, .until = std::chrono::steady_clock::now() + request.timeout, .stop_fd = stop_fd};
}

// Tells a user who misses a file in the copy why it is not there.
std::string note_on(const Sources& sources) {
  if (sources.left_out.empty()) return "";
  return fmt::format("(not in the copy that is built: {}; 'sources' lists what the build reads)\n",
                     sources.left_out);
}

// The readings that each trial of the program gets. `cpu_ns` is the CPU time of the build's
// commands.
std::vector<counters::Reading> readings_of(const std::string& out,
                                           std::optional<std::int64_t> cpu_ns) {
  constexpr const char* unknown =
      "this cached build is from a version of stabd that did not store the CPU time of builds";
  std::vector<counters::Reading> readings;
  const std::string time(plan::compile_time);
  readings.push_back(cpu_ns ? counters::counted(time, "ns", *cpu_ns)
                            : counters::absent(time, "ns", unknown));
  std::error_code error;
  if (!fs::exists(out, error)) return readings;
  const std::string size(plan::code_size);
  const auto bytes = code_size_of(out);
  readings.push_back(bytes ? counters::counted(size, "bytes", *bytes)
                           : counters::absent(size, "bytes",
                                              "the size of the code in ${OUT} is not known: " +
                                                  bytes.error().message));
  return readings;
}

// Ignores the builds that come next.
bool is_same(const protocol::BuildRequest& a, const protocol::BuildRequest& b) {
  return a.command == b.command && a.directory == b.directory && a.sources == b.sources &&
         a.revision == b.revision && a.cache == b.cache && a.keep_tree == b.keep_tree &&
         a.known_key == b.known_key && a.timeout == b.timeout;
}

// Requests that read the same sources have the same name.
std::string name_of_sources(const protocol::BuildRequest& request) {
  std::string name = request.directory + '\n' + request.revision;
  for (const std::string& source : request.sources) name += '\n' + source;
  return name;
}

// The number of further builds that fit into the available memory. A compiler or linker of a large
// program takes about a gibibyte.
std::size_t builds_that_fit() {
  constexpr std::uint64_t bytes_of_build = std::uint64_t{1} << 30;
  constexpr std::string_view name = "MemAvailable:";
  const auto text = read_file("/proc/meminfo", 1 << 16);
  const std::size_t at = text ? text->find(name) : std::string::npos;
  if (at == std::string::npos) return 0;
  const std::uint64_t kilobytes = std::strtoull(text->c_str() + at + name.size(), nullptr, 10);
  return kilobytes * 1024 / bytes_of_build;
}

bool is_key(std::string_view text) {
  return text.size() == key_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Why the build in this folder is not its program alone; "" if it is.
std::string other_files_in(const std::string& folder) {
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::end(it);
       it.increment(error))
    if (const std::string name = it->path().filename(); name != "out" && name != "complete")
      return fmt::format("the build has made {} beside ${{OUT}}", one_line(name, 100));
  return error ? fmt::format("cannot read {}: {}", folder, error.message()) : "";
}

// Puts the folder of our own szc first in PATH, unless PATH has it already.
std::vector<std::string> environment_of_builds() {
  auto variables = machine::base_variables(geteuid());
  std::error_code error;
  const std::string self = fs::read_symlink("/proc/self/exe", error).parent_path().string();
  std::string& path = variables["PATH"];
  if (!error && !self.empty() && !fmt::format(":{}:", path).contains(fmt::format(":{}:", self)))
    path = fmt::format("{}:{}", self, path);
  return machine::make_environment(std::move(variables), 0);
}

}  // namespace

struct Builder::CacheFolder {
  std::string cache;
  std::string key;
  std::string path = cache + "/" + key;
  [[nodiscard]] std::string out() const { return protocol::build_output(cache, key); }
  [[nodiscard]] std::string tree() const { return protocol::build_tree(cache, key); }
  [[nodiscard]] std::string complete() const { return path + "/complete"; }

  [[nodiscard]] protocol::BuildReply reply() const {
    protocol::BuildReply reply;
    reply.key = key;
    reply.directory = tree();
    reply.out = out();
    return reply;
  }

  // The result of an earlier build, if it is complete and unchanged.
  [[nodiscard]] std::optional<protocol::BuildReply> cached(bool needs_tree,
                                                           const Reading& reading) const {
    const auto text = read_file(complete(), 1 << 20);
    if (!text || (needs_tree && !fs::is_directory(tree()))) return std::nullopt;
    const auto record = protocol::from_text<protocol::Complete>(*text);
    if (!record) return std::nullopt;
    const auto binary = digest_of(out(), reading);
    if (!binary) return std::nullopt;
    const std::string digest = binary->value_or("");
    protocol::BuildReply answer = reply();
    if (record->binary_sha256 != digest) return std::nullopt;
    answer.status = store::BuildStatus::cached;
    answer.binary_sha256 = digest;
    answer.compilers = compilers_of(out());
    answer.in_place = machine::why_no_library(out());
    answer.duration_ns = record->duration_ns;
    answer.readings = readings_of(out(), record->cpu_ns);
    return answer;
  }
};

Builder::Builder(machine::Containment containment, int stop_fd, std::string marker,
                 std::function<bool()> bind)
    : containment_(containment),
      stop_fd_(stop_fd),
      environment_(environment_of_builds()),
      bind_(std::move(bind)) {
  if (!marker.empty()) environment_.push_back(std::move(marker));
}

// The lock keeps the copy in the cache until this process ends.
Result<Sources> Builder::sources_for(const protocol::BuildRequest& request) {
  const std::string name = name_of_sources(request);
  if (const auto known = taken_.find(name); known != taken_.end()) return known->second;
  for (unsigned attempt = 0; attempt < most_attempts; ++attempt) {
    auto taken = request.revision.empty()
                     ? take_sources(request.directory, request.sources, request.cache)
                     : take_revision({request.directory, request.revision}, request.sources,
                                     request.cache, git());
    if (!taken) return taken;
    auto lock = lock_entry(taken->path, Hold::shared, wait_of(request));
    if (!lock) return fail(fmt::format("cannot lock {}.lock", taken->path));
    if (!fs::is_directory(taken->path)) continue;
    in_use_.insert_or_assign(taken->path, std::move(*lock));
    taken_[name] = *taken;
    return taken;
  }
  return fail("something keeps removing the copy of the sources from the cache");
}

// Runs git with the rights and the variables of builds.
machine::Launch Builder::git() const {
  machine::Launch launch;
  launch.environment = environment_;
  launch.stop_fd = stop_fd_;
  launch.containment = containment_;
  launch.bind = bind_;
  return launch;
}

LockWait Builder::wait_of(const protocol::BuildRequest& request) const {
  return {.stop_fd = stop_fd_, .until = std::chrono::steady_clock::now() + request.timeout};
}

// Looks the build up in the cache. Its lock keeps the entry there until this process ends.
std::optional<protocol::BuildReply> Builder::cached(const CacheFolder& folder,
                                                    const protocol::BuildRequest& request) {
  if (!fs::is_directory(folder.path)) return std::nullopt;
  auto lock = lock_entry(folder.path, Hold::shared, wait_of(request));
  if (!lock) return std::nullopt;
  auto reply = folder.cached(request.keep_tree, reading_of(folder.key, request, stop_fd_));
  if (reply) in_use_.insert_or_assign(folder.path, std::move(*lock));
  return reply;
}

// An experiment that continues after a kill uses its first builds again, even if the sources have
// changed since.
std::optional<protocol::BuildReply> Builder::known(const protocol::BuildRequest& request) {
  if (!is_key(request.known_key)) return std::nullopt;
  return cached({.cache = request.cache, .key = request.known_key}, request);
}

Builder::~Builder() {
  stop_ahead();
}

protocol::BuildReply Builder::build(const protocol::BuildRequest& request) {
  begin_ahead(request);
  auto earlier = take_ahead(request);
  if (!earlier) {
    // The build below ends every other process that we have started.
    wait_for_all();
    earlier = known(request);
  }
  protocol::BuildReply reply = earlier ? std::move(*earlier) : find_or_build(request);
  const auto cut_to = [&](std::uint64_t limit) {
    return cut_cache(
        request.cache, limit,
        {.stop_fd = stop_fd_, .until = std::chrono::steady_clock::now() + most_tidying});
  };
  if (lacks_room(reply, request.cache)) {
    // Unused entries can be built again later, so remove them and try once more.
    wait_for_all();
    std::string tidied = cut_to(0);
    reply = find_or_build(request);
    reply.tidied = std::move(tidied);
    reply.no_room = lacks_room(reply, request.cache);
    if (reply.no_room) cut_to(0);
  } else if (request.cache_limit > 0) {
    reply.tidied = cut_to(request.cache_limit);
  }
  return reply;
}

// Starts this build and the ones that come next, as many as there are CPUs. A single build runs in
// our own process.
void Builder::begin_ahead(const protocol::BuildRequest& request) {
  std::vector<protocol::BuildRequest> wanted{request};
  wanted.front().next.clear();
  wanted.front().cache_limit = 0;
  for (const protocol::NextBuild& each : request.next)
    wanted.push_back({.command = each.command,
                      .directory = request.directory,
                      .sources = each.sources,
                      .revision = each.revision,
                      .cache = request.cache,
                      .keep_tree = each.keep_tree,
                      .known_key = each.known_key,
                      .timeout = each.timeout});
  std::erase_if(wanted, [&](const protocol::BuildRequest& each) {
    return std::ranges::any_of(ahead_,
                               [&](const Ahead& begun) { return is_same(begun.request, each); });
  });
  if (is_stopping_ || at_once_ < 2 || wanted.empty() || wanted.size() + ahead_.size() < 2) return;
  // Copying sources runs git, whose end ends every other process that we have started.
  if (!runs_ahead())
    for (const protocol::BuildRequest& each : wanted)
      if (auto sources = sources_for(each); !sources) return;
  for (const protocol::BuildRequest& each : wanted) {
    const auto running = std::ranges::count(ahead_, false, &Ahead::has_ended);
    if (std::cmp_greater_equal(running, at_once_) || !taken_.contains(name_of_sources(each)))
      return;
    if (running > 0 && builds_that_fit() == 0) return;
    auto started = start_ahead(each);
    if (!started) return;
    ahead_.push_back(std::move(*started));
  }
}

Result<Builder::Ahead> Builder::start_ahead(const protocol::BuildRequest& request) {
  int ends[2] = {};
  if (!stop_ahead_) {
    if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
    stops_ahead_ = Fd(ends[0]);
    stop_ahead_ = Fd(ends[1]);
  }
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  Fd from(ends[0]);
  Fd to(ends[1]);
  const pid_t us = getpid();
  const pid_t pid = fork();
  if (pid < 0) return fail_errno("cannot start a process");
  if (pid > 0) return Ahead{.request = request, .pid = pid, .said = std::move(from)};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  containment_ = machine::Containment::process_tree;
  // The daemon's next request must not end a build ahead; only the worker may do so.
  stop_fd_ = stops_ahead_.get();
  if (getppid() != us || !machine::adopt_orphans()) _exit(1);
  auto reply = known(request);
  if (!reply) reply = find_or_build(request);
  const auto written = write_all(to.get(), protocol::encode(*reply));
  _exit(written ? 0 : 1);
}

bool Builder::runs_ahead() const {
  return std::ranges::count(ahead_, false, &Ahead::has_ended) > 0;
}

// Waits until a build ahead writes something or ends, or until we have to stop. Stores what it
// wrote.
void Builder::wait_for_one() {
  std::vector<pollfd> polled;
  for (const Ahead& each : ahead_)
    polled.push_back({.fd = each.has_ended ? -1 : each.said.get(), .events = POLLIN, .revents = 0});
  polled.push_back({.fd = is_stopping_ ? -1 : stop_fd_, .events = POLLIN, .revents = 0});
  while (poll(polled.data(), polled.size(), -1) < 0 && errno == EINTR) {
  }
  if (polled.back().revents != 0) tell_to_stop();
  char piece[4096];
  for (std::size_t i = 0; i < ahead_.size(); ++i) {
    if (polled[i].revents == 0) continue;
    const ssize_t got = read(ahead_[i].said.get(), piece, sizeof piece);
    if (got > 0) ahead_[i].text.append(piece, static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    ahead_[i].has_ended = true;
    while (waitpid(ahead_[i].pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

// Nobody reads this byte, so all builds ahead see it.
void Builder::tell_to_stop() {
  if (std::exchange(is_stopping_, true) || !stop_ahead_) return;
  const auto written = write_all(stop_ahead_.get(), "x");
  static_cast<void>(written);
}

void Builder::wait_for_all() {
  while (runs_ahead()) wait_for_one();
}

void Builder::stop_ahead() {
  if (!runs_ahead()) return;
  tell_to_stop();
  wait_for_all();
}

// The result of a build that was started ahead. Returns nullopt if it was not started, or if its
// result was lost.
std::optional<protocol::BuildReply> Builder::take_ahead(const protocol::BuildRequest& request) {
  const auto find = [&] {
    return std::ranges::find_if(ahead_,
                                [&](const Ahead& each) { return is_same(each.request, request); });
  };
  if (find() == ahead_.end()) return std::nullopt;
  while (!find()->has_ended) {
    wait_for_one();
    begin_ahead(request);
  }
  const std::string text = std::move(find()->text);
  ahead_.erase(find());
  auto reply = protocol::decode<protocol::BuildReply>(text);
  if (!reply) return std::nullopt;
  if (reply->status == store::BuildStatus::failed) return std::move(*reply);
  // The other process has released its lock, so take our own before somebody removes the entry.
  if (!cached({.cache = request.cache, .key = reply->key}, request)) return std::nullopt;
  return std::move(*reply);
}

protocol::BuildReply Builder::find_or_build(const protocol::BuildRequest& request) {
  const auto sources = sources_for(request);
  if (!sources) return failed({}, sources.error().message);
  Sha256 hash;
  hash.add_field(cache_format);
  hash.add_field(request.command);
  hash.add_field(request.directory);
  hash.add_field(sources->digest);
  hash.add_field(request.keep_tree ? "tree" : "");
  hash.add_field(toolchain(request.command, environment_, containment_));
  const CacheFolder folder{.cache = request.cache, .key = hash.hex().substr(0, key_digits)};

  for (unsigned attempt = 0; attempt < most_attempts; ++attempt) {
    if (auto found = cached(folder, request)) return *found;
    in_use_.erase(folder.path);  // it has changed since we used it
    auto lock = lock_entry(folder.path, Hold::alone, wait_of(request));
    if (!lock)
      return failed({}, fmt::format("cannot lock {}.lock: another experiment holds the lock, "
                                    "because it makes or uses this build",
                                    folder.path));
    auto reply = folder.cached(request.keep_tree, reading_of(folder.key, request, stop_fd_));
    if (!reply) reply = build_in(folder, request, *sources);
    if (reply->status == store::BuildStatus::failed) return *reply;
    if (!share(*lock, folder.path)) continue;
    in_use_.insert_or_assign(folder.path, std::move(*lock));
    return *reply;
  }
  return failed({}, fmt::format("{} keeps being removed", folder.path));
}

protocol::FetchReply Builder::fetch(const protocol::FetchRequest& request) const {
  const CacheFolder folder{.cache = request.cache, .key = request.key};
  // Its lock keeps it in the cache.
  if (!in_use_.contains(folder.path)) return {.error = "this worker has no such build"};
  if (std::string others = other_files_in(folder.path); !others.empty())
    return {.error = std::move(others)};
  const auto text = read_file(folder.complete(), 1 << 20);
  const auto record = text ? protocol::from_text<protocol::Complete>(*text)
                           : Result<protocol::Complete>(std::unexpected(text.error()));
  if (!record) return {.error = record.error().message};
  const Fd file(open(folder.out().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return {.error = "${OUT} is not a file that can be read"};
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > most_travelling)
    return {.error = fmt::format("${{OUT}} has more than {} MiB", most_travelling >> 20U)};
  std::string bytes(
      std::min(size - std::min(request.offset, size), std::uint64_t{protocol::most_of_piece}),
      '\0');
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = pread(file.get(), bytes.data() + got, bytes.size() - got,
                            static_cast<off_t>(request.offset + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {.error = "${OUT} can't be read to its end"};
    got += static_cast<std::size_t>(n);
  }
  return {.size = size,
          .mode = static_cast<std::uint32_t>(status.st_mode & 0777U),
          .complete = *record,
          .bytes = to_base64(bytes)};
}

protocol::KeepReply Builder::keep(const protocol::KeepRequest& request) {
  if (!is_key(request.key)) return {.error = "that is not the key of a build"};
  const CacheFolder folder{.cache = request.cache, .key = request.key};
  if (request.bytes.empty()) {
    arriving_.reset();
    const auto there = cached(folder, {.cache = request.cache, .timeout = most_keeping});
    if (there && there->binary_sha256 == request.binary_sha256) return {.is_there = true};
    std::error_code error;
    fs::create_directories(request.cache, error);
    auto draft = Draft::make(request.cache);
    if (!draft) return {.error = draft.error().message};
    arriving_.emplace(std::move(*draft));
    arriving_key_ = request.key;
    arrived_ = 0;
    return {};
  }
  if (!arriving_ || arriving_key_ != request.key || arrived_ != request.offset)
    return {.error = "the pieces of the program do not come in their order"};
  const auto bytes = from_base64(request.bytes);
  if (!bytes) return {.error = bytes.error().message};
  const Fd file(open((arriving_->path() + "/out").c_str(),
                     O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  const auto written =
      file ? write_all(file.get(), *bytes) : Result<void>(fail_errno("cannot write to the cache"));
  if (!written) {
    arriving_.reset();
    return {.error = written.error().message};
  }
  arrived_ += bytes->size();
  if (arrived_ < request.size) return {.arrived = arrived_};
  const auto put = put_in_cache(request);
  arriving_.reset();
  if (!put) return {.error = put.error().message};
  return {.is_there = true};
}

// B2 of build_cache.h: the entry is complete before it has its name.
Result<void> Builder::put_in_cache(const protocol::KeepRequest& request) {
  const protocol::BuildRequest wanted{.cache = request.cache, .timeout = most_keeping};
  const CacheFolder folder{.cache = request.cache, .key = request.key};
  const std::string draft = arriving_->path();
  if (chmod((draft + "/out").c_str(), request.mode & 0777U) != 0)
    return fail_errno("cannot set the permissions of the program");
  if (auto made =
          write_file_atomically(draft + "/complete", protocol::to_text(request.complete, -1));
      !made)
    return made;
  in_use_.erase(folder.path);  // our own lock would be in the way
  auto lock = lock_entry(folder.path, Hold::alone, wait_of(wanted));
  if (!lock)
    return fail(
        fmt::format("cannot lock {}.lock: another experiment uses this build", folder.path));
  if (!remove_tree(folder.path)) return fail(fmt::format("cannot remove {}", folder.path));
  std::error_code error;
  fs::rename(draft, folder.path, error);
  if (error) return fail(fmt::format("cannot rename {}: {}", draft, error.message()));
  const auto there = folder.cached(false, reading_of(folder.key, wanted, stop_fd_));
  if (!there || there->binary_sha256 != request.binary_sha256) {
    remove_tree(folder.path);
    return fail("the program that arrived has another digest");
  }
  if (!share(*lock, folder.path)) return fail(fmt::format("{} was removed", folder.path));
  in_use_.insert_or_assign(folder.path, std::move(*lock));
  return {};
}

protocol::BuildReply Builder::build_in(const CacheFolder& folder,
                                       const protocol::BuildRequest& request,
                                       const Sources& sources) {
  protocol::BuildReply reply = folder.reply();
  if (!remove_tree(folder.path))
    return failed(reply,
                  fmt::format("cannot remove the files of an earlier build: remove the folder {}",
                              folder.path));
  std::error_code error;
  fs::create_directories(folder.path, error);
  if (error)
    return failed(reply, fmt::format("cannot create {}: {}", folder.path, error.message()));
  if (auto copied = copy_tree(sources.path, folder.tree()); !copied)
    return failed(reply, copied.error().message);

  machine::Launch launch;
  launch.argv = {
      "/bin/sh", "-c",
      plan::substitute(request.command,
                       {{"OUT", reply.out}, {"DIR", reply.directory}, {"SRC", request.directory}})};
  launch.environment = environment_;
  launch.directory = reply.directory;
  launch.timeout = request.timeout;
  launch.output_limit = max_build_output;
  launch.merge_stderr = true;
  launch.keep_aslr = true;
  launch.bind = bind_;
  launch.stop_fd = stop_fd_;
  launch.containment = containment_;
  const auto until = std::chrono::steady_clock::now() + request.timeout;
  const machine::Ended ended = machine::run(launch);

  const std::string printed = tail(ended.out, protocol::kept_output);
  const auto failed_because = [&](std::string_view why) {
    protocol::BuildReply after = failed(reply, fmt::format("the build command {}", why));
    after.output = fmt::format("{}{}\n{}", note_on(sources), printed, after.output);
    if (std::string error = first_error(printed, store::most_build_error); !error.empty())
      after.error = std::move(error);
    return after;
  };
  if (ended.how != machine::End::exited) return failed_because(ended.reason);
  if (ended.exit_code != 0)
    return failed_because(fmt::format("ended with exit code {}", ended.exit_code));
  const auto binary =
      digest_of(folder.out(), {.key = folder.key, .until = until, .stop_fd = stop_fd_});
  if (!binary) return failed_because("succeeded, but " + binary.error().message);
  if (!*binary && request.command.contains("${OUT}"))
    return failed_because("succeeded but did not write ${OUT}");
  if (!request.keep_tree) remove_tree(folder.tree());

  reply.status = store::BuildStatus::built;
  reply.binary_sha256 = binary->value_or("");
  reply.compilers = compilers_of(reply.out);
  reply.in_place = machine::why_no_library(reply.out);
  reply.output = note_on(sources) + printed;
  reply.duration_ns = ended.wall.count();
  const std::int64_t cpu_ns = (ended.user + ended.system).count();
  reply.readings = readings_of(reply.out, cpu_ns);
  const protocol::Complete record{
      .binary_sha256 = reply.binary_sha256, .duration_ns = reply.duration_ns, .cpu_ns = cpu_ns};
  if (auto written = write_file_atomically(folder.complete(), protocol::to_text(record, -1));
      !written)
    return failed(reply, written.error().message);
  return reply;
}

}  // namespace stab::worker
