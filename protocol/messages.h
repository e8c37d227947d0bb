// SPDX-License-Identifier: MIT
// The requests of clients and the daemon's answers. doc/protocol.md describes the fields. A client
// sends hello first. Then each request line gets one answer line; `watch` also gets progress lines.
#pragma once

#include <boost/describe.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "plan/reading/read_plan.h"
#include "protocol/field.h"
#include "protocol/run.h"
#include "store/records.h"

namespace stab::protocol {

// An experiment's row as clients see it.
struct Summary {
  std::int64_t id = 0;
  std::string name{};
  std::string state{};
  std::string reason{};
  std::string directory{};
  std::uint32_t uid = 0;
  std::uint64_t trials = 0;
  std::int64_t submitted_ns = 0;
  std::optional<std::int64_t> started_ns{};
  std::optional<std::int64_t> ended_ns{};
  std::optional<std::int64_t> duration_ns{};  // by the monotonic clock
  std::int64_t priority = 0;
  std::optional<std::uint32_t> held_by{};  // the user who paused it
  std::optional<std::uint64_t> place{};    // in the queue: 1 is next
  std::optional<std::uint64_t> bytes{};    // in lists: roughly the size of its stored data
  // The cause that ended its trials before the last planned one.
  std::optional<store::StopCause> stopped_by{};
  std::string trial_cpus{};  // "2-3": where its first trials ran; "" before it starts
};
BOOST_DESCRIBE_STRUCT(Summary, (),
                      (id, name, state, reason, directory, uid, trials, submitted_ns, started_ns,
                       ended_ns, duration_ns, priority, held_by, place, bytes, stopped_by,
                       trial_cpus))

// A comparison at the last look of the plan's stopping rule. The interval holds at all looks and
// for all comparisons together.
struct Change {
  std::string benchmark{};
  std::string baseline{};
  std::string level{};
  std::optional<double> ratio{};  // response at `level` / response at `baseline`
  std::optional<double> low{};
  std::optional<double> high{};
  std::string verdict{};  // "faster", "slower", "same" or "unsure"
  bool control = false;   // the level is a copy of the baseline
  // The blocks that are needed to find a change as large as the plan's margin, estimated.
  std::optional<std::uint64_t> needed{};
};
BOOST_DESCRIBE_STRUCT(Change, (),
                      (benchmark, baseline, level, ratio, low, high, verdict, control, needed))
template <>
inline constexpr Field field<&Change::needed>{.may_lack = true};
// A message has only the first changes.
inline constexpr std::size_t most_changes = 100;

// Optional fields are absent if no session runs the experiment.
struct Progress {
  static constexpr Tag tag{.key = "kind", .value = "progress"};
  std::int64_t id = 0;
  std::string state{};
  std::string reason{};
  bool final = false;  // this is the last line
  std::optional<std::uint64_t> total{};
  std::optional<std::uint64_t> done{};
  std::optional<std::uint64_t> ok{};
  std::optional<std::uint64_t> failed{};
  std::optional<std::uint64_t> skipped{};
  std::optional<std::uint64_t> disturbed{};
  std::optional<std::uint64_t> builds{};
  std::optional<std::uint64_t> builds_done{};
  std::optional<std::uint64_t> builds_cached{};  // builds that were in the cache
  std::optional<std::string> activity{};         // "sort O2, block 3"
  // The fewest trials that will run: fewer than `total` if the experiment may stop early.
  std::optional<std::uint64_t> fewest{};
  std::optional<std::string> look{};      // the stopping rule's last look, in words
  std::optional<std::int64_t> left_ns{};  // an estimate
  std::vector<Change> changes{};          // the comparisons of that look
};
BOOST_DESCRIBE_STRUCT(Progress, (),
                      (id, state, reason, final, total, done, ok, failed, skipped, disturbed,
                       builds, builds_done, builds_cached, activity, fewest, look, left_ns,
                       changes))

template <>
inline constexpr Field field<&Progress::total>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::done>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::ok>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::failed>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::skipped>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::disturbed>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::builds>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::builds_done>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::builds_cached>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::activity>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::fewest>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::look>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::left_ns>{.may_lack = true};
template <>
inline constexpr Field field<&Progress::changes>{.most = most_changes, .may_lack = true};

// The requests for reports, and the requests that export an experiment from a database or import
// one.

// The largest report or export, in bytes.
inline constexpr std::uint64_t most_answer = std::uint64_t{2} << 30;

// A report's text, and the findings that decide the exit code.
struct ReportReply {
  static constexpr Tag tag = ok;
  std::string text{};
  bool complete = false;     // the experiment did not fail and was not cancelled
  std::uint64_t failed = 0;  // failed trials
  bool regressed = false;
  bool unsure = true;
};
BOOST_DESCRIBE_STRUCT(ReportReply, (), (text, complete, failed, regressed, unsure))
template <>
inline constexpr Field field<&ReportReply::text>{.most = most_answer};

struct ReportRequest {
  using Reply = ReportReply;
  static constexpr Tag tag{.key = "verb", .value = "report"};
  std::int64_t id = 0;
  std::string format = "text";  // or "json"
  bool colour = false;
  bool full = false;  // text: all tables
  // The response and its direction, as in results::Asked.
  std::string response{};
  std::string better{};
  std::optional<std::uint32_t> width{};  // text: columns of the reader's terminal
};
BOOST_DESCRIBE_STRUCT(ReportRequest, (), (id, format, colour, full, response, better, width))
template <>
inline constexpr Field field<&ReportRequest::id>{.least = 1};
template <>
inline constexpr Field field<&ReportRequest::format>{.most = 20, .may_lack = true};
template <>
inline constexpr Field field<&ReportRequest::colour>{.may_lack = true};
template <>
inline constexpr Field field<&ReportRequest::full>{.may_lack = true};
template <>
inline constexpr Field field<&ReportRequest::response>{.most = 200, .may_lack = true};
template <>
inline constexpr Field field<&ReportRequest::better>{.most = 20, .may_lack = true};
template <>
inline constexpr Field field<&ReportRequest::width>{.may_lack = true};

struct CompareRequest {
  using Reply = ReportReply;
  static constexpr Tag tag{.key = "verb", .value = "compare"};
  std::vector<std::int64_t> ids{};
  std::string format = "text";
  bool colour = false;
  bool full = false;
  std::string response{};
  std::string better{};
  std::optional<std::uint32_t> width{};
};
BOOST_DESCRIBE_STRUCT(CompareRequest, (), (ids, format, colour, full, response, better, width))
template <>
inline constexpr Field field<&CompareRequest::ids>{.most = 2};
template <>
inline constexpr Field field<&CompareRequest::format>{.most = 20, .may_lack = true};
template <>
inline constexpr Field field<&CompareRequest::colour>{.may_lack = true};
template <>
inline constexpr Field field<&CompareRequest::full>{.may_lack = true};
template <>
inline constexpr Field field<&CompareRequest::response>{.most = 200, .may_lack = true};
template <>
inline constexpr Field field<&CompareRequest::better>{.most = 20, .may_lack = true};
template <>
inline constexpr Field field<&CompareRequest::width>{.may_lack = true};

struct ResultsReply;

// Requests the results of an experiment as values: the document of its report (document.h).
struct ResultsRequest {
  using Reply = ResultsReply;
  static constexpr Tag tag{.key = "verb", .value = "results"};
  std::int64_t id = 0;
  // The field of results::Asked with this name.
  std::string response{};
  std::string better{};
  bool machines_as_one = false;
};
BOOST_DESCRIBE_STRUCT(ResultsRequest, (), (id, response, better, machines_as_one))
template <>
inline constexpr Field field<&ResultsRequest::id>{.least = 1};
template <>
inline constexpr Field field<&ResultsRequest::response>{.most = 200, .may_lack = true};
template <>
inline constexpr Field field<&ResultsRequest::better>{.most = 20, .may_lack = true};
template <>
inline constexpr Field field<&ResultsRequest::machines_as_one>{.may_lack = true};

struct ExportReply {
  static constexpr Tag tag = ok;
  std::string text{};
};
BOOST_DESCRIBE_STRUCT(ExportReply, (), (text))
template <>
inline constexpr Field field<&ExportReply::text>{.most = most_answer};

struct ExportRequest {
  using Reply = ExportReply;
  static constexpr Tag tag{.key = "verb", .value = "export"};
  std::int64_t id = 0;
  // "csv", "json", "samples", "samples-json", "hyperfine", "benchstat", "coz" or "archive" (as
  // base64).
  std::string format = "csv";
  std::string cell{};  // for "coz": only this cell
};
BOOST_DESCRIBE_STRUCT(ExportRequest, (), (id, format, cell))
template <>
inline constexpr Field field<&ExportRequest::id>{.least = 1};
template <>
inline constexpr Field field<&ExportRequest::format>{.most = 20, .may_lack = true};
template <>
inline constexpr Field field<&ExportRequest::cell>{.most = 4096, .may_lack = true};

struct ImportReply {
  static constexpr Tag tag = ok;
  std::int64_t id = 0;  // 0 until the last piece
};
BOOST_DESCRIBE_STRUCT(ImportReply, (), (id))

// The next piece of an archive. The client may send other requests between two pieces.
struct ImportRequest {
  using Reply = ImportReply;
  static constexpr Tag tag{.key = "verb", .value = "import"};
  std::string piece{};  // base64
  bool last = false;    // after it, the archive is verified and becomes the user's experiment
  std::string file = "a client's";  // its name, for messages
};
BOOST_DESCRIBE_STRUCT(ImportRequest, (), (piece, last, file))
// A request with a piece of this size is not longer than most_decoded.
inline constexpr std::size_t bytes_of_piece = std::size_t{42} << 10;
template <>
inline constexpr Field field<&ImportRequest::piece>{.most = bytes_of_piece / 3 * 4};
template <>
inline constexpr Field field<&ImportRequest::file>{.most = 4096, .may_lack = true};

}  // namespace stab::protocol

