// SPDX-License-Identifier: MIT
#include "report/html/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

namespace stab::report::html {
namespace {

// The smallest number of the form 1, 2 or 5 times a power of ten that is at least `size`.
double round_up(double size) {
  const double power = std::pow(10, std::floor(std::log10(size)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= size * (1 - 1e-9)) return step * power;
  return 10 * power;
}

}  // namespace

void Range::include(double value) {
  if (!std::isfinite(value)) return;
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

Range Range::padded() const {
  if (empty) return {.low = 0, .high = 1, .empty = false};
  const double size = std::max(std::abs(low), std::abs(high));
  const double narrowest = size > 0 ? 1e-6 * size : 1;
  const double extent = std::max(high - low, narrowest);
  return {.low = low - extent / 20, .high = high + extent / 20, .empty = false};
}

std::string Ticks::label(double tick) const {
  // The tick -0.0 must not be printed as "-0".
  return fmt::format("{:.{}f}", tick == 0 ? 0.0 : tick / factor, decimals);
}

Ticks ticks(const Range& range, int most) {
  const double extent = range.high - range.low;
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.empty || !(extent > 1e-12 * size) || !std::isfinite(extent)) return {};
  const double step = round_up(extent / (most - 1));
  Ticks found;
  constexpr double huge = 1e7;  // a label with more digits is wider than its place
  if (size >= huge) {
    const auto power = static_cast<int>(std::floor(std::log10(size)));
    found.factor = std::pow(10, power);
    found.exponent = fmt::format("e{:+03}", power);
  }
  const double shown = step / found.factor;
  found.decimals = std::clamp(-static_cast<int>(std::floor(std::log10(shown) + 1e-9)), 0, 12);
  const double slack = 1e-9;
  const auto first = std::ceil(range.low / step - slack);
  const auto last = std::floor(range.high / step + slack);
  for (double i = first; i <= last; ++i) found.at.push_back(i * step);
  return found;
}

Axis::Axis(const Range& range, double from, double to, Spacing spacing)
    : range_(range), from_(from), to_(to), spacing_(spacing) {
  assert(spacing == Spacing::even || range.low > -100);
}

double Axis::place(double value) const {
  const auto along = [&](double number) {
    return spacing_ == Spacing::ratios ? std::log1p(number / 100) : number;
  };
  const double low = along(range_.low);
  return from_ + (along(value) - low) / (along(range_.high) - low) * (to_ - from_);
}

namespace {

// Formats a coordinate. Nobody can see less than a hundredth of a unit.
std::string at(double place) {
  return fmt::format("{:.2f}", place);
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80; }));
}

// The words at the end take at most half of the first line, so the name has at least the other
// half.
std::vector<std::string> label_lines(std::string_view name, std::string_view at_end) {
  const std::size_t taken = at_end.empty() ? 0 : characters(at_end) + 1;
  return wrapped(name, label_letters - std::min(taken, label_letters / 2), label_letters);
}

}  // namespace

std::string colour_class(std::size_t group) {
  return fmt::format("c{}", group % colours);
}

std::string shortened(std::string_view text, std::size_t most) {
  std::vector<std::size_t> begins;  // the first byte of each character
  for (std::size_t i = 0; i < text.size(); ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80) begins.push_back(i);
  if (begins.size() <= most) return std::string(text);
  const std::size_t tail = (most - 1) / 2;
  const std::size_t head = most - 1 - tail;
  return fmt::format("{}\u2026{}", text.substr(0, begins[head]),
                     text.substr(begins[begins.size() - tail]));
}

std::vector<std::string> wrapped(std::string_view text, std::size_t first, std::size_t second) {
  if (characters(text) <= first) return {std::string(text)};
  std::size_t end = text.find(' ');  // the end of the first line
  if (end == std::string_view::npos) return {shortened(text, first)};
  for (std::size_t at = end; at != std::string_view::npos; at = text.find(' ', at + 1))
    if (characters(text.substr(0, at)) <= first) end = at;
  std::string rest(text.substr(end + 1));
  for (std::size_t at = rest.rfind(' ');
       characters(rest) > second && at != std::string::npos && at > 0; at = rest.rfind(' ', at - 1))
    if (characters(std::string_view(rest).substr(0, at)) + 2 <= second)
      rest = rest.substr(0, at) + " \u2026";
  return {shortened(text.substr(0, end), first), shortened(rest, second)};
}

double label_height(std::string_view name, std::string_view at_end) {
  return label_line * static_cast<double>(label_lines(name, at_end).size());
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

void Canvas::label(double y, const std::string& name, std::string_view at_end) {
  const auto lines = label_lines(name, at_end);
  rectangle(0, y, width, label_line * static_cast<double>(lines.size()) + 2, "back");
  std::string shown;
  for (std::size_t i = 0; i < lines.size(); ++i) shown += (i == 0 ? "" : " ") + lines[i];
  for (std::size_t i = 0; i < lines.size(); ++i) {
    markup_
        .open("text", {{"x", at(4)},
                       {"y", at(y + 13 + label_line * static_cast<double>(i))},
                       {"class", "strong"}})
        .text(lines[i]);
    if (shown != name) markup_.leaf("title", name);
    markup_.close();
  }
  if (!at_end.empty()) text(width - 4, y + 13, at_end, "end tick");
}

namespace {

std::string axis_words(std::string_view title, const Ticks& ticks) {
  if (ticks.exponent.empty()) return std::string(title);
  return fmt::format("{}, x 1{}", title, ticks.exponent);
}

}  // namespace

void Canvas::horizontal(const Axis& axis, double top, double bottom, std::string_view title) {
  const Ticks found = ticks(axis.range(), 7);
  for (const double tick : found.at) {
    const double x = axis.place(tick);
    line(x, top, x, bottom, tick == 0 ? "zero" : "grid");
    text(x, bottom + 14, found.label(tick), "tick middle");
  }
  text((axis.from() + axis.to()) / 2, bottom + 31, axis_words(title, found), "axis middle");
}

void Canvas::vertical(const Axis& axis, double left, double right, std::string_view title) {
  const Ticks found = ticks(axis.range(), 7);
  for (const double tick : found.at) {
    const double y = axis.place(tick);
    line(left, y, right, y, tick == 0 ? "zero" : "grid");
    text(left - 5, y + 4, found.label(tick), "tick end");
  }
  text(4, 14, axis_words(title, found), "axis");
}

Markup Canvas::finish() {
  markup_.close();
  return std::move(markup_);
}

}  // namespace stab::report::html
