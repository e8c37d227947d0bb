// SPDX-License-Identifier: MIT
#include "counters/profiles/profiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/elf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/shown_files.h"
#include "counters/profiles/records.h"
#include "runtime/base/places.h"

namespace stab::counters {
namespace {

constexpr int most_enclosing = 16;  // functions that begin between an address and its own function

}  // namespace

class SymbolReader {
 public:
  explicit SymbolReader(const ElfReader& elf) : elf_(elf) {}

  Symbols read() {
    read_segments();
    read_sections();
    std::ranges::sort(symbols_.functions_, [](const auto& a, const auto& b) {
      return a.start != b.start ? a.start < b.start : a.end < b.end;
    });
    return std::move(symbols_);
  }

 private:
  void read_segments() {
    const auto segments = elf_.segments();
    if (!segments) return;
    for (const Elf64_Phdr& each : *segments)
      if (each.p_type == PT_LOAD && (each.p_flags & PF_X) != 0)
        symbols_.segments_.push_back({each.p_offset, each.p_filesz, each.p_vaddr});
  }

  void read_sections() {
    const auto sections = elf_.sections();
    if (!sections) return;
    for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM})
      for (const Elf64_Shdr& each : *sections)
        if (each.sh_type == type && each.sh_link < sections->size() &&
            each.sh_entsize == sizeof(Elf64_Sym)) {
          read_symbols(each, (*sections)[each.sh_link]);
          break;  // a file has one table of each type
        }
  }

  void read_symbols(const Elf64_Shdr& table, const Elf64_Shdr& names) {
    const auto list = elf_.symbols(table);
    const auto bytes = elf_.bytes(names.sh_offset, names.sh_size);
    if (!list || !bytes) return;
    // A name that does not end would be searched to the end of the table, once for each symbol.
    const std::string_view text = bytes->substr(0, bytes->rfind('\0') + 1);
    // Names may share their endings. This limit stops a hostile file whose symbols share whole
    // names.
    const std::size_t most_names = symbols_.names_.size() + 2 * text.size();
    for (const Elf64_Sym& each : *list) {
      const auto type = ELF64_ST_TYPE(each.st_info);
      if ((type != STT_FUNC && type != STT_GNU_IFUNC) || each.st_shndx == SHN_UNDEF) continue;
      if (each.st_size == 0 || each.st_value + each.st_size < each.st_value) continue;
      const std::string_view name = ElfReader::text_at(text, each.st_name);
      if (name.empty()) continue;
      if (symbols_.names_.size() + name.size() > most_names) return;
      symbols_.functions_.push_back({.start = each.st_value,
                                     .end = each.st_value + each.st_size,
                                     .name = symbols_.names_.size(),
                                     .is_global = ELF64_ST_BIND(each.st_info) != STB_LOCAL});
      symbols_.names_.append(name).push_back('\0');
    }
  }

  const ElfReader& elf_;
  Symbols symbols_;
};

Symbols Symbols::of(int fd) {
  const auto elf = ElfReader::of(fd);
  return elf ? SymbolReader(*elf).read() : Symbols();
}

// If the same code has several names, prefers global names, then the shortest, then the first in
// alphabetical order, so that the choice is always the same.
std::string_view Symbols::at(std::uint64_t offset) const {
  const auto segment = std::ranges::find_if(segments_, [&](const Segment& each) {
    return offset >= each.offset && offset - each.offset < each.size;
  });
  if (segment == segments_.end()) return "";
  const std::uint64_t address = offset - segment->offset + segment->address;
  const auto name_of = [&](const Function& each) {
    return std::string_view(names_.c_str() + each.name);
  };
  auto at = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  const Function* best = nullptr;
  for (int looked = 0; at != functions_.begin() && looked < most_enclosing;) {
    const Function& each = *--at;
    if (best != nullptr && each.start != best->start) break;
    if (best == nullptr) ++looked;
    if (address >= each.end) continue;
    const auto rank = [&](const Function& of) {
      return std::tuple(!of.is_global, name_of(of).size(), name_of(of));
    };
    if (best == nullptr || rank(each) < rank(*best)) best = &each;
  }
  return best == nullptr ? "" : name_of(*best);
}

// A mapping without a file does not cut layouts: the kernel may report neighbouring mappings as
// one, and the runtime itself reports what becomes of its layouts.
void Space::tell(const Mapped& mapped) {
  const std::uint64_t end = mapped.start + mapped.size;
  if (end < mapped.start) return;
  files_.put(mapped.start, end,
             {.file = std::make_shared<const MappedFile>(
                  MappedFile{.path = mapped.path, .inode = mapped.inode, .mapped_at = mapped.time}),
              .offset = mapped.offset});
  if (mapped.inode != 0) layouts_.cut(mapped.start, end);
}

