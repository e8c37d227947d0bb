// SPDX-License-Identifier: MIT
#include "plan/measures/pointer.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/measures/formula.h"

namespace stab::plan {
namespace {

using counters::Number;
using nlohmann::json;

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
    if (found_ > 1) return std::unexpected("the pointer leads to more than one value");
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

}  // namespace stab::plan
