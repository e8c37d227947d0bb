// SPDX-License-Identifier: MIT
#include "plan/measures/google_benchmark.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "base/hash.h"
#include "base/text.h"

namespace stab::plan {
namespace {

using counters::Samples;
using nlohmann::json;

constexpr std::size_t longest_word = 200;
constexpr std::string_view how = "give the program --benchmark_format=json";

// The fields of an item in the list of benchmarks that matter here.
struct Record {
  std::string name{};
  std::string run_name{};
  std::string run_type{};
  std::string time_unit{};
  std::string message{};
  bool failed = false;
  std::optional<double> value{};
  // Two benchmarks may have the same name. These fields distinguish them, and are equal for all
  // repetitions of one benchmark.
  double family = -1;
  double instance = -1;
};

// Google Benchmark prints NaN and Infinity, which JSON does not have, for numbers that are not
// finite. Replaces them with null.
std::string with_null(std::string_view text) {
  std::string json;
  json.reserve(text.size());
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_text && text[i] == '\\' && i + 1 < text.size()) {
      json += text[i++];
    } else if (text[i] == '"') {
      in_text = !in_text;
    } else if (!in_text) {
      const std::size_t sign = text[i] == '-' ? 1 : 0;
      const std::string_view rest = text.substr(i + sign);
      const std::size_t length = rest.starts_with("NaN") ? 3 : rest.starts_with("Infinity") ? 8 : 0;
      if (length > 0) {
        json += "null";
        i += sign + length - 1;
        continue;
      }
    }
    json += text[i];
  }
  return json;
}

// Different names stay different.
std::string shown_name(const std::string& name) {
  const std::string shown = one_line(name, longest_word);
  if (shown == name) return name;
  return one_line(name, longest_word - 12) + "~" + sha256_hex(name).substr(0, 8);
}

std::optional<double> nanoseconds_in(std::string_view unit) {
  if (unit.empty() || unit == "ns") return 1;
  if (unit == "us") return 1e3;
  if (unit == "ms") return 1e6;
  if (unit == "s") return 1e9;
  return std::nullopt;
}

// Receives each piece of the text once. {"benchmarks": [{"name": ...}]} is three levels deep.
class Listing : public nlohmann::json_sax<json> {
 public:
  Listing(const OutputMeasure& measure, std::size_t room)
      : measure_(measure),
        wanted_(*measure.google_benchmark),
        is_time_(is_google_time(wanted_)),
        room_(room) {}

  [[nodiscard]] std::expected<GoogleBenchmarks, std::string> result() && {
    if (!broken_.empty()) return std::unexpected(broken_);
    if (!has_list_) return std::unexpected(fmt::format("no list of benchmarks was found: {}", how));
    if (!samples_.empty())
      return GoogleBenchmarks{.samples = std::move(samples_),
                              .aggregates = aggregates_,
                              .lacking = lacking_,
                              .host = std::move(host_)};
    if (lacking_ > 0)
      return std::unexpected(
          fmt::format("no benchmark has a value named '{}'", one_line(wanted_, longest_word)));
    if (aggregates_ > 0)
      return std::unexpected(
          "the list contains only aggregates: run the program without "
          "--benchmark_report_aggregates_only");
    return std::unexpected("the list contains no benchmark that ran");
  }

