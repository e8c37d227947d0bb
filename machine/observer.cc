// SPDX-License-Identifier: MIT

#include "machine/observer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/hash.h"

namespace stab::machine {
namespace {

constexpr std::string_view unknown = "its format is unknown";
constexpr std::int64_t ns_per_second = 1'000'000'000;

std::unexpected<std::string> strange() {
  return std::unexpected(std::string(unknown));
}

// Removes the next word from the line and returns it.
std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(word.size());
  return word;
}

std::string_view next_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

std::optional<std::int64_t> whole(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (word.empty() || error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

// The number of a CPU in "cpu12" or "CPU12".
std::optional<unsigned> cpu_in(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix)) return std::nullopt;
  const auto number = whole(word.substr(prefix.size()));
  if (!number || *number < 0) return std::nullopt;
  return static_cast<unsigned>(*number);
}

bool has(const CpuSet& cpus, unsigned cpu) {
  return std::ranges::binary_search(cpus, cpu);
}

// In this order: user nice system idle iowait irq softirq steal.
using Times = std::array<std::int64_t, 8>;

// Calls visit() for the line of each CPU. Returns false if a line has an unknown format.
template <class Visitor>
bool for_each_cpu(std::string_view stat, Visitor visit) {
  while (stat.starts_with("cpu")) {
    std::string_view line = next_line(stat);
    const std::string_view name = next_word(line);
    if (name == "cpu") continue;  // the sum of all CPUs
    const auto cpu = cpu_in(name, "cpu");
    Times times{};
    for (std::int64_t& time : times) {
      const auto ticks = whole(next_word(line));
      if (!ticks || *ticks < 0) return false;
      time = *ticks;
    }
    if (!cpu) return false;
    visit(*cpu, times);
  }
  return true;
}

}  // namespace

Value number_in(std::string_view text) {
  std::string_view line = next_line(text);
  const auto number = whole(next_word(line));
  if (!number || !next_word(line).empty()) return strange();
  return *number;
}

Value waited_in(std::string_view pressure) {
  std::string_view line = next_line(pressure);
  if (next_word(line) != "some") return strange();
  constexpr std::string_view total = "total=";
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    if (!word.starts_with(total)) continue;
    const auto us = whole(word.substr(total.size()));
    if (!us || *us < 0 || *us > std::numeric_limits<std::int64_t>::max() / 1000) break;
    return *us * 1000;
  }
  return strange();
}

Value stolen_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks) {
  std::int64_t sum = 0;
  std::size_t found = 0;
  const bool known = for_each_cpu(stat, [&](unsigned cpu, const Times& times) {
    if (!has(cpus, cpu)) return;
    sum += times[7];
    ++found;
  });
  if (!known) return strange();
  if (found != cpus.size())
    return std::unexpected("the kernel reports no statistics for one of the trial's CPUs");
  return sum * (ns_per_second / ticks);
}

std::expected<Busy, std::string> busy_in(std::string_view stat, const CpuSet& cpus,
                                         std::int64_t ticks) {
  Busy busy;
  const bool known = for_each_cpu(stat, [&](unsigned cpu, const Times& times) {
    const std::int64_t tick = ns_per_second / ticks;
    const bool trial = has(cpus, cpu);
    (trial ? busy.trial_ns : busy.others_ns) +=
        (times[0] + times[1] + times[2] + times[5] + times[6]) * tick;
    (trial ? busy.trial_stolen_ns : busy.others_stolen_ns) += times[7] * tick;
    busy.others += trial ? 0 : 1;
  });
  if (!known) return strange();
  return busy;
}

Value others_busy_in(std::string_view stat, const CpuSet& cpus, std::int64_t ticks) {
  const auto busy = busy_in(stat, cpus, ticks);
  if (!busy) return std::unexpected(busy.error());
  if (busy->others == 0) return std::unexpected("there is no other CPU");
  return busy->others_ns;
}

