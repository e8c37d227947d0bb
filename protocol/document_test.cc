// SPDX-License-Identifier: MIT
// doc/protocol.md has a paragraph for each message, with all of its fields and their bounds.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "protocol/codec.h"
#include "protocol/work.h"

namespace stab::protocol {
namespace {

template <class T>
constexpr std::string_view name_of = "";
template <>
constexpr std::string_view name_of<Summary> = "summary";
template <>
constexpr std::string_view name_of<Progress> = "progress";
template <>
constexpr std::string_view name_of<Change> = "change";
template <>
constexpr std::string_view name_of<store::Event> = "event";
template <>
constexpr std::string_view name_of<LogEntry> = "log entry";
template <>
constexpr std::string_view name_of<LogPlace> = "log place";
template <>
constexpr std::string_view name_of<KnownMachine> = "machine";
template <>
constexpr std::string_view name_of<store::Calibration> = "calibration";
template <>
constexpr std::string_view name_of<RunRequest> = "the work `run`";
template <>
constexpr std::string_view name_of<NextBuild> = "next build";
template <>
constexpr std::string_view name_of<Complete> = "record of a build";
template <>
constexpr std::string_view name_of<plan::Check> = "check";
template <>
constexpr std::string_view name_of<plan::OutputMeasure> = "output measure";
template <>
constexpr std::string_view name_of<plan::DerivedMeasure> = "derived measure";
template <>
constexpr std::string_view name_of<store::Layout> = "layout";
template <>
constexpr std::string_view name_of<CausalRequest> = "causal request";
template <>
constexpr std::string_view name_of<counters::Reading> = "reading";
template <>
constexpr std::string_view name_of<counters::Samples> = "samples";
template <>
constexpr std::string_view name_of<counters::Profile> = "profile";
template <>
constexpr std::string_view name_of<counters::ProfiledFunction> = "profiled function";
template <>
constexpr std::string_view name_of<report::Document> = "document";
template <>
constexpr std::string_view name_of<report::TrialCounts> = "trial counts";
template <>
constexpr std::string_view name_of<report::Stopping> = "stopping";
template <>
constexpr std::string_view name_of<report::Layouts> = "layouts";
template <>
constexpr std::string_view name_of<report::Source> = "source";
template <>
constexpr std::string_view name_of<report::CausalCell> = "causal cell";
template <>
constexpr std::string_view name_of<stats::Analysis> = "analysis";
template <>
constexpr std::string_view name_of<stats::Spec> = "specification";
template <>
constexpr std::string_view name_of<stats::AnovaTable> = "anova table";
template <>
constexpr std::string_view name_of<stats::AnovaRow> = "anova row";
template <>
constexpr std::string_view name_of<stats::CellMean> = "cell mean";
template <>
constexpr std::string_view name_of<stats::Effect> = "effect";
template <>
constexpr std::string_view name_of<stats::VarianceComponents> = "variance components";
template <>
constexpr std::string_view name_of<stats::Interval> = "interval";
template <>
constexpr std::string_view name_of<stats::causal::Profile> = "causal profile";
template <>
constexpr std::string_view name_of<stats::causal::Point> = "progress point";
template <>
constexpr std::string_view name_of<stats::causal::Analysis> = "causal analysis";
template <>
constexpr std::string_view name_of<stats::causal::PointResult> = "point result";
template <>
constexpr std::string_view name_of<stats::causal::Line> = "line";
template <>
constexpr std::string_view name_of<stats::causal::Step> = "step";
template <>
constexpr std::string_view name_of<stats::causal::Gain> = "gain";

// What an element says of its type.
template <class T>
struct Kind {
  static std::string text(const Field& field) {
    if constexpr (std::is_same_v<T, bool>) return "boolean";
    if constexpr (Whole<T> || std::is_same_v<T, std::chrono::nanoseconds>) {
      const bool least = field.least != Field{}.least;
      return least ? fmt::format("integer from {}", field.least) : "integer";
    }
    if constexpr (std::is_same_v<T, double> || std::is_same_v<T, counters::Number>) return "number";
    if constexpr (std::is_same_v<T, store::TrialStatus> ||
                  std::is_same_v<T, store::CalibrationScope> || std::is_same_v<T, store::StopCause>)
      return "word";
    else if constexpr (std::is_enum_v<T>)
      return "integer";
    if constexpr (std::is_same_v<T, plan::Variables>) return "object of texts";
    if constexpr (std::is_same_v<T, std::string>)
      return field.most == 0 ? "text" : fmt::format("text of at most {} bytes", field.most);
    if constexpr (Described<T>) return std::string(name_of<T>);
    return "";
  }
};
template <class T>
struct Kind<std::vector<T>> {
  static std::string text(const Field& field) {
    return field.most == 0 ? fmt::format("list of {}", Kind<T>::text({}))
                           : fmt::format("list of {}, at most {}", Kind<T>::text({}), field.most);
  }
};
template <class T>
struct Kind<std::optional<T>> {
  static std::string text(const Field& field) { return Kind<T>::text(field) + " or null"; }
};

template <class T>
std::string fields_of() {
  std::string text;
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    using Member = std::remove_cvref_t<decltype(std::declval<T>().*member.pointer)>;
    const Field field = field_of(member);
    const std::string kind = Kind<Member>::text(field);
    EXPECT_NE(kind, "") << field.name;
    text += fmt::format("{}`{}` {}{}", text.empty() ? "" : ", ", field.name, kind,
                        field.may_lack ? " (may be absent)" : "");
  });
  return text.empty() ? "nothing" : text;
}

