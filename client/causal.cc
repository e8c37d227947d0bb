// SPDX-License-Identifier: MIT

#include "client/causal.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "base/text.h"
#include "base/time.h"
#include "causal/run/prepare_program.h"
#include "causal/run/run_program.h"
#include "causal/run/session_file.h"
#include "client/exit_code.h"
#include "client/streams.h"
#include "report/json.h"
#include "report/sections/sections.h"
#include "report/words/causal_words.h"
#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/coz.h"

namespace stab::client::causal {
namespace {

using stab::causal::Arrivals;

// A visit may save at most this share of the time between two visits: if it saved all of it, the
// thread would need no time at all.
constexpr double most_gained = 0.95;
// Threads with fewer gaps are ignored, because the mean of so few gaps says little.
constexpr std::uint64_t least_gaps = 10;

double gap_of(const Arrivals& thread) {
  return static_cast<double>(thread.ns) / static_cast<double>(thread.gaps);
}

std::string nanoseconds(double ns) {
  return format_duration(std::chrono::nanoseconds(std::llround(ns)));
}

Result<double> load_of(std::string_view word) {
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc{} || std::string_view(at, end) != "x" || !std::isfinite(value) ||
      value <= 0)
    return wrong_call(fmt::format("--load needs loads, for example 1.25x or 1x,1.5x, not '{}'",
                                  one_line(word, 60)));
  if (value < 1)
    return wrong_call(
        fmt::format("--load {}: arrivals can only be made faster, so the lowest load is 1x", word));
  return value;
}

}  // namespace

Result<std::vector<double>> read_loads(const std::string& text) {
  std::vector<double> made;
  for (const auto part : std::views::split(text, ',')) {
    const auto load = load_of(std::string_view(part.begin(), part.end()));
    if (!load) return std::unexpected(load.error());
    made.push_back(*load);
  }
  std::ranges::sort(made);
  if (std::ranges::adjacent_find(made) != made.end())
    return wrong_call(fmt::format("--load {}: the same load appears twice", one_line(text, 200)));
  return made;
}

std::chrono::nanoseconds mean_gap(std::span<const Arrivals> arrivals) {
  double gaps = 0;
  double ns = 0;
  for (const Arrivals& each : arrivals) {
    gaps += static_cast<double>(each.gaps);
    ns += static_cast<double>(each.ns);
  }
  return std::chrono::nanoseconds(gaps > 0 ? std::llround(ns / gaps) : 0);
}

Result<std::uint64_t> speedup_for(double load, std::span<const Arrivals> arrivals,
                                  bool has_arrived) {
  std::vector<Arrivals> threads;
  double visits = 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (const Arrivals& each : arrivals) {
    if (each.gaps < least_gaps) continue;
    threads.push_back(each);
    visits += static_cast<double>(each.gaps);
    shortest = std::min(shortest, gap_of(each));
  }
  if (threads.empty())
    return wrong_call(
        arrivals.empty() && !has_arrived
            ? "--load: no arrival point was visited; put STAB_ARRIVAL(\"name\") from stabilizer.h "
              "where new work arrives"
            : "--load: no thread visits arrival points often enough; a thread needs more than 10 "
              "visits");
  // A thread with a mean gap of T visits T / (T - faster) times as often.
  const auto load_at = [&](double faster) {
    double sum = 0;
    for (const Arrivals& each : threads)
      sum += static_cast<double>(each.gaps) * gap_of(each) / (gap_of(each) - faster);
    return sum / visits;
  };
  double high = most_gained * shortest;
  if (load > load_at(high) * (1 + 1e-9))
    return fail(fmt::format(
        "--load {}x is too high: the highest possible load is {:.2f}x. Arrivals can come "
        "at most {:g} % of the mean time between a thread's arrivals ({}) earlier",
        load, load_at(high), 100 * most_gained, nanoseconds(shortest)));
  double low = 0;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (load_at(middle) < load ? low : high) = middle;
  }
  return load == 1 ? 0 : static_cast<std::uint64_t>(std::llround(high));
}

