// SPDX-License-Identifier: MIT
#include "machine/simulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"
#include "machine/measured_run.h"
#include "machine/program.h"

namespace stab::machine {
namespace {

using counters::Reading;

// A reading that is the sum of some events of cachegrind.
struct Sum {
  const char* name;
  std::array<const char*, 3> events;  // ends with nullptr if shorter
};
constexpr std::array<Sum, 7> sums{{{"simulated-instructions", {"Ir"}},
                                   {"simulated-data-accesses", {"Dr", "Dw"}},
                                   {"simulated-branches", {"Bc", "Bi"}},
                                   {"simulated-i1-misses", {"I1mr"}},
                                   {"simulated-d1-misses", {"D1mr", "D1mw"}},
                                   {"simulated-ll-misses", {"ILmr", "DLmr", "DLmw"}},
                                   {"simulated-branch-misses", {"Bcm", "Bim"}}}};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = line.find_first_not_of(' '); at != std::string_view::npos;
       at = line.find_first_not_of(' ')) {
    line.remove_prefix(at);
    words.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(words.back().size());
  }
  return words;
}

// The text after the key in the line that begins with it; nullopt unless there is exactly one
// complete line.
std::optional<std::string_view> line_of(std::string_view text, std::string_view key) {
  std::optional<std::string_view> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(key)) {
      if (found || end == text.size()) return std::nullopt;
      found = line.substr(key.size());
    }
    at = end + 1;
  }
  return found;
}

std::optional<std::int64_t> number_of(std::string_view word) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 0) return std::nullopt;
  return number;
}

using EventCounts = std::map<std::string_view, std::int64_t>;
std::optional<EventCounts> counts_in(std::string_view text) {
  const auto events = line_of(text, "events:");
  const auto summary = line_of(text, "summary:");
  if (!events || !summary) return std::nullopt;
  const auto names = words_of(*events);
  const auto numbers = words_of(*summary);
  if (names.size() != numbers.size()) return std::nullopt;
  EventCounts counts;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto number = number_of(numbers[i]);
    if (!number || !counts.emplace(names[i], *number).second) return std::nullopt;
  }
  return counts;
}

std::optional<std::int64_t> sum_of(const EventCounts& counts, const Sum& sum) {
  std::int64_t total = 0;
  for (const char* event : sum.events) {
    if (event == nullptr) continue;
    const auto found = counts.find(event);
    if (found == counts.end() || __builtin_add_overflow(total, found->second, &total))
      return std::nullopt;
  }
  return total;
}

// The pids of the processes that wrote to the log, as in "==123== ". Processes overwrite each
// other's text, so pids may be anywhere in a line.
std::set<std::string_view> processes_in(std::string_view log) {
  std::set<std::string_view> processes;
  for (std::size_t at = log.find("=="); at != std::string_view::npos; at = log.find("==", at)) {
    at += 2;
    const std::size_t end = log.find_first_not_of("0123456789", at);
    if (end == std::string_view::npos) break;
    if (end > at && log.substr(end).starts_with("==")) processes.insert(log.substr(at, end - at));
    at = end;
  }
  return processes;
}

std::vector<Reading> all_absent(const std::string& reason) {
  std::vector<Reading> readings;
  for (const Sum& sum : sums) readings.push_back(counters::absent(sum.name, "", reason));
  return readings;
}

}  // namespace

Result<std::string> find_simulator(const std::string& path) {
  auto found = find_program("valgrind", {"PATH=" + path}, "/");
  if (found) return found;
  return fail(
      fmt::format("'measure.simulate' needs valgrind, which is not in {}: install it, for example "
                  "with 'apt-get install valgrind'",
                  path.empty() ? "an empty PATH" : path));
}

std::string simulator_version(const std::string& simulator, Containment containment) {
  Launch launch;
  launch.argv = {simulator, "--version"};
  launch.directory = "/";
  launch.timeout = std::chrono::seconds(10);
  launch.output_limit = 4096;
  launch.containment = containment;
  return last_line(run(launch).out, 80);
}

std::vector<std::string> simulated(const std::string& simulator, const std::string& counts,
                                   const std::string& log, const std::vector<std::string>& argv) {
  std::vector<std::string> words{simulator,
                                 // Ignores options in the user's files and variables.
                                 "--command-line-only=yes", "--tool=cachegrind", "--vgdb=no",
                                 // Makes child processes visible in the log.
                                 "--trace-children=yes", "--cache-sim=yes", "--branch-sim=yes",
                                 "--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64",
                                 "--cachegrind-out-file=" + counts, "--log-file=" + log};
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

std::vector<Reading> simulated_readings(std::string_view counts, std::string_view log, int own) {
  if (log.size() >= max_simulator_log || counts.size() >= max_counts_bytes)
    return all_absent("cachegrind wrote more output than stabd reads");
  const auto processes = processes_in(log);
  if (processes.empty()) return all_absent("the program did not run under cachegrind");
  if (processes.size() > 1 || *processes.begin() != std::to_string(own))
    return all_absent(
        "the program started other programs, and cachegrind counts each process separately: let "
        "benchmark.run start the compared program directly");
  const auto found = counts_in(counts);
  if (!found) return all_absent("cachegrind wrote no counts: something killed the program");
  std::vector<Reading> readings;
  for (const Sum& sum : sums) {
    const auto total = sum_of(*found, sum);
    readings.push_back(
        total ? counters::counted(sum.name, "", *total)
              : counters::absent(sum.name, "",
                                 "this version of cachegrind does not count this event"));
  }
  return readings;
}

}  // namespace stab::machine
