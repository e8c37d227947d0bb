// SPDX-License-Identifier: MIT
#include "stabd/command_line/examples.h"

#include <array>

namespace stab::command_line {
namespace {

constexpr auto example_table = std::to_array<Example>({
    {"ab", "stabctl ab -- 'sort -n numbers' 'sort -g numbers'"},
    {"ab", "stabctl ab --program ./old ./new -- --size 1000 input"},
    {"ab",
     "stabctl ab main . --build 'make CC=\"$CC\"' --run './bench 1000' --fail-on "
     "trials,regressed"},
    {"demo", "stabctl demo"},
    {"run", "stabctl run plans/quickstart.toml"},
    {"run", "stabctl run --folder results --full plan.toml"},
    {"run", "stabctl run --fail-on trials,regressed plan.toml  # a gate in CI"},
    {"submit", "stabctl submit plan.toml"},
    {"submit", "stabctl submit --wait --priority -10 plan.toml"},
    {"check", "stabctl check plan.toml"},
    {"check", "stabctl check --sd 2% plan.toml  # the smallest change it can see"},
    {"keys", "stabctl keys"},
    {"keys", "stabctl keys --quantities"},
    {"runs", "stabctl runs"},
    {"list", "stabctl list"},
    {"list", "stabctl list --json"},
    {"status", "stabctl status 1"},
    {"status", "stabctl status --daemon"},
    {"watch", "stabctl watch 1"},
    {"watch", "stabctl watch --web 1  # also as a live page"},
    {"watch", "stabctl watch --fail-on trials,regressed,unsure 1"},
    {"cancel", "stabctl cancel 1"},
    {"pause", "stabctl pause 1 2"},
    {"pause", "stabctl pause --queue"},
    {"resume", "stabctl resume 1 2"},
    {"resume", "stabctl resume --queue"},
    {"retry", "stabctl retry 1"},
    {"rm", "stabctl rm --dry-run 1 2"},
    {"rm", "stabctl rm --folder results 1"},
    {"report", "stabctl report 1"},
    {"report", "stabctl report --full --folder results"},
    {"report", "stabctl report 1 --response cpu --format json -o report.json"},
    {"logs", "stabctl logs 1"},
    {"logs", "stabctl logs -f 1"},
    {"compare", "stabctl compare 1  # its verdicts"},
    {"compare", "stabctl compare 1 2  # changes from 1 to 2"},
    {"export", "stabctl export 1 --format csv -o trials.csv"},
    {"export", "stabctl export 1 --format benchstat >new.txt"},
    {"export", "stabctl export 1 --archive experiment.stab"},
    {"history", "stabctl history sort"},
    {"history", "stabctl history sort --folder results --response cpu --last 50"},
    {"replay", "stabctl replay 1 57"},
    {"replay", "stabctl replay 1 57 -- perf record -g"},
    {"replay", "stabctl replay --print 1 57"},
    {"profile", "stabctl profile 1 57"},
    {"profile", "stabctl profile 1 --cells 'sort opt=O1' 'sort opt=O2'"},
    {"causal", "stabctl causal --coz profile.coz -- ./program input"},
    {"causal", "stabctl causal --scope '*/src/*' --line parse.cc:120 --runs 10 -- ./program"},
    {"causal", "stabctl causal --read first.coz second.coz --json"},
    {"causal verify", "stabctl causal verify 3 change.toml"},
    {"causal verify", "stabctl causal verify 3 change.toml --line parse.cc:120 --speedup 40%"},
    {"analyze",
     "stabctl analyze trials.csv --response seconds --factors opt,heap --block round --log"},
    {"analyze", "stabctl analyze trials.csv --response seconds --factors opt --equivalence 1%"},
    {"analyze", "stabctl analyze old.json new.json --factor version=old,new --log"},
    {"counters", "stabctl counters"},
    {"counters", "stabctl counters 'cache-*'"},
    {"doctor", "stabctl doctor"},
    {"compiler", "stabctl compiler list"},
    {"compiler list", "stabctl compiler list --json"},
    {"compiler add", "stabctl compiler add ~/llvm/build/bin/clang"},
    {"quiesce", "stabctl quiesce status"},
    {"quiesce status", "stabctl quiesce status"},
    {"quiesce apply", "stabctl quiesce apply"},
    {"quiesce apply", "stabctl quiesce apply --knobs swappiness,ksm --strict"},
    {"quiesce restore", "stabctl quiesce restore"},
    {"backup", "stabctl backup copy.db"},
    {"import", "stabctl import experiment.stab"},
    {"import", "stabctl import experiment.stab --folder results"},
    {"recover", "stabctl recover /var/lib/stabd whole.db"},
    {"sql", "stabctl sql 'SELECT id, name, state FROM experiment'"},
    {"sql",
     "stabctl sql --folder results --csv \"SELECT position, value FROM trial JOIN reading ON "
     "trial.id = reading.trial WHERE name = 'page-faults-minor'\""},
    {"help", "stabctl help quiesce apply"},
    {"help", "stabctl help --man ab | man -l -"},
    {"completion", "source <(stabctl completion bash)  # in ~/.bashrc"},
    {"completion", "stabctl completion zsh >~/.zfunc/_stabctl"},
    {"completion", "stabctl completion fish >~/.config/fish/completions/stabctl.fish"},
});

}  // namespace

std::span<const Example> examples() {
  return example_table;
}

std::string examples_text(std::string_view verb) {
  std::string text;
  for (const Example& example : example_table)
    if (example.verb == verb) text += "\n  " + std::string(example.line);
  return text.empty() ? text : "Examples:" + text;
}

}  // namespace stab::command_line