void Space::tell(const NewImage& image) {
  images_[image.base] = image.image;
}

void Space::tell(const NewLayout& layout) {
  const auto image = images_.find(layout.base);
  if (image == images_.end()) return layouts_.cut(layout.start, layout.start + layout.size);
  const auto* const code = files_.next(layout.base);
  layouts_.put(layout.start, layout.start + layout.size,
               {.layout = layout,
                .image = image->second,
                .file = code == nullptr ? nullptr : code->what.file});
}

void Space::tell(const GoneImage& image) {
  images_.erase(image.base);
  layouts_.remove_if([&](const Moved& moved) { return moved.layout.base == image.base; });
}

Spot Space::find(std::uint64_t address) const {
  if (const auto* const here = layouts_.find(address)) {
    const Moved& moved = here->what;
    const places::Place* const place = find_place(moved.layout, *moved.image, address);
    return {.file = moved.file,
            .function = place == nullptr ? "" : moved.image->name(place->function),
            .is_moved = true};
  }
  const auto* const here = files_.find(address);
  if (here == nullptr) return {};
  return {.file = here->what.file, .file_offset = address - here->origin + here->what.offset};
}

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
    std::visit([&](const auto& what) { own_space(event.process).tell(what); }, event.what);
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

namespace {

constexpr std::size_t most_known_files = 64;

// Maps the written part of the file of the option `places=`. Nobody may write to it any more.
class PlaceBytes {
 public:
  explicit PlaceBytes(const Fd& file) {
    places::Head head{};
    if (!file || pread(file.get(), &head, sizeof head, 0) != sizeof head) return;
    size_ = std::min(head.used, place_file_bytes);
    void* memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory != MAP_FAILED) memory_ = static_cast<const std::byte*>(memory);
  }
  PlaceBytes(const PlaceBytes&) = delete;
  PlaceBytes& operator=(const PlaceBytes&) = delete;
  ~PlaceBytes() {
    if (memory_ != nullptr) munmap(const_cast<std::byte*>(memory_), size_);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return memory_ == nullptr ? std::span<const std::byte>() : std::span(memory_, size_);
  }

 private:
  const std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

Profiler::Profiler(const std::string& event, std::uint32_t hz) : hz_(hz) {
  auto found = find_sampled(event);
  event_ = found ? *std::move(found) : Event{.name = event, .unknown = found.error().message};
}

std::string Profiler::lacking() const {
  const auto sampler = Sampler::begin(event_, hz_, 0);
  return sampler ? "" : sampler.error();
}

std::string Profiler::make_place_file() {
  const places::Head head{.magic = places::magic,
                          .size = place_file_bytes,
                          .used = sizeof(places::Head),
                          .ended_ns = 0};
  const auto begin = [&] {
    return pwrite(place_file_.get(), &head, sizeof head, 0) == sizeof head;
  };
  // All trials use the same file, so that its path stays the same.
  if (place_file_ &&
      fallocate(place_file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                place_file_bytes) == 0 &&
      begin())
    return path_for_others(place_file_.get());
  place_file_ = Fd(memfd_create("places", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!place_file_ || ftruncate(place_file_.get(), place_file_bytes) != 0 || !begin() ||
      // The program may write anything, but it must not shrink the file while we read it.
      fcntl(place_file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    place_file_.reset();
    return "";
  }
  return path_for_others(place_file_.get());
}

void Profiler::begin(pid_t process) {
  auto sampler = Sampler::begin(event_, hz_, process);
  if (sampler)
    sampler_.emplace(std::move(*sampler));
  else
    reason_ = sampler.error();
}

void Profiler::drain() {
  if (sampler_) sampler_->drain();
}

Profile Profiler::end() {
  Profile profile{.event = event_.name,
                  .unit = std::string(event_.unit()),
                  .hz = hz_,
                  .reason = std::exchange(reason_, "")};
  if (sampler_) {
    Taken taken = sampler_->end();
    sampler_.reset();
    profile.lost = taken.lost;
    const PlaceBytes bytes(place_file_);
    const PlaceList list = read_places(bytes.bytes());
    if (known_.size() > most_known_files) known_.clear();
    profile.functions = name_samples(std::move(taken), list, known_);
  } else if (profile.reason.empty()) {
    profile.reason = "nothing sampled it";
  }
  return profile;
}

}  // namespace stab::counters
