// SPDX-License-Identifier: MIT
// One number that was recorded for a trial, or the reason why it is missing. A missing reading is
// never a zero.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

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

// The CPU time of the command that ran beside a trial, and the response that divides the trial's CPU
// time by it.
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

}  // namespace stab::counters
