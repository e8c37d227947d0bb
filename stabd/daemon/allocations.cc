// SPDX-License-Identifier: MIT
#include "stabd/daemon/allocations.h"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "protocol/codec.h"

namespace stab::protocol {

// Earlier versions did not store the names.
template <>
inline constexpr Field field<&daemon::Owner::jobs>{.may_lack = true};

}  // namespace stab::protocol

namespace stab::daemon {
namespace {

constexpr std::size_t most_in_file = std::size_t{1} << 20;
// An attempt waits for at most this many looks, because a process of it may be stopped.
constexpr unsigned most_looks = 12;

struct Stored {
  std::vector<Owner> owners{};
};
BOOST_DESCRIBE_STRUCT(Stored, (), (owners))

}  // namespace

std::string allocations_in(const std::string& state_directory) {
  return state_directory + "/allocations.json";
}

Result<std::vector<Owner>> read_owners(const std::string& file) {
  if (access(file.c_str(), F_OK) != 0 && errno == ENOENT) return std::vector<Owner>();
  const auto text = read_file(file, most_in_file);
  if (!text) return std::unexpected(text.error());
  auto stored = protocol::from_text<Stored>(*text);
  if (!stored) return fail(file + " cannot be read: " + stored.error().message);
  return std::move(stored->owners);
}

Allocations::Allocations(Clock& clock, std::string file, Start start)
    : file_(std::move(file)), start_(std::move(start)), timer_(clock.timer([this] { look(); })) {}

Allocations::~Allocations() {
  abandon();
}

Result<void> Allocations::take_over() {
  // Without the file, no step has run since the last attempt.
  auto stored = read_owners(file_);
  if (!stored) return std::unexpected(stored.error());
  owners_ = *std::move(stored);
  step_ended();
  return {};
}

Result<void> Allocations::step_starts(const Owner& owner) {
  timer_->stop();
  abandon();  // A2
  const auto known = std::ranges::find_if(owners_, [&owner](const Owner& each) {
    return each.uid == owner.uid && each.gid == owner.gid;
  });
  if (known != owners_.end()) {
    const std::size_t names = known->jobs.size();
    for (const std::string& job : owner.jobs)
      if (std::ranges::find(known->jobs, job) == known->jobs.end()) known->jobs.push_back(job);
    // The names are only for people, so the step starts anyway.
    if (known->jobs.size() != names)
      if (const auto saved = save(); !saved) spdlog::warn("{}", saved.error().message);
    return {};
  }
  owners_.push_back(owner);
  auto saved = save();  // A1
  if (!saved) {
    owners_.pop_back();
    step_ended();
  }
  return saved;
}

void Allocations::step_ended() {
  pause_ = period;
  told_ = false;
  if (!owners_.empty()) timer_->start(std::chrono::milliseconds(0), period);
}

void Allocations::hurry(std::function<void()> freed) {
  freed_ = std::move(freed);
  if (!owners_.empty()) timer_->start(std::chrono::milliseconds(0), short_period);
}

void Allocations::look() {
  if (attempt_) {
    pollfd ended{attempt_->process.pidfd.get(), POLLIN, 0};
    if (poll(&ended, 1, 0) != 1) {
      // A daemon that ends soon does not replace it.
      if (freed_ || ++looks_ <= most_looks) return;
      abandon();
      std::ranges::rotate(owners_, owners_.begin() + 1);
      return try_later();
    }
    const auto status = machine::reap(attempt_->process.pid);
    attempt_.reset();
    const Owner owner = owners_.front();
    owners_.erase(owners_.begin());
    if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
      owners_.push_back(owner);  // it is tried again after the others
      return try_later();
    }
    pause_ = period;
    if (const auto saved = save(); !saved) spdlog::warn("{}", saved.error().message);
  }
  if (owners_.empty()) {
    timer_->stop();
    if (freed_) freed_();
    return;
  }
  auto attempt = start_(owners_.front());
  if (!attempt) return try_later();
  attempt_ = *std::move(attempt);
  looks_ = 0;
}

void Allocations::try_later() {
  if (!std::exchange(told_, true))
    spdlog::warn(
        "the cluster has not confirmed that it released the allocations of all steps that have "
        "ended; stabd will ask again");
  if (freed_) return timer_->start(short_pause, short_period);
  timer_->start(pause_, period);
  pause_ = std::min(2 * pause_, longest_pause);
}

void Allocations::abandon() {
  if (!attempt_) return;
  kill(attempt_->process.pid, SIGKILL);
  machine::reap(attempt_->process.pid);
  attempt_.reset();
}

Result<void> Allocations::save() const {
  return write_file_atomically(file_, protocol::to_text(Stored{.owners = owners_}, -1));
}

}  // namespace stab::daemon
