// SPDX-License-Identifier: MIT
// The daemon's requests to a reader, which answers a single request. The request is in a file, and
// the answer, one line, replaces it there.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/messages.h"
#include "store/records.h"

namespace stab::store {

BOOST_DESCRIBE_STRUCT(Node, (), (name, hardware, trial_cpus))
BOOST_DESCRIBE_STRUCT(Experiment, (),
                      (id, name, plan, directory, uid, gid, state, reason, submitted_ns, started_ns,
                       ended_ns, trials, machine, duration_ns, priority, held_by, stopped_by,
                       trial_cpus, quietness, source_branch, source_commit, nodes, heap_layer))
BOOST_DESCRIBE_STRUCT(Damage, (), (table, row, problem))

}  // namespace stab::store

namespace stab::protocol {

template <>
inline constexpr Field field<&store::Experiment::plan>{.most = plan::max_plan_bytes};

enum class Reading {
  report,   // ReportReply
  compare,  // ReportReply
  results,  // ResultsReply
  rows,     // ExportReply, in `format` (results::write_export)
  replay,   // ReplayReply
  profile,  // ProfileReply
  logs,     // LogsReply
  look,     // LookReply
  archive,  // ExportReply
  import,   // FindingsReply without findings; the parts are in a file of the spool
  finish,   // FindingsReply about one experiment
  verify,   // FindingsReply about the whole database
  // PlanReply. The client's line that submits the plan follows the request, and the plan's text
  // follows the answer.
  plan,
  notice  // NoticeReply. The plan's text follows the request.
};

struct ReadRequest {
  static constexpr Tag tag{.key = "kind", .value = "read"};
  std::uint32_t protocol = version;
  std::string database{};  // the database's path
  Reading reading = Reading::verify;
  std::vector<store::Experiment> experiments{};  // as clients see them, even if their rows differ
  std::string format{};  // "text" or "json"; for rows, a format of results::write_export
  std::string cell{};    // for rows: the cell, as in results::write_export
  bool colour = false;
  bool full = false;
  std::string response{};  // for a report, a comparison or results, as in results::Asked
  std::string better{};
  bool machines_as_one = false;  // for results
  std::optional<std::uint32_t> width{};
  std::uint32_t blocks = 0;  // for a look: how many measured blocks it considers
  // For a replay: the trial, the folder of all builds, and whether trials have a marker.
  std::string cache{};
  std::uint32_t position = 0;
  std::optional<std::uint32_t> attempt{};
  bool marked = false;
  std::optional<ProfileRequest> profile{};  // for a profile
  LogPlace after{};                         // for a log
  // For an archive: its file, the file for its parts (stabd/archive.h), and its user.
  std::string file{};
  std::string parts{};
  std::string name{};  // the file's name in the user's words
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  // For a plan: the rights of the user `uid`, with which a notice's plan is read, too. The texts say why the user may not do something; "":
  // the user may.
  std::chrono::nanoseconds turn{0};  // limits.turn for this user
  bool goes_first = false;           // may give a priority above 0
  std::string may_not_quiesce{};
  std::string may_not_move{};  // processes of other users
};
BOOST_DESCRIBE_STRUCT(ReadRequest, (),
                      (protocol, database, reading, experiments, format, cell, colour, full,
                       response, better, machines_as_one, width, blocks, cache, position, attempt,
                       marked, profile, after, file, parts, name, uid, gid, turn, goes_first,
                       may_not_quiesce, may_not_move))

// The parts of a valid plan that the daemon needs, because it does not read plans itself.
struct PlanReply {
  static constexpr Tag tag = ok;
  std::string name{};
  std::string directory{};
  std::int64_t priority = 0;
  std::string branch{};
  std::string commit{};
  std::uint64_t trials = 0;
  // Only the worker can tell whether the machine has these events.
  std::vector<std::vector<std::string>> counters{};
  std::vector<std::vector<std::string>> rotated{};
  std::string profile{};
};
BOOST_DESCRIBE_STRUCT(PlanReply, (),
                      (name, directory, priority, branch, commit, trials, counters, rotated,
                       profile))

// The plan's notice command (experiment.notify).
struct NoticeReply {
  static constexpr Tag tag = ok;
  std::vector<std::string> command{};
};
BOOST_DESCRIBE_STRUCT(NoticeReply, (), (command))

// The decision of the plan's stopping rule.
struct LookReply {
  static constexpr Tag tag = ok;
  std::string error{};     // "" if the rule was evaluated
  bool temporary = false;  // the error passes with time
  bool stop = false;
  std::string words{};
  std::vector<Change> changes{};
};
BOOST_DESCRIBE_STRUCT(LookReply, (), (error, temporary, stop, words, changes))
template <>
inline constexpr Field field<&LookReply::changes>{.most = most_changes, .may_lack = true};

// A node that is much slower than others with the same hardware (stats/data/slow_machines.h).
struct SlowNode {
  std::string name{};
  double times = 1;
};
BOOST_DESCRIBE_STRUCT(SlowNode, (), (name, times))

struct FindingsReply {
  static constexpr Tag tag = ok;
  std::string error{};
  bool temporary = false;
  std::vector<store::Damage> damage{};             // only the first ones
  std::uint64_t damaged = 0;                       // the number of damaged rows
  std::vector<store::Calibration> calibrations{};  // to be stored; without experiment and machine
  std::vector<SlowNode> slow_nodes{};
  bool has_judged = false;  // whether the rule for slow nodes was applied
};
BOOST_DESCRIBE_STRUCT(FindingsReply, (),
                      (error, temporary, damage, damaged, calibrations, slow_nodes, has_judged))
template <>
inline constexpr Field field<&FindingsReply::slow_nodes>{.most = plan::max_machines};
inline constexpr std::size_t most_damage_shown = 1000;

// The error of a reader that was started by a daemon of another version.
std::string reader_mismatch();

}  // namespace stab::protocol