  bool null() override { return true; }
  bool boolean(bool truth) override {
    if (is_record() && (key_ == "error_occurred" || key_ == "skipped"))
      record_.failed = record_.failed || truth;
    return true;
  }
  bool number_integer(std::int64_t number) override { return value(static_cast<double>(number)); }
  bool number_unsigned(std::uint64_t number) override { return value(static_cast<double>(number)); }
  bool number_float(double number, const std::string& /*text*/) override { return value(number); }
  bool string(std::string& text) override {
    if (depth_ == 2 && in_context_ && key_ == "host_name") host_ = one_line(text, longest_word);
    if (!is_record()) return true;
    static constexpr std::array<std::pair<std::string_view, std::string Record::*>, 6> fields{
        {{"name", &Record::name},
         {"run_name", &Record::run_name},
         {"run_type", &Record::run_type},
         {"time_unit", &Record::time_unit},
         {"error_message", &Record::message},
         {"skip_message", &Record::message}}};
    for (const auto& [key, to] : fields)
      if (key_ == key) record_.*to = key.ends_with("name") ? text : one_line(text, longest_word);
    return true;
  }
  bool binary(json::binary_t& /*bytes*/) override { return true; }
  bool start_object(std::size_t /*size*/) override {
    ++depth_;
    if (is_record()) record_ = {};
    in_context_ = depth_ == 2 ? key_ == "context" : in_context_;
    key_.clear();
    return true;
  }
  bool end_object() override {
    const bool ends = is_record();
    --depth_;
    return !ends || keep();
  }
  bool start_array(std::size_t /*size*/) override {
    if (depth_ == 1 && key_ == "benchmarks") in_list_ = has_list_ = true;
    ++depth_;
    return true;
  }
  bool end_array() override {
    if (--depth_ == 1) in_list_ = false;
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 1 || (depth_ == 2 && in_context_) || is_record()) key_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    broken_ = fmt::format("invalid JSON at byte {}: {}", position, how);
    return false;
  }

 private:
  [[nodiscard]] bool is_record() const { return in_list_ && depth_ == 3; }

  bool value(double number) {
    if (!is_record()) return true;
    if (key_ == wanted_ && std::isfinite(number)) record_.value = number;
    if (key_ == "family_index") record_.family = number;
    if (key_ == "per_family_instance_index") record_.instance = number;
    return true;
  }

  bool refuse(std::string why) {
    broken_ = std::move(why);
    return false;
  }

  // Returns false if the rest need not be read.
  bool keep() {
    if (record_.run_type == "aggregate") {
      ++aggregates_;
      return true;
    }
    const std::string& name = record_.run_name.empty() ? record_.name : record_.run_name;
    if (name.empty()) return refuse("a benchmark has no name");
    if (record_.failed) {
      Samples& samples = samples_of(name);
      samples.values.clear();
      samples.reason =
          record_.message.empty() ? "the benchmark did not run to its end" : record_.message;
      room_used_ += 6 * samples.reason.size();
      return fits();
    }
    if (!record_.value) {
      ++lacking_;
      return true;
    }
    const auto factor = nanoseconds_in(is_time_ ? record_.time_unit : "");
    if (!factor) return refuse(fmt::format("its time_unit '{}' is unknown", record_.time_unit));
    Samples& samples = samples_of(name);
    if (!samples.reason.empty()) return true;
    const double scaled = *record_.value * *factor;
    if (is_time_ && scaled < 0)
      return refuse(fmt::format("the {} of {} is below 0, which is impossible for a time", wanted_,
                                one_line(name, longest_word)));
    if (!std::isfinite(scaled)) return refuse("the values are too large");
    samples.values.push_back(scaled);
    room_used_ += counters::bytes_of_sample;
    return fits();
  }

  bool fits() {
    return room_used_ <= room_ ||
           refuse(fmt::format(
               "the samples of this trial need more than {}, the most that stabd stores",
               format_bytes(counters::most_sample_bytes)));
  }

  Samples& samples_of(const std::string& name) {
    const auto [place, fresh] =
        places_.try_emplace(std::tuple(name, record_.family, record_.instance), samples_.size());
    if (fresh) {
      const std::string shown = shown_name(name);
      const int same = ++called_[shown];
      samples_.push_back({.measure = measure_.name,
                          .subject = same == 1 ? shown : fmt::format("{}#{}", shown, same),
                          .unit = is_time_ ? "ns" : measure_.unit});
      room_used_ += counters::bytes_of(samples_.back());
    }
    return samples_[place->second];
  }

  const OutputMeasure& measure_;
  std::string wanted_;
  bool is_time_;
  std::size_t room_;
  std::size_t room_used_ = 0;
  std::size_t depth_ = 0;  // number of open values
  bool in_list_ = false;
  bool has_list_ = false;
  bool in_context_ = false;
  std::string key_{};  // the key in an object that matters
  Record record_{};
  std::vector<Samples> samples_{};
  std::map<std::tuple<std::string, double, double>, std::size_t> places_{};
  std::map<std::string, int> called_{};  // number of benchmarks with this name
  std::size_t lacking_ = 0;              // number of benchmarks without the measure's number
  std::size_t aggregates_ = 0;
  std::string host_{};
  std::string broken_{};
};

}  // namespace

std::expected<GoogleBenchmarks, std::string> google_benchmarks(const OutputMeasure& measure,
                                                               std::string_view text,
                                                               std::size_t room) {
  Listing listing(measure, room);
  if (text.contains("NaN") || text.contains("Infinity"))
    json::sax_parse(with_null(text), &listing);
  else
    json::sax_parse(text, &listing);
  return std::move(listing).result();
}

}  // namespace stab::plan
