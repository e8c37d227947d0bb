// SPDX-License-Identifier: MIT
#include "bench/verdicts/through.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/verdicts/told.h"
#include "report/words/answer.h"
#include "stats/analyse/analyse.h"
#include "stats/verdicts/decide.h"

namespace stab::bench {
namespace {

using Json = nlohmann::json;

void write_csv(const stats::Dataset& data, const std::string& path) {
  std::ofstream file(path);
  file << "y";
  for (const stats::Column& column : data.columns) file << ',' << column.name;
  file << '\n';
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    if (std::isfinite(data.response[row])) file << fmt::format("{}", data.response[row]);
    for (const stats::Column& column : data.columns)
      file << ',' << column.levels[column.codes[row]];
    file << '\n';
  }
}

std::string arguments(const Line& line, const stats::Spec& spec) {
  std::string text = fmt::format(" --response y --factors {} --log --equivalence 1% --json",
                                 fmt::join(spec.treatments, ","));
  if (!spec.block.empty()) text += " --block block";
  if (!spec.seed.empty()) text += " --random seed --seeds nested";
  const bool these = line.programs == stats::Programs::these;
  if (spec.machines)
    text += these ? " --machine program --answer these" : " --machine program --answer like-these";
  else if (spec.design == stats::Design::within_subjects)
    text += " --subject program";
  if (!spec.machine_kind.empty()) text += " --machine-kind " + spec.machine_kind;
  if (spec.estimand != stats::Estimand::mean)
    text += fmt::format(" --estimand {}", stats::estimand_name(spec.estimand));
  if (spec.losses == stats::Losses::monotone) text += " --losses monotone";
  if (spec.lost_at_least) text += fmt::format(" --lost-at-least {}", *spec.lost_at_least);
  if (spec.order_drawn) text += " --order-drawn";
  if (spec.error == stats::Error::pooled) text += " --error pooled";
  text += these ? " --programs these" : " --programs like-these";
  return text + " --fail-on none";
}

bool is_close(const Json& theirs, std::optional<double> ours) {
  if (!ours) return theirs.is_null();
  return theirs.is_number() && std::abs(theirs.get<double>() - *ours) < 1e-9 * std::abs(*ours);
}

bool says_the_same(const Json& report, const stats::Analysis& analysis) {
  if (!report.contains("effects") || report["effects"].size() != analysis.effects.size())
    return false;
  for (std::size_t i = 0; i < analysis.effects.size(); ++i) {
    const stats::Effect& effect = analysis.effects[i];
    const Json& theirs = report["effects"][i];
    if (theirs["verdict"] != report::verdict_word(effect.verdict) ||
        !is_close(theirs["ratio"], effect.ratio) || !is_close(theirs["low"], effect.low) ||
        !is_close(theirs["high"], effect.high) || !is_close(theirs["p"], effect.p))
      return false;
  }
  return true;
}

}  // namespace

int compare_through(const std::string& stabctl, const Line& line, const stats::Spec& spec,
                    std::size_t experiments) {
  if (line.each_program) return 0;  // a file's subjects are always a suite
  stats::Spec own = spec;
  own.response = "y";
  if (line.world.programs == 1) own.subject.clear();
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("soundness-{}.csv", getpid())).string();
  int different = 0;
  for (std::uint64_t seed = 1; seed <= experiments; ++seed) {
    const stats::Dataset data = simulate(line.world, 0.01, seed);
    write_csv(data, path);
    const Json report =
        told_by(fmt::format("'{}' analyze {}{}", stabctl, path, arguments(line, own)));
    different += says_the_same(report, stats::analyse(data, own)) ? 0 : 1;
  }
  std::filesystem::remove(path);
  fmt::print("{}: {} of {} experiments differ\n", line.name, different, experiments);
  return different;
}

bool has_command(const Line& line) {
  return !line.stop && !line.history && line.world.kind != Kind::fraction &&
         line.world.kind != Kind::padding;
}

std::optional<std::vector<stats::Effect>> effects_through(const std::string& stabctl,
                                                          const std::string& folder,
                                                          const Line& line, const stats::Spec& spec,
                                                          const stats::Dataset& data) {
  stats::Spec own = spec;
  own.response = "y";
  if (line.world.programs == 1) own.subject.clear();
  if (line.world.programs > 1) own.design = stats::Design::within_subjects;
  const std::string path = folder + "/soundness.csv";
  write_csv(data, path);
  const Json report =
      told_by(fmt::format("'{}' analyze {}{}", stabctl, path, arguments(line, own)));
  if (!report.is_object() || !report.contains("effects")) return std::nullopt;
  const auto number = [](const Json& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
  };
  std::vector<stats::Effect> effects;
  for (const Json& each : report["effects"]) {
    stats::Effect effect{
        .ratio = number(each["ratio"]), .low = number(each["low"]), .high = number(each["high"])};
    if (each["programs"] == "these") effect.scope = stats::Scope::these;
    if (each["programs"] == "like-these") effect.scope = stats::Scope::like_these;
    for (const auto verdict :
         {stats::Verdict::same, stats::Verdict::faster, stats::Verdict::slower})
      if (each["verdict"] == report::verdict_word(verdict)) effect.verdict = verdict;
    effects.push_back(std::move(effect));
  }
  return effects;
}

}  // namespace stab::bench
