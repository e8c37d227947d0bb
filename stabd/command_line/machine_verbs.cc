// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "stabd/client/database/database_verbs.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

using namespace client;

void CommandLine::add_database_verbs() {
  Arguments& a = arguments_;
  CLI::App* backup = verb("backup", "Copy the database to a file, also while stabd works with it",
                          [&a] { return client::backup(a.common, a.output); });
  backup->add_option("file", a.output, "The copy; must not be there yet")->required();
  backup->add_option("--state", a.common.state,
                     "Folder of the database: needs no daemon; else that of the daemon");
  json_flag(backup);
  CLI::App* import = verb("import",
                          "Add the experiment of an archive to the daemon's database, or that of a "
                          "folder, under a number of its own",
                          [&a] { return client::import_archive(a.common, a.archive); });
  import->add_option("file", a.archive, "What 'stabctl export ID --archive' wrote")->required();
  import->add_option("--state", a.common.state,
                     "Folder of the database; made if it is not there. Needs no daemon, and none "
                     "may run with it");
  json_flag(import);
  CLI::App* recover = verb(
      "recover",
      "Make a whole database of what can still be read of a damaged one, which stays as it is; "
      "stabd must not run with it",
      [&a] { return client::recover(a.common, a.from, a.output); });
  recover->add_option("from", a.from, "The damaged database, or its folder")->required();
  recover->add_option("to", a.output, "The new one, or a folder for it; must not be there yet")
      ->required();
  json_flag(recover);
  CLI::App* sql =
      verb("sql",
           "One SELECT over a database of stabd, whose tables and views doc/store.md has; "
           "nothing is changed",
           [&a] { return client::sql(a.common, a.sql); });
  sql->add_option("select", a.sql.statement, "The SELECT, one word for the shell")->required();
  CLI::Option* state = sql->add_option(
      "--state", a.common.state,
      "Folder of the database, see 'stabctl runs'; else that of your own daemon, or the system's "
      "for root");
  sql->add_option("--database", a.sql.database, "File of the database, a backup say")
      ->excludes(state);
  sql->add_option("--time-limit", a.sql.seconds, "Seconds after which it is given up")
      ->capture_default_str()
      ->check(CLI::Range(1, 100'000));
  CLI::Option* csv = sql->add_flag("--csv", a.sql.csv, "Print CSV");
  json_flag(sql)->excludes(csv);
}

CommandLine::Action CommandLine::on_machine(Result<int> (*what)(const MachineOptions&)) {
  return [this, what] {
    arguments_.machine.json = arguments_.common.json;
    return what(arguments_.machine);
  };
}

void CommandLine::machine_options(CLI::App* verb) {
  MachineOptions& m = arguments_.machine;
  verb->add_option("--root", m.root,
                   "A folder that stands for /: its proc and sys are read and written, for trying "
                   "it out; the CPUs are those of this machine");
  json_flag(verb);
}

void CommandLine::add_machine_verbs() {
  MachineOptions& m = arguments_.machine;
  machine_options(verb("doctor",
                       "What this machine can and cannot do for measurements, and what would "
                       "mend it; changes nothing",
                       on_machine(client::doctor)));
  CLI::App* counters = verb("counters",
                            "Which events each trial can count on this machine, and why not the "
                            "others",
                            [this] {
                              arguments_.counters.json = arguments_.common.json;
                              return client::counters(arguments_.counters);
                            });
  counters->add_option("pattern", arguments_.counters.pattern,
                       "Only names with this in them, in full; * and ? stand for others");
  json_flag(counters);
  CLI::App* quiesce = app_->add_subcommand(
      "quiesce", "Make this machine quiet for measurements, and put back what was changed");
  quiesce->require_subcommand(1);
  quiesce->fallthrough();
  const auto part = [&](const char* name, const char* help,
                        Result<int> (*what)(const MachineOptions&)) {
    CLI::App* added = quiesce->add_subcommand(name, help);
    added->fallthrough();
    added->callback([this, action = on_machine(what)] { action_ = action; });
    added->add_option("--log", m.log, "The log of changes; else that of this machine");
    machine_options(added);
    return added;
  };
  const auto knobs_option = [&](CLI::App* added) {
    added->add_option("--knobs", m.knobs, "Only these, with commas; else the standard ones")
        ->delimiter(',');
    added->add_option("--trial-cpus", m.trial_cpus, "How many CPUs trials use")
        ->capture_default_str();
    return added;
  };
  knobs_option(part("status", "Which settings are quiet", quiesce_status));
  knobs_option(part("apply", "Change those that are not; 'restore' puts them back", quiesce_apply))
      ->add_flag("--strict", m.strict,
                 "All or nothing: put back what was changed if one is refused");
  part("restore", "Put back what was changed, also by a run that was killed", quiesce_restore);
}

}  // namespace stab::command_line
