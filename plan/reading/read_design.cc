// SPDX-License-Identifier: MIT
// [design].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

constexpr std::array kinds{DesignKind::one_way,        DesignKind::within_subjects,
                           DesignKind::full_factorial, DesignKind::nested,
                           DesignKind::custom,         DesignKind::fractional,
                           DesignKind::calibration,    DesignKind::padding_study};

Words kind_names() {
  Words names;
  for (const DesignKind kind : kinds) names.emplace_back(to_string(kind));
  return names;
}

void read_kind(const Table& table, Draft& draft) {
  const auto name = table.choice("kind", kind_names());
  if (!name) {
    draft.kind_is_good = table.find("kind") == nullptr;
    return;
  }
  draft.design_at = table.find("kind")->at;
  draft.plan.design.kind =
      *std::ranges::find(kinds, *name, [](DesignKind each) { return to_string(each); });
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
  for (const Entry& entry : table.entries()) {
    if (const auto name = level_name(entry.value))
      cell.value[entry.key] = *name;
    else
      table.refuse(entry, "the name of a level");
  }
  return cell;
}

void read_cells(const Table& table, Draft& draft) {
  const Items* items = table.items("cells", R"(an array of cells, as in [ { opt = "O2" }, ... ])");
  if (items == nullptr) return;
  const Entry& entry = *table.find("cells");
  if (items->empty() || items->size() > max_listed_cells) {
    draft.problems.add(entry.at, fmt::format("'design.cells' must list 1 to {} cells, not {}",
                                             max_listed_cells, items->size()));
    return;
  }
  for (const Value& item : *items) {
    if (std::holds_alternative<Entries>(item.data))
      draft.cells.push_back(read_cell(item, table));
    else
      table.refuse_item(entry, item, R"(a table, as in { opt = "O2", aslr = "true" })");
  }
}

}  // namespace

void read_design(const Table& root, Draft& draft) {
  static const Words known{"kind",        "order",      "cells",     "stop",
                           "comparisons", "generators", "resolution"};
  static const Words orders{"randomized-blocks"};
  const auto table = root.table("design", known);
  if (!table) return;
  draft.design_at = root.find("design")->at;
  read_kind(*table, draft);
  (void)table->choice("order", orders);
  read_stop(*table, draft);
  const Entry* cells = table->find("cells");
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
