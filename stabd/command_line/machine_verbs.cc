// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "client/verbs.h"
#include "stabd/command_line/command_line.h"

namespace stab::command_line {

using namespace client;

void CommandLine::add_database_verbs() {
  Arguments& a = arguments_;
  CLI::App* backup = verb("backup", "Copy the database to a file, even while stabd uses it",
                          [&a] { return client::backup(a.common, a.output); });
  backup->add_option("file", a.output, "File for the copy; it must not exist yet")->required();
  backup->add_option(
      "--folder,--state", a.common.state,
      "Copy the database in this folder, without a daemon; by default, copy the daemon's database");
  json_flag(backup);
  CLI::App* import = verb("import",
                          "Add the experiment in an archive, under a new number, to the daemon's "
                          "database or to the database in a folder",
                          [&a] { return client::import_archive(a.common, a.archive); });
  import->add_option("file", a.archive, "Archive from 'stabctl export ID --archive'")->required();
  import->add_option("--folder,--state", a.common.state,
                     "Import into the database in this folder, without a daemon. The folder is "
                     "created if it is missing, and no daemon may use it");
  json_flag(import);
  CLI::App* recover =
      verb("recover",
           "Make a new database from everything that is readable in a damaged database. The "
           "damaged database stays as it is; stabd must not use it meanwhile",
           [&a] { return client::recover(a.common, a.from, a.output); });
  recover->add_option("from", a.from, "The damaged database, or its folder")->required();
  recover
      ->add_option(
          "to", a.output,
          "Where to put the new database: a file that does not exist yet, or an existing folder")
      ->required();
  json_flag(recover);
  CLI::App* machines = verb("machines",
                            "List the machines and nodes that trials ran on: their hardware and "
                            "kernel, when they were used last, their noise floor, and their state "
                            "in a Slurm cluster",
                            [&a] { return client::machines(a.common); });
  machines->add_option("--folder,--state", a.common.state,
                       "Read the database in this folder, without a daemon; by default the "
                       "daemon's database, which you must be allowed to read");
  json_flag(machines);
  CLI::App* sql = verb(
      "sql",
      "Run one SELECT over a database of stabd; doc/store.md lists its tables. Nothing is changed",
      [&a] { return client::sql(a.common, a.sql); });
  sql->add_option("select", a.sql.statement, "The SELECT, quoted as one word")->required();
  CLI::Option* state =
      sql->add_option("--folder,--state", a.common.state,
                      "Query the database in this folder (see 'stabctl runs'); by default, in your "
                      "own daemon's folder or, for root, in the system daemon's folder");
  sql->add_option("--database", a.sql.database, "File of the database, for example a backup")
      ->excludes(state);
  sql->add_option("--time-limit", a.sql.seconds, "Give up after this many seconds")
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
                   "For trying things out: a folder to use instead of /. stabctl reads and writes "
                   "proc and sys in this folder, but uses the CPUs of this machine");
  json_flag(verb);
}

void CommandLine::add_machine_verbs() {
  MachineOptions& m = arguments_.machine;
  CLI::App* doctor =
      verb("doctor",
           "Check how well this machine can measure, and suggest improvements; nothing is changed",
           on_machine(client::doctor));
  machine_options(doctor);
  doctor->add_option("program", m.programs,
                     "Also check whether these programs can have random layouts");
  doctor
      ->add_flag("--machines", m.machines,
                 "Check the Slurm cluster instead, on a machine where scontrol works: show how the "
                 "cluster's settings affect measurements on its nodes, and which lines in "
                 "slurm.conf would help")
      ->excludes("program", "--root");
  CLI::App* counters = verb("counters",
                            "List the events that trials can count on this machine, and explain "
                            "why other events can't be counted",
                            [this] {
                              arguments_.counters.json = arguments_.common.json;
                              return client::counters(arguments_.counters);
                            });
  counters->add_option("pattern", arguments_.counters.pattern,
                       "List only events whose names contain this text. If the text contains * or "
                       "?, it must match the whole name");
  json_flag(counters);
  CLI::App* compiler = app_->add_subcommand(
      "compiler", "List or add the compilers with which szc can give stack frames random pads");
  compiler->require_subcommand(1);
  compiler->fallthrough();
  const auto about_compilers = [&](const char* name, const char* help) {
    CLI::App* added = compiler->add_subcommand(name, help);
    added->fallthrough();
    added->callback([this] {
      action_ = [this] {
        arguments_.compiler.json = arguments_.common.json;
        return client::compilers(arguments_.compiler);
      };
    });
    json_flag(added);
    return added;
  };
  about_compilers("list",
                  "List the versions of clang that szc supports, and the compilers that you added");
  about_compilers("add",
                  "Build szc's pass for another version of clang, for example a clang that you "
                  "built from LLVM's sources. To use that clang, call szc --stab-cc=CLANG, set CC "
                  "= \"szc --stab-cc=CLANG\" in a plan, or call stabctl ab --env STAB_CC=CLANG")
      ->add_option("clang", arguments_.compiler.added, "Path of the clang")
      ->required();
  CLI::App* quiet = app_->add_subcommand(
      "quiet", "Make this machine quiet for measurements, or put back what was changed");
  quiet->alias("quiesce");
  quiet->require_subcommand(1);
  quiet->fallthrough();
  const auto part = [&](const char* name, const char* help,
                        Result<int> (*what)(const MachineOptions&)) {
    CLI::App* added = quiet->add_subcommand(name, help);
    added->fallthrough();
    added->callback([this, action = on_machine(what)] { action_ = action; });
    added->add_option("--log", m.log,
                      "File with the record of changes; by default, this machine's log");
    machine_options(added);
    return added;
  };
  const auto knobs_option = [&](CLI::App* added) {
    added
        ->add_option("--knobs", m.knobs,
                     "Check or change only these settings, separated by commas; by default, the "
                     "standard settings")
        ->delimiter(',');
    added->add_option("--trial-cpus", m.trial_cpus, "How many CPUs trials use")
        ->capture_default_str();
    return added;
  };
  knobs_option(part("status", "Show which settings are quiet", quiesce_status));
  knobs_option(part("apply",
                    "Change the settings that disturb measurements; 'restore' puts them back",
                    quiesce_apply))
      ->add_flag("--strict", m.strict,
                 "Change either all settings or none of them: if one change is refused, put the "
                 "other settings back");
  part("restore",
       "Put back all settings that were changed, even if the run that changed them was killed",
       quiesce_restore);
}

}  // namespace stab::command_line
