// SPDX-License-Identifier: MIT
// The parts of the page. A part without content is empty.
#pragma once

#include <cstddef>
#include <string>

#include "report/html/background.h"
#include "report/html/markup.h"
#include "report/model.h"
#include "report/sections/section.h"

namespace stab::report::html {

// Dots in all pictures of one kind together (P4).
inline constexpr std::size_t most_dots = 4000;
// Pictures of one kind, if each subject has its own picture.
inline constexpr std::size_t most_pictures = 12;
// Rows of a picture.
inline constexpr std::size_t most_lines = 40;

// P1: forbids the browser to load anything. The policy is part of the page, so it holds wherever
// the file is opened.
inline constexpr Literal page_policy = "default-src 'none'; style-src 'unsafe-inline'";
Markup policy_part(Literal policy);
// `first` contains the policy, so it comes before everything that could load something.
Markup head_part(const std::string& title, const Markup& first);

// The page's only style sheet: light or dark as the reader's browser prefers, and light on paper.
Literal style();

// The rule of colours: a verdict is green for better, red for worse and blue for the same, and grey
// means no verdict. Nothing else is green or red; groups have the other colours (colour_class()).
inline constexpr const char* no_verdict = "c7";
inline constexpr const char* colour_words =
    "Green means better, red means worse, blue means the same, and gray means no verdict.";
std::string colour_of(const stats::Analysis& analysis, const stats::Effect& effect);

// The question, the answer and how much to trust it.
Markup summary_part(const Document& document);

// A section of the report with its tables, at most `most_lines` of them.
Markup section_part(Literal id, const Section& section);
Table page_table(const Part& part);

// The origin of the results.
Markup machine_part(const Document& document, const Background& background);
Markup chance_part(const Background& background);
Markup plan_part(const Document& document, const Background& background);
// The whole text report, which also has the tables that have no part of their own on the page.
Markup text_part(const Document& document);

// The head of each page: its policy (P1 of page.h), its title and its style.
void add_head(Markup& markup, const std::string& title);

}  // namespace stab::report::html
