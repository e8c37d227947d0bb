// SPDX-License-Identifier: MIT
// The parts of the page; each is nothing if there is nothing for it.
#pragma once

#include <cstddef>
#include <string>

#include "report/drawing/figure.h"
#include "report/drawing/markup.h"
#include "report/html/background.h"
#include "report/model.h"
#include "report/sections/section.h"

namespace stab::report::html {

// Of all pictures of one kind together (P4).
inline constexpr std::size_t most_dots = 4000;
// Pictures of one kind, where each subject has its own.
inline constexpr std::size_t most_pictures = 12;
// Rows of a picture.
inline constexpr std::size_t most_lines = 40;

// P1: what a browser may load. It is the page's own policy, so it holds where the file is opened.
inline constexpr Literal page_policy = "default-src 'none'; style-src 'unsafe-inline'";
Markup policy_part(Literal policy);
// `first` stands before all that could load something: the policy.
Markup head_part(const std::string& title, const Markup& first);

// The page's only style sheet: light or dark as the reader has it, and light on paper.
Literal style();

// The one rule of colours: green is better and red is worse by a verdict, blue is the same, and grey
// has no verdict. Nothing else is green or red; groups have the other colours (colour_class()).
inline constexpr const char* no_verdict = "c7";
inline constexpr const char* colour_words =
    "Green means better, red means worse, blue means the same, and grey means no verdict.";
std::string colour_of(const stats::Analysis& analysis, const stats::Effect& effect);

// Question, answer and how much to trust it.
Markup summary_part(const Document& document);

// A section of the report with its tables, as many as a picture has rows.
Markup section_part(Literal id, const Section& section);
Table page_table(const Part& part);

// Where it comes from.
Markup machine_part(const Document& document, const Background& background);
Markup chance_part(const Background& background);
Markup plan_part(const Document& document, const Background& background);
// All of the report as text, with what has no part of its own here.
Markup text_part(const Document& document);

}  // namespace stab::report::html
