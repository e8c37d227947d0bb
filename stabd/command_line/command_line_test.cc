// SPDX-License-Identifier: MIT
// What our texts tell users to type is what the command line takes.
#include "stabd/command_line/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "stabd/command_line/help.h"

namespace stab::command_line {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

// One word for a shell, from `at` on, which then is behind it. False at a comment, a pipe, a
// redirection or the line's end.
bool next_word(const std::string& line, std::size_t& at, std::string& word) {
  at = line.find_first_not_of(' ', at);
  if (at == std::string::npos || std::string("#|<>;&)").contains(line[at])) return false;
  word.clear();
  for (char quote = 0; at < line.size(); ++at) {
    const char each = line[at];
    if (quote == 0 && std::string(" |<>;&)").contains(each)) break;
    if (each == quote)
      quote = 0;
    else if (quote == 0 && (each == '\'' || each == '"'))
      quote = each;
    else if (each == '\\' && quote != '\'' && at + 1 < line.size())
      word += line[++at];
    else
      word += each;
  }
  return true;
}

// The words of the stabctl that stands in the line; none if there is none.
Words command_in(const std::string& line) {
  std::size_t at = line.find("stabctl ");
  while (at != std::string::npos && at != 0 && !std::string(" /(").contains(line[at - 1]))
    at = line.find("stabctl ", at + 1);
  Words words;
  std::string word;
  while (at != std::string::npos && next_word(line, at, word)) words.push_back(word);
  return words;
}

std::string refusal(const Words& words) {
  const auto accepted = CommandLine().accepts(words);
  return accepted ? "" : accepted.error().message;
}

TEST(CommandLine, TakesTheExamplesOfItsHelp) {
  std::map<std::string, int> count;
  for (const Example& example : examples()) {
    SCOPED_TRACE(example.line);
    const Words words = command_in(std::string(example.line));
    ASSERT_GE(words.size(), 2U);
    EXPECT_EQ(refusal(words), "");
    std::string verb = words[1];
    if (example.verb.contains(' ')) verb += " " + words[2];
    EXPECT_EQ(verb, example.verb);
    ++count[verb];
  }
  EXPECT_GE(count.size(), 30U);
  for (const auto& [verb, times] : count) EXPECT_LE(times, 3) << verb;
}

TEST(CommandLine, TakesWhatDocumentsTellUsersToType) {
  const std::map<std::string, int> least = {
      {"README.md", 4},    {"doc/guide.md", 17}, {"doc/operations.md", 20}, {"doc/exchange.md", 10},
      {"doc/plans.md", 4}, {"doc/store.md", 3},  {"doc/causal.md", 4},      {"doc/history.md", 3}};
  for (const auto& [document, commands] : least) {
    std::ifstream text(std::string(STAB_SOURCE_DIR) + "/" + document);
    int count = 0;
    bool fenced = false;
    for (std::string line; std::getline(text, line);) {
      if (line.starts_with("```")) fenced = !fenced;
      if (!fenced && !line.starts_with("    ")) continue;
      // One command may take several lines.
      for (std::string more; line.ends_with('\\') && std::getline(text, more);)
        line.replace(line.size() - 1, 1, more);
      const Words words = command_in(line);
      if (words.empty()) continue;
      ++count;
      EXPECT_EQ(refusal(words), "") << document << ": " << line;
    }
    EXPECT_GE(count, commands) << document;
  }
}

TEST(CommandLine, TakesWhatTheGuideSaysBetweenItsBlocks) {
  std::ifstream text(std::string(STAB_SOURCE_DIR) + "/doc/guide.md");
  int count = 0;
  for (std::string line; std::getline(text, line);)
    for (std::size_t at = line.find("`stabctl "); at != std::string::npos;
         at = line.find("`stabctl ", at + 1)) {
      const std::size_t end = line.find('`', at + 1);
      ASSERT_NE(end, std::string::npos) << line;
      EXPECT_EQ(refusal(command_in(line.substr(at + 1, end - at - 1))), "") << line;
      ++count;
    }
  EXPECT_GE(count, 8);
}

// doc/decisions/0030-names-people-meet.md lists them.
TEST(CommandLine, TakesTheOldNameBesideTheBetterOne) {
  EXPECT_EQ(refusal({"stabctl", "quiesce", "status"}), "");
  EXPECT_EQ(refusal({"stabctl", "quiet", "status"}), "");
  const std::vector<std::pair<Words, std::vector<std::string>>> names = {
      {{"stabctl", "run", "plan.toml"}, {"--folder", "--state"}},
      {{"stabctl", "report", "1"}, {"--folder", "--state"}},
      {{"stabctl", "report", "1"}, {"--metric", "--response"}},
      {{"stabctl", "history", "sort"}, {"--metric", "--response"}},
      {{"stabctl", "analyze", "a.csv"}, {"--metric", "--response"}},
      {{"stabctl", "analyze", "a.csv"}, {"--margin", "--equivalence"}},
      {{"stabctl", "check", "plan.toml"}, {"--noise", "--sd"}},
      {{"stabctl", "ab", "--build", "make", "--run", "./b"}, {"--margin", "--equivalence"}},
      {{"stabctl", "ab", "--build", "make", "--run", "./b"}, {"--share", "--same"}}};
  for (const auto& [command, both] : names)
    for (const std::string& name : both) {
      Words words = command;
      words.insert(words.end(), {name, "1%"});
      EXPECT_EQ(refusal(words), "") << name;
    }
  for (const char* name : {"--average", "--estimand"})
    EXPECT_EQ(refusal({"stabctl", "analyze", "a.csv", name, "typical"}), "") << name;
}

TEST(CommandLine, NamesTheNearestVerbOrOption) {
  EXPECT_THAT(refusal({"stabctl", "repot", "1"}),
              HasSubstr("there is no 'stabctl repot', did you mean 'report'? 'stabctl --help'"));
  EXPECT_THAT(refusal({"stabctl", "--socket", "s", "quiet", "aply"}),
              HasSubstr("there is no 'stabctl quiet aply', did you mean 'apply'?"));
  EXPECT_THAT(refusal({"stabctl", "xylophone"}),
              HasSubstr("there is no 'stabctl xylophone'; 'stabctl --help' lists the verbs"));
  EXPECT_THAT(refusal({"stabctl"}), HasSubstr("a verb is needed"));
  EXPECT_THAT(refusal({"stabctl", "report", "--formt", "json"}),
              HasSubstr("'stabctl report' has no option '--formt', did you mean '--format'?"));
  EXPECT_THAT(refusal({"stabctl", "list", "--json=1", "--zebra=2"}),
              HasSubstr("has no option '--zebra'; 'stabctl list --help'"));
  EXPECT_THAT(refusal({"stabctl", "watch", "--fail-on", "rain", "1"}),
              HasSubstr("'rain' is not valid"));
}

TEST(CommandLine, EndsEachRefusalWithTheCommandThatHelps) {
  EXPECT_EQ(refusal({"stabctl", "status"}), "") << "it shows the daemon";
  EXPECT_THAT(refusal({"stabctl", "watch"}),
              EndsWith("'stabctl watch --help' shows how to call it"));
  EXPECT_THAT(refusal({"stabctl", "report", "--format", "pdf"}),
              EndsWith("'stabctl report --help' shows how to call it"));
  EXPECT_THAT(refusal({"stabctl", "quiet", "apply", "--trial-cpus", "two"}),
              EndsWith("'stabctl quiet apply --help' shows how to call it"));
  EXPECT_THAT(refusal({"stabctl", "repot"}), HasSubstr("'stabctl --help'"));
}

TEST(CommandLine, SaysInItsOwnWordsWhatIsWrongWithAValue) {
  const std::vector<std::pair<Words, std::string>> refused = {
      {{"report", "nope"}, "'stabctl report id' must be a whole number above 0, not 'nope'"},
      {{"report", "0"}, "'stabctl report id' must be a whole number above 0, not '0'"},
      {{"report", "--full", "/my runs/a/stabd.db"},
       "not '/my runs/a/stabd.db'; to use the results in a folder, write --folder '/my runs/a'; "
       "'stabctl report --help'"},
      {{"logs", "stabd.db"}, "not 'stabd.db'; to use the results in a folder, write --folder '.'"},
      {{"export", "runs/a/"}, "; to use the results in a folder, write --folder 'runs/a/'"},
      {{"watch", "runs/a"}, "must be a whole number, not 'runs/a'; 'stabctl watch --help'"},
      {{"submit", "p.toml", "--priority", "500"},
       "'stabctl submit --priority' must be a whole number from -100 to 100, not '500'"},
      {{"report", "1", "--format", "pdf"},
       "'stabctl report --format' must be one of text, json, html, not 'pdf'"},
      {{"analyze", "x.csv", "--alpha", "many"}, "'stabctl analyze --alpha' must be a number from "},
      {{"submit"}, "'stabctl submit' needs 'plan' (The plan, a TOML file)"},
      {{"ab", "--budget"}, "'stabctl ab --budget' needs a value after it"},
      {{"ab", "--program", "./a"}, "'stabctl ab --program' needs at least 2 values, but got 1"},
      {{"ab", "--heap", "--no-heap", "--", "a", "b"},
       "cannot be used together; leave one of them out"},
      {{"export", "1", "--archive", "x", "--format", "csv"},
       "cannot be used together; leave one of them out"},
      {{"profile", "1", "--attempt", "2"}, "'stabctl profile': --attempt also needs position"},
      {{"list", "all"}, "'stabctl list' does not take 'all'; 'stabctl list --help' shows"},
      {{"list", "-x"}, "'stabctl list' does not take '-x'"},
      {{"quiet"}, "a verb is needed; 'stabctl qui"},
      {{"ab", "./a", "./b", "--", "100"},
       "'stabctl ab' can't tell whether ./a ./b are programs. If they are programs, write "
       "'stabctl ab --program ./a ./b -- 100'"}};
  for (const auto& [words, expected] : refused) {
    Words all = words;
    all.insert(all.begin(), "stabctl");
    EXPECT_THAT(refusal(all), HasSubstr(expected));
  }
  // Words on one side of -- are commands, or revisions.
  for (const Words& words :
       {Words{"ab", "--", "a", "b"}, Words{"ab", "a", "b"}, Words{"ab", "a", "b", "--"}}) {
    Words all = words;
    all.insert(all.begin(), "stabctl");
    EXPECT_EQ(refusal(all), "");
  }
}

}  // namespace
}  // namespace stab::command_line
