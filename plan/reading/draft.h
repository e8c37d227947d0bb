// SPDX-License-Identifier: MIT
// A plan while it is being read: the values so far, their positions, and the problems. First each
// table is read on its own, and then the tables are checked against each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "plan/reading/key_list.h"
#include "plan/reading/read_plan.h"
#include "toml/keys.h"

namespace stab::plan {

using toml::did_you_mean;
using toml::Items;
using toml::max_length;
using toml::Pair;
using toml::Pairs;
using toml::Position;
using toml::Problem;
using toml::Problems;
using toml::shown;
using toml::Table;
using toml::Value;
using toml::Words;

// A text in which each ${NAME} stands for a variable.
struct Template {
  Position at;
  std::string path;
  std::string text;
};

struct DraftBenchmark {
  Position at;
  Benchmark value;
  std::optional<Template> build;
  std::vector<Template> run;  // run, env and stdin: the texts that affect the run
};

struct DraftFactor {
  Position at;
  Factor value;
};

struct DraftCell {
  Position at;
  Cell value;
};

// The keys of designs that don't compare all cells with each other.
struct DraftStudy {
  std::optional<std::uint32_t> comparisons;
  std::vector<Template> generators;
  std::optional<std::size_t> resolution;
  Position at;                               // of generators or resolution
  std::map<std::string, Position> analysis;  // each key of [analysis]
};

struct Draft {
  Problems problems;
  Plan plan;  // its benchmarks, factors and cells are in the members below until the end
  std::vector<DraftBenchmark> benchmarks;
  std::vector<DraftFactor> factors;
  std::vector<DraftCell> cells;
  std::vector<Template> values;  // the values of variables, in the plan and in levels
  Words declared;                // variables that the plan names anywhere, even in a wrong place
  std::vector<Position> repetitions_at;          // each place that sets `repetitions`
  std::map<std::string, Position> randomize_at;  // each key of [randomize]
  Position design_at;  // position of design.kind, or of [design], or of nothing
  Position stop_at;    // design.stop
  Position time_at;    // design.time
  Position rotate_at;  // measure.rotate
  Position nodes_at;   // machines.nodes
  std::optional<std::uint32_t> nodes_chosen;  // by_default.nodes
  Position nodes_chosen_at;
  std::optional<Position> machines_answer_at;  // if machines.answer is "like-these"
  std::optional<Position> simulate_at;         // measure.simulate
  std::optional<Position> measure_at;          // [measure]
  Position response_at;                        // analysis.response
  DraftStudy study;
  bool has_revisions = false;    // a factor has revisions as its levels
  bool factors_are_good = true;  // whether checks across tables can trust them
  bool kind_is_good = true;
  bool cells_are_good = true;
};

// Reads a table of texts, whose keys are names of variables.
Variables variables_of(const Table& table);

// Reads one whole number up to `most`, or an array of different ones. The result is empty if the
// key is missing or wrong; a wrong key becomes a problem.
std::vector<std::uint32_t> whole_numbers(const Table& table, std::string_view key,
                                         std::uint32_t most);

// Variables that stabd sets itself, for builds and runs.
inline const Words own_variables{"OUT", "DIR", "SRC"};

void read_experiment(const Table& root, Draft& draft);
// Sets CC, CXX and analysis.cost too. Call it before read_variables() and read_analysis(), which
// replace them if the plan sets them.
void read_by_default(const Table& root, Draft& draft);
void read_variables(const Table& root, Draft& draft);
void read_benchmarks(const Table& root, Draft& draft);  // also reads [defaults]
void read_factors(const Table& root, Draft& draft);
void read_randomize(const Table& root, Draft& draft);
void read_stated(const Table& root, Draft& draft);
void read_design(const Table& root, Draft& draft);
// Reads the keys of [design] that belong to a single kind.
void read_studies(const Table& design, Draft& draft);
void read_stop(const Table& design, Draft& draft);
void read_causal(const Table& root, Draft& draft);  // after [design]
void read_exclude(const Table& root, Draft& draft);
void read_measure(const Table& root, Draft& draft);
// Reads the measures that the plan defines itself, after the counters.
void read_own_measures(const Table& measure, Draft& draft);
// Called after all tables were read: a rule and the response must not count the same thing.
void check_exclude(Draft& draft);
// Reads analysis.response, after [measure].
void read_response(const std::optional<Table>& analysis, Draft& draft);
void read_machine(const Table& root, Draft& draft);
void read_machines(const Table& root, Draft& draft);  // after [machine]
void read_analysis(const Table& root, Draft& draft);

// The name of the level that the user wrote in this way. The levels of the runtime's options have
// one normal name each: "1s" is the level "1000ms".
std::string normal_level(const Factor& factor, const std::string& written);

void check_names(
    Draft& draft);  // each ${NAME} is defined, and texts stay short when it is replaced
void check_builds(Draft& draft);   // OUT and DIR are used where they must be
void check_beside(Draft& draft);   // commands beside trials are the same in all trials
void check_factors(Draft& draft);  // each factor acts on each benchmark
void check_design(Draft& draft);   // the kind of design fits the factors
// Checks calibrations, padding studies and fractional designs, once the rest of the design is good,
// and adds their arms and cells to the draft.
void check_studies(Draft& draft);
void check_stop(Draft& draft);       // the stopping rule fits the design
void check_analysis(Draft& draft);   // the analysis fits the design
void check_simulated(Draft& draft);  // nothing is requested that a simulator does not have
void check_causal(Draft& draft);     // nothing is requested that a causal design does not have
void check_turns(Draft& draft);      // each set of events gets blocks, and so does the response
void check_options(
    Draft& draft);  // what the runtime is asked for makes a difference, and szc is there
void check_machines(Draft& draft);  // the design fits several machines
void check_size(Draft& draft);      // keeps max_cells and max_trials

}  // namespace stab::plan
