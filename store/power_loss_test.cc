// SPDX-License-Identifier: MIT
// S1 and S2 when the power fails: what SQLite writes is recorded, and the file is put together as a
// disk may have it then: what was not synced is there, is not, or is there in part, whatever was
// written later. The order of recorded syncs alone makes the store whole.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <string_view>

#include "base/random.h"
#include "store/test_support.h"

namespace stab::store {
namespace {

constexpr std::size_t sector = 512;

struct Operation {
  enum class Kind { write, truncate, sync, remove };
  Kind kind = Kind::write;
  std::string suffix;  // "" is the database, "-wal" its log
  std::size_t place = 0;
  std::string bytes;
};

// A layer over the system's files. Without a recording syncs are left out, which makes looking at
// many crashes quick.
std::vector<Operation>* recording = nullptr;
std::string recorded_path;

void record(Operation operation) {
  if (recording != nullptr) recording->push_back(std::move(operation));
}

struct File {
  sqlite3_file base;
  std::string* suffix;  // nullptr: it is not recorded
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
File* as_file(sqlite3_file* file) {
  return reinterpret_cast<File*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return as_file(file)->real();
}
sqlite3_vfs* system_files() {
  static sqlite3_vfs* const found = sqlite3_vfs_find("unix");
  return found;
}

const sqlite3_io_methods methods{
    .iVersion = 2,
    .xClose =
        [](sqlite3_file* file) {
          delete as_file(file)->suffix;
          return real(file)->pMethods->xClose(real(file));
        },
    .xRead =
        [](sqlite3_file* file, void* to, int size, sqlite3_int64 place) {
          return real(file)->pMethods->xRead(real(file), to, size, place);
        },
    .xWrite =
        [](sqlite3_file* file, const void* from, int size, sqlite3_int64 place) {
          if (as_file(file)->suffix != nullptr)
            record({.kind = Operation::Kind::write,
                    .suffix = *as_file(file)->suffix,
                    .place = static_cast<std::size_t>(place),
                    .bytes = {static_cast<const char*>(from), static_cast<std::size_t>(size)}});
          return real(file)->pMethods->xWrite(real(file), from, size, place);
        },
    .xTruncate =
        [](sqlite3_file* file, sqlite3_int64 size) {
          if (as_file(file)->suffix != nullptr)
            record({.kind = Operation::Kind::truncate,
                    .suffix = *as_file(file)->suffix,
                    .place = static_cast<std::size_t>(size),
                    .bytes = {}});
          return real(file)->pMethods->xTruncate(real(file), size);
        },
    .xSync =
        [](sqlite3_file* file, int) {
          if (as_file(file)->suffix != nullptr)
            record({.kind = Operation::Kind::sync,
                    .suffix = *as_file(file)->suffix,
                    .place = 0,
                    .bytes = {}});
          return SQLITE_OK;
        },
    .xFileSize =
        [](sqlite3_file* file, sqlite3_int64* size) {
          return real(file)->pMethods->xFileSize(real(file), size);
        },
    .xLock = [](sqlite3_file* file,
                int how) { return real(file)->pMethods->xLock(real(file), how); },
    .xUnlock = [](sqlite3_file* file,
                  int how) { return real(file)->pMethods->xUnlock(real(file), how); },
    .xCheckReservedLock =
        [](sqlite3_file* file, int* is) {
          return real(file)->pMethods->xCheckReservedLock(real(file), is);
        },
    .xFileControl =
        [](sqlite3_file* file, int what, void* with) {
          return real(file)->pMethods->xFileControl(real(file), what, with);
        },
    .xSectorSize = [](sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); },
    .xDeviceCharacteristics =
        [](sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); },
    .xShmMap =
        [](sqlite3_file* file, int page, int size, int extend, void volatile** at) {
          return real(file)->pMethods->xShmMap(real(file), page, size, extend, at);
        },
    .xShmLock =
        [](sqlite3_file* file, int offset, int count, int flags) {
          return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
        },
    .xShmBarrier = [](sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); },
    .xShmUnmap = [](sqlite3_file* file,
                    int remove) { return real(file)->pMethods->xShmUnmap(real(file), remove); },
    .xFetch = nullptr,
    .xUnfetch = nullptr};

