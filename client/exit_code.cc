// SPDX-License-Identifier: MIT
#include "client/exit_code.h"

#include <fmt/format.h>

#include <sstream>

#include "base/text.h"

namespace stab::client {

Result<FailOn> read_fail_on(const std::string& text) {
  FailOn result{.trials = false, .regressed = false, .unsure = false};
  if (text == "none") return result;
  std::istringstream words(text);
  std::string word;
  while (std::getline(words, word, ',')) {
    if (word == "trials")
      result.trials = true;
    else if (word == "regressed")
      result.regressed = true;
    else if (word == "unsure")
      result.unsure = true;
    else
      return wrong_call(
          fmt::format("--fail-on {0}: '{1}' is not valid; give one or more of 'trials', "
                      "'regressed' and 'unsure', or only 'none'",
                      one_line(text, 60), one_line(word, 30)));
  }
  if (!result.trials && !result.regressed && !result.unsure)
    return wrong_call(
        "--fail-on: the list is empty; use 'none' if nothing should count as a failure");
  return result;
}

int exit_code(const Ending& ending, const FailOn& fail_on) {
  if (!ending.complete || (ending.trials_failed && fail_on.trials)) return exit_failed;
  if (ending.findings.regressed && fail_on.regressed) return exit_regressed;
  if (ending.findings.unsure && fail_on.unsure) return exit_unsure;
  return exit_ok;
}

Ending ending_of(const protocol::ReportReply& answer) {
  return {.complete = answer.complete,
          .trials_failed = answer.failed > 0,
          .findings = {.regressed = answer.regressed, .unsure = answer.unsure}};
}

}  // namespace stab::client
