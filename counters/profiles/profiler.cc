// SPDX-License-Identifier: MIT
#include "counters/profiles/profiler.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "base/shown_files.h"
#include "counters/profiles/place_list.h"
#include "runtime/base/places.h"

namespace stab::counters {
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