Value sum_of_columns(std::string_view table, const CpuSet& cpus) {
  std::string_view header = next_line(table);
  std::vector<bool> wanted;  // by column; offline CPUs have no column
  for (std::string_view word = next_word(header); !word.empty(); word = next_word(header)) {
    const auto cpu = cpu_in(word, "CPU");
    if (!cpu) return strange();
    wanted.push_back(has(cpus, *cpu));
  }
  if (!std::cmp_equal(std::ranges::count(wanted, true), cpus.size()))
    return std::unexpected("the kernel reports no statistics for one of the trial's CPUs");
  std::int64_t sum = 0;
  bool any = false;
  while (!table.empty()) {
    std::string_view line = next_line(table);
    const std::string_view name = next_word(line);
    if (name.empty()) continue;
    if (!name.ends_with(':')) return strange();
    if (name == "ERR:" || name == "MIS:") continue;  // counts for the whole machine
    any = true;
    for (const bool take : wanted) {
      const auto count = whole(next_word(line));
      if (!count || *count < 0) return strange();
      if (take) sum += *count;
    }
  }
  if (!any) return strange();
  return sum;
}

namespace {

// Reading a longer file would take too much time around every trial.
constexpr std::size_t most_stat_bytes = 256 << 10;

constexpr const char* no_frequency =
    "this machine has no cpufreq: its host or firmware decides the frequency and does not report "
    "it";
constexpr const char* no_throttling = "this CPU does not count how often it was throttled";
constexpr const char* no_temperature = "this machine has no CPU sensor that stabd knows";
constexpr const char* no_pressure = "this kernel does not measure memory pressure; boot with psi=1";

// One of the kernel's files, kept open.
class Shown {
 public:
  // `path` is "" if the file does not exist.
  Shown(std::string path, const std::string& root, std::string missing)
      : path_(std::move(path)),
        missing_(std::move(missing)),
        fd_(path_.empty() ? -1 : open((root + path_).c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!fd_) failed_ = path_.empty() ? missing_ : why();
  }

  // The content, which stays in the buffer until the next read.
  std::expected<std::string_view, std::string> read(std::string& buffer) const {
    if (!fd_) return std::unexpected(failed_);
    std::size_t size = 0;
    for (;;) {
      if (size == buffer.size()) return std::unexpected(fmt::format("{} is too long", path_));
      const ssize_t n =
          pread(fd_.get(), buffer.data() + size, buffer.size() - size, static_cast<off_t>(size));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return std::unexpected(why());
      if (n == 0) return std::string_view(buffer).substr(0, size);
      size += static_cast<std::size_t>(n);
    }
  }

  // Reads the file and parses its content.
  template <class Parse>
  Value value(std::string& buffer, Parse parse) const {
    return parsed(read(buffer), parse);
  }
  // Parses content that was read before.
  template <class Parse>
  Value parsed(const std::expected<std::string_view, std::string>& text, Parse parse) const {
    if (!text) return std::unexpected(text.error());
    Value value = parse(*text);
    if (!value) return std::unexpected(fmt::format("{}: {}", path_, value.error()));
    return value;
  }

 private:
  [[nodiscard]] std::string why() const {
    if (errno == ENOENT || errno == EOPNOTSUPP) return missing_;
    return fmt::format("cannot read {}: {}", path_, std::strerror(errno));
  }