// What is behind the recorded path in a file's name, unless it is another file.
std::string* suffix_of(const char* name) {
  const std::string_view path = name == nullptr ? "" : name;
  if (recording == nullptr || !path.starts_with(recorded_path)) return nullptr;
  return new std::string(path.substr(recorded_path.size()));
}

int open_file(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* const opened = new (file) File{.base = {.pMethods = nullptr}, .suffix = nullptr};
  const int status = system_files()->xOpen(system_files(), name, opened->real(), flags, out);
  if (status != SQLITE_OK) return status;
  opened->suffix = suffix_of(name);
  opened->base.pMethods = &methods;
  return SQLITE_OK;
}

int remove_file(sqlite3_vfs*, const char* name, int sync) {
  const std::unique_ptr<std::string> suffix(suffix_of(name));
  if (suffix) record({.kind = Operation::Kind::remove, .suffix = *suffix, .place = 0, .bytes = {}});
  return system_files()->xDelete(system_files(), name, sync);
}

// The default of this process from here on.
void use_layer() {
  static sqlite3_vfs layer = *system_files();
  layer.zName = "recording";
  layer.szOsFile = static_cast<int>(sizeof(File)) + system_files()->szOsFile;
  layer.xOpen = open_file;
  layer.xDelete = remove_file;
  ASSERT_EQ(sqlite3_vfs_register(&layer, 1), SQLITE_OK);
}

// What a store holds.
struct Content {
  std::string state;
  std::vector<Trial> trials;
  bool operator==(const Content&) const = default;
};

Content content_of(Store& store) {
  const auto experiment = store.experiment(1);
  EXPECT_TRUE(experiment && *experiment);
  return {.state = (*experiment)->state, .trials = trials_of(store, 1)};
}

// A disk: what is durable, and what was written since the file was last synced.
class Disk {
 public:
  explicit Disk(const std::string& path) {
    for (const char* suffix : {"", "-wal"}) {
      std::ifstream file(path + suffix, std::ios::binary);
      if (file) durable_[suffix] = std::string(std::istreambuf_iterator<char>(file), {});
    }
  }

  void take(const Operation& operation) {
    std::vector<Operation>& pending = pending_[operation.suffix];
    if (operation.kind != Operation::Kind::sync) return pending.push_back(operation);
    for (const Operation& each : pending) apply(each, durable_, [] { return true; });
    pending.clear();
  }

  // As the power fails. How much of what is not synced is there is drawn.
  std::map<std::string, std::string> after_power_loss(Random& random) const {
    auto files = durable_;
    for (const auto& [suffix, operations] : pending_) {
      const std::uint64_t share = random.below(5);  // of four: none ... all
      for (const Operation& each : operations)
        apply(each, files, [&] { return random.below(4) < share; });
    }
    return files;
  }

 private:
  // Sector by sector.
  template <class Keep>
  static void apply(const Operation& operation, std::map<std::string, std::string>& files,
                    Keep keep) {
    if (operation.kind == Operation::Kind::remove) {
      if (keep()) files.erase(operation.suffix);
      return;
    }
    if (operation.kind == Operation::Kind::truncate) {
      if (keep()) files[operation.suffix].resize(operation.place);
      return;
    }
    for (std::size_t at = 0; at < operation.bytes.size();) {
      const std::size_t place = operation.place + at;
      const std::size_t size = std::min(sector - place % sector, operation.bytes.size() - at);
      if (keep()) {
        std::string& bytes = files[operation.suffix];
        if (bytes.size() < place + size) bytes.resize(place + size);
        bytes.replace(place, size, operation.bytes, at, size);
      }
      at += size;
    }
  }

  std::map<std::string, std::string> durable_;
  std::map<std::string, std::vector<Operation>> pending_;
};

class PowerLoss : public Remembering, public testing::Test {
 protected:
  PowerLoss() {
    use_layer();
    open_or_fail(path_)->add_experiment(example_experiment()).value();
  }
  ~PowerLoss() override { recording = nullptr; }

