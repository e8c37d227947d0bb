// SPDX-License-Identifier: MIT
#include "counters/profiles/sampler.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <span>
#include <utility>
#include <variant>

#include "counters/events/counting.h"

namespace stab::counters {
namespace {

constexpr const char* rate_file = "/proc/sys/kernel/perf_event_max_sample_rate";
// With the kernel's default setting, each user may have one ring of this size per CPU.
constexpr std::size_t most_pages = 128;
constexpr std::size_t fewest_pages = 8;

perf_event_attr attributes_of(const Event& event, std::uint32_t hz, std::size_t ring_bytes,
                              bool waits) {
  perf_event_attr attr = event.attr;
  attr.size = sizeof attr;
  attr.freq = 1;
  attr.sample_freq = hz;
  attr.sample_type = sample_parts;
  attr.sample_id_all = 1;
  attr.read_format = 0;
  attr.disabled = 1;
  attr.enable_on_exec = waits ? 1 : 0;
  attr.inherit = 1;
  attr.mmap = 1;
  attr.mmap2 = 1;
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<std::uint32_t>(ring_bytes / 2);
  return attr;
}

std::string reason_of_sampling(const Event& event, std::uint32_t hz, int error) {
  const auto most = read_file(rate_file, 64);
  if (error == EINVAL && most && static_cast<std::uint32_t>(std::atoi(most->c_str())) < hz)
    return fmt::format(
        "the kernel allows at most {} samples per second: lower 'measure.profile_hz', or run sudo "
        "sysctl kernel.perf_event_max_sample_rate={}",
        std::atoi(most->c_str()), hz);
  if (error == EINVAL || error == EOPNOTSUPP) return "this kernel or CPU cannot sample this event";
  return reason_of(event, error);
}

}  // namespace

Result<Event> find_sampled(const std::string& name) {
  constexpr std::string_view own_side = ":u";
  auto event = find_event(name);
  // find_event() sets this flag for clocks, and samples would then miss the kernel's code.
  if (event && event->unit() == "ns") event->attr.exclude_kernel = 0;
  if (event || !name.ends_with(own_side)) return event;
  auto clock = find_event(name.substr(0, name.size() - own_side.size()));
  if (!clock || clock->unit() != "ns") return event;
  clock->name = name;
  clock->attr.exclude_kernel = 1;
  clock->attr.exclude_hv = 1;
  return clock;
}

Sampler::Ring::Ring(Fd event, void* memory, std::size_t size)
    : event_(std::move(event)), memory_(memory), size_(size) {}

Sampler::Ring::Ring(Ring&& other) noexcept
    : event_(std::move(other.event_)),
      memory_(std::exchange(other.memory_, nullptr)),
      size_(other.size_) {}

Sampler::Ring::~Ring() {
  if (memory_ != nullptr) munmap(memory_, size_ + static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

// The kernel moves the head and we move the tail. Both only grow.
template <class F>
void Sampler::Ring::take(F&& record) {
  auto* page = static_cast<perf_event_mmap_page*>(memory_);
  const auto* data = static_cast<const std::byte*>(memory_) + page->data_offset;
  const std::uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  std::uint64_t tail = page->data_tail;
  const auto copy = [&](std::uint64_t from, std::size_t size) {
    piece_.resize(size);
    const std::size_t at = from & (size_ - 1);
    const std::size_t first = std::min(size, size_ - at);
    std::memcpy(piece_.data(), data + at, first);
    std::memcpy(piece_.data() + first, data, size - first);
  };
  while (head - tail >= sizeof(perf_event_header)) {
    perf_event_header header{};
    copy(tail, sizeof header);
    std::memcpy(&header, piece_.data(), sizeof header);
    const bool whole = header.size >= sizeof header && header.size <= head - tail;
    if (!whole) header.size = sizeof header;  // parse_record() will fail, and the rest is dropped
    copy(tail, header.size);
    record(std::span<const std::byte>(piece_));
    tail += header.size;
    if (!whole) break;
  }
  __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

std::expected<Sampler::Ring, std::string> Sampler::open_ring(const Event& event,
                                                             perf_event_attr attr, pid_t process,
                                                             int cpu) {
  Fd fd(static_cast<int>(
      syscall(SYS_perf_event_open, &attr, process, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!fd && errno == ENODEV) return Ring();  // the CPU is offline
  if (!fd)
    return std::unexpected(
        reason_of_sampling(event, static_cast<std::uint32_t>(attr.sample_freq), errno));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t size = std::size_t{attr.wakeup_watermark} * 2;
  void* memory = mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED)
    return std::unexpected(
        errno == EPERM ? std::string("the kernel gives this user no more memory for samples: to "
                                     "allow more, run sudo sysctl kernel.perf_event_mlock_kb=2048")
                       : fmt::format("no memory for samples: {}", std::strerror(errno)));
  return Ring(std::move(fd), memory, size);
}

std::expected<Sampler, std::string> Sampler::begin(const Event& event, std::uint32_t hz,
                                                   pid_t process) {
  if (!event.unknown.empty()) return std::unexpected(event.unknown);
  if (event.is_of_kernel() && event.attr.exclude_kernel != 0)
    return std::unexpected(
        "the event happens in the kernel, but a modifier in its name excludes the kernel");
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const int cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_CONF));
  std::string reason;
  for (std::size_t pages = most_pages; pages >= fewest_pages; pages /= 2) {
    Sampler sampler;
    const perf_event_attr attr = attributes_of(event, hz, pages * page, process != 0);
    sampler.readable_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    reason.clear();
    for (int cpu = 0; cpu < cpus && reason.empty(); ++cpu) {
      auto ring = open_ring(event, attr, process, cpu);
      if (!ring) {
        reason = ring.error();
      } else if (ring->fd() >= 0) {
        epoll_event wanted{.events = EPOLLIN, .data = {.fd = ring->fd()}};
        if (epoll_ctl(sampler.readable_.get(), EPOLL_CTL_ADD, ring->fd(), &wanted) != 0)
          reason = std::strerror(errno);
        sampler.rings_.push_back(std::move(*ring));
      }
    }
    if (reason.empty() && !sampler.rings_.empty()) return sampler;
  }
  return std::unexpected(reason.empty() ? "no CPU could be sampled" : reason);
}

// Stops watching rings that the kernel has hung up. They would stay readable forever and keep us
// awake; end() reads the rest of them.
void Sampler::forget_hung_up() {
  std::array<epoll_event, 64> ready{};
  const int count = epoll_wait(readable_.get(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i)
    if ((ready[static_cast<std::size_t>(i)].events & (EPOLLHUP | EPOLLERR)) != 0)
      epoll_ctl(readable_.get(), EPOLL_CTL_DEL, ready[static_cast<std::size_t>(i)].data.fd,
                nullptr);
}

void Sampler::drain() {
  forget_hung_up();
  for (Ring& ring : rings_)
    ring.take([&](std::span<const std::byte> bytes) {
      const auto record = parse_record(bytes);
      if (!record) {
        taken_.complete_until = 0;  // an unknown format: trust nothing
        return;
      }
      keep(*record, ring.told_until);
      ring.told_until = time_of(*record);
    });
}

// `before` is the time of the previous record in the same ring.
void Sampler::keep(const Record& record, std::uint64_t before) {
  if (const auto* sample = std::get_if<Sample>(&record)) return samples_.add(*sample);
  if (const auto* mapped = std::get_if<Mapped>(&record)) return keep_other(taken_.mapped, *mapped);
  if (const auto* forked = std::get_if<Forked>(&record)) return keep_other(taken_.forked, *forked);
  if (const auto* executed = std::get_if<Executed>(&record))
    return keep_other(taken_.executed, *executed);
  if (const auto* lost = std::get_if<Lost>(&record)) {
    taken_.lost += lost->records;
    taken_.complete_until = std::min(taken_.complete_until, before);
  }
}

void SampleList::add(const Sample& sample) {
  if (seen_++ % every_ != 0) return;
  if (kept_.size() == most_) {
    for (std::size_t i = 0; i < most_ / 2; ++i) {
      kept_[i] = kept_[2 * i];
      kept_[i].weight *= 2;
    }
    kept_.resize(most_ / 2);
    every_ *= 2;
    seen_ = 1;  // this one is kept, so the next one is every_ samples away
  }
  kept_.push_back(sample);
  kept_.back().weight *= every_;
}

std::vector<Sample> SampleList::take() {
  return std::exchange(kept_, {});
}

template <class T>
void Sampler::keep_other(std::vector<T>& list, const T& record) {
  if (taken_.mapped.size() + taken_.forked.size() + taken_.executed.size() >= most_other_records)
    taken_.complete_until = std::min(taken_.complete_until, record.time);
  else
    list.push_back(record);
}

Taken Sampler::end() {
  for (const Ring& ring : rings_) ioctl(ring.fd(), PERF_EVENT_IOC_DISABLE, 0);
  drain();
  taken_.samples = samples_.take();
  return std::exchange(taken_, {});
}

}  // namespace stab::counters