std::string timeless_words(std::uint64_t experiments, bool has_faster_arrivals) {
  const bool is_one = experiments == 1;
  const std::string left_out =
      fmt::format("{} experiment{} left out", experiments, is_one ? " is" : "s are");
  if (has_faster_arrivals)
    return fmt::format(
        "{}, because faster arrivals saved more time than {} took. To keep all experiments, use a "
        "smaller --load or --arrival-speedup.",
        left_out, is_one ? "the experiment" : "the experiments");
  return fmt::format(
      "{}, because {} consisted of pauses only. Give the program more work, or try another --line.",
      left_out, is_one ? "it" : "they");
}

namespace {

using stab::causal::Ended;
using stab::causal::Program;
using stab::causal::Seen;
using stab::causal::SessionFile;
using stab::causal::Settings;
using stats::causal::Profile;

constexpr std::uint64_t short_run_ns = 1'000'000'000;

template <class T>
T now_of(const T& shared) {
  return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}

Result<std::uint64_t> duration_of(const char* option, const std::string& text,
                                  std::chrono::nanoseconds least, std::chrono::nanoseconds most) {
  const auto read = parse_duration(text);
  if (read && *read >= least && *read <= most) return static_cast<std::uint64_t>(read->count());
  return wrong_call(fmt::format("{} needs a time from {} to {}, not '{}'", option,
                                format_duration(least), format_duration(most), one_line(text, 60)));
}

Result<void> read_times(const CausalOptions& options, Settings& settings) {
  using namespace std::chrono_literals;
  const auto sample = duration_of("--sample-period", options.sample_period, 100us, 1s);
  if (!sample) return std::unexpected(sample.error());
  const auto experiment = duration_of("--experiment", options.experiment, 10ms, 10min);
  if (!experiment) return std::unexpected(experiment.error());
  settings.sample_ns = *sample;
  settings.experiment_ns = *experiment;
  if (options.arrival_speedup.empty()) return {};
  if (!options.load.empty())
    return wrong_call(
        "give either --load or --arrival-speedup: --load already determines how much faster "
        "arrivals are");
  const auto arrival = duration_of("--arrival-speedup", options.arrival_speedup, 1ns, 10s);
  if (!arrival) return std::unexpected(arrival.error());
  settings.arrival_ns = *arrival;
  return {};
}

Result<std::chrono::nanoseconds> read_timeout(const std::string& text) {
  using namespace std::chrono_literals;
  if (text.empty()) return 0ns;
  const auto read = duration_of("--timeout", text, 1s, 24h);
  if (!read) return std::unexpected(read.error());
  return std::chrono::nanoseconds(*read);
}

Result<Settings> settings_of(const CausalOptions& options, const Program& program) {
  Settings settings{.is_end_to_end = options.end_to_end};
  if (auto read = read_times(options, settings); !read) return std::unexpected(read.error());
  if (!options.line.empty()) {
    const auto line = find_line(*program.map, options.line);
    if (!line) return wrong_call("--line: " + line.error().message);
    settings.fixed_line = *line;
  }
  for (const std::string& name : options.progress) {
    const auto line = find_line(*program.map, name);
    if (!line) return wrong_call("--progress: " + line.error().message);
    settings.sampled.push_back(*line);
  }
  return settings;
}

constexpr const char* did_not_begin =
    "libstabcausal.so did not start in the program: the program may have dropped LD_PRELOAD, or "
    "may not be allowed to read the files of the stabctl process.";

std::string end_words(const Ended& ended) {
  if (ended.timed_out) return "took longer than --timeout and was killed";
  return ended.signal != 0 ? fmt::format("was killed by {}", strsignal(ended.signal))
                           : fmt::format("exited with {}", ended.exit_code);
}

bool has_failed(const Ended& ended) {
  return ended.interrupted == 0 && (ended.timed_out || ended.signal != 0 || ended.exit_code != 0);
}

stab::causal::RunEnd end_of(const Ended& ended) {
  return {.passed_ns = ended.passed_ns, .by_itself = ended.signal == 0};
}

class Runs {
 public:
  Runs(const CausalOptions& options, Program program, std::string library, Settings settings,
       std::optional<std::int32_t> speedup, std::chrono::nanoseconds timeout)
      : options_(options),
        program_(std::move(program)),
        library_(std::move(library)),
        settings_(std::move(settings)),
        speedup_(speedup),
        timeout_(timeout) {}

