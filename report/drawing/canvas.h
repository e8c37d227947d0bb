// SPDX-License-Identifier: MIT
// A picture in SVG, as wide as a phone: `width` units across. Colours are classes, so that they
// follow the page's light or dark ones.
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

// "c3": the colour of the group with this number; there are `colours` of them.
std::string colour_class(std::size_t group);

// At most so many characters, two or more, with an ellipsis in the middle: names differ at their
// ends.
std::string shortened(std::string_view text, std::size_t most);

// The text in one line of at most `first` characters, or in two, the second of at most `second`. It
// breaks between words; a word that is longer than its line is shortened.
std::vector<std::string> wrapped(std::string_view text, std::size_t first, std::size_t second);

// A line of a label holds this many characters on a phone, where letters are largest. Words at the
// label's end take theirs from its first line.
inline constexpr std::size_t label_letters = 48;

// How high the label of a row with this name is, with these words at its end.
inline constexpr double label_line = 16;
double label_height(std::string_view name, std::string_view at_end = "");

class Canvas {
 public:
  // `label`: what a screen reader says of the picture.
  Canvas(double height, std::string_view label);

  void line(double x1, double y1, double x2, double y2, const std::string& kind);
  void rectangle(double x, double y, double wide, double high, const std::string& kind,
                 std::string_view tip = "");
  void dot(double x, double y, double radius, const std::string& kind, std::string_view tip);
  void cross(double x, double y, const std::string& kind, std::string_view tip);
  // `kind`: classes; "end" and "middle" are among them, else it begins at x.
  void text(double x, double y, std::string_view text, const std::string& kind = "");
  // A name over the length of a row; the whole one is its tip.
  void name(double x, double y, const std::string& text, std::size_t most,
            const std::string& kind = "");

  // The name of a row above what is drawn of it, and words at its end. No line of the axis crosses it,
  // so it comes behind those. The whole name is its tip where the label has not all of it.
  void label(double y, const std::string& name, std::string_view at_end = "");

  // Ticks of the axis with lines through the picture from `top` to `bottom` and a title below.
  void horizontal(const Axis& axis, double top, double bottom, std::string_view title);
  // The same from `left` to `right`, and the title above.
  void vertical(const Axis& axis, double left, double right, std::string_view title);

  Markup finish();

 private:
  Markup markup_;
};

}  // namespace stab::report::html
