// SPDX-License-Identifier: MIT
#include "report/words/answer.h"

#include <ranges>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"

namespace stab::report {

namespace {

std::string labelled_answer(const std::string& all, const TextOptions& options) {
  std::string text;
  for (const auto sentence : std::views::split(all, '\n')) {
    const std::string line = one_line(std::string_view(sentence), longest);
    text += text.empty() ? labelled("Answer: ", line, options)
                         : paragraph("        ", line, options.width);
  }
  return text;
}

}  // namespace

std::string answer_text(const stats::Analysis& analysis, const TextOptions& options) {
  return labelled_answer(answer(analysis), options);
}

std::string answer_text(const Document& document, const TextOptions& options) {
  return labelled_answer(answer_of(document), options);
}

}  // namespace stab::report
