// SPDX-License-Identifier: MIT
#include "client/causal/causal.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "client/exit_code.h"
#include "client/input.h"
#include "client/output.h"
#include "report/json_causal.h"
#include "report/json_loads.h"
#include "report/words/causal.h"
#include "report/words/loads.h"
#include "stats/causal/analyse.h"
#include "stats/causal/coz.h"
#include "stats/causal/loads.h"

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
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Result<std::string> words_of(const CausalOptions& options, const Profile& profile) {
  const auto made = stats::causal::analyse(profile, {.alpha = options.alpha, .seed = options.seed});
  if (!made) return std::unexpected(made.error());
  if (!options.json) return report::causal_text(profile, *made, options.alpha);
  return dumped(report::causal_json(profile, *made, options.alpha));
}

// The numbers of all loads together, and the points of each with its load.
ordered_json all_of(const Profile& profile, const Loads& loads, double alpha) {
  ordered_json made;
  for (const AtLoad& at : loads.loads) {
    ordered_json one = report::causal_json(profile, at.analysis, alpha);
    for (ordered_json& point : one["points"])
      point["load"] = report::asked_json(profile.loads[at.load]);
    if (made.is_null()) {
      made = std::move(one);
      continue;
    }
    for (const char* sum : {"runs", "experiments"})
      made[sum] = made[sum].get<std::size_t>() + one[sum].get<std::size_t>();
    made["hours"] = made["hours"].get<double>() + one["hours"].get<double>();
    for (const char* both : {"runs_are_clusters", "end_to_end", "phase_known"})
      made[both] = made[both].get<bool>() && one[both].get<bool>();
    for (ordered_json& point : one["points"]) made["points"].push_back(std::move(point));
  }
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
  // Written first: what cannot be analysed can be looked at.
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
