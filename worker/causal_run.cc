// SPDX-License-Identifier: MIT
#include "worker/causal_run.h"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <string_view>
#include <utility>

#include "causal/lines/line_map.h"
#include "causal/run/prepare_program.h"
#include "causal/run/run_program.h"
#include "causal/run/session_file.h"
#include "stats/causal/run_text.h"

namespace stab::worker {
namespace {

std::uint64_t ns(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}

Result<causal::Settings> settings_of(const protocol::CausalRequest& request,
                                     const causal::LineMap& map) {
  causal::Settings settings{.seed = request.seed,
                            .sample_ns = ns(request.sample_period),
                            .experiment_ns = ns(request.experiment),
                            .arrival_ns = ns(request.arrival_speedup),
                            .is_end_to_end = request.end_to_end};
  if (request.speedup) settings.fixed_speedup = static_cast<std::int32_t>(*request.speedup);
  if (!request.line.empty()) {
    const auto line = find_line(map, request.line);
    if (!line) return fail("'causal.line': " + line.error().message);
    settings.fixed_line = *line;
  }
  for (const std::string& name : request.progress) {
    const auto line = find_line(map, name);
    if (!line) return fail("'causal.progress': " + line.error().message);
    settings.sampled.push_back(*line);
  }
  return settings;
}

// In a plan, the options of 'stabctl causal' are keys.
std::string in_words_of_plans(std::string text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> names{
      {{"--scope", "'causal.scope'"}, {"--binary", "'causal.binary'"}}};
  for (const auto& [option, key] : names)
    for (std::size_t at = 0; (at = text.find(option, at)) != std::string::npos; at += key.size())
      text.replace(at, option.size(), key);
  return text;
}

std::string why_useless(const causal::Seen& seen, bool is_end_to_end) {
  if (!seen.has_begun)
    return "libstabcausal.so did not start in the program: the program may have removed LD_PRELOAD "
           "from its environment";
  if (seen.visits == 0 && !is_end_to_end)
    return "no progress point was visited: add STAB_PROGRESS(\"name\") from stabilizer.h where a "
           "piece of work is finished, or use 'causal.progress' or 'causal.end_to_end'";
  if (seen.experiments == 0)
    return fmt::format(
        "no performance experiment ended during the run of {} ms, in which {} samples were taken: "
        "give the program more work, or shorten 'causal.experiment'",
        seen.duration_ns / 1'000'000, seen.samples);
  return "";
}

}  // namespace

CausalRun::CausalRun(const protocol::CausalRequest& request, std::string library,
                     std::shared_ptr<const causal::LineMap> map, causal::SessionFile session)
    : library_(std::move(library)),
      map_(std::move(map)),
      session_(std::move(session)),
      is_end_to_end_(request.end_to_end) {}

Result<std::optional<CausalRun>> CausalRun::prepare(
    const std::optional<protocol::CausalRequest>& wanted, causal::Programs* programs,
    const machine::Launch& launch) {
  if (!wanted) return std::nullopt;
  const protocol::CausalRequest& request = *wanted;
  assert(programs != nullptr);
  auto program = programs->prepare({.word = launch.argv.front(),
                                    .scope = request.scope,
                                    .binaries = request.binaries,
                                    .directory = launch.directory,
                                    .environment = launch.environment,
                                    .below = request.tree.empty() ? launch.directory : request.tree,
                                    .tree = request.tree});
  if (!program) return fail(in_words_of_plans(program.error().message));
  const auto settings = settings_of(request, *program->map);
  if (!settings) return std::unexpected(settings.error());
  auto session = causal::SessionFile::make(*program->map, *settings);
  if (!session) return std::unexpected(session.error());
  return CausalRun(request, programs->library(), std::move(program->map), *std::move(session));
}

void CausalRun::wrap(machine::Launch& launch) const {
  launch.environment = causal::profiled(launch.environment, library_, session_);
}

std::string CausalRun::take(const machine::Ended& ended, protocol::RunReply& reply) const {
  stats::causal::Profile profile;
  const causal::Seen seen = add_run(session_.layout(), map_->lines, is_end_to_end_,
                                    session_.bytes(), ns(ended.wall), profile);
  if (std::string why = why_useless(seen, is_end_to_end_); !why.empty()) return why;
  std::string text = stats::causal::run_text(profile);
  if (text.size() > store::most_causal_bytes)
    return fmt::format(
        "the results of the trial's {} performance experiments need {} bytes, but stabd stores at "
        "most {}: increase 'causal.experiment'",
        seen.experiments, text.size(), store::most_causal_bytes);
  reply.causal = std::move(text);
  return "";
}

}  // namespace stab::worker
