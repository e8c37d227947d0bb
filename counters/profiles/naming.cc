// SPDX-License-Identifier: MIT
#include "counters/profiles/naming.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/fd.h"
#include "base/hash.h"
#include "counters/profiles/space.h"

namespace stab::counters {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
// File systems take the time of a change from a clock that advances in ticks, so it may be this
// much too early.
constexpr std::int64_t longest_tick_ns = 20'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * second_ns + time.tv_nsec;
}

std::string_view name_of(std::string_view path) {
  if (path.starts_with("//")) return path;  // "//anon"
  return path.substr(path.rfind('/') + 1);
}

// Makes a name printable and bounds its length. Different names stay different.
std::string stored_name(std::string_view symbol) {
  constexpr std::size_t of_digest = 17;
  std::string name(symbol);
  bool changed = name.size() > most_function_name;
  if (changed) name.resize(most_function_name - of_digest);
  for (char& each : name)
    if (each < ' ' || each > '~') {
      each = '?';
      changed = true;
    }
  if (changed) name += fmt::format("~{:016x}", sha256_word(symbol));
  return name;
}

// Replays all events in the order of time, and counts which functions ran.
class Naming {
 public:
  explicit Naming(KnownFiles& known)
      : known_(known), to_wall_ns_(clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC)) {}

  std::vector<ProfiledFunction> count(Taken& taken, const PlaceList& list) {
    complete_until_ = taken.complete_until;
    places_until_ = list.complete_until;
    std::vector<Happening> all;
    const auto add = [&](auto& from) {
      for (auto& each : from) all.push_back({each.time, all.size(), &each});
    };
    add(taken.mapped);
    add(taken.forked);
    add(taken.executed);
    add(list.events);
    std::ranges::sort(all, [](const Happening& a, const Happening& b) {
      return std::tie(a.time, a.order) < std::tie(b.time, b.order);
    });
    std::ranges::sort(taken.samples, {}, &Sample::time);
    auto next = all.begin();
    for (const Sample& sample : taken.samples) {
      for (; next != all.end() && next->time <= sample.time; ++next)
        std::visit([&](const auto* each) { tell(*each); }, next->what);
      add_sample(sample);
    }
    return functions();
  }

 private:
  struct Happening {
    std::uint64_t time = 0;
    std::size_t order = 0;
    std::variant<const Mapped*, const Forked*, const Executed*, const PlaceEvent*> what{};
  };

  void tell(const Mapped& mapped) { own_space(mapped.process).tell(mapped); }
  void tell(const Forked& forked) {
    auto& parent = spaces_[forked.parent];
    if (parent == nullptr) parent = std::make_shared<Space>();
    spaces_[forked.process] = parent;
  }
  void tell(const Executed& executed) { spaces_[executed.process] = std::make_shared<Space>(); }
  void tell(const PlaceEvent& event) {
    std::visit([&](const auto& what) { own_space(event.process).tell(event.time, what); },
               event.what);
  }
  // A child shares its parent's space until something changes in one of the two.
  Space& own_space(std::uint32_t process) {
    auto& space = spaces_[process];
    if (space == nullptr)
      space = std::make_shared<Space>();
    else if (space.use_count() > 1)
      space = std::make_shared<Space>(*space);
    return *space;
  }

  void add_sample(const Sample& sample) {
    if (sample.side == Side::kernel) return add(sample, kernel_function, "");
    if (sample.side != Side::program || sample.time >= complete_until_)
      return add(sample, unknown_function, "");
    const auto space = spaces_.find(sample.process);
    const Spot spot = space == spaces_.end() ? Spot() : space->second->find(sample.address);
    const std::string_view object = spot.file ? name_of(spot.file->path) : "";
    std::string_view function = spot.function;
    if (spot.is_moved && sample.time >= places_until_) function = "";
    if (!spot.is_moved && spot.file) function = symbols_of(spot.file).at(spot.file_offset);
    add(sample, function.empty() ? unknown_function : function, object);
  }

  void add(const Sample& sample, std::string_view function, std::string_view object) {
    key_.assign(object).append(1, '\0').append(function);
    auto found = counted_.find(key_);
    if (found == counted_.end())
      found = counted_
                  .emplace(key_, ProfiledFunction{.name = stored_name(function),
                                                  .object = stored_name(object)})
                  .first;
    ++found->second.samples;
    found->second.weight += sample.weight;
  }

  const Symbols& symbols_of(const std::shared_ptr<const MappedFile>& mapped) {
    auto [at, is_new] = looked_at_.try_emplace(mapped);
    if (is_new) at->second = look_at(*mapped);
    static const Symbols none;
    return at->second == nullptr ? none : *at->second;
  }

  // Returns the file's symbols, or nullptr unless it is still the file that was mapped.
  std::shared_ptr<const Symbols> look_at(const MappedFile& mapped) {
    struct stat status{};
    if (mapped.inode == 0 || !mapped.path.starts_with('/')) return nullptr;
    const Fd file(open(mapped.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return nullptr;
    const std::int64_t changed = status.st_ctim.tv_sec * second_ns + status.st_ctim.tv_nsec;
    if (status.st_ino != mapped.inode ||
        changed > static_cast<std::int64_t>(mapped.mapped_at) + to_wall_ns_ - longest_tick_ns)
      return nullptr;
    KnownFile& known = known_[mapped.path];
    if (known.symbols == nullptr || known.inode != status.st_ino || known.changed_ns != changed)
      known = {.inode = status.st_ino,
               .changed_ns = changed,
               .symbols = std::make_shared<const Symbols>(Symbols::of(file.get()))};
    return known.symbols;
  }

  std::vector<ProfiledFunction> functions() {
    std::vector<ProfiledFunction> all;
    for (auto& [key, function] : counted_) all.push_back(std::move(function));
    return bounded(std::move(all));
  }

  KnownFiles& known_;
  std::int64_t to_wall_ns_;
  std::uint64_t complete_until_ = 0;
  std::uint64_t places_until_ = 0;
  std::unordered_map<std::uint32_t, std::shared_ptr<Space>> spaces_;  // by process; never null
  std::unordered_map<std::string, ProfiledFunction> counted_;
  std::unordered_map<std::shared_ptr<const MappedFile>, std::shared_ptr<const Symbols>> looked_at_;
  std::string key_;
};

}  // namespace

std::vector<ProfiledFunction> name_samples(Taken taken, const PlaceList& places,
                                           KnownFiles& known) {
  return Naming(known).count(taken, places);
}

std::vector<ProfiledFunction> bounded(std::vector<ProfiledFunction> all) {
  std::ranges::sort(all, [](const ProfiledFunction& a, const ProfiledFunction& b) {
    return std::tie(b.weight, a.name, a.object) < std::tie(a.weight, b.name, b.object);
  });
  // Escaping can double the length of a stored name.
  const auto bytes_of_text = [](const ProfiledFunction& each) {
    return 48 + 2 * (each.name.size() + each.object.size());
  };
  std::size_t bytes = 4096;
  std::size_t kept = 0;
  while (kept < std::min(all.size(), most_profiled_functions) &&
         (bytes += bytes_of_text(all[kept])) <= most_profile_bytes)
    ++kept;
  if (kept == all.size()) return all;
  ProfiledFunction others{.name = other_functions};
  for (std::size_t i = kept; i < all.size(); ++i) {
    others.samples += all[i].samples;
    others.weight += all[i].weight;
  }
  all.resize(kept);
  all.push_back(std::move(others));
  return all;
}

}  // namespace stab::counters
