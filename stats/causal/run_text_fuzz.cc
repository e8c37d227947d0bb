// SPDX-License-Identifier: MIT
// For any text, read_run gives a valid profile, or an error that leaves the profile alone. A
// profile that is written is read back as the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stats/causal/run_text.h"

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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  Profile profile;
  if (const auto made = read_run(text, profile); !made) {
    require(!made.error().message.empty() && profile == Profile{});
    return 0;
  }
  require(profile.runs.size() == 1);
  check(profile);
  Profile again;
  require(read_run(run_text(profile), again).has_value() && again == profile);
  require(read_run(text, again).has_value() && again.runs.size() == 2);
  check(again);
  return 0;
}
