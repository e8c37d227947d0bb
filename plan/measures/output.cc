// SPDX-License-Identifier: MIT

#include "plan/measures/output.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <variant>

#include "base/text.h"
#include "plan/measures/formula.h"
#include "plan/measures/google_benchmark.h"

namespace stab::plan {
namespace {

using counters::Number;
using counters::Reading;
using nlohmann::json;
using Found = std::expected<Number, std::string>;

// Returns the index in an array that a part of a pointer names: digits without leading zeros.
std::optional<std::size_t> index_of(std::string_view part) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (part.empty() || error != std::errc() || end != part.data() + part.size()) return std::nullopt;
  return part.size() > 1 && part[0] == '0' ? std::nullopt : std::optional(index);
}

// Receives each piece of the text once. It keeps only the path to the current position, as far as
// it agrees with the pointer.
class Search : public nlohmann::json_sax<json> {
 public:
  explicit Search(const std::vector<std::string>& pointer) : pointer_(pointer) {}

  [[nodiscard]] std::expected<Number, std::string> result() && {
    if (!broken_.empty()) return std::unexpected(broken_);
    if (found_ == 0) return std::unexpected("nothing is there");
    if (found_ > 1) return std::unexpected("the JSON pointer leads to more than one value");
    if (!number_) return std::unexpected(fmt::format("{} is there", what_));
    return *number_;
  }

  bool null() override { return value("null"); }
  bool boolean(bool truth) override { return value(truth ? "true" : "false"); }
  bool number_integer(std::int64_t number) override { return value("", Number(number)); }
  bool number_unsigned(std::uint64_t number) override {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return value("", number <= most ? Number(static_cast<std::int64_t>(number))
                                    : Number(static_cast<double>(number)));
  }
  bool number_float(double /*number*/, const std::string& text) override {
    const auto number = parse_number(text);
    return value(fmt::format("the unusable number {}", one_line(text, 60)), number);
  }
  bool string(std::string& text) override {
    return value(fmt::format("the text '{}'", one_line(text, 60)));
  }
  bool binary(json::binary_t& /*bytes*/) override { return value("binary data"); }
  bool start_object(std::size_t /*size*/) override { return open("an object", false); }
  bool start_array(std::size_t /*size*/) override { return open("an array", true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (is_on_path()) matched_here_ = name == pointer_[depth_ - 1];
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    broken_ = fmt::format("invalid JSON at byte {}", position);
    return false;
  }

 private:
  // Whether the innermost open value is on the way to the wanted value.
  [[nodiscard]] bool is_on_path() const { return depth_ > 0 && depth_ == on_path_; }

  // A value begins. Returns whether the value is on the way.
  bool arrives() {
    if (depth_ == 0) return true;
    if (!is_on_path()) return false;
    if (arrays_[depth_ - 1]) matched_here_ = index_of(pointer_[depth_ - 1]) == items_++;
    return matched_here_;
  }

  bool value(std::string_view what, std::optional<Number> number = std::nullopt) {
    if (arrives() && depth_ == pointer_.size()) found(what, number);
    return true;
  }

  void found(std::string_view what, std::optional<Number> number) {
    ++found_;
    what_ = what;
    number_ = number;
  }

  bool open(std::string_view what, bool array) {
    if (arrives()) {
      if (depth_ == pointer_.size()) {
        found(what, std::nullopt);
      } else {
        on_path_ = depth_ + 1;
        arrays_.push_back(array);
        outer_items_.push_back(items_);
        items_ = 0;
        matched_here_ = false;
      }
    }
    ++depth_;
    return true;
  }

  bool close() {
    --depth_;
    if (depth_ + 1 == on_path_) {
      on_path_ = depth_;
      arrays_.pop_back();
      items_ = outer_items_.back();
      outer_items_.pop_back();
      matched_here_ = false;
    }
    return true;
  }

  const std::vector<std::string>& pointer_;
  std::size_t depth_ = 0;     // number of open values
  std::size_t on_path_ = 0;   // how many of these, from the outermost, lead to the wanted value
  std::vector<bool> arrays_;  // for each value on the way, whether it is an array
  std::vector<std::size_t> outer_items_;  // number of items seen of the values around the innermost
  std::size_t items_ = 0;                 // how many items were seen of the innermost value
  bool matched_here_ = false;             // the next value is the pointer's next part
  std::size_t found_ = 0;
  std::string what_;
  std::optional<Number> number_;
  std::string broken_;
};

}  // namespace

std::optional<std::vector<std::string>> split_pointer(std::string_view pointer) {
  std::vector<std::string> parts;
  if (!pointer.empty() && pointer.front() != '/') return std::nullopt;
  for (std::size_t i = 0; i < pointer.size(); ++i) {
    if (pointer[i] == '/') {
      parts.emplace_back();
    } else if (pointer[i] != '~') {
      parts.back() += pointer[i];
    } else {
      const char which = ++i < pointer.size() ? pointer[i] : '\0';
      if (which != '0' && which != '1') return std::nullopt;
      parts.back() += which == '0' ? '~' : '/';
    }
  }
  return parts;
}

std::expected<Number, std::string> number_at(std::string_view text,
                                             const std::vector<std::string>& pointer) {
  Search search(pointer);
  json::sax_parse(text, &search);
  return std::move(search).result();
}

namespace {

constexpr std::int64_t pattern_memory = std::int64_t{4} << 20;
constexpr int most_instructions = 5000;  // of a pattern that RE2 has compiled
// The search for all matches may take time proportional to the square of the text's length, because
// each search ends somewhere behind its match. So the time is checked between two searches.
using Time = std::chrono::steady_clock::time_point;

// A limit on the product of the sizes of a pattern and its text, so that one search takes no longer
// than a few seconds.
constexpr std::size_t most_steps = std::size_t{1} << 29;
constexpr std::size_t shown_bytes = 60;

std::string quoted(std::string_view text) {
  return fmt::format("'{}'", one_line(text, shown_bytes));
}

// ^ and $ match at the beginning and the end of each line.
RE2 compiled(const std::string& regex) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(pattern_memory);
  return RE2("(?m)" + regex, options);
}

std::string fault_of(const RE2& pattern) {
  if (!pattern.ok()) return pattern.error();
  if (pattern.NumberOfCapturingGroups() < 1)
    return "the pattern has no group: put the number between ( and )";
  if (pattern.ProgramSize() > most_instructions)
    return "the pattern is too large: use fewer or smaller repetitions";
  return "";
}

// Iterates over all matches of a pattern and returns the first group of each.
class Matches {
 public:
  Matches(const RE2& pattern, std::string_view text) : pattern_(pattern), text_(text) {}

