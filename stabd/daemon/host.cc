// SPDX-License-Identifier: MIT

#include "stabd/daemon/host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace stab::daemon {
namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 20;

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint32_t> known_user(const std::string& name) {
  const passwd* const known = getpwnam(name.c_str());
  return known == nullptr ? std::nullopt : std::optional<std::uint32_t>(known->pw_uid);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Accounts::Accounts(std::string path, std::uint32_t owner) : path_(std::move(path)), owner_(owner) {
  look_again();
}

Accounts::Accounts(std::string_view text, std::uint32_t owner, const UidOf& uid_of)
    : owner_(owner) {
  read(text, uid_of);
}

void Accounts::look_again() {
  struct stat now{};
  if (path_.empty() || stat(path_.c_str(), &now) != 0) return;
  const auto same = [](const timespec& one, const timespec& other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
  };
  if (same(now.st_mtim, seen_.st_mtim) && now.st_ino == seen_.st_ino &&
      now.st_size == seen_.st_size)
    return;
  seen_ = now;
  const auto text = read_file(path_, most_bytes);
  if (!text) return;
  read(*text, known_user);
  if (changed_) changed_();
}

void Accounts::tell(std::function<void()> changed) {
  changed_ = std::move(changed);
  changed_();
}

// A line is "ada:100000:65536", or has her user id instead of her name. Other lines are skipped.
void Accounts::read(std::string_view text, const UidOf& uid_of) {
  ranges_.clear();
  for (const std::string_view line : parts_of(text, '\n')) {
    const auto words = parts_of(line, ':');
    if (words.size() != 3) continue;
    const auto first = number_in(words[1]);
    const auto count = number_in(words[2]);
    if (!first || !count || *count == 0) continue;
    auto account = number_in(words[0]);
    if (!account) account = uid_of(std::string(words[0]));
    if (!account) continue;
    if (*account == 0 || *account == owner_) account = *first;  // A1
    const std::uint32_t last = *count - 1 > ~*first ? ~0U : *first + (*count - 1);
    const auto after = ranges_.upper_bound(last);
    if (after != ranges_.begin() && std::prev(after)->second.last >= *first) continue;
    ranges_.emplace(*first, Range{.last = last, .account = *account});
  }
}

std::uint32_t Accounts::of(std::uint32_t uid) const {
  if (uid == 0 || uid == owner_) return uid;
  const auto after = ranges_.upper_bound(uid);
  if (after == ranges_.begin()) return uid;
  const Range& range = std::prev(after)->second;
  return uid <= range.last ? range.account : uid;
}

std::vector<unsigned> current_cpus() {
  cpu_set_t set;
  std::vector<unsigned> cpus;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

void run_on(const std::vector<unsigned>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (!cpus.empty() && sched_setaffinity(0, sizeof set, &set) != 0)
    spdlog::warn("stabd cannot move itself away from the trials' CPU: {}", std::strerror(errno));
}

Result<void> may_quiesce(settings::Quiescers who, const Submitter& submitter,
                         bool moves_processes) {
  if (moves_processes && !submitter.trusted)
    return fail(
        "only plans of root and stabd's own user may move other processes (other_processes)");
  if (who == settings::Quiescers::all) return {};
  if (who == settings::Quiescers::owner && submitter.trusted) return {};
  return fail(fmt::format(
      "plans of {} may not change settings of this machine, because stabd's settings have "
      "machine.quiesce_for = \"{}\"",
      who == settings::Quiescers::owner ? fmt::format("user {}", submitter.uid) : "anybody",
      to_string(who)));
}

Result<std::vector<machine::Outcome>> quiesce_allowed(machine::Keeper& keeper,
                                                      settings::Quiescers who,
                                                      const Submitter& submitter,
                                                      std::span<const machine::Knob* const> knobs,
                                                      const machine::CpuChoice& cpus) {
  if (auto may = may_quiesce(who, submitter, false); !may) return std::unexpected(may.error());
  const auto may_move = may_quiesce(who, submitter, true);
  std::vector<const machine::Knob*> allowed(knobs.begin(), knobs.end());
  if (!may_move) std::erase_if(allowed, [](const auto* knob) { return knob->moves_processes; });
  auto outcomes = keeper.quiesce(allowed, cpus);
  if (outcomes && allowed.size() < knobs.size())
    outcomes->push_back(machine::refusal("other_processes", may_move.error().message));
  return outcomes;
}

void put_back_what_was_left(const std::string& logs, const std::string& root) {
  const auto outcomes = machine::recover(logs, root);
  if (!outcomes) {
    spdlog::warn("cannot put back the machine settings that an earlier stabd changed: {}",
                 outcomes.error().message);
    return;
  }
  for (const machine::Outcome& outcome : *outcomes)
    spdlog::warn("an earlier stabd had changed a machine setting: {} is {}{}{}", outcome.file,
                 machine::to_string(outcome.what), outcome.reason.empty() ? "" : ": ",
                 outcome.reason);
}

namespace {

namespace fs = std::filesystem;

// The folders on the path that don't exist yet, the outermost one last.
std::vector<fs::path> missing(const std::string& path) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::path folder = fs::absolute(path, error); !error && !fs::exists(folder, error);
       folder = folder.parent_path())
    if (folder.has_filename()) folders.push_back(folder);
  return folders;
}

// Syncs the folders' names to disk, so that files in them survive a loss of power.
Result<void> sync_names(const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    const Fd parent(open(folder.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!parent || fsync(parent.get()) != 0)
      return fail_errno(fmt::format("cannot sync {}", folder.parent_path().string()));
  }
  return {};
}

Result<void> make_folder(const std::string& path, mode_t mask) {
  const std::vector<fs::path> made = missing(path);
  const mode_t before = umask(mask);
  std::error_code error;
  fs::create_directories(path, error);
  umask(before);
  if (error) return fail(fmt::format("cannot create {}: {}", path, error.message()));
  return sync_names(made);
}

}  // namespace

Result<void> make_private_folder(const std::string& path) {
  return make_folder(path, 077);
}

Result<void> make_passable_folder(const std::string& path) {
  return make_folder(path, geteuid() == 0 ? 022 : 077);
}

std::string database_in(const std::string& state_folder) {
  return state_folder + "/stabd.db";
}

void warn_if_closed(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && status.st_uid == 0 && (status.st_mode & S_IXOTH) == 0)
    spdlog::warn("other users cannot enter {}: 'chmod o+x {}' allows it", path, path);
}

namespace {

// So one tick of the kernel is at most 2 % of a look.
constexpr std::chrono::milliseconds length_of_look{500};

}  // namespace

QuietLook::QuietLook(Clock& clock, std::string root)
    : clock_(clock), root_(std::move(root)), timer_(clock.timer([this] { end(); })) {}

void QuietLook::begin(const machine::CpuSet& trial, const machine::CalmBounds& bounds,
                      OnLook done) {
  looking_.emplace(Looking{
      .calm = machine::Calm(trial, bounds, root_), .since = clock_.now(), .done = std::move(done)});
  looking_->calm.begin();
  // The loop's clock stands at the beginning of this turn, and storing a trial may have taken long
  // since then.
  timer_->start_from_now(length_of_look);
}

void QuietLook::stop() {
  timer_->stop();
  looking_.reset();
}

void QuietLook::end() {
  if (!looking_) return;
  Looking look = *std::exchange(looking_, std::nullopt);
  const std::string loud = look.calm.end(clock_.now() - look.since);
  look.done(loud, look.calm.missing());
}

}  // namespace stab::daemon
