// SPDX-License-Identifier: MIT
// For any text, read_csv must return a valid dataset or an error, its analysis must not contain
// NaN, and each form of the report must have an answer.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "report/json.h"
#include "report/text.h"
#include "report/words/answer.h"
#include "stats/analyse/analyse.h"
#include "stats/data/csv.h"
#include "stats/verdicts/analysis.h"

namespace {

using namespace stab::stats;

void require(bool condition) {
  if (!condition) std::abort();
}

void check(const Analysis& analysis) {
  for (const AnovaTable& table : analysis.tables)
    for (const AnovaRow& row : table.rows)
      require(std::isfinite(row.ss) && std::isfinite(row.df) && std::isfinite(row.f.value_or(0)) &&
              std::isfinite(row.p.value_or(0)));
  for (const Effect& effect : analysis.effects)
    require(std::isfinite(effect.ratio.value_or(0)) && std::isfinite(effect.p.value_or(0)));
  require(!stab::report::answer(analysis).empty());
  require(!stab::report::analysis_text("csv", analysis, {.full = true}).empty());
  require(!stab::report::analysis_json("csv", analysis).empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  CsvColumns columns{.response = "y", .factors = {"a", "b"}};
  if (csv_header(text).value_or(std::vector<std::string>()).size() % 2 == 0) columns.order = "y";
  if (size % 5 == 0) columns.only = {{.column = "a", .text = "x"}};
  auto csv = read_csv(text, columns);
  if (!csv) {
    require(!csv.error().message.empty());
    return 0;
  }
  require(csv->data.is_valid());
  Spec spec{.response = "y", .treatments = {"a"}, .block = "b"};
  spec.log_scale = size % 2 == 0;
  if (size % 3 == 0) spec.design = Design::within_subjects;
  if (size % 3 == 0) std::swap(spec.block, spec.subject);
  check(analyse(csv->data, spec));
  return 0;
}
