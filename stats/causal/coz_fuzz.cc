// SPDX-License-Identifier: MIT
// For any text, read_coz gives a valid profile, or an error that leaves the profile alone. A
// profile that is written is read back as the same, and its analysis has only finite numbers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stats/causal/analyse.h"
#include "stats/causal/coz.h"

namespace {

using namespace stab::stats::causal;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Profile& profile) {
  for (const Run& run : profile.runs) {
    for (const LineSamples& each : run.samples) require(each.line < profile.lines.size());
    for (const Experiment& each : run.experiments) {
      require(each.line < profile.lines.size() && each.speedup <= 1000);
      for (const Visits& visits : each.visits) require(visits.point < profile.points.size());
    }
  }
}

void check(const Gain& gain) {
  require(std::isfinite(gain.value) && std::isfinite(gain.interval.low) &&
          std::isfinite(gain.interval.high));
}

void check(const Line& line) {
  if (line.finding == Finding::too_few) return require(!line.too_few.empty());
  for (const Step& step : line.steps) {
    check(step.gain);
    check(step.near);
  }
  check(line.slope);
  check(line.at_quarter);
  require(line.p >= 0 && line.p <= line.adjusted_p && line.adjusted_p <= 1);
}

Profile read(const std::string& text) {
  Profile profile;
  require(read_coz(text, profile).has_value());
  check(profile);
  return profile;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  Profile profile;
  if (const auto made = read_coz(text, profile); !made) {
    require(!made.error().message.empty() && profile == Profile{});
    return 0;
  }
  check(profile);
  if (profile.runs.empty()) return 0;
  const std::string written = as_coz(profile);
  const std::string again = as_coz(read(written));
  // Names that differ only in control characters become one.
  const bool has_control = std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n') || byte >= 0x7f;
  });
  require(has_control || again == written);
  require(as_coz(read(again)) == again);
  if (const auto analysis = analyse(profile, {.draws = 50}))
    for (const PointResult& point : analysis->points) {
      require(std::isfinite(point.base.value_or(0)));
      for (const Line& line : point.lines) check(line);
    }
  return 0;
}