  // Everything that a session does with a store, with a checkpoint every so often and a restart of
  // the daemon. `synchronous` is the store's own unless a test wants it otherwise.
  void work(const std::string& synchronous) {
    const Disk before(path_);
    first_ = before;
    recorded_path_holder_ = path_;
    recorded_path = recorded_path_holder_;
    recording = &operations_;
    for (std::uint32_t round = 0; round < 3; ++round) {
      const auto store = open_or_fail(path_);
      inside("PRAGMA wal_autocheckpoint = 40");
      if (!synchronous.empty()) inside("PRAGMA synchronous = " + synchronous);
      if (contents_.empty()) acknowledged(*store);
      for (std::uint32_t i = 0; i < 12; ++i) {
        const std::uint32_t position = 12 * round + i;
        Trial trial = example_trial(1, position);
        trial.stderr_tail = std::string(100 * i, 'e');
        ASSERT_TRUE(store->add_trial(trial));
        acknowledged(*store);
        if (i % 4 != 0) continue;
        trial.attempt = 1;
        ASSERT_TRUE(store->add_trial(trial));
        acknowledged(*store);
        Experiment experiment = store->experiment(1).value().value();
        experiment.state = "running " + std::to_string(position);
        ASSERT_TRUE(store->update_experiment(experiment));
        acknowledged(*store);
      }
    }
    recording = nullptr;
  }

  // Crashes at so many points; how many of them left something else than what was acknowledged, or
  // that and the change that was under way.
  int losses(std::size_t points) {
    Random random(71);
    std::vector<std::size_t> moments;
    for (std::size_t i = 0; i < points; ++i)
      moments.push_back(random.below(operations_.size() + 1));
    std::ranges::sort(moments);
    Disk disk = *first_;
    std::size_t done = 0;
    int lost = 0;
    for (const std::size_t moment : moments) {
      for (; done < moment; ++done) disk.take(operations_[done]);
      if (!is_whole(disk.after_power_loss(random), moment)) ++lost;
    }
    return lost;
  }

  std::vector<Operation> operations_;

 private:
  void acknowledged(Store& store) {
    contents_.push_back(content_of(store));
    acknowledged_.push_back(operations_.size());
  }

  bool is_whole(const std::map<std::string, std::string>& files, std::size_t moment) const {
    const TemporaryDirectory directory;
    const std::string path = directory / "stab.db";
    for (const auto& [suffix, bytes] : files) write_text(path + suffix, bytes);
    const auto store = Store::open(path);
    if (!store) return false;
    const auto damage = (*store)->verify();
    if (!damage || !damage->empty()) return false;
    std::size_t known = 0;
    while (known + 1 < contents_.size() && acknowledged_[known + 1] <= moment) ++known;
    const auto experiment = (*store)->experiment(1);
    if (!experiment || !*experiment) return false;
    const Content found = content_of(**store);
    return found == contents_[known] ||
           (known + 1 < contents_.size() && found == contents_[known + 1]);
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "stab.db";
  std::string recorded_path_holder_;
  std::optional<Disk> first_;
  std::vector<Content> contents_;
  std::vector<std::size_t> acknowledged_;  // how many operations there were then
};

std::size_t crash_points() {
  const char* const more = std::getenv("STAB_CRASH_POINTS");
  return more != nullptr ? std::strtoul(more, nullptr, 10) : 400;
}

TEST_F(PowerLoss, AtAnyMomentLosesNothingThatWasAcknowledgedAndLeavesNothingHalf) {
  ASSERT_NO_FATAL_FAILURE(work(""));
  ASSERT_GT(operations_.size(), 300U);
  EXPECT_EQ(losses(crash_points()), 0);
}

// The simulation finds a store that does not sync its log.
TEST_F(PowerLoss, WouldLoseTrialsIfCommitsDidNotWaitForTheDisk) {
  ASSERT_NO_FATAL_FAILURE(work("NORMAL"));
  EXPECT_GT(losses(60), 10);
}

TEST_F(PowerLoss, WouldDestroyTheDatabaseIfCheckpointsDidNotWaitForTheDisk) {
  ASSERT_NO_FATAL_FAILURE(work(""));
  std::erase_if(operations_, [](const Operation& each) {
    return each.kind == Operation::Kind::sync && each.suffix.empty();
  });
  EXPECT_GT(losses(60), 10);
}

}  // namespace
}  // namespace stab::store