  // Returns nothing if there is no further match.
  std::optional<std::string_view> next() {
    if (at_ > text_.size()) return std::nullopt;
    std::array<re2::StringPiece, 2> groups;
    const re2::StringPiece text(text_.data(), text_.size());
    if (!pattern_.Match(text, at_, text_.size(), RE2::UNANCHORED, groups.data(), groups.size()))
      return std::nullopt;
    at_ = static_cast<std::size_t>(groups[0].data() - text_.data()) + groups[0].size();
    if (groups[0].empty()) ++at_;
    return std::string_view(groups[1].data(), groups[1].size());
  }

 private:
  const RE2& pattern_;
  std::string_view text_;
  std::size_t at_ = 0;
};

Found number_of(std::string_view text) {
  if (const auto number = parse_number(text)) return *number;
  return std::unexpected(fmt::format("{} is not a usable number", quoted(text)));
}

Number sum_of(const Number& a, const Number& b) {
  const auto* x = std::get_if<std::int64_t>(&a);
  const auto* y = std::get_if<std::int64_t>(&b);
  std::int64_t whole = 0;
  if (x && y && !__builtin_add_overflow(*x, *y, &whole)) return whole;
  return counters::to_double(a) + counters::to_double(b);
}

Found total(Matches& matches, std::string_view first, Pick pick, Time until) {
  Found sum = pick == Pick::last ? Found(Number(0)) : number_of(first);
  std::string_view last = first;
  std::size_t count = 1;
  while (const auto next = matches.next()) {
    if (++count > max_matches || std::chrono::steady_clock::now() > until)
      return std::unexpected(
          fmt::format("the pattern matches too often, at least {} times", count - 1));
    last = *next;
    if (pick == Pick::last) continue;
    const Found number = number_of(*next);
    if (!number) return number;
    if (sum) sum = sum_of(*sum, *number);
  }
  if (pick == Pick::last) return number_of(last);
  if (sum && pick == Pick::mean) return counters::to_double(*sum) / static_cast<double>(count);
  return sum;
}

using Values = std::expected<std::vector<double>, std::string>;

Values all_of(Matches& matches, std::string_view first, std::size_t room, Time until) {
  std::vector<double> values;
  for (std::optional next(first); next; next = matches.next()) {
    const Found number = number_of(*next);
    if (!number) return std::unexpected(number.error());
    values.push_back(counters::to_double(*number));
    if (counters::bytes_of_sample * values.size() > room)
      return std::unexpected(
          fmt::format("the samples of this trial need more than {}, the most that stabd stores",
                      format_bytes(counters::most_sample_bytes)));
    if (std::chrono::steady_clock::now() > until)
      return std::unexpected(
          fmt::format("the pattern matches too often, at least {} times", values.size()));
  }
  return values;
}

// The reason why the text is not searched, or "" if it is.
std::string why_not_searched(const RE2& pattern, std::string_view text) {
  if (std::string fault = fault_of(pattern); !fault.empty()) return fault;
  const std::size_t most = most_steps / static_cast<std::size_t>(pattern.ProgramSize());
  if (text.size() <= most) return "";
  return fmt::format(
      "the output is {} long, but stabd searches at most {} with such a large pattern",
      format_bytes(text.size()), format_bytes(most));
}

Values samples_by_regex(const OutputMeasure& measure, std::string_view text, std::size_t room,
                        Time until) {
  const RE2 pattern = compiled(measure.regex);
  if (const std::string fault = why_not_searched(pattern, text); !fault.empty())
    return std::unexpected(fault);
  Matches matches(pattern, text);
  const auto first = matches.next();
  if (!first) return std::unexpected("nothing matches");
  return all_of(matches, *first, room, until);
}

Found by_regex(const OutputMeasure& measure, std::string_view text, Time until) {
  const RE2 pattern = compiled(measure.regex);
  if (const std::string fault = why_not_searched(pattern, text); !fault.empty())
    return std::unexpected(fault);
  Matches matches(pattern, text);
  const auto first = matches.next();
  if (!first) return std::unexpected("nothing matches");
  if (measure.pick == Pick::first) return number_of(*first);
  if (measure.pick != Pick::only) return total(matches, *first, measure.pick, until);
  if (const auto second = matches.next())
    return std::unexpected(
        fmt::format("the pattern matches {} and {}: set 'take' to choose which match counts",
                    quoted(*first), quoted(*second)));
  return number_of(*first);
}

// The reason why the text is not read, or "" if it is.
std::string why_not_read(std::string_view text, Time until) {
  if (std::chrono::steady_clock::now() > until) return "the earlier measures took too long to read";
  if (text.size() <= max_read) return "";
  return fmt::format("the output is {} long, but stabd reads at most {}", format_bytes(text.size()),
                     format_bytes(max_read));
}

Found found_in(const OutputMeasure& measure, std::string_view text, Time until) {
  if (!measure.json) return by_regex(measure, text, until);
  const auto pointer = split_pointer(*measure.json);
  return pointer ? number_at(text, *pointer) : Found(std::unexpected("it is not a pointer"));
}

Reading absent(const OutputMeasure& measure, std::string_view why) {
  return counters::absent(measure.name, measure.unit,
                          fmt::format("{}: {}", stream_of(measure), why));
}

Reading reading_of(const OutputMeasure& measure, const Found& found) {
  if (!found) return absent(measure, found.error());
  if (!counters::is_finite(*found)) return absent(measure, "the values are too large");
  return counters::counted(measure.name, measure.unit, *found);
}

}  // namespace

