// SPDX-License-Identifier: MIT
#include "stabd/client/ab/ab.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/duration.h"
#include "base/fd.h"
#include "base/text.h"
#include "machine/child.h"
#include "machine/environment.h"
#include "machine/processes.h"
#include "stabd/client/ab/conclusion.h"
#include "stabd/client/ab/prepare.h"
#include "stabd/client/ab/versions.h"
#include "stabd/client/output.h"
#include "stabd/client/run/run.h"
#include "stabd/client/stored.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::nanoseconds;

constexpr std::uint64_t fewest_blocks = 5;
constexpr std::uint64_t most_blocks = 5000;
constexpr std::uint64_t bytes_kept = std::uint64_t{16} << 20;

// Once, so that what cannot work is said at once, and how long a trial takes is known.
Result<nanoseconds> try_out(const Comparison& comparison, const Version& version,
                            const std::string& directory, nanoseconds most) {
  auto variables = machine::base_variables(geteuid());
  for (const auto& [name, value] : comparison.env) variables[name] = value;
  machine::Launch launch;
  launch.argv = command_of(comparison, version);
  launch.environment = machine::make_environment(std::move(variables), 0);
  launch.directory = directory;
  launch.timeout = most;
  launch.output_limit = bytes_kept;
  const machine::Ended ended = machine::run(launch);
  if (ended.how == machine::End::exited && ended.exit_code == 0) return ended.wall;
  const std::string why = ended.how == machine::End::exited
                              ? fmt::format("it ended with exit code {}", ended.exit_code)
                              : ended.reason;
  const std::string said = one_line(tail(ended.err, 400), 500);
  return fail(fmt::format("{} cannot be measured: {}{}", version.name, why,
                          said.empty() ? "" : ": " + said));
}

struct Pace {
  nanoseconds round{0};    // of all versions once
  nanoseconds longest{0};  // trial
};

Result<Pace> pace_of(const Comparison& comparison, const std::string& directory,
                     nanoseconds budget) {
  // What stabd itself takes between two trials, about.
  constexpr nanoseconds between = std::chrono::milliseconds(3);
  Pace pace;
  for (const Version& version : comparison.versions) {
    const auto took = try_out(comparison, version, directory, budget);
    if (!took) return std::unexpected(took.error());
    pace.round += *took + between;
    pace.longest = std::max(pace.longest, *took);
    if (comparison.control && &version == &comparison.versions.front())
      pace.round += *took + between;
  }
  return pace;
}

Result<void> fit_into(Comparison& comparison, const Pace& pace, nanoseconds budget) {
  const nanoseconds rest = budget - pace.round;
  const auto blocks = rest.count() <= 0 ? 0 : static_cast<std::uint64_t>(rest / pace.round);
  if (blocks < fewest_blocks)
    return fail(fmt::format(
        "each round takes {}, so the budget of {} is not enough for {} rounds: give it --budget {}",
        format_duration(pace.round), format_duration(budget), fewest_blocks,
        fmt::format(
            "{}s",
            std::chrono::ceil<std::chrono::seconds>((fewest_blocks + 2) * pace.round).count())));
  comparison.blocks = std::min(blocks, most_blocks);
  comparison.timeout = 10 * pace.longest + std::chrono::seconds(10);
  return {};
}

// Versions that print different things may not do the same work.
Result<std::string> note_about_output(const Stored& stored, store::Id id) {
  std::map<std::string, std::set<std::string>> printed;
  const auto read = stored.reader->for_each_trial(id, [&](const store::Trial& trial) {
    const auto version = trial.levels.find("version");
    if (version != trial.levels.end() && trial.status == store::TrialStatus::ok)
      printed[version->second].insert(trial.stdout_sha256);
    return true;
  });
  if (!read) return fail(read.error().message);
  std::set<std::string> all;
  for (const auto& [version, digests] : printed) {
    if (digests.size() != 1) return "";  // it never prints the same
    all.insert(*digests.begin());
  }
  return all.size() > 1 ? "The versions print different things: do they do the same work?" : "";
}

Result<void> save_plan(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  std::error_code error;
  if (fs::exists(path, error)) return fail(fmt::format("--save: there is a file {} already", path));
  if (auto written = write_output(text, path, Colours::none); !written) return written;
  tell("the plan is " + path);
  return {};
}

struct Answered {
  json report;
  std::string text;  // the same for people
  Conclusion conclusion;
  std::string randomized;
  std::string about_output;  // "": nothing
  Ending ending;
};

