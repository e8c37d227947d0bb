// SPDX-License-Identifier: MIT
// The values that were recorded for a trial: readings, samples, and its profile.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stab::counters {

enum class Status {
  counted,  // value is exact
  scaled,   // value was extrapolated from the share `coverage` of the time
  absent,   // no value; `reason` says why
};

// A scaled number is less reliable the shorter it was counted. With less coverage than this it is
// not compared.
inline constexpr double least_coverage = 0.5;

// An integer stays exact to 64 bits.
using Number = std::variant<std::int64_t, double>;

// One number that was recorded for a trial, or the reason why it is missing. A missing reading is
// never a zero.
struct Reading {
  std::string name{};  // "page-faults-minor"
  std::string unit{};  // "ns", or "" for counts
  Status status = Status::absent;
  Number value = 0;       // meaningless when absent
  double coverage = 1.0;  // the share of the event's enabled time in which it was counted
  std::string reason{};   // only when absent

  bool operator==(const Reading&) const = default;
};

inline Reading counted(std::string name, std::string unit, Number value) {
  return {
      .name = std::move(name), .unit = std::move(unit), .status = Status::counted, .value = value};
}

inline Reading absent(std::string name, std::string unit, std::string reason) {
  return {.name = std::move(name), .unit = std::move(unit), .reason = std::move(reason)};
}

// The CPU time of the command that ran beside a trial, and the response that divides the trial's
// CPU time by it.
inline constexpr std::string_view beside_cpu = "beside-cpu-ns";
inline constexpr std::string_view relative_cpu = "relative_cpu";

// An infinite number or NaN can't be compared.
inline bool is_finite(const Number& number) {
  const auto* real = std::get_if<double>(&number);
  return real == nullptr || std::isfinite(*real);
}

// An integer beyond 2^53 is rounded.
inline double to_double(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// The reading's number if it can be compared with other trials, else nullopt.
inline std::optional<Number> comparable(const Reading& reading) {
  if (reading.status == Status::absent || reading.coverage < least_coverage) return std::nullopt;
  if (!is_finite(reading.value)) return std::nullopt;
  return reading.value;
}

constexpr std::string_view to_string(Status status) {
  switch (status) {
    case Status::counted:
      return "counted";
    case Status::scaled:
      return "scaled";
    case Status::absent:
      return "absent";
  }
  return "absent";
}

constexpr std::optional<Status> reading_status(std::string_view text) {
  for (const Status status : {Status::counted, Status::scaled, Status::absent})
    if (text == to_string(status)) return status;
  return std::nullopt;
}

// Several numbers of the same kind that one trial measured, for example one per repetition or
// iteration.
struct Samples {
  std::string measure{};  // the plan's name for it
  std::string subject{};  // the program's name for what it measured; "" for the program itself
  std::string unit{};     // "ns", or "" for counts
  std::vector<double> values{};  // finite, in the order of time; empty if absent
  std::string reason{};          // only when absent

  bool operator==(const Samples&) const = default;
};

// The most bytes that one number takes as text (store/rows/lists.h).
inline constexpr std::size_t bytes_of_sample = 26;
inline std::size_t bytes_of(const Samples& samples) {
  const std::size_t texts =
      samples.measure.size() + samples.subject.size() + samples.unit.size() + samples.reason.size();
  return 32 + 6 * texts + bytes_of_sample * samples.values.size();
}

// The limit for the sum of bytes_of() over all samples of a trial.
inline constexpr std::size_t most_sample_bytes = std::size_t{256} << 10;

// The function of code without a known symbol, inside or outside of an object.
inline constexpr const char* unknown_function = "[unknown]";
inline constexpr const char* kernel_function = "[kernel]";  // the whole kernel
inline constexpr const char* other_functions = "[others]";  // functions that did not fit

struct ProfiledFunction {
  std::string name{};    // the symbol, not demangled
  std::string object{};  // its file's name without folders; "" outside of files
  std::uint64_t samples = 0;
  std::uint64_t weight = 0;  // the number of events that the samples stand for

  bool operator==(const ProfiledFunction&) const = default;
};

// A trial's profile: the functions in which samples found it.
struct Profile {
  std::string event{};                        // "" if no profile was requested
  std::string unit{};                         // "ns" for clocks, else ""
  std::uint32_t hz = 0;                       // requested samples per second of running time
  std::string reason{};                       // why there is no profile; "" if there is one
  std::uint64_t lost = 0;                     // records that the kernel dropped for lack of room
  std::vector<ProfiledFunction> functions{};  // most weight first

  [[nodiscard]] bool is_wanted() const { return !event.empty(); }
  bool operator==(const Profile&) const = default;
};

// Upper bounds for the size of the text of a function or of a profile (store/rows/lists.h).
inline std::size_t bytes_of(const ProfiledFunction& function) {
  return 48 + 6 * (function.name.size() + function.object.size());
}
inline std::size_t bytes_of(const Profile& profile) {
  std::size_t bytes = 64 + 6 * (profile.event.size() + profile.unit.size() + profile.reason.size());
  for (const ProfiledFunction& each : profile.functions) bytes += bytes_of(each);
  return profile.is_wanted() ? bytes : 0;
}
inline constexpr std::size_t most_profile_bytes = std::size_t{256} << 10;
inline constexpr std::size_t most_profiled_functions = 200;
// The longest name of a function. A longer name is cut and ends in a digest of the whole name.
inline constexpr std::size_t most_function_name = 400;

}  // namespace stab::counters