  Result<Profiled> run_all(const std::vector<double>& loads) {
    if (!loads.empty())
      if (auto measured = measure(loads); !measured) return std::unexpected(measured.error());
    for (unsigned block = 0; block < options_.runs; ++block)
      for (const std::size_t load : order_of(block)) {
        if (made_.interrupted != 0 || is_in_vain_) break;
        if (auto ran = run(block, load); !ran) return std::unexpected(ran.error());
        // Further runs would not visit a progress point either. A failed run doesn't count.
        is_in_vain_ =
            !made_.profile.runs.empty() && has_begun_ && all_.visits == 0 && !options_.end_to_end;
      }
    if (made_.profile.runs.empty() && made_.interrupted == 0)
      return fail("the program failed in all runs, so there is no profile");
    remark();
    return std::move(made_);
  }

 private:
  [[nodiscard]] stab::causal::Command command() const {
    return {
        .path = program_.path, .argv = options_.command, .library = library_, .timeout = timeout_};
  }

  // In each pair of runs, one has speedup 0; the seed decides which one.
  std::int32_t speedup_of(unsigned run) const {
    if (!speedup_) return stab::causal::drawn;
    const bool is_second_faster = derive(options_.seed, "causal pair", {run / 2}) % 2 == 0;
    return (run % 2 == 1) == is_second_faster ? *speedup_ : 0;
  }

  // Measures the arrivals of a whole run, because they may differ between the program's phases.
  Result<void> measure(const std::vector<double>& loads) {
    Settings settings = settings_;
    settings.fixed_speedup = 0;
    const auto session = SessionFile::make(*program_.map, settings);
    if (!session) return std::unexpected(session.error());
    const auto ended = run_watched("first run", *session);
    if (!ended) return std::unexpected(ended.error());
    made_.interrupted = ended->interrupted;
    if (has_failed(*ended))
      return fail("the program " + end_words(*ended) + " in the run that measures arrivals");
    Profile without;
    const Seen seen = add_run(session->layout(), program_.map->lines, settings.is_end_to_end,
                              session->bytes(), end_of(*ended), without);
    has_begun_ = seen.has_begun;
    if (made_.interrupted != 0) return {};
    if (!has_begun_) return fail(did_not_begin);
    for (const double load : loads) {
      const auto speedup = speedup_for(load, seen.arrivals, seen.has_arrived);
      if (!speedup) return std::unexpected(speedup.error());
      made_.profile.loads.push_back({.asked = load, .speedup_ns = *speedup});
    }
    made_.profile.base_rate = stats::causal::arrival_rate(without.runs.front());
    const std::size_t threads = seen.arrivals.size();
    tell(
        fmt::format("first run, at the original load: {} thread{} visited arrival points; a "
                    "thread's mean time between two visits was {}",
                    threads, threads == 1 ? "" : "s", format_duration(mean_gap(seen.arrivals))));
    return {};
  }

  // Loads take turns in a new order in each block, so that changes over time affect all alike.
  [[nodiscard]] std::vector<std::size_t> order_of(unsigned block) const {
    std::vector<std::size_t> order(std::max<std::size_t>(made_.profile.loads.size(), 1));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    Random(derive(options_.seed, "causal loads", {block})).shuffle(std::span(order));
    return order;
  }

