// SPDX-License-Identifier: MIT
#include "report/words/answer.h"

#include <ranges>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"

namespace stab::report {

std::string answer_text(const stats::Analysis& analysis, const TextOptions& options) {
  const std::string all = answer(analysis);
  std::string text;
  for (const auto sentence : std::views::split(all, '\n')) {
    const std::string line = one_line(std::string_view(sentence), longest);
    text += text.empty() ? labelled("Answer: ", line, options)
                         : paragraph("        ", line, options.width);
  }
  return text;
}

}  // namespace stab::report
