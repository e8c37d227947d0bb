// SPDX-License-Identifier: MIT
#include "plan/reading/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "base/base64.h"
#include "base/fd.h"
#include "base/text.h"
#include "design/expand.h"
#include "machine/processes.h"
#include "machine/quiet/quiet.h"
#include "protocol/lines.h"
#include "protocol/messages.h"
#include "protocol/reading.h"
#include "results/run_request.h"
#include "revisions/of_plan.h"
#include "stabd/archive.h"
#include "stabd/reader/answers.h"
#include "stabd/reader/bounds.h"
#include "stabd/reader/reader.h"
#include "toml/value.h"

namespace stab::reader {
namespace {

using protocol::Reading;
using protocol::ReadRequest;

constexpr std::size_t at_once = std::size_t{3} << 16;

Result<void> write_text(const std::string& path, AnswerFile& answer) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot read the archive");
  for (;;) {
    const auto piece = read_piece(file, at_once);
    if (!piece) return std::unexpected(piece.error());
    if (piece->empty()) return {};
    if (auto added = answer.add(to_base64(*piece)); !added) return added;
  }
}

}  // namespace

bool is_of_archive(Reading reading) {
  return reading == Reading::archive || reading == Reading::import;
}

Result<void> answer_of_archive(const ReadRequest& request, AnswerFile& file) {
  if (request.reading == Reading::import) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(request.file, error);
    if (error) return fail("cannot read the archive: " + error.message());
    keep_within(bounds_for(bytes));
    auto taken = archive::take_apart(request.file,
                                     {.uid = request.uid,
                                      .gid = request.gid,
                                      .believed = request.believed,
                                      .name = request.name},
                                     request.parts);
    return taken ? file.add(protocol::encode(protocol::FindingsReply())) : taken;
  }
  if (request.experiments.empty()) return fail("the request names no experiment");
  auto made = archive::write(request.database, request.experiments.front().id, request.file);
  if (!made) return made;
  return file.add_around(protocol::encode(protocol::ExportReply()),
                         [&] { return write_text(request.file, file); });
}

// Reads a submitted plan in a process that can do nothing but compute.

namespace {

using protocol::SubmitRequest;

Result<protocol::PlanReply> checked(const SubmitRequest& submitted, const ReadRequest& user) {
  if (!submitted.directory.starts_with('/'))
    return fail("the plan's directory must be an absolute path");
  if (submitted.priority > 0 && !user.goes_first)
    return fail("only root and stabd's own user may give a priority above 0");
  const auto plan = plan::read_plan(submitted.plan);
  if (!plan) return fail(plan::describe(plan.error(), one_line(submitted.file, 500)));
  if (const std::string what = revisions::unresolved(*plan); !what.empty())
    return fail(
        fmt::format("{} has not been resolved to a commit: submit the plan with stabctl, which "
                    "adds the commits in a table [revisions]",
                    what));
  if (auto fits = results::fits_a_turn(*plan, user.turn); !fits)
    return std::unexpected(fits.error());
  if (plan->privileges && user.uid != 0)
    return fail("'experiment.privileges' is only for plans that root submits: leave it out");
  // While such an experiment waits for Slurm, nobody else's runs.
  if (plan->machines && !user.goes_first)
    return fail(
        "only root and stabd's own user may run experiments on a cluster: leave [machines] out, or "
        "start a stabd of your own ('stabd --state FOLDER --socket FILE') and submit the plan "
        "there");
  const auto knobs = machine::choose_knobs(plan->knobs);
  if (!knobs) return std::unexpected(knobs.error());
  const std::string& forbidden =
      machine::moves_processes(*knobs) ? user.may_not_move : user.may_not_quiesce;
  if (plan->quiesce == plan::Quiesce::strict && !forbidden.empty())
    return fail(forbidden +
                ": use machine.quiesce = \"best-effort\" or \"off\", or ask the person who runs "
                "stabd");
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
    return fail(fmt::format("a request that does not submit a plan may be at most {} long",
                            format_bytes(protocol::most_decoded)));
  const auto reply = checked(*submitted, request);
  if (!reply) return std::unexpected(reply.error());
  if (auto added = file.add(protocol::encode(*reply) + "\n"); !added) return added;
  return file.add(submitted->plan);
}

namespace {

constexpr int request_fd = 3;

// Lets everything else run first. If that is not possible, the reader only takes more time from
// others. While the running experiment waits for an answer, no trial runs, so such requests do not
// give way.
void give_way(protocol::Reading reading) {
  if (reading == protocol::Reading::look || reading == protocol::Reading::finish) return;
  // A user who submits a plan waits for the answer, even if trials leave no CPU idle.
  if (reading == protocol::Reading::plan) {
    static_cast<void>(setpriority(PRIO_PROCESS, 0, 10));
    return;
  }
  machine::be_the_first_to_go();
  const sched_param none{};
  static_cast<void>(sched_setscheduler(0, SCHED_IDLE, &none));
  static_cast<void>(setpriority(PRIO_PROCESS, 0, 19));
}

Result<void> refuse(AnswerFile& file, const std::string& why) {
  if (auto begun = file.begin(); !begun) return begun;
  if (auto added = file.add(protocol::encode_refusal(why)); !added) return added;
  return file.end();
}

// `line` is a client's line, which the daemon has not looked at.
Result<void> answer_request(const protocol::ReadRequest& request, std::string_view line,
                            AnswerFile& file) {
  give_way(request.reading);
  if (request.protocol != protocol::version) return fail(protocol::reader_mismatch());
  if (request.reading == protocol::Reading::plan) {
    keep_within(bounds_for(line.size()));
    if (auto alone = only_compute(request.uid, request.gid); !alone) return alone;
    if (auto begun = file.begin(); !begun) return begun;
    return answer_of_plan(request, line, file);
  }
  if (is_of_archive(request.reading)) {
    if (auto begun = file.begin(); !begun) return begun;
    return answer_of_archive(request, file);
  }
  auto reader = store::Reader::open(request.database);
  if (!reader) return fail(reader.error().message);
  if (auto begun = file.begin(); !begun) return begun;
  return answer(**reader, request, file);
}

}  // namespace

Result<void> answer_in(int descriptor) {
  AnswerFile file(descriptor);
  const auto text = file.request();
  if (!text) return std::unexpected(text.error());
  const std::string_view all(*text);
  const std::size_t end = std::min(all.find('\n'), all.size());
  const std::string_view rest = all.substr(std::min(end + 1, all.size()));
  const auto request = protocol::decode<protocol::ReadRequest>(all.substr(0, end));
  if (!request) return refuse(file, request.error().message);
  try {
    const auto answered = answer_request(*request, rest, file);
    // The part that was written before an error is not an answer, so a refusal replaces it.
    return answered ? file.end() : refuse(file, answered.error().message);
  } catch (const std::exception& error) {
    return refuse(file, fmt::format("stabd cannot answer this: {}", one_line(error.what(), 200)));
  }
}

int serve() {
  return answer_in(request_fd) ? 0 : 1;
}

}  // namespace stab::reader
