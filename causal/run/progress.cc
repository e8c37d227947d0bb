// SPDX-License-Identifier: MIT
#include "causal/run/progress.h"

#include <fmt/format.h>

#include "base/text.h"
#include "causal/run/map_text.h"

namespace stab::causal {

Result<void> add_progress(const LineMap& map, const std::vector<std::string>& names,
                          Settings& settings, std::vector<std::string>& notes) {
  std::size_t left = most_places;
  for (const std::string& name : names) {
    const auto line = find_line(map, name);
    if (!line) return std::unexpected(line.error());
    const std::size_t places = places_of(map, *line);
    if (places != 0 && places <= left) {
      settings.watched.push_back(*line);
      left -= places;
      continue;
    }
    settings.sampled.push_back(*line);
    notes.push_back(
        fmt::format("{} begins at {} places, and the processor can watch {}: its samples are "
                    "counted, not its visits.",
                    one_line(name, 200), places, left));
  }
  return {};
}

std::string why_unwatched(std::uint32_t unwatched) {
  std::string why;
  if (unwatched == functions_move) why = "szc built the program, so its functions may move";
  if (unwatched == not_loaded_yet) why = "the file that has its code is loaded later";
  if (unwatched == not_permitted)
    why = "the kernel permits no breakpoints (kernel.perf_event_paranoid)";
  if (why.empty()) return "";
  return "--progress: samples of the lines are counted, not their visits: " + why + ".";
}

}  // namespace stab::causal
