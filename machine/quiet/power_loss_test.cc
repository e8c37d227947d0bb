// SPDX-License-Identifier: MIT
// Invariants 1 to 3 when the machine stops at any moment and the disk has what was synced, and of
// the rest any part: what was changed goes back. Linked so that each write, truncation and sync of
// the code comes here first.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/random.h"
#include "machine/quiet/quiet.h"
#include "machine/quiet/tree_testing.h"

namespace {

struct Operation {
  enum class Kind { write, truncate, sync };
  Kind kind = Kind::write;
  std::string path;
  std::size_t place = 0;
  std::string bytes;
};

std::vector<Operation>* recording = nullptr;

void record(Operation::Kind kind, int fd, std::string bytes, std::size_t place) {
  if (recording == nullptr) return;
  std::array<char, 4096> path{};
  const std::string link = fmt::format("/proc/self/fd/{}", fd);
  if (readlink(link.c_str(), path.data(), path.size() - 1) <= 0) return;
  recording->push_back(
      {.kind = kind, .path = path.data(), .place = place, .bytes = std::move(bytes)});
}

std::size_t size_of(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

}  // namespace

// The linker's --wrap.
extern "C" {
ssize_t __real_write(int fd, const void* from, size_t size);
int __real_ftruncate(int fd, off_t size);
ssize_t __wrap_write(int fd, const void* from, size_t size) {
  record(Operation::Kind::write, fd, {static_cast<const char*>(from), size}, size_of(fd));
  return __real_write(fd, from, size);
}
int __wrap_ftruncate(int fd, off_t size) {
  record(Operation::Kind::truncate, fd, "", static_cast<std::size_t>(size));
  return __real_ftruncate(fd, size);
}
int __wrap_fsync(int fd) {
  record(Operation::Kind::sync, fd, "", 0);
  return 0;  // no power fails in here
}
}

namespace stab::machine {
namespace {

// Smaller than any disk's.
constexpr std::size_t sector = 64;

// The log as a disk has it: what is durable, and what was written since the last sync.
class LogOnDisk {
 public:
  explicit LogOnDisk(std::string path)
      : path_(std::move(path)), folder_(path_.substr(0, path_.rfind('/'))) {}

  void take(const Operation& operation) {
    if (operation.kind == Operation::Kind::sync) {
      if (operation.path == folder_) has_name_ = true;
      if (operation.path == folder_.substr(0, folder_.rfind('/'))) folder_has_name_ = true;
    }
    if (operation.path != path_) return;
    if (operation.kind != Operation::Kind::sync) return pending_.push_back(operation);
    for (const Operation& each : pending_) apply(each, durable_, [] { return true; });
    pending_.clear();
  }

  // Nothing: there is no such file.
  std::optional<std::string> after_power_loss(Random& random) const {
    std::string bytes = durable_;
    const std::uint64_t share = random.below(5);
    for (const Operation& each : pending_)
      apply(each, bytes, [&] { return random.below(4) < share; });
    if (!(has_name_ && folder_has_name_) && random.below(2) == 0) return std::nullopt;
    return bytes;
  }

 private:
  template <class Keep>
  static void apply(const Operation& operation, std::string& bytes, Keep keep) {
    if (operation.kind == Operation::Kind::truncate) {
      if (keep()) bytes.resize(operation.place);
      return;
    }
    for (std::size_t at = 0; at < operation.bytes.size();) {
      const std::size_t place = operation.place + at;
      const std::size_t size = std::min(sector - place % sector, operation.bytes.size() - at);
      if (keep()) {
        if (bytes.size() < place + size) bytes.resize(place + size);
        bytes.replace(place, size, operation.bytes, at, size);
      }
      at += size;
    }
  }

  std::string path_;
  std::string folder_;
  bool has_name_ = false;
  bool folder_has_name_ = false;
  std::string durable_;
  std::vector<Operation> pending_;
};

class PowerLoss : public Tree {
 protected:
  ~PowerLoss() override { recording = nullptr; }

  // Twice quiet and loud again, a second time by another process; somebody is quiet already for a
  // part of it.
  void work() {
    // Its own writes must not be recorded, so the folder's links are resolved by now.
    recording = &operations_;
    for (int round = 0; round < 2; ++round) {
      auto log = UndoLog::open(Tree::log(), root_).value();
      quiesce(log, choose_knobs({}).value(), cpus_, root_).value();
      restore(log, root_).value();
      quiesce(log, choose_knobs(std::vector<std::string>{"swappiness"}).value(), cpus_, root_)
          .value();
      const UndoLog::Mark before = log.mark();
      quiesce(log, choose_knobs(std::vector<std::string>{"nmi_watchdog", "governor"}).value(),
              cpus_, root_)
          .value();
      restore(log, root_, before).value();
      auto closed = std::move(log);
    }
    {
      auto log = UndoLog::open(Tree::log(), root_).value();
      restore(log, root_).value();
    }
    recording = nullptr;
  }

  // How many of so many crashes left something changed for good. What the machine was set to stays:
  // no setting may need a restart to come back.
  int left_changed(int crashes) {
    Random random(12);
    int left = 0;
    for (int crash = 0; crash < crashes; ++crash) {
      const std::size_t moment = random.below(operations_.size() + 1);
      auto machine = files();
      LogOnDisk disk(Tree::log());
      for (std::size_t i = 0; i < moment; ++i) {
        const Operation& each = operations_[i];
        disk.take(each);
        if (!each.path.starts_with(root_) || each.kind != Operation::Kind::write) continue;
        if (const auto knob = machine.find(each.path.substr(root_.size())); knob != machine.end())
          knob->second = each.bytes;
      }
      for (const auto& [file, value] : machine) put(file, value);
      std::filesystem::remove(Tree::log());
      std::filesystem::remove(Tree::log() + ".damaged");
      if (const auto bytes = disk.after_power_loss(random)) std::ofstream(Tree::log()) << *bytes;
      auto log = UndoLog::open(Tree::log(), root_);
      EXPECT_TRUE(log) << log.error().message;
      if (!log || !restore(*log, root_)) return crashes;
      for (const auto& [file, value] : files())
        if (at(file) + "\n" != value) {
          ++left;
          break;
        }
    }
    return left;
  }

  std::vector<Operation> operations_;
};

TEST_F(PowerLoss, AtAnyMomentWhatWasChangedGoesBack) {
  work();
  ASSERT_GT(operations_.size(), 100U);
  EXPECT_EQ(left_changed(500), 0);
}

// The simulation finds a log that is not synced before the machine is changed.
TEST_F(PowerLoss, WouldLeaveChangesIfTheLogWereNotSynced) {
  work();
  std::erase_if(operations_, [&](const Operation& each) {
    return each.kind == Operation::Kind::sync && each.path == Tree::log();
  });
  EXPECT_GT(left_changed(100), 10);
}

TEST_F(PowerLoss, WouldLeaveChangesIfTheLogsNameWereNotSynced) {
  work();
  std::erase_if(operations_, [&](const Operation& each) {
    return each.kind == Operation::Kind::sync && each.path != Tree::log();
  });
  EXPECT_GT(left_changed(100), 10);
}

}  // namespace
}  // namespace stab::machine
