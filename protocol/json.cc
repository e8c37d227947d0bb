// SPDX-License-Identifier: MIT
#include "protocol/json.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"

namespace stab::protocol {
namespace {

struct Nesting {
  std::size_t depth = 0;   // the greatest depth
  std::size_t values = 1;  // an upper bound
};

// The text may be invalid JSON; the parser reports that later.
Nesting shape_of(std::string_view text) {
  Nesting shape;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') shape.depth = std::max(shape.depth, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '[' || c == '{' || c == ',') ++shape.values;
  }
  return shape;
}

}  // namespace

Result<Parsed> parse(std::string_view text, std::size_t values) {
  const Nesting shape = shape_of(text);
  if (shape.depth > max_depth)
    return fail(fmt::format("the JSON text is nested deeper than {} levels", max_depth));
  if (shape.values > values)
    return fail(fmt::format("the JSON text has more than {} values", values));
  try {
    return Parsed::parse(text);
  } catch (const Parsed::exception& error) {
    return fail(one_line(error.what(), 200));
  }
}

std::string dump(const json& value, int indent) {
  return json_text(value, indent);
}

std::string shown(const Parsed& value) {
  constexpr std::size_t enough = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  if (const auto* text = value.get_ptr<const std::string*>())
    return fmt::format("'{}'", one_line(*text, enough));
  return json_text(value);
}

}  // namespace stab::protocol
