// SPDX-License-Identifier: MIT
// What a client asks of the daemon and what the daemon answers. doc/protocol.md has the fields.
// A client greets first; then each request line gets one answer line, and `watch` progress lines.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "plan/reading/reader.h"
#include "stabd/protocol/field.h"
#include "stabd/protocol/run.h"
#include "store/records.h"

namespace stab::store {

// Of a calibration, what is carried from one database to another.
BOOST_DESCRIBE_STRUCT(Calibration, (),
                      (name, at_ns, scope, benchmark, response, alpha, blocks, benchmarks,
                       comparisons, significant, margin, margin_low, margin_high))
BOOST_DESCRIBE_STRUCT(Event, (), (at_ns, kind, text))

}  // namespace stab::store

namespace stab::protocol {

// Of both conversations. It rises with every change of a message.
inline constexpr std::uint32_t version = 6;

inline constexpr Tag ok{.key = "ok", .value = ""};

// Of reports and exports.
inline constexpr std::uint64_t most_answer = std::uint64_t{2} << 30;

struct Refusal {
  std::string error{};
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (error))

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
  std::string version{};  // of stabctl
};
BOOST_DESCRIBE_STRUCT(HelloRequest, (), (protocol, version))
template <>
inline constexpr Field field<&HelloRequest::version>{.most = 100, .may_lack = true};

struct VersionReply {
  static constexpr Tag tag = ok;
  std::string version{};
  std::int32_t pid = 0;
  std::string state{};  // folder
};
BOOST_DESCRIBE_STRUCT(VersionReply, (), (version, pid, state))

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
  std::string plan{};         // its text
  std::string directory{};    // absolute
  std::string file = "plan";  // for messages
  std::int64_t priority = 0;  // more goes first; only root and the daemon's user may raise it
};
BOOST_DESCRIBE_STRUCT(SubmitRequest, (), (plan, directory, file, priority))
template <>
inline constexpr Field field<&SubmitRequest::plan>{.most = plan::max_plan_bytes};
template <>
inline constexpr Field field<&SubmitRequest::directory>{.most = 4096};
template <>
inline constexpr Field field<&SubmitRequest::file>{.most = 4096, .may_lack = true};
template <>
inline constexpr Field field<&SubmitRequest::priority>{
    .least = -100, .most = 100, .may_lack = true};

// What clients see of an experiment's row.
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
  std::optional<std::uint64_t> bytes{};    // in lists: about what is stored of it
};
BOOST_DESCRIBE_STRUCT(Summary, (),
                      (id, name, state, reason, directory, uid, trials, submitted_ns, started_ns,
                       ended_ns, duration_ns, priority, held_by, place, bytes))

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

// What is optional is absent where no session drives the experiment.
// A comparison as the plan's stopping rule saw it last: the interval holds at all of its looks, and
// for all comparisons together.
struct Change {
  std::string benchmark{};
  std::string baseline{};
  std::string level{};
  std::optional<double> ratio{};  // response at `level` / response at `baseline`
  std::optional<double> low{};
  std::optional<double> high{};
  std::string verdict{};  // "faster", "slower", "same" or "unsure"
  bool control = false;   // its level is the baseline once more
};
BOOST_DESCRIBE_STRUCT(Change, (), (benchmark, baseline, level, ratio, low, high, verdict, control))
// The first ones.
inline constexpr std::size_t most_changes = 100;

struct Progress {
  static constexpr Tag tag{.key = "kind", .value = "progress"};
  std::int64_t id = 0;
  std::string state{};
  std::string reason{};
  bool final = false;  // no further line comes
  std::optional<std::uint64_t> total{};
  std::optional<std::uint64_t> done{};
  std::optional<std::uint64_t> ok{};
  std::optional<std::uint64_t> failed{};
  std::optional<std::uint64_t> skipped{};
  std::optional<std::uint64_t> disturbed{};
  std::optional<std::uint64_t> builds{};
  std::optional<std::uint64_t> builds_done{};
  std::optional<std::uint64_t> builds_cached{};  // of these: nothing was built
  std::optional<std::string> activity{};         // "sort O2, block 3"
  std::optional<std::uint64_t> fewest{};         // trials; fewer than all if it may stop early
  std::optional<std::string> look{};             // what the stopping rule saw last
  std::optional<std::int64_t> left_ns{};         // a guess
  std::vector<Change> changes{};                 // that it saw
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

struct StatusReply {
  static constexpr Tag tag = ok;
  Summary experiment{};
  std::string plan{};  // its text
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

// Without an experiment the whole queue: what runs goes on, nothing else begins.
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
  std::uint64_t trials = 0;  // that did not succeed and are measured once more
};
BOOST_DESCRIBE_STRUCT(RetryReply, (), (id, trials))

// Of an experiment that has ended.
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
  std::uint64_t trials = 0;  // attempts that are stored
  std::uint64_t builds = 0;
  std::uint64_t events = 0;
};
BOOST_DESCRIBE_STRUCT(RemoveReply, (), (id, name, trials, builds, events))