Result<Answered> answers_of(const Ran& ran, const Comparison& comparison, const Pace& pace,
                            bool full) {
  const auto ask = [&](const char* format) {
    return answer_stored(
        ran.state, protocol::ReportRequest{
                       .id = ran.id, .format = format, .colour = wants_colour(), .full = full});
  };
  const auto data = ask("json");
  if (!data) return std::unexpected(data.error());
  const auto text = ask("text");
  if (!text) return std::unexpected(text.error());
  const auto stored = open_stored(ran.state);
  if (!stored) return std::unexpected(stored.error());
  auto about_output = note_about_output(*stored, ran.id);
  if (!about_output) return std::unexpected(about_output.error());
  Answered result{.report = json::parse(data->text),
                  .text = text->text,
                  .conclusion = {},
                  .randomized = "",
                  .about_output = std::move(*about_output),
                  .ending = ending_of(*data)};
  result.conclusion =
      conclude(result.report, comparison.control ? name_of_control(comparison) : "", pace.round);
  result.randomized = randomized_parts(result.report, comparison.heap);
  result.ending.findings = result.conclusion.findings;
  return result;
}

Result<void> show_json(const Answered& answered, const std::string& state) {
  return write_json(json{
      {"conclusions", answered.conclusion.sentences},
      {"control_differs", answered.conclusion.control_differs},
      {"regressed", answered.conclusion.findings.regressed},
      {"unsure", answered.conclusion.findings.unsure},
      {"randomized", answered.randomized},
      {"same_output", answered.about_output.empty()},
      {"state", state},
      {"report",
       answered.report}}.dump(2, ' ', false, json::error_handler_t::replace));
}

Result<void> show(const Answered& answered, bool markdown) {
  std::string text = markdown ? as_markdown(answered.report, answered.conclusion) : answered.text;
  text += "\n" + answered.randomized + "\n";
  if (!answered.about_output.empty()) text += answered.about_output + "\n";
  if (!markdown) text += "\n" + fmt::format("{}\n", fmt::join(answered.conclusion.sentences, "\n"));
  return write_output(text, "", Colours::ours);
}

}  // namespace

Result<int> ab(const AbOptions& options) {
  const auto budget = parse_duration(options.budget);
  if (!budget || budget->count() <= 0)
    return fail(fmt::format("--budget {}: a duration is needed, as in 5min or 90s",
                            one_line(options.budget, 60)));
  if (auto good = check_options(options); !good) return std::unexpected(good.error());
  std::error_code error;
  const std::string directory = fs::current_path(error).string();
  if (error) return fail("the current folder cannot be read: " + error.message());
  if (auto adopted = machine::adopt_orphans(); !adopted) return std::unexpected(adopted.error());
  // A plan that is kept needs what it measures.
  WorkFolder work(!options.save.empty());
  auto comparison = comparison_of(options, directory, work);
  if (!comparison) return std::unexpected(comparison.error());
  const auto pace = pace_of(*comparison, directory, *budget);
  if (!pace) return std::unexpected(pace.error());
  if (auto fits = fit_into(*comparison, *pace, *budget); !fits)
    return std::unexpected(fits.error());
  tell(fmt::format("each version took its turn in {}: at most {} rounds in {}",
                   format_duration(pace->round), comparison->blocks, format_duration(*budget)));
  const PlanFile plan{
      .path = "the plan of ab", .directory = directory, .text = plan_of(*comparison)};
  if (auto saved = save_plan(options.save, plan.text); !saved)
    return std::unexpected(saved.error());
  RunOptions run;
  run.state_directory = options.state_directory;
  run.again = true;
  const auto ran = run_to_end(plan, run);
  if (!ran) return std::unexpected(ran.error());
  if (ran->signal != 0) {
    tell(fmt::format("stopped; 'stabctl report --state {}' shows what was measured",
                     shell_quote(ran->state)));
    return exit_interrupted + ran->signal;
  }
  const auto answered = answers_of(*ran, *comparison, *pace, options.full);
  if (!answered) return std::unexpected(answered.error());
  if (auto shown =
          options.json ? show_json(*answered, ran->state) : show(*answered, options.markdown);
      !shown)
    return std::unexpected(shown.error());
  tell(fmt::format("the database is {}/stabd.db", ran->state));
  return exit_code(answered->ending, options.fail_on);
}

}  // namespace stab::client
