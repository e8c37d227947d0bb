// SPDX-License-Identifier: MIT
#include "stats/data/views.h"

#include <fmt/format.h>

#include "stats/data/terms.h"

namespace stab::stats {
namespace {

View view(const Column* column, std::span<const Row> rows) {
  View result{.column = column, .map = {}};
  if (column == nullptr) return result;
  result.map.assign(column->levels.size(), unused);
  for (const Row row : rows) result.map[column->codes[row]] = 0;
  result.used = 0;
  for (std::uint32_t& code : result.map)
    if (code != unused) code = result.used++;
  return result;
}

void note_unused_levels(const View& view, const std::string& prefix, Notes& notes) {
  for (std::size_t i = 0; i < view.map.size(); ++i)
    if (view.map[i] == unused)
      notes.add(prefix + view.column->levels[i],
                "left out, because it has no trial that can be analyzed.");
}

const Column* find_or_note(const Dataset& data, std::string& name, Notes& notes) {
  if (name.empty()) return nullptr;
  const Column* column = data.find(name);
  if (column == nullptr) {
    notes.add(fmt::format("The data has no column {}, so the model leaves it out.", name));
    name.clear();
  }
  return column;
}

}  // namespace

std::vector<std::string> used_levels(const View& view) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < view.map.size(); ++i)
    if (view.map[i] != unused) names.push_back(view.column->levels[i]);
  return names;
}

Views make_views(const Dataset& data, std::span<const Row> rows, Prepared& out) {
  Spec& spec = out.spec;
  Views views;
  views.subject = view(find_or_note(data, spec.subject, out.notes), rows);
  note_unused_levels(views.subject, "", out.notes);
  if (spec.design == Design::nested || spec.design == Design::padding_study)
    views.seed = view(find_or_note(data, spec.seed, out.notes), rows);
  else
    views.block = view(find_or_note(data, spec.block, out.notes), rows);
  std::vector<std::string> found;
  for (std::string name : spec.treatments) {
    const Column* column = find_or_note(data, name, out.notes);
    if (column == nullptr) continue;
    if (found.size() == most_treatments) {
      out.notes.add(
          fmt::format("The treatment {} is left out, because at most {} treatments can be crossed.",
                      name, most_treatments));
      continue;
    }
    views.treatments.push_back(view(column, rows));
    note_unused_levels(views.treatments.back(), name + " ", out.notes);
    out.treatments.push_back({name, used_levels(views.treatments.back())});
    found.push_back(std::move(name));
  }
  spec.treatments = std::move(found);
  return views;
}

}  // namespace stab::stats
