// SPDX-License-Identifier: MIT
// Pictures in SVG and their axes, which map numbers to places and choose round numbers as ticks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/html/markup.h"

namespace stab::report::html {

// The numbers from low to high. It is empty until it includes a number.
struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;

  void include(double value);          // ignores a number that is not finite
  [[nodiscard]] Range padded() const;  // wider by a twentieth on each side, and never of width 0
};

// Ascending multiples of 1, 2 or 5 times a power of ten.
struct Ticks {
  std::vector<double> at;
  double factor = 1;       // labels are divided by this power of ten
  std::string exponent{};  // "e+09" if the numbers are so large that the factor is not 1
  int decimals = 0;        // enough to tell the ticks apart

  [[nodiscard]] std::string label(double tick) const;
};

// Returns between two and `most` ticks within the range, where most > 3. Returns no ticks if the
// range is empty or too narrow for its numbers to differ.
Ticks ticks(const Range& range, int most);

// `ratios`: the numbers are changes in percent, above -100, and equal ratios have equal distances.
enum class Spacing { even, ratios };

// Maps numbers to places along a line.
class Axis {
 public:
  // range.low lies at `from`, range.high at `to`.
  Axis(const Range& range, double from, double to, Spacing spacing = Spacing::even);
  [[nodiscard]] double place(double value) const;
  [[nodiscard]] const Range& range() const { return range_; }
  [[nodiscard]] double from() const { return from_; }
  [[nodiscard]] double to() const { return to_; }

 private:
  Range range_;
  double from_;
  double to_;
  Spacing spacing_;
};

// A picture in SVG, as wide as a phone: `width` units across. Colours are CSS classes, so they
// follow the page's light or dark scheme.

inline constexpr double width = 480;
// The places of a plot with two axes, or of rows under each other.
inline constexpr double plot_top = 26;
inline constexpr double plot_bottom = 230;
inline constexpr double plot_left = 62;
inline constexpr double rows_top = 6;
inline constexpr std::size_t colours = 8;

// The class of the group's colour, such as "c3". The numbers of groups wrap around after `colours`.
std::string colour_class(std::size_t group);

// Cuts the text to `most` characters, at least two. The ellipsis is in the middle, because names
// differ at their ends.
std::string shortened(std::string_view text, std::size_t most);

// Breaks the text between words into one or two lines of at most `first` and `second` characters. A
// word that is longer than its line is shortened.
std::vector<std::string> wrapped(std::string_view text, std::size_t first, std::size_t second);

// The number of characters in a line of a label on a phone, where letters are largest. Words at the
// label's end take their characters from its first line.
inline constexpr std::size_t label_letters = 48;

// The height of one line of a label, and of the label of a row with this name and words at its end.
inline constexpr double label_line = 16;
double label_height(std::string_view name, std::string_view at_end = "");

class Canvas {
 public:
  // `label`: the text that screen readers read for the picture.
  Canvas(double height, std::string_view label);

  void line(double x1, double y1, double x2, double y2, const std::string& kind);
  void rectangle(double x, double y, double wide, double high, const std::string& kind,
                 std::string_view tip = "");
  void dot(double x, double y, double radius, const std::string& kind, std::string_view tip);
  void cross(double x, double y, const std::string& kind, std::string_view tip);
  // `kind`: CSS classes. With "end" or "middle", x is the text's end or middle, else its beginning.
  void text(double x, double y, std::string_view text, const std::string& kind = "");
  // Draws a row's name with at most `most` characters. Its tip has the whole name.
  void name(double x, double y, const std::string& text, std::size_t most,
            const std::string& kind = "");

  // Draws the name of a row above the row's marks, with words at the label's end. Call it after
  // drawing the axis, so that the axis's lines do not cross the label. If the name is shortened,
  // its tip has the whole name.
  void label(double y, const std::string& name, std::string_view at_end = "");

  // Draws the axis's ticks, with lines through the picture from `top` to `bottom` and a title
  // below. If the ticks have a power of ten, the title names it.
  void horizontal(const Axis& axis, double top, double bottom, std::string_view title);
  // The same, with lines from `left` to `right` and the title above.
  void vertical(const Axis& axis, double left, double right, std::string_view title);

  Markup finish();

 private:
  Markup markup_;
};

}  // namespace stab::report::html
