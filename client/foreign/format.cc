// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/text.h"
#include "client/foreign/measured.h"

namespace stab::client::foreign {
namespace {

using nlohmann::json;

// Reads only the outermost names, and stops at the first one that identifies the tool.
class Outermost : public nlohmann::json_sax<json> {
 public:
  std::optional<Format> found;
  std::optional<std::size_t> broken;  // the byte at which the JSON is invalid

  bool null() override { return true; }
  bool boolean(bool /*truth*/) override { return true; }
  bool number_integer(std::int64_t /*number*/) override { return true; }
  bool number_unsigned(std::uint64_t /*number*/) override { return true; }
  bool number_float(double /*number*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*text*/) override { return true; }
  bool binary(json::binary_t& /*bytes*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool key(std::string& name) override {
    if (depth_ == 1 && name == "results") found = Format::hyperfine;
    // Google Benchmark writes the context first. The rest may hold NaN, which is not valid JSON, so
    // stop here.
    if (depth_ == 1 && (name == "benchmarks" || name == "context"))
      found = Format::google_benchmark;
    return !found;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    broken = position;
    return false;
  }

 private:
  int depth_ = 0;
};

}  // namespace

Result<Format> format_of(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return Format::csv;
  Outermost names;
  json::sax_parse(text, &names);
  if (names.found) return *names.found;
  if (names.broken)
    return fail(fmt::format(
        "it begins like JSON but is not JSON at byte {}; if it is a table, use --input-format csv",
        *names.broken));
  return fail(
      "it is JSON, but not from hyperfine (--export-json) or Google Benchmark "
      "(--benchmark_out_format=json)");
}

Result<Format> format_named(std::string_view name) {
  if (name == "csv") return Format::csv;
  if (name == "hyperfine") return Format::hyperfine;
  if (name == "google-benchmark") return Format::google_benchmark;
  return fail(fmt::format("'{}' is not a format: use csv, hyperfine or google-benchmark",
                          one_line(name, 40)));
}

}  // namespace stab::client::foreign
