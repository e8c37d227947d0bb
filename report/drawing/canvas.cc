// SPDX-License-Identifier: MIT
#include "report/drawing/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace stab::report::html {
namespace {

// Of a place: a hundredth of a unit is nothing that anybody sees.
std::string at(double place) {
  return fmt::format("{:.2f}", place);
}

}  // namespace

std::string colour_class(std::size_t group) {
  return fmt::format("c{}", group % colours);
}

std::string shortened(std::string_view text, std::size_t most) {
  std::vector<std::size_t> begins;  // of characters
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80) begins.push_back(i);
  if (begins.size() <= most) return std::string(text);
  const std::size_t tail = (most - 1) / 2;
  const std::size_t head = most - 1 - tail;
  return fmt::format("{}\u2026{}", text.substr(0, begins[head]),
                     text.substr(begins[begins.size() - tail]));
}

Canvas::Canvas(double height, std::string_view label) {
  markup_.open("svg", {{"viewBox", fmt::format("0 0 {:.0f} {:.0f}", width, height)},
                       {"role", "img"},
                       {"aria-label", std::string(label)}});
}

void Canvas::line(double x1, double y1, double x2, double y2, const std::string& kind) {
  markup_.empty("line",
                {{"x1", at(x1)}, {"y1", at(y1)}, {"x2", at(x2)}, {"y2", at(y2)}, {"class", kind}});
}

void Canvas::rectangle(double x, double y, double wide, double high, const std::string& kind,
                       std::string_view tip) {
  markup_.open("rect", {{"x", at(x)},
                        {"y", at(y)},
                        {"width", at(std::max(wide, 0.0))},
                        {"height", at(std::max(high, 0.0))},
                        {"class", kind}});
  if (!tip.empty()) markup_.leaf("title", tip);
  markup_.close();
}

void Canvas::dot(double x, double y, double radius, const std::string& kind, std::string_view tip) {
  markup_.open("circle", {{"cx", at(x)}, {"cy", at(y)}, {"r", at(radius)}, {"class", kind}});
  markup_.leaf("title", tip).close();
}

void Canvas::cross(double x, double y, const std::string& kind, std::string_view tip) {
  markup_.open("path",
               {{"d", fmt::format("M{0:.2f} {2:.2f}L{1:.2f} {3:.2f}M{0:.2f} {3:.2f}L{1:.2f} "
                                  "{2:.2f}",
                                  x - 3.5, x + 3.5, y - 3.5, y + 3.5)},
                {"class", kind}});
  markup_.leaf("title", tip).close();
}

void Canvas::text(double x, double y, std::string_view text, const std::string& kind) {
  markup_.leaf("text", text, {{"x", at(x)}, {"y", at(y)}, {"class", kind}});
}

void Canvas::name(double x, double y, const std::string& text, std::size_t most,
                  const std::string& kind) {
  const std::string shown = shortened(text, most);
  markup_.open("text", {{"x", at(x)}, {"y", at(y)}, {"class", kind}}).text(shown);
  if (shown != text) markup_.leaf("title", text);
  markup_.close();
}

void Canvas::horizontal(const Axis& axis, double top, double bottom, std::string_view title) {
  const Ticks found = ticks(axis.range(), 7);
  for (const double tick : found.at) {
    const double x = axis.place(tick);
    line(x, top, x, bottom, tick == 0 ? "zero" : "grid");
    text(x, bottom + 14, found.label(tick), "tick middle");
  }
  text((axis.from() + axis.to()) / 2, bottom + 31, title, "axis middle");
}

void Canvas::vertical(const Axis& axis, double left, double right, std::string_view title) {
  const Ticks found = ticks(axis.range(), 7);
  for (const double tick : found.at) {
    const double y = axis.place(tick);
    line(left, y, right, y, tick == 0 ? "zero" : "grid");
    text(left - 5, y + 4, found.label(tick), "tick end");
  }
  text(4, 14, title, "axis");
}

Markup Canvas::finish() {
  markup_.close();
  return std::move(markup_);
}

}  // namespace stab::report::html
