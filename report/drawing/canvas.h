// SPDX-License-Identifier: MIT
// A picture in SVG, as wide as a phone: `width` units across. Colours are CSS classes, so they
// follow the page's light or dark scheme.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/drawing/axis.h"
#include "report/drawing/markup.h"

namespace stab::report::html {

inline constexpr double width = 480;
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
  // below.
  void horizontal(const Axis& axis, double top, double bottom, std::string_view title);
  // The same, with lines from `left` to `right` and the title above.
  void vertical(const Axis& axis, double left, double right, std::string_view title);

  Markup finish();

 private:
  Markup markup_;
};

}  // namespace stab::report::html
