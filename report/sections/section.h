// SPDX-License-Identifier: MIT
// A section of a report as a value, and the words that sections share. A section is built once from
// the results, and rendered as text (section_text), as a part of the page (section_part in
// report/html/parts.h), as JSON (rows_json in report/json.h) and in Markdown. To add a column, add
// a Field in the function that makes the section's rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "report/text.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"
#include "stats/verdicts/analysis.h"

namespace stab::report {

struct Field;
// A row of cells, one for each column. Invariant S1: all rows of a part have the same keys and
// headings, in the same order, except rows without cells, which are gaps in the text. If JSON
// leaves a field out of some rows, these rows have a field without a key in its place.
using Row = std::vector<Field>;
// The JSON value of a cell. std::monostate is null, several strings are a list, a Row is an object,
// and several Rows are a list of objects.
using Value = std::variant<std::monostate, bool, std::uint64_t, double, std::string,
                           std::vector<std::string>, Row, std::vector<Row>>;

// A cell together with its column.
struct Field {
  std::string key{};  // the name in JSON; "": JSON does not have it
  Value value{};
  std::optional<std::string> heading{};  // absent: only JSON has the field
  std::string text{};
  Style style = Style::plain;
  Align align = Align::right;
  std::size_t longest_text = 0;  // a text report cuts users' names to this length; 0: no cut
  std::string page_text{};       // a longer `text` for the page, which has room; "": the same text
  bool is_once = false;      // a text report leaves the cell empty if the row above says the same
  bool is_rare = false;      // the column is left out if none of its cells has text
  bool is_for_page = false;  // a text report has no room for the column
  bool is_for_text = false;  // the page has it elsewhere

  // Each function below returns a copy of the field with one or two members changed.
  [[nodiscard]] Field in(Style wanted) const { return changed(&Field::style, wanted); }
  // For a column of names: aligned to the left and cut to `most` characters.
  [[nodiscard]] Field named(std::size_t most) const {
    return left().changed(&Field::longest_text, most);
  }
  [[nodiscard]] Field left() const { return changed(&Field::align, Align::left); }
  [[nodiscard]] Field once() const { return changed(&Field::is_once, true); }
  [[nodiscard]] Field rare() const { return changed(&Field::is_rare, true); }
  [[nodiscard]] Field on_page(bool wanted = true) const {
    return changed(&Field::is_for_page, wanted);
  }
  [[nodiscard]] Field in_text() const { return changed(&Field::is_for_text, true); }
  [[nodiscard]] Field on_page_as(std::string words) const {
    return changed(&Field::page_text, std::move(words));
  }

 private:
  template <class T>
  [[nodiscard]] Field changed(T Field::* member, T wanted) const {
    Field made = *this;
    made.*member = std::move(wanted);
    return made;
  }
};

// Returns null for an absent number and for "".
Value known(std::optional<double> number);
Value known(std::string_view text);

// A field that only JSON has.
Field json_only(std::string key, Value value);
// A field that only people see.
Field shown_only(std::string heading, std::string text);
Field column(std::string key, Value value, std::string heading, std::string text);

// A table with paragraphs below it, or only paragraphs.
struct Part {
  std::string owner{};  // the table's subjects, above it: "benchmarks like these"; "": all
  std::string title{};  // above the table, after the owner
  std::vector<Row> rows{};
  std::vector<std::string> below{};  // paragraphs
  bool is_for_text = false;          // the page has it elsewhere
};

struct Section {
  std::string title{};
  std::string words{};        // how to read the section
  std::vector<Part> parts{};  // empty: the report leaves the section out
};

// The text of a cell on the page.
const std::string& text_on_page(const Field& field);

// "benchmarks like these: y ~ opt", where the title is cut to `most` characters.
std::string title_of(const Part& part, std::size_t most);

// The columns that people see, as indices of their fields, and a row with their headings.
struct Shown {
  std::vector<std::size_t> fields{};
  const Row* headings = nullptr;  // null: the part has no rows, so it has no columns
};
Shown shown_columns(const Part& part, bool is_page);

// Removes the fields that only JSON shows. Rows of a table that keep them need ten times the
// memory, too much for a reader with tens of thousands of comparisons.
void drop_json_only(Row& row);

// The table of a part for a text report. A row without cells becomes an empty line.
Grid grid_of(const Part& part);
std::string section_text(const Section& section, const TextOptions& options);
// The same table in Markdown, with the page's columns and texts.
std::string markdown_table(const Part& part);

// The words that sections share.

// Makes a user's name safe for a terminal and short enough for a table.
inline constexpr std::size_t longest_name = 40;
std::string name(const std::string& text);

// A heading with an explanation below it.
std::string heading(std::string_view title, std::string_view explanation,
                    const TextOptions& options);
// "Answer: ..." as a paragraph with the label in bold.
std::string labelled(std::string_view label, const std::string& text, const TextOptions& options);

bool has_subjects(const stats::Analysis& analysis);

// Whether more than one comparison is tested, so that verdicts are corrected.
bool has_family(const stats::Analysis& analysis);

// The name of a subject or of the suite: "these 5 programs", "programs like these".
std::string label_of(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope);

// The same for a table whose heading says what the subjects are: "these 5", "like these".
std::string row_label(const stats::Analysis& analysis, const std::string& subject,
                      stats::Scope scope);
// The column with these labels. If the data has no subjects, only JSON has the column.
Field subject_column(const stats::Analysis& analysis, const std::string& subject,
                     stats::Scope scope);

// The name of a scope in JSON; "" for a single subject.
std::string_view scope_word(stats::Scope scope);

// Assumptions and variances without a subject belong to the model of subjects like these.
stats::Scope model_scope(const stats::Analysis& analysis, const std::string& subject);

// The words for less and for more of the response: "faster" and "slower" for times, else "lower"
// and "higher".
std::string_view less_word(const stats::Spec& spec);
std::string_view more_word(const stats::Spec& spec);

// "less is better".
std::string_view better_words(const stats::Spec& spec);

}  // namespace stab::report
