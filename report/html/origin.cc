// SPDX-License-Identifier: MIT
// The origin of the numbers: the machine, the random and fixed conditions, the plan, and how to run
// it again.
#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "report/drawing/figure.h"
#include "report/html/parts.h"
#include "report/sections/sections.h"
#include "report/text.h"

namespace stab::report::html {
namespace {

void folded_text(Markup& markup, std::string_view line, std::string_view text) {
  markup.open("details").leaf("summary", line).leaf("pre", text, {{"tabindex", "0"}}).close();
}

Table builds_table(const Background& background) {
  Table table{.columns = {{"benchmark"}, {"command"}, {"result"}, {"SHA-256 of the program"}}};
  for (const BuildLine& each : background.builds)
    table.rows.push_back(
        {each.benchmark, each.command, each.status, each.binary_sha256.substr(0, 16)});
  return table;
}

}  // namespace

Markup machine_part(const Document& document, const Background& background) {
  Markup markup;
  markup.open("section", {{"id", "machine"}}).leaf("h2", "Machine");
  markup.leaf("p", document.machine.empty() ? "Not known." : document.machine);
  if (!document.versions.empty()) markup.leaf("p", document.versions);
  if (const std::string quiet = quiet_text(document.quietness); !quiet.empty())
    markup.leaf("p", quiet);
  if (!background.machine.empty()) {
    Table table{.columns = {{"property"}, {"value"}}};
    for (const Fact& each : background.machine) table.rows.push_back({each.name, each.value});
    markup.add(folded_table(table, "Everything stored about this machine"));
  }
  markup.close();
  return markup;
}

Markup chance_part(const Background& background) {
  Markup markup;
  if (background.chances.empty()) return markup;
  markup.open("section", {{"id", "chance"}}).leaf("h2", "Random and fixed conditions");
  markup.leaf("p",
              "A condition that is chosen at random cannot always favour the same version. A fixed "
              "condition can favour one version in every trial, so the result is valid only for "
              "this condition.",
              {{"class", "words"}});
  Table table{.columns = {{"what"}, {"random"}, {"how"}}};
  for (const Chance& each : background.chances)
    table.rows.push_back({each.what, each.random ? "yes" : "no", each.how});
  markup.add(html::table(table)).close();
  return markup;
}

Markup plan_part(const Document& document, const Background& background) {
  Markup markup;
  markup.open("section", {{"id", "plan"}}).leaf("h2", "Plan, builds and how to run it again");
  markup.open("dl")
      .leaf("dt", "Seed")
      .leaf("dd", fmt::format("{}; every random choice derives from it", document.seed));
  if (!background.directory.empty()) markup.leaf("dt", "Folder").leaf("dd", background.directory);
  if (!document.database.empty()) markup.leaf("dt", "Database").leaf("dd", document.database);
  markup.leaf("dt", "Replay a trial").open("dd");
  markup.leaf("code", fmt::format("stabctl replay {} POSITION", document.id))
      .text(
          " (tables of trials in order list the positions; after 'stabctl run' add --folder "
          "FOLDER)");
  markup.close().close();
  if (!background.builds.empty()) markup.add(folded_table(builds_table(background), "Builds"));
  folded_text(markup, "The plan as it was submitted", background.plan);
  markup.close();
  return markup;
}

Markup text_part(const Document& document) {
  Markup markup;
  markup.open("section", {{"id", "text"}}).leaf("h2", "The whole report as text");
  folded_text(markup, "All tables, tests of assumptions and other tests",
              text(document, {.full = true}));
  markup.close();
  return markup;
}

}  // namespace stab::report::html