std::string pattern_fault(const std::string& regex) {
  return fault_of(compiled(regex));
}

std::string pointer_fault(std::string_view pointer) {
  return split_pointer(pointer) ? ""
                                : "a JSON pointer must be \"\" or begin with '/', and can contain "
                                  "'~' only in ~0 and ~1";
}

std::string_view stream_of(const OutputMeasure& measure) {
  return measure.from_stderr ? "stderr" : "stdout";
}

Measured read_output(const OutputMeasure& measure, std::string_view text, std::size_t room,
                     Time until) {
  if (const std::string why = why_not_read(text, until); !why.empty())
    return {.reading = absent(measure, why)};
  if (measure.google_benchmark) {
    auto found = google_benchmarks(measure, text, room);
    if (!found) return {.reading = absent(measure, found.error())};
    return {.samples = std::move(found->samples)};
  }
  if (measure.pick != Pick::samples)
    return {.reading = reading_of(measure, found_in(measure, text, until))};
  const counters::Samples none{.measure = measure.name, .unit = measure.unit};
  const std::size_t taken = counters::bytes_of(none);
  auto values = samples_by_regex(measure, text, room - std::min(room, taken), until);
  if (!values) return {.reading = absent(measure, values.error())};
  const double sum = std::accumulate(values->begin(), values->end(), 0.0);
  Measured measured{.reading =
                        reading_of(measure, Number(sum / static_cast<double>(values->size())))};
  if (measured.reading->status != counters::Status::absent) {
    measured.samples.push_back(none);
    measured.samples.back().values = std::move(*values);
  }
  return measured;
}

}  // namespace stab::plan