  std::string path_;
  std::string missing_;
  Fd fd_;
  std::string failed_;
};

std::string first_line(const std::filesystem::path& path) {
  const std::string text = read_file(path, 4096).value_or("");
  return text.substr(0, text.find('\n'));
}

// The file of the CPU's own temperature sensor. If there are several, the first by name; "" if
// there are none.
std::string temperature_file(const std::string& root) {
  struct Kind {
    const char* folder;
    const char* name;
    const char* value;
    std::array<std::string_view, 4> cpu;
  };
  constexpr std::array kinds{Kind{"/sys/class/thermal",
                                  "type",
                                  "temp",
                                  {"x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc_thermal"}},
                             Kind{"/sys/class/hwmon",
                                  "name",
                                  "temp1_input",
                                  {"coretemp", "k10temp", "zenpower", "cpu_thermal"}}};
  for (const Kind& kind : kinds) {
    std::vector<std::string> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(root + kind.folder, error))
      if (std::ranges::find(kind.cpu, first_line(entry.path() / kind.name)) != kind.cpu.end())
        found.push_back((entry.path() / kind.value).string().substr(root.size()));
    if (!found.empty()) return std::ranges::min(found);
  }
  return "";
}

}  // namespace

// Reads the sources, one function for each.
class Look {
 public:
  Look(CpuSet trial, const std::string& root)
      : trial_(std::move(trial)),
        buffer_(most_stat_bytes, '\0'),
        stat_buffer_(most_stat_bytes, '\0'),
        stat_("/proc/stat", root, "/proc/stat does not exist"),
        interrupts_("/proc/interrupts", root, "/proc/interrupts does not exist"),
        softirqs_("/proc/softirqs", root, "/proc/softirqs does not exist"),
        pressure_("/proc/pressure/memory", root, no_pressure),
        clock_("/sys/devices/system/clocksource/clocksource0/current_clocksource", root,
               "this kernel does not report which clock it uses"),
        temperature_(temperature_file(root), root, no_temperature) {
    for (const unsigned cpu : trial_) {
      const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
      frequencies_.emplace_back(folder + "/cpufreq/scaling_cur_freq", root, no_frequency);
      throttled_.emplace_back(folder + "/thermal_throttle/core_throttle_count", root,
                              no_throttling);
    }
  }

  // Reads /proc/stat once for the two sources that need it.
  void begin() { stat_text_ = stat_.read(stat_buffer_); }