  // "run 2 of 5", and with loads "run 2 of 10 at 1.25x".
  [[nodiscard]] std::string run_name(unsigned number, std::size_t load) const {
    const auto& loads = made_.profile.loads;
    if (loads.empty()) return fmt::format("run {} of {}", number + 1, options_.runs);
    return fmt::format("run {} of {} at {}x", number + 1, options_.runs * loads.size(),
                       loads[load].asked);
  }

  Result<void> run(unsigned block, std::size_t load) {
    const unsigned number = begun_++;
    Settings settings = settings_;
    if (!made_.profile.loads.empty()) settings.arrival_ns = made_.profile.loads[load].speedup_ns;
    settings.seed = derive(options_.seed, "causal run", {number});
    settings.fixed_speedup = speedup_of(block);
    const auto session = SessionFile::make(*program_.map, settings);
    if (!session) return std::unexpected(session.error());
    const auto ended = run_watched(run_name(number, load), *session);
    if (!ended) return std::unexpected(ended.error());
    made_.interrupted = ended->interrupted;
    take(number, block, load, *ended, *session);
    return {};
  }

  Result<Ended> run_watched(const std::string& name, const SessionFile& session) {
    last_visits_ = 0;
    looks_without_ = 0;
    unsigned looks = 0;
    return run_program(command(), session, [&] {
      if (++looks % 5 == 0) look(name, session);
      if (looks == 2) look_for_points(session);
    });
  }

  // Tells users early that the program seems to have no progress points.
  void look_for_points(const SessionFile& session) {
    if (options_.end_to_end || begun_ > 1) return;
    for (std::uint32_t i = 0; i < stab::causal::most_counters; ++i)
      if (now_of(session.counters()[i].count) != 0) return;
    tell(
        "No progress point was visited in the first 2 s: if the program has no progress point, "
        "press Ctrl-C, then add a progress point or use --progress FILE:LINE or --end-to-end.");
  }

  void look(const std::string& name, const SessionFile& session) {
    std::uint64_t visits = 0;
    for (std::uint32_t i = 0; i < stab::causal::most_counters; ++i)
      visits += now_of(session.counters()[i].count);
    tell(fmt::format("{}: {} experiments, {:.0f} visits per second", name,
                     now_of(session.head().experiments),
                     static_cast<double>(visits - last_visits_) / 5));
    looks_without_ = visits == last_visits_ ? looks_without_ + 1 : 0;
    last_visits_ = visits;
    if (looks_without_ != 2 || options_.end_to_end) return;
    tell(
        "No progress point was visited for 10 s: if the program hangs, stop it with Ctrl-C, or "
        "give each run a --timeout.");
  }

  void take(unsigned number, unsigned block, std::size_t load, const Ended& ended,
            const SessionFile& session) {
    left_behind_ = left_behind_ || ended.others_go_on;
    if (has_failed(ended)) {
      tell(fmt::format("{}: the program {}; the run is left out", run_name(number, load),
                       end_words(ended)));
      return;
    }
    if (ended.interrupted != 0 && settings_.is_end_to_end) {
      has_begun_ = has_begun_ || now_of(session.head().started_ns) != 0;
      tell(fmt::format("{}: the program was interrupted before its end; the run is left out",
                       run_name(number, load)));
      return;
    }
    const Seen seen = add_run(session.layout(), program_.map->lines, settings_.is_end_to_end,
                              session.bytes(), end_of(ended), made_.profile);
    made_.profile.runs.back().load = load;
    made_.profile.runs.back().block = block;
    if (seen.experiments == 0 && seen.timeless == 0 && ended.interrupted == 0) ++empty_;
    has_begun_ = has_begun_ || seen.has_begun;
    all_.experiments += seen.experiments;
    all_.visits += seen.visits;
    all_.damaged += seen.damaged;
    all_.timeless += seen.timeless;
    all_.duration_ns = std::max(all_.duration_ns, seen.duration_ns);
    tell(fmt::format("{}: {} experiments, {} visits in {:.1f} s", run_name(number, load),
                     seen.experiments, seen.visits, static_cast<double>(seen.duration_ns) / 1e9));
  }

