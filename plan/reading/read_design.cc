// SPDX-License-Identifier: MIT
// [design].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

constexpr std::array kinds{
    DesignKind::one_way,     DesignKind::within_subjects, DesignKind::full_factorial,
    DesignKind::nested,      DesignKind::custom,          DesignKind::fractional,
    DesignKind::calibration, DesignKind::padding_study,   DesignKind::causal};

DesignKind kind_called(std::string_view name) {
  const auto* const found = std::ranges::find(words::kinds, name);
  return kinds[found - words::kinds.begin()];
}

void read_kind(const Table& table, Draft& draft) {
  const auto name = given<"design.kind">(table);
  if (!name) {
    draft.kind_is_good = table.find("kind") == nullptr;
    return;
  }
  draft.design_at = table.find("kind")->at;
  draft.plan.design.kind = kind_called(*name);
}

// Levels are named by text, but true and 4096 are as clear as "true" and "4096".
std::optional<std::string> level_name(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&value.data))
    return fmt::format("{}", *number);
  return std::nullopt;
}

DraftCell read_cell(const Value& item, const Table& design) {
  DraftCell cell{.at = item.at, .value = {}};
  const Table table(design.problems(), item, design.path("cells"));
  for (const Pair& pair : table.pairs()) {
    if (const auto name = level_name(pair.value))
      cell.value[pair.key] = *name;
    else
      table.refuse(pair, "the name of a level");
  }
  return cell;
}

void read_cells(const Table& table, Draft& draft) {
  const Items* items = table.items("cells", R"(an array of cells, as in [ { opt = "O2" }, ... ])");
  if (items == nullptr) return;
  const Pair& pair = *table.find("cells");
  constexpr Several allowed = kind_of<"design.cells">;
  if (items->size() < allowed.least || items->size() > allowed.most) {
    draft.problems.add(pair.at, fmt::format("'design.cells' must list {} to {} cells, not {}",
                                            allowed.least, allowed.most, items->size()));
    return;
  }
  for (const Value& item : *items) {
    if (std::holds_alternative<Pairs>(item.data))
      draft.cells.push_back(read_cell(item, table));
    else
      table.refuse_item(pair, item, R"(a table, as in { opt = "O2", aslr = "true" })");
  }
}

}  // namespace

void read_design(const Table& root, Draft& draft) {
  draft.plan.design.kind = kind_called(standard_of<"design.kind">);
  const auto table = root.table("design", names_below("design"));
  if (!table) return;
  draft.design_at = root.find("design")->at;
  read_kind(*table, draft);
  (void)given<"design.order">(*table);
  read_stop(*table, draft);
  const Pair* cells = table->find("cells");
  const std::size_t before = draft.problems.count();
  read_cells(*table, draft);
  draft.cells_are_good = draft.problems.count() == before;
  if (!draft.kind_is_good) return;
  read_studies(*table, draft);
  const bool is_custom = draft.plan.design.kind == DesignKind::custom;
  if (cells != nullptr && !is_custom)
    draft.problems.add(cells->at,
                       R"('design.cells' belongs to kind = "custom": set it, or remove the cells)");
  if (cells == nullptr && is_custom)
    draft.problems.add(draft.design_at,
                       R"('design.cells' is missing: a "custom" design lists its cells)");
}

}  // namespace stab::plan
