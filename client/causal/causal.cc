// SPDX-License-Identifier: MIT
#include "client/causal/causal.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "client/exit_code.h"
#include "client/input.h"
#include "client/output.h"
#include "report/json_causal.h"
#include "report/json_loads.h"
#include "report/sections/causal.h"
#include "report/words/loads.h"
#include "stats/causal/analyse.h"
#include "stats/causal/arrival_loads.h"
#include "stats/causal/coz.h"

namespace stab::client::causal {
namespace {

using nlohmann::ordered_json;
using stats::causal::AtLoad;
using stats::causal::Loads;
using stats::causal::Profile;

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
    return fail(fmt::format("--speedup needs a share of the line's time like 25%, not '{}'",
                            one_line(text, 60)));
  return percent;
}

Result<int> show_causal(const CausalOptions& options) {
  if (options.read.empty() == options.command.empty())
    return fail(
        "give either --read FILE or, after --, a program to run; 'stabctl causal --help' has "
        "examples");
  if (!options.read.empty() && !options.load.empty())
    return fail(
        "--load needs a program to run: a file does not contain the load at which it was recorded");
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