  [[nodiscard]] bool has_faster_arrivals() const {
    return settings_.arrival_ns != 0 ||
           std::ranges::any_of(made_.profile.loads,
                               [](const auto& load) { return load.speedup_ns != 0; });
  }

  // Tells the user about problems that make the result worse, and what to change.
  void remark() const {
    if (!has_begun_) {
      tell(did_not_begin);
      return;
    }
    if (left_behind_)
      tell(
          "The profile does not cover processes that were still running when the program ended. "
          "Let the program wait for the processes that it starts, and run servers in the "
          "foreground.");
    if (all_.visits == 0 && !options_.end_to_end)
      tell(
          "No progress point was visited. Add STAB_PROGRESS(\"name\") from stabilizer.h or "
          "COZ_PROGRESS from coz.h where the program finishes a piece of work. Or use --progress "
          "FILE:LINE or --end-to-end.");
    if (empty_ != 0 && all_.duration_ns < short_run_ns)
      tell(
          fmt::format("The program runs for {} ms, which is too short: give it more work, or "
                      "shorten the experiments with --experiment.",
                      all_.duration_ns / 1'000'000));
    for (const std::string& each :
         report::sampling_remarks(made_.profile, std::chrono::nanoseconds(settings_.sample_ns),
                                  {.scope = "--scope and --binary", .experiment = "--experiment"}))
      tell(each);
    if (all_.timeless != 0) tell(timeless_words(all_.timeless, has_faster_arrivals()));
    if (all_.damaged != 0)
      tell(
          fmt::format("{} records of the profile are left out, because the program overwrote them.",
                      all_.damaged));
  }

  const CausalOptions& options_;
  Program program_;
  std::string library_;
  Settings settings_;
  std::optional<std::int32_t> speedup_;
  std::chrono::nanoseconds timeout_;  // 0: no timeout
  Profiled made_;
  Seen all_;
  std::uint64_t last_visits_ = 0;
  unsigned looks_without_ = 0;  // consecutive looks without a new visit
  unsigned begun_ = 0;
  unsigned empty_ = 0;
  bool has_begun_ = false;
  bool left_behind_ = false;
  bool is_in_vain_ = false;  // a run has ended without a visit to a progress point
};

}  // namespace

Result<Profiled> profile_program(const CausalOptions& options) {
  std::vector<double> loads;
  if (!options.load.empty()) {
    auto read = read_loads(options.load);
    if (!read) return std::unexpected(read.error());
    loads = std::move(*read);
    if (loads.size() > 1 && !options.coz.empty())
      return wrong_call(
          "--coz: Coz's file format does not record the load of a run; profile one load at a time");
  }
  const auto timeout = read_timeout(options.timeout);
  if (!timeout) return std::unexpected(timeout.error());
  std::optional<std::int32_t> speedup;
  if (!options.speedup.empty()) {
    const auto percent = read_speedup(options.speedup);
    if (!percent) return std::unexpected(percent.error());
    if (!options.end_to_end || options.line.empty())
      return wrong_call(
          "--speedup needs --end-to-end and --line: without them, each performance experiment has "
          "a random speedup, which may be 0");
    speedup = static_cast<std::int32_t>(std::lround(10 * *percent));
  }
  auto companions = stab::causal::find_companions();
  if (!companions) return std::unexpected(companions.error());
  stab::causal::Programs programs(*std::move(companions));
  auto program = programs.prepare(
      {.word = options.command.front(), .scope = options.scope, .binaries = options.binaries});
  if (!program) return std::unexpected(program.error());
  auto settings = settings_of(options, *program);
  if (!settings) return std::unexpected(settings.error());
  return Runs(options, std::move(*program), programs.library(), std::move(*settings), speedup,
              *timeout)
      .run_all(loads);
}