namespace stab::store {

// The parts of a calibration that are copied to another database.
BOOST_DESCRIBE_STRUCT(Calibration, (),
                      (name, at_ns, scope, benchmark, response, alpha, blocks, benchmarks,
                       comparisons, significant, margin, margin_low, margin_high))
BOOST_DESCRIBE_STRUCT(Event, (), (at_ns, kind, text))

}  // namespace stab::store

namespace stab::protocol {

// The version of both conversations. It rises with every change of a message.
inline constexpr std::uint32_t version = 20;

struct Refusal {
  std::string error{};
  std::uint32_t protocol = 0;  // the daemon's version; 0 if the daemon is too old to send it
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (error, protocol))
template <>
inline constexpr Field field<&Refusal::protocol>{.may_lack = true};

struct HelloReply {
  static constexpr Tag tag = ok;
  std::uint32_t protocol = 0;
  std::string version{};
};
BOOST_DESCRIBE_STRUCT(HelloReply, (), (protocol, version))

struct HelloRequest {
  using Reply = HelloReply;
  static constexpr Tag tag{.key = "verb", .value = "hello"};
  std::uint32_t protocol = 0;
  std::string version{};  // stabctl's version
};
BOOST_DESCRIBE_STRUCT(HelloRequest, (), (protocol, version))
template <>
inline constexpr Field field<&HelloRequest::version>{.most = 100, .may_lack = true};

struct VersionReply {
  static constexpr Tag tag = ok;
  std::string version{};
  std::int32_t pid = 0;
  std::string state{};  // the state directory
  // The turns of the daemon's loop: their own CPU time, and the time they waited other than for
  // events. 999 of 1000 turns take at most the first time of each pair; the second time is the
  // longest.
  std::uint64_t loop_turns = 0;
  std::chrono::nanoseconds loop_computes{0};
  std::chrono::nanoseconds loop_computes_longest{0};
  std::chrono::nanoseconds loop_waits{0};
  std::chrono::nanoseconds loop_waits_longest{0};
};
BOOST_DESCRIBE_STRUCT(VersionReply, (),
                      (version, pid, state, loop_turns, loop_computes, loop_computes_longest,
                       loop_waits, loop_waits_longest))
template <>
inline constexpr Field field<&VersionReply::loop_computes>{.name = "loop_computes_ns"};
template <>
inline constexpr Field field<&VersionReply::loop_computes_longest>{.name =
                                                                       "loop_computes_longest_ns"};
template <>
inline constexpr Field field<&VersionReply::loop_waits>{.name = "loop_waits_ns"};
template <>
inline constexpr Field field<&VersionReply::loop_waits_longest>{.name = "loop_waits_longest_ns"};

struct VersionRequest {
  using Reply = VersionReply;
  static constexpr Tag tag{.key = "verb", .value = "version"};
};
BOOST_DESCRIBE_STRUCT(VersionRequest, (), ())

struct SubmitReply {
  static constexpr Tag tag = ok;
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(SubmitReply, (), (id))

struct SubmitRequest {
  using Reply = SubmitReply;
  static constexpr Tag tag{.key = "verb", .value = "submit"};
  std::string plan{};         // the plan's text
  std::string directory{};    // absolute
  std::string file = "plan";  // for messages
  // A higher priority goes first; only root and the daemon's user may use more than 0.
  std::int64_t priority = 0;
  // The branch and commit that are checked out in the directory's git repository; "": nothing, or
  // the directory is not in a repository.
  std::string branch{};
  std::string commit{};
};
BOOST_DESCRIBE_STRUCT(SubmitRequest, (), (plan, directory, file, priority, branch, commit))
template <>
inline constexpr Field field<&SubmitRequest::plan>{.most = plan::max_plan_bytes};
template <>
inline constexpr Field field<&SubmitRequest::directory>{.most = 4096};
template <>
inline constexpr Field field<&SubmitRequest::file>{.most = 4096, .may_lack = true};
template <>
inline constexpr Field field<&SubmitRequest::priority>{
    .least = -100, .most = 100, .may_lack = true};
template <>
inline constexpr Field field<&SubmitRequest::branch>{.most = 1000, .may_lack = true};
template <>
inline constexpr Field field<&SubmitRequest::commit>{.most = 64, .may_lack = true};

struct ListReply {
  static constexpr Tag tag = ok;
  std::vector<Summary> experiments{};
  bool queue_paused = false;
};
BOOST_DESCRIBE_STRUCT(ListReply, (), (experiments, queue_paused))
template <>
inline constexpr Field field<&ListReply::experiments>{.most = 1'000'000};

struct ListRequest {
  using Reply = ListReply;
  static constexpr Tag tag{.key = "verb", .value = "list"};
};
BOOST_DESCRIBE_STRUCT(ListRequest, (), ())

struct StatusReply {
  static constexpr Tag tag = ok;
  Summary experiment{};
  std::string plan{};  // the plan's text
  Progress progress{};
  std::vector<store::Event> events{};
};
BOOST_DESCRIBE_STRUCT(StatusReply, (), (experiment, plan, progress, events))
template <>
inline constexpr Field field<&StatusReply::events>{.most = 1'000'000};

struct StatusRequest {
  using Reply = StatusReply;
  static constexpr Tag tag{.key = "verb", .value = "status"};
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(StatusRequest, (), (id))
template <>
inline constexpr Field field<&StatusRequest::id>{.least = 1};

struct WatchReply {
  static constexpr Tag tag = ok;
  Summary experiment{};
};
BOOST_DESCRIBE_STRUCT(WatchReply, (), (experiment))

struct WatchRequest {
  using Reply = WatchReply;
  static constexpr Tag tag{.key = "verb", .value = "watch"};
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(WatchRequest, (), (id))
template <>
inline constexpr Field field<&WatchRequest::id>{.least = 1};

struct CancelReply {
  static constexpr Tag tag = ok;
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(CancelReply, (), (id))

struct CancelRequest {
  using Reply = CancelReply;
  static constexpr Tag tag{.key = "verb", .value = "cancel"};
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(CancelRequest, (), (id))
template <>
inline constexpr Field field<&CancelRequest::id>{.least = 1};

struct PauseReply {
  static constexpr Tag tag = ok;
  std::optional<std::int64_t> id{};
};
BOOST_DESCRIBE_STRUCT(PauseReply, (), (id))

// Pauses an experiment. Without `id`, it pauses the whole queue: the running experiment goes on,
// and no other one starts.
struct PauseRequest {
  using Reply = PauseReply;
  static constexpr Tag tag{.key = "verb", .value = "pause"};
  std::optional<std::int64_t> id{};
};
BOOST_DESCRIBE_STRUCT(PauseRequest, (), (id))
template <>
inline constexpr Field field<&PauseRequest::id>{.least = 1, .may_lack = true};

struct ResumeRequest {
  using Reply = PauseReply;
  static constexpr Tag tag{.key = "verb", .value = "resume"};
  std::optional<std::int64_t> id{};
};
BOOST_DESCRIBE_STRUCT(ResumeRequest, (), (id))
template <>
inline constexpr Field field<&ResumeRequest::id>{.least = 1, .may_lack = true};

struct RetryReply {
  static constexpr Tag tag = ok;
  std::int64_t id = 0;
  std::uint64_t trials = 0;  // trials that did not succeed and will be measured again
};
BOOST_DESCRIBE_STRUCT(RetryReply, (), (id, trials))

// Measures an experiment's unsuccessful trials again. The experiment must have ended.
struct RetryRequest {
  using Reply = RetryReply;
  static constexpr Tag tag{.key = "verb", .value = "retry"};
  std::int64_t id = 0;
};
BOOST_DESCRIBE_STRUCT(RetryRequest, (), (id))
template <>
inline constexpr Field field<&RetryRequest::id>{.least = 1};

struct RemoveReply {
  static constexpr Tag tag = ok;
  std::int64_t id = 0;
  std::string name{};
  std::uint64_t trials = 0;  // stored attempts
  std::uint64_t builds = 0;
  std::uint64_t events = 0;
};
BOOST_DESCRIBE_STRUCT(RemoveReply, (), (id, name, trials, builds, events))

// Removes an experiment that has ended, with all its data.
struct RemoveRequest {
  using Reply = RemoveReply;
  static constexpr Tag tag{.key = "verb", .value = "remove"};
  std::int64_t id = 0;
  bool dry = false;  // only say what would be removed
};
BOOST_DESCRIBE_STRUCT(RemoveRequest, (), (id, dry))
template <>
inline constexpr Field field<&RemoveRequest::id>{.least = 1};
template <>
inline constexpr Field field<&RemoveRequest::dry>{.may_lack = true};

// An event, or the output of a build or a trial.
struct LogEntry {
  std::int64_t at_ns = 0;                   // a trial's end; 0 for a build
  std::string kind{};                       // the event's kind, or "build" or "trial"
  std::string what{};                       // the benchmark; "" for an event
  std::optional<std::uint32_t> position{};  // for a trial
  std::optional<std::uint32_t> attempt{};
  std::string text{};
};
BOOST_DESCRIBE_STRUCT(LogEntry, (), (at_ns, kind, what, position, attempt, text))

// How far a client has read a log: the last ids of rows.
struct LogPlace {
  std::int64_t build = 0;
  std::int64_t trial = 0;
  std::int64_t event = 0;
};
BOOST_DESCRIBE_STRUCT(LogPlace, (), (build, trial, event))

struct LogsReply {
  static constexpr Tag tag = ok;
  std::vector<LogEntry> entries{};
  LogPlace next{};
  bool more = false;  // there are more entries
};
BOOST_DESCRIBE_STRUCT(LogsReply, (), (entries, next, more))

struct LogsRequest {
  using Reply = LogsReply;
  static constexpr Tag tag{.key = "verb", .value = "logs"};
  std::int64_t id = 0;
  LogPlace after{};
};
BOOST_DESCRIBE_STRUCT(LogsRequest, (), (id, after))
template <>
inline constexpr Field field<&LogsRequest::id>{.least = 1};

struct KnownMachine {
  std::string key{};
  std::string host{};
  std::string facts{};                             // JSON
  std::vector<store::Calibration> calibrations{};  // their ids are meaningless
};
BOOST_DESCRIBE_STRUCT(KnownMachine, (), (key, host, facts, calibrations))

struct CalibrationsReply {
  static constexpr Tag tag = ok;
  std::vector<KnownMachine> machines{};
};
BOOST_DESCRIBE_STRUCT(CalibrationsReply, (), (machines))

struct CalibrationsRequest {
  using Reply = CalibrationsReply;
  static constexpr Tag tag{.key = "verb", .value = "calibrations"};
};
BOOST_DESCRIBE_STRUCT(CalibrationsRequest, (), ())

struct LearnReply {
  static constexpr Tag tag = ok;
  std::uint64_t learned = 0;
};
BOOST_DESCRIBE_STRUCT(LearnReply, (), (learned))

struct LearnRequest {
  using Reply = LearnReply;
  static constexpr Tag tag{.key = "verb", .value = "learn"};
  std::vector<KnownMachine> machines{};  // from another database
};
BOOST_DESCRIBE_STRUCT(LearnRequest, (), (machines))

using Request =
    std::variant<HelloRequest, VersionRequest, SubmitRequest, ListRequest, StatusRequest,
                 WatchRequest, CancelRequest, PauseRequest, ResumeRequest, RetryRequest,
                 RemoveRequest, ReportRequest, CompareRequest, ResultsRequest, ExportRequest,
                 ImportRequest, ReplayRequest, ProfileRequest, LogsRequest, CalibrationsRequest,
                 LearnRequest>;

// Encodes a message of either conversation as a line without its newline.
template <class M>
std::string encode(const M& message);
// Returns an error if the line is not such a message. Never throws.
template <class M>
Result<M> decode(std::string_view line);

// Decodes any of the requests.
Result<Request> decode_request(std::string_view line);
// Returns the daemon's text as an error if it refused.
template <class Reply>
Result<Reply> decode_reply(std::string_view line);
std::string encode_refusal(const std::string& error);
// The refusal in this line, or nothing if the line is another answer or no message.
std::optional<Refusal> refusal_in(std::string_view line);

// JSON text of values outside of a conversation, for files and people. codec.h has these functions
// for every described type.
template <class T>
std::string to_text(const T& value, int indent);
template <class T>
Result<T> from_text(std::string_view text, std::size_t values = max_values);

}  // namespace stab::protocol
