// SPDX-License-Identifier: MIT
// Reads any bytes as a file of another tool, alone and together with a valid file.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/foreign.h"

namespace stab::client::foreign {
namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_table(std::vector<Measured> files, Format format) {
  FileFactor factor{.name = "file"};
  for (std::size_t i = 0; i < files.size(); ++i) factor.levels.push_back(std::to_string(i));
  const auto table = table_of(std::move(files), factor, {.format = format});
  if (!table) return require(!table.error().message.empty());
  require(table->data.is_valid() && !table->data.response.empty() && !table->treatments.empty());
  for (const std::string& name : table->treatments)
    require(table->data.find(name) != nullptr && table->data.find(name)->levels.size() > 1);
}

void check(std::string_view text) {
  const auto format = format_of(text);
  if (!format) return require(!format.error().message.empty());
  if (*format == Format::csv) return;
  const bool is_hyperfine = *format == Format::hyperfine;
  const auto read = is_hyperfine ? read_hyperfine(text, "") : read_google_benchmark(text, "");
  if (!read) return require(!read.error().message.empty());
  require(!read->all.empty());
  std::set<std::string> names;
  for (const Runs& runs : read->all) {
    require(names.insert(runs.name).second);
    require(!runs.values.empty() || !runs.reason.empty());
    for (const double value : runs.values) require(std::isfinite(value));
  }
  check_table({*read}, *format);
  Measured other{.response = read->response, .all = {{.name = "a", .values = {1, 2}}}};
  check_table({*read, std::move(other)}, *format);
}

}  // namespace
}  // namespace stab::client::foreign

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stab::client::foreign::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
