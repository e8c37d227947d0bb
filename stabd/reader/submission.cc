// SPDX-License-Identifier: MIT
// Reads a submitted plan in a process that can do nothing but compute.
#include <fmt/format.h>

#include <variant>

#include "base/text.h"
#include "design/expand.h"
#include "machine/quiet/quiet.h"
#include "plan/reading/reader.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "results/run_request.h"
#include "revisions/of_plan.h"
#include "stabd/reader/answers.h"
#include "toml/problems.h"

namespace stab::reader {
namespace {

using protocol::ReadRequest;
using protocol::SubmitRequest;

Result<protocol::PlanReply> checked(const SubmitRequest& submitted, const ReadRequest& user) {
  if (!submitted.directory.starts_with('/'))
    return fail("the plan's directory must be an absolute path");
  if (submitted.priority > 0 && !user.goes_first)
    return fail("only root and the user of stabd may give a priority above 0");
  const auto plan = plan::read_plan(submitted.plan);
  if (!plan) return fail(toml::describe(plan.error(), one_line(submitted.file, 500)));
  if (const std::string what = revisions::unresolved(*plan); !what.empty())
    return fail(fmt::format(
        "{} is not a commit yet: stabctl submits plans with a table [revisions] of the commits",
        what));
  if (auto fits = results::fits_a_turn(*plan, user.turn); !fits)
    return std::unexpected(fits.error());
  if (plan->privileges && user.uid != 0)
    return fail("'experiment.privileges' is only for plans that root submits: leave it out");
  const auto knobs = machine::choose_knobs(plan->knobs);
  if (!knobs) return std::unexpected(knobs.error());
  const std::string& forbidden =
      machine::moves_processes(*knobs) ? user.may_not_move : user.may_not_quiesce;
  if (plan->quiesce == plan::Quiesce::strict && !forbidden.empty())
    return fail(forbidden +
                ": use machine.quiesce = \"best-effort\" or \"off\", or have that changed");
  return protocol::PlanReply{.name = plan->name,
                             .directory = submitted.directory,
                             .priority = submitted.priority,
                             .branch = submitted.branch,
                             .commit = submitted.commit,
                             .trials = plan::count_trials(*plan),
                             .counters = plan->counters,
                             .rotated = plan->rotated,
                             .profile = plan->profile};
}

}  // namespace

Result<void> answer_of_plan(const ReadRequest& request, std::string_view line, AnswerFile& file) {
  const auto asked = protocol::decode_request(line);
  if (!asked) return std::unexpected(asked.error());
  const auto* submitted = std::get_if<SubmitRequest>(&*asked);
  if (submitted == nullptr)
    return fail(fmt::format("a request that does not submit a plan has at most {}",
                            format_bytes(protocol::most_decoded)));
  const auto reply = checked(*submitted, request);
  if (!reply) return std::unexpected(reply.error());
  if (auto added = file.add(protocol::encode(*reply) + "\n"); !added) return added;
  return file.add(submitted->plan);
}

}  // namespace stab::reader