  Value steal() {
    return stat_.parsed(stat_text_, [&](auto text) { return stolen_in(text, trial_, ticks_); });
  }
  Value others_busy() {
    return stat_.parsed(stat_text_,
                        [&](auto text) { return others_busy_in(text, trial_, ticks_); });
  }
  Value interrupts() {
    return interrupts_.value(buffer_, [&](auto text) { return sum_of_columns(text, trial_); });
  }
  Value softirqs() {
    return softirqs_.value(buffer_, [&](auto text) { return sum_of_columns(text, trial_); });
  }
  Value pressure() { return pressure_.value(buffer_, waited_in); }
  Value temperature() { return temperature_.value(buffer_, number_in); }
  // A number that identifies the clock.
  Value clock() {
    return clock_.value(buffer_, [](auto text) -> Value {
      if (text.empty() || text.front() == '\n') return std::unexpected("its format is unknown");
      return std::bit_cast<std::int64_t>(sha256_word(text));
    });
  }
  Value lowest_frequency() {
    return of_all(frequencies_, [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
  }
  Value throttled() {
    return of_all(throttled_, [](std::int64_t a, std::int64_t b) { return a + b; });
  }

  std::vector<Value> first;  // by source

 private:
  template <class Join>
  Value of_all(const std::vector<Shown>& files, Join join) {
    Value all = std::unexpected("the trial has no CPU");
    for (const Shown& file : files) {
      const Value one = file.value(buffer_, number_in);
      if (!one) return one;
      all = all ? join(*all, *one) : *one;
    }
    return all;
  }

  const CpuSet trial_;
  const std::int64_t ticks_ = sysconf(_SC_CLK_TCK);
  std::string buffer_;
  std::string stat_buffer_;
  std::expected<std::string_view, std::string> stat_text_;
  Shown stat_;
  Shown interrupts_;
  Shown softirqs_;
  Shown pressure_;
  Shown clock_;
  Shown temperature_;
  std::vector<Shown> frequencies_;
  std::vector<Shown> throttled_;
};

namespace {

// How a reading follows from the looks before and after the trial.
enum class Take { growth, before, after, change };

struct Row {
  Source source;
  Take take;
  Value (Look::*read)();
  double unit = 1;  // factor from the kernel's unit to ours
};

constexpr const char* frequency = "/sys/devices/system/cpu/cpu*/cpufreq/scaling_cur_freq";
constexpr const char* temperature = "/sys/class/thermal/*/temp, /sys/class/hwmon/*/temp1_input";

// clang-format off
constexpr std::array table{
    Row{{"steal-ns", "ns", "/proc/stat", "time that the host took from the trial's CPUs; most kernels count it in steps of 10 ms"},
        Take::growth, &Look::steal},
    Row{{"interrupts", "", "/proc/interrupts", "interrupts on the trial's CPUs, including timer interrupts"},
        Take::growth, &Look::interrupts},
    Row{{"softirqs", "", "/proc/softirqs", "how often the kernel ran deferred work (softirqs) on the trial's CPUs"},
        Take::growth, &Look::softirqs},
    Row{{"other-cpus-busy-ns", "ns", "/proc/stat", "CPU time of everything that ran on the other CPUs; most kernels count it in steps of 10 ms"},
        Take::growth, &Look::others_busy},
    Row{{"memory-pressure-ns", "ns", "/proc/pressure/memory", "the time during which at least one task on the machine waited for memory"},
        Take::growth, &Look::pressure},
    Row{{"throttled", "", "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count", "how often heat slowed the trial's CPUs down"},
        Take::growth, &Look::throttled},
    Row{{"frequency-before-khz", "kHz", frequency, "the lowest frequency of the trial's CPUs, before the trial"},
        Take::before, &Look::lowest_frequency},
    Row{{"frequency-after-khz", "kHz", frequency, "the lowest frequency of the trial's CPUs, after the trial"},
        Take::after, &Look::lowest_frequency},
    Row{{"temperature-before-c", "C", temperature, "the CPU's temperature before the trial"},
        Take::before, &Look::temperature, 0.001},
    Row{{"temperature-after-c", "C", temperature, "the CPU's temperature after the trial"},
        Take::after, &Look::temperature, 0.001},
    Row{{"clocksource-changes", "", "/sys/devices/system/clocksource/clocksource0/current_clocksource", "1 if the kernel used a different clock after the trial than before, otherwise 0"},
        Take::change, &Look::clock},
};
// clang-format on

constexpr auto public_table = [] {
  std::array<Source, table.size()> sources;
  std::ranges::transform(table, sources.begin(), &Row::source);
  return sources;
}();

// The reading of a source from both of its looks.
Value outcome(Take take, const Value& first, const Value& now) {
  if (!first) return first;
  if (!now) return now;
  switch (take) {
    case Take::before:
    case Take::after:
      return now;
    case Take::change:
      return *first == *now ? 0 : 1;
    case Take::growth:
      if (*now < *first) return std::unexpected("its count went backwards");
      return *now - *first;
  }
  return now;
}

}  // namespace

std::span<const Source> sources() {
  return public_table;
}

Observer::Observer(const CpuSet& trial, const std::string& root)
    : look_(std::make_unique<Look>(trial, root)) {
  look_->first.assign(table.size(), std::unexpected("no value was read before the trial"));
}
Observer::Observer(Observer&&) noexcept = default;
Observer& Observer::operator=(Observer&&) noexcept = default;
Observer::~Observer() = default;

void Observer::before() {
  look_->begin();
  for (std::size_t i = 0; i < table.size(); ++i)
    look_->first[i] = table[i].take == Take::after ? Value(0) : ((*look_).*table[i].read)();
}

void Observer::after(std::vector<counters::Reading>& readings) {
  look_->begin();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto& [source, take, read, unit] = table[i];
    const Value& first = look_->first[i];
    const Value value = outcome(take, first, take == Take::before ? first : ((*look_).*read)());
    std::string name(source.reading);
    std::string in(source.unit);
    if (!value)
      readings.push_back(counters::absent(std::move(name), std::move(in), value.error()));
    else if (unit == 1)
      readings.push_back(counters::counted(std::move(name), std::move(in), *value));
    else
      readings.push_back(
          counters::counted(std::move(name), std::move(in), static_cast<double>(*value) * unit));
  }
}

namespace {

constexpr std::size_t most_bytes = 1 << 20;

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

}  // namespace

Calm::Calm(CpuSet trial, const CalmBounds& bounds, const std::string& root)
    : trial_(std::move(trial)),
      bounds_(bounds),
      root_(root),
      observer_(trial_, root),
      before_(std::unexpected("there was no earlier reading")) {}

std::expected<Busy, std::string> Calm::busy() const {
  const auto text = read_file(root_ + "/proc/stat", most_bytes);
  if (!text) return std::unexpected(text.error().message);
  return busy_in(*text, trial_, sysconf(_SC_CLK_TCK));
}

void Calm::begin() {
  before_ = busy();
  observer_.before();
}

std::optional<double> Calm::number(const std::vector<counters::Reading>& readings,
                                   std::string_view name) {
  const auto found = std::ranges::find(readings, name, &counters::Reading::name);
  if (found == readings.end()) return std::nullopt;
  if (found->status == counters::Status::absent) {
    missing_.push_back(fmt::format("{} ({})", name, found->reason));
    return std::nullopt;
  }
  return std::visit([](auto value) { return static_cast<double>(value); }, found->value);
}

std::string Calm::end(std::chrono::nanoseconds passed) {
  const auto time = static_cast<double>(std::max<std::int64_t>(passed.count(), 1));
  missing_.clear();
  std::vector<std::string> loud;
  if (passed < shortest_look)
    loud.emplace_back("the machine was watched too briefly to tell whether it is quiet");
  const auto now = busy();
  if (now && before_) {
    const auto look_at = [&](const std::string& cpus, std::size_t count, std::int64_t busy_ns,
                             std::int64_t stolen_ns) {
      const double all = time * static_cast<double>(std::max<std::size_t>(count, 1));
      const double busy = static_cast<double>(busy_ns) / all;
      const double stolen = static_cast<double>(stolen_ns) / all;
      if (busy + stolen <= bounds_.load) return;
      std::string words = cpus + percent(busy) + " busy";
      if (stolen_ns > 0) words += fmt::format(", and the host takes {} more", percent(stolen));
      loud.push_back(std::move(words));
    };
    look_at(fmt::format("CPU {} is ", to_string(trial_)), trial_.size(),
            now->trial_ns - before_->trial_ns, now->trial_stolen_ns - before_->trial_stolen_ns);
    look_at("the other CPUs are ", now->others, now->others_ns - before_->others_ns,
            now->others_stolen_ns - before_->others_stolen_ns);
  } else {
    missing_.push_back(fmt::format("load ({})", now ? before_.error() : now.error()));
  }
  std::vector<counters::Reading> readings;
  observer_.after(readings);
  if (const auto ns = number(readings, "memory-pressure-ns"); ns && *ns / time > bounds_.load)
    loud.push_back(fmt::format("for {} of the time, tasks wait for memory", percent(*ns / time)));
  if (bounds_.temperature_c) {
    const auto now_c = number(readings, "temperature-after-c");
    if (now_c && *now_c > *bounds_.temperature_c)
      loud.push_back(fmt::format("{} C is above {}", *now_c, *bounds_.temperature_c));
  }
  if (bounds_.frequency_khz) {
    const auto khz = number(readings, "frequency-after-khz");
    if (khz && *khz < *bounds_.frequency_khz)
      loud.push_back(fmt::format("{} kHz is below {}", *khz, *bounds_.frequency_khz));
  }
  return fmt::format("{}", fmt::join(loud, ", "));
}

}  // namespace stab::machine