// An experiment that has ended, with all that is stored of it.
struct RemoveRequest {
  using Reply = RemoveReply;
  static constexpr Tag tag{.key = "verb", .value = "remove"};
  std::int64_t id = 0;
  bool dry = false;  // only say what would go
};
BOOST_DESCRIBE_STRUCT(RemoveRequest, (), (id, dry))
template <>
inline constexpr Field field<&RemoveRequest::id>{.least = 1};
template <>
inline constexpr Field field<&RemoveRequest::dry>{.may_lack = true};

// A text, and what exit codes are made of.
struct ReportReply {
  static constexpr Tag tag = ok;
  std::string text{};
  bool complete = false;     // the experiment did not fail and was not cancelled
  std::uint64_t failed = 0;  // trials
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
  // As Asked of results/trials.h.
  std::string response{};
  std::string better{};
};
BOOST_DESCRIBE_STRUCT(ReportRequest, (), (id, format, colour, full, response, better))
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

struct CompareRequest {
  using Reply = ReportReply;
  static constexpr Tag tag{.key = "verb", .value = "compare"};
  std::vector<std::int64_t> ids{};
  std::string format = "text";
  bool colour = false;
  bool full = false;
  std::string response{};
  std::string better{};
};
BOOST_DESCRIBE_STRUCT(CompareRequest, (), (ids, format, colour, full, response, better))
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
  // Or "json", "samples", "samples-json", "hyperfine", "benchstat", or "archive": a file as base64.
  std::string format = "csv";
};
BOOST_DESCRIBE_STRUCT(ExportRequest, (), (id, format))
template <>
inline constexpr Field field<&ExportRequest::id>{.least = 1};
template <>
inline constexpr Field field<&ExportRequest::format>{.most = 20, .may_lack = true};

struct ImportReply {
  static constexpr Tag tag = ok;
  std::int64_t id = 0;  // 0 until the last piece
};
BOOST_DESCRIBE_STRUCT(ImportReply, (), (id))

// The next piece of an archive. Other requests may lie between two pieces.
struct ImportRequest {
  using Reply = ImportReply;
  static constexpr Tag tag{.key = "verb", .value = "import"};
  std::string piece{};              // base64
  bool last = false;                // then it is verified and becomes an experiment of the asker's
  std::string file = "a client's";  // its name, for messages
};
BOOST_DESCRIBE_STRUCT(ImportRequest, (), (piece, last, file))
inline constexpr std::size_t bytes_of_piece = std::size_t{192} << 10;
template <>
inline constexpr Field field<&ImportRequest::piece>{.most = bytes_of_piece / 3 * 4};
template <>
inline constexpr Field field<&ImportRequest::file>{.most = 4096, .may_lack = true};

// Something that happened, or that a build or a trial printed.
struct LogEntry {
  std::int64_t at_ns = 0;                   // of a trial: its end; of a build: 0
  std::string kind{};                       // as events have it, or "build" or "trial"
  std::string what{};                       // the benchmark; "" of an event
  std::optional<std::uint32_t> position{};  // of a trial
  std::optional<std::uint32_t> attempt{};
  std::string text{};
};
BOOST_DESCRIBE_STRUCT(LogEntry, (), (at_ns, kind, what, position, attempt, text))

// How far a log has been read: ids of rows.
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
  bool more = false;  // it is not all that there is
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
  std::vector<store::Calibration> calibrations{};  // their ids belong to no database
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
  std::vector<KnownMachine> machines{};  // of another database
};
BOOST_DESCRIBE_STRUCT(LearnRequest, (), (machines))

using Request =
    std::variant<HelloRequest, VersionRequest, SubmitRequest, ListRequest, StatusRequest,
                 WatchRequest, CancelRequest, PauseRequest, ResumeRequest, RetryRequest,
                 RemoveRequest, ReportRequest, CompareRequest, ExportRequest, ImportRequest,
                 ReplayRequest, ProfileRequest, LogsRequest, CalibrationsRequest, LearnRequest>;

// One line. Of a message of any of the two conversations.
template <class M>
std::string encode(const M& message);
// An error if the line is not such a message. Never throws.
template <class M>
Result<M> decode(std::string_view line);

// Any of the requests.
Result<Request> decode_request(std::string_view line);
// A refusal by the daemon is an error with its words.
template <class Reply>
Result<Reply> decode_reply(std::string_view line);
std::string encode_refusal(const std::string& error);

// Values outside of a conversation, for files and people.
template <class T>
std::string to_text(const T& value, int indent);
template <class T>
Result<T> from_text(std::string_view text);

}  // namespace stab::protocol
