// SPDX-License-Identifier: MIT
// The requests for reports, and the requests that export an experiment from a database or import
// one.
#pragma once

#include <boost/describe.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/field.h"

namespace stab::protocol {

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
  std::string response{};        // as in results::Asked
  bool machines_as_one = false;  // likewise
};
BOOST_DESCRIBE_STRUCT(ResultsRequest, (), (id, response, machines_as_one))
template <>
inline constexpr Field field<&ResultsRequest::id>{.least = 1};
template <>
inline constexpr Field field<&ResultsRequest::response>{.most = 200, .may_lack = true};
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