namespace {

using nlohmann::ordered_json;
using stats::causal::AtLoad;
using stats::causal::Loads;

Result<Profiled> read_all(const std::vector<std::string>& paths) {
  Profile profile;
  for (const std::string& path : paths) {
    const auto input = Input::open(path);
    if (!input) return std::unexpected(input.error());
    if (auto read = stats::causal::read_coz(input->text(), profile); !read)
      return fail(fmt::format("{}: {}", one_line(path, 500), read.error().message));
  }
  return Profiled{.profile = std::move(profile)};
}

std::string dumped(const ordered_json& object) {
  return json_text(object, 2) + "\n";
}

Result<std::string> words_of(const CausalOptions& options, const Profile& profile) {
  const auto made = stats::causal::analyse(profile, {.alpha = options.alpha, .seed = options.seed});
  if (!made) return std::unexpected(made.error());
  if (!options.json) return report::causal_text(profile, *made, options.alpha);
  return dumped(report::causal_json(profile, *made, options.alpha));
}

// One JSON object for all loads: their totals, and each load's points with the load.
ordered_json all_of(const Profile& profile, const Loads& loads, double alpha) {
  stats::causal::Analysis all{.is_end_to_end = true};
  std::vector<std::size_t> load_of;  // parallel to all.points
  for (const AtLoad& at : loads.loads) {
    const stats::causal::Analysis& one = at.analysis;
    all.runs += one.runs;
    all.experiments += one.experiments;
    all.hours += one.hours;
    all.runs_are_clusters = all.runs_are_clusters && one.runs_are_clusters;
    all.is_end_to_end = all.is_end_to_end && one.is_end_to_end;
    all.is_phase_known = all.is_phase_known && one.is_phase_known;
    all.points.insert(all.points.end(), one.points.begin(), one.points.end());
    load_of.resize(all.points.size(), at.load);
  }
  ordered_json made = report::causal_json(profile, all, alpha);
  for (std::size_t i = 0; i < load_of.size(); ++i)
    made["points"][i]["load"] = report::asked_json(profile.loads[load_of[i]]);
  made.update(report::loads_json(profile, loads));
  return made;
}

Result<std::string> load_words(const CausalOptions& options, const Profile& profile) {
  const auto made =
      stats::causal::analyse_loads(profile, {.alpha = options.alpha, .seed = options.seed});
  if (!made) return std::unexpected(made.error());
  if (options.json) return dumped(all_of(profile, *made, options.alpha));
  std::string text = report::loads_text(profile, *made);
  for (const AtLoad& at : made->loads)
    text += fmt::format("\nAt a load of {}\n\n{}", report::load_name(profile.loads[at.load]),
                        report::causal_text(profile, at.analysis, options.alpha));
  return text;
}

Result<int> show(const CausalOptions& options, const Profile& profile) {
  const auto text =
      profile.loads.empty() ? words_of(options, profile) : load_words(options, profile);
  if (!text) return std::unexpected(text.error());
  if (auto written = write_output(*text, options.output, Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace

Result<double> read_speedup(std::string_view text) {
  double percent = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc{} || std::string_view(at, end) != "%" || !(percent > 0) || percent > 100)
    return wrong_call(
        fmt::format("--speedup needs a share of the line's time, for example 25%, not '{}'",
                    one_line(text, 60)));
  return percent;
}

Result<int> show_causal(const CausalOptions& options) {
  if (options.read.empty() == options.command.empty())
    return fail(
        "give either --read FILE or, after --, a program to run; 'stabctl causal --help' has "
        "examples");
  auto made = options.read.empty() ? profile_program(options) : read_all(options.read);
  if (!made) return std::unexpected(made.error());
  // The file is written first, so that the user can look at a profile that can't be analysed.
  if (!options.coz.empty()) {
    const std::string text = stats::causal::as_coz(made->profile);
    if (auto written = write_output(text, options.coz, Colours::none); !written)
      return std::unexpected(written.error());
  }
  const auto shown = show(options, made->profile);
  if (made->interrupted == 0) return shown;
  if (!shown) tell("stabctl: " + shown.error().message);
  return exit_interrupted + made->interrupted;
}

}  // namespace stab::client::causal