template <class Request>
std::string conversation(std::string_view before) {
  return fmt::format("{}`{}`: {}. Answer: {}.", before, tag<Request>.value, fields_of<Request>(),
                     fields_of<typename Request::Reply>());
}

template <class Request, class Reply>
std::string work() {
  return fmt::format("Work `{}`: {}. Answer: {}.", tag<Request>.value, fields_of<Request>(),
                     fields_of<Reply>());
}

template <class Reply>
std::string line() {
  return fmt::format("Line `{}`: {}.", tag<Reply>.value, fields_of<Reply>());
}

template <class T>
std::string part() {
  return fmt::format("Part {}: {}.", name_of<T>, fields_of<T>());
}

// Paragraphs of a document, each on one line.
std::set<std::string> paragraphs(std::istream& document) {
  std::set<std::string> found;
  std::string line;
  std::string paragraph;
  while (std::getline(document, line)) {
    if (line.empty())
      found.insert(std::exchange(paragraph, ""));
    else
      paragraph += (paragraph.empty() ? "" : " ") + line;
  }
  found.insert(paragraph);
  return found;
}

TEST(Document, HasAParagraphForEachMessage) {
  std::vector<std::string> wanted{fmt::format("This is version {} of the protocol.", version)};
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, Request>>(
      [&](auto id) { wanted.push_back(conversation<typename decltype(id)::type>("Request ")); });
  wanted.push_back(work<SetupRequest, SetupReply>());
  wanted.push_back(work<BuildRequest, BuildReply>());
  wanted.push_back(work<RunRequest, RunReply>());
  wanted.push_back(work<FetchRequest, FetchReply>());
  wanted.push_back(work<KeepRequest, KeepReply>());
  wanted.push_back(line<NodeReply>());
  wanted.push_back(line<LostReply>());
  for (const std::string& each : {part<Summary>(),
                                  part<Progress>(),
                                  part<Change>(),
                                  part<store::Event>(),
                                  part<LogEntry>(),
                                  part<LogPlace>(),
                                  part<NextBuild>(),
                                  part<Complete>(),
                                  part<KnownMachine>(),
                                  part<store::Calibration>(),
                                  part<plan::Check>(),
                                  part<CausalRequest>(),
                                  part<plan::OutputMeasure>(),
                                  part<plan::DerivedMeasure>(),
                                  part<store::Layout>(),
                                  part<counters::Reading>(),
                                  part<counters::Samples>(),
                                  part<counters::Profile>(),
                                  part<counters::ProfiledFunction>(),
                                  part<report::Document>(),
                                  part<report::TrialCounts>(),
                                  part<report::Stopping>(),
                                  part<report::Layouts>(),
                                  part<report::Source>(),
                                  part<report::CausalCell>(),
                                  part<stats::Analysis>(),
                                  part<stats::Spec>(),
                                  part<stats::AnovaTable>(),
                                  part<stats::AnovaRow>(),
                                  part<stats::CellMean>(),
                                  part<stats::Effect>(),
                                  part<stats::VarianceComponents>(),
                                  part<stats::Interval>(),
                                  part<stats::causal::Profile>(),
                                  part<stats::causal::Point>(),
                                  part<stats::causal::Analysis>(),
                                  part<stats::causal::PointResult>(),
                                  part<stats::causal::Line>(),
                                  part<stats::causal::Step>(),
                                  part<stats::causal::Gain>()})
    wanted.push_back(each);
  std::ifstream document(STAB_SOURCE_DIR "/doc/protocol.md");
  const auto there = paragraphs(document);
  for (const std::string& paragraph : wanted) {
    EXPECT_TRUE(there.contains(paragraph)) << "WANTED " << paragraph;
  }
}

}  // namespace
}  // namespace stab::protocol
