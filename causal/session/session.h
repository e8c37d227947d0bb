// SPDX-License-Identifier: MIT
// The file that a profiled program's processes share with whoever profiles them: what to do, which
// code is which line, and what was seen. It holds no pointers; all offsets are from its beginning.
//
//   Head | Object ... | Range ... | names | LineCount ... | Counter ... | Experiment ... | Visits ...
//
// Invariants:
//   1. The profiler writes all but what is marked `shared` before the program starts.
//   2. Ranges of an object ascend and do not overlap.
//   3. An experiment's visits are stored before Head::experiments counts it: one that is not counted
//      is not there.
//   4. Whatever a program does to the file, who reads it stays within its size.
//   5. Of a latency's point `begun` grows before `ns` and `count` after it: where the two are equal, and
//      were so before, `ns` is of all these visits.
#pragma once

#include <stdint.h>

namespace stab::causal {

constexpr uint64_t magic = 0x3330656c61737563;  // "cusale03"
constexpr uint32_t most_counters = 256;
constexpr uint32_t counter_name_bytes = 112;
constexpr uint32_t most_arrival_threads = 64;
constexpr uint32_t no_line = 0xffffffff;
constexpr int32_t drawn = -1;

// Shared. From visit to visit of arrival points in one thread, by its own clock (thread.h), summed up.
struct Arrivals {
  uint64_t gaps;
  uint64_t ns;
};

struct Head {
  uint64_t magic;
  uint64_t size;  // of the file

  // What to do.
  uint64_t seed;
  uint64_t sample_ns;          // CPU time of a thread from sample to sample, at least 100000
  uint64_t experiment_ns;      // how long the first experiment lasts
  uint64_t cooldown_ns;        // from the end of an experiment to the next
  uint64_t least_visits;       // experiments with fewer make the next one twice as long
  uint64_t arrival_ns;         // by which each visit of an arrival point makes its thread faster
  uint32_t fixed_line;         // no_line: the first sample in scope chooses
  int32_t fixed_speedup;       // permille; `drawn`: 0 half of the times, else 50, 100 ... 1000
  uint32_t is_end_to_end;      // one experiment, from the start to the end
  uint32_t is_without_pauses;  // sampled only: what sampling costs

  // Where the parts are.
  uint64_t objects;
  uint64_t ranges;
  uint64_t names;
  uint64_t line_counts;
  uint64_t counters;
  uint64_t experiment_list;
  uint64_t visit_list;
  uint32_t object_count;
  uint32_t range_count;
  uint32_t line_count;
  uint32_t experiment_capacity;
  uint32_t visit_capacity;
  uint32_t names_size;

  // Shared: what happens, and what was seen. Times are of the monotonic clock.
  uint64_t started_ns;       // the first process's; 0: the library never began
  uint64_t ended_ns;         // the last time that a process ended by itself
  uint64_t owed_ns;          // the pauses of a thread that never ran the line
  uint64_t samples;          // in all threads
  uint64_t samples_outside;  // of those: no frame in scope
  uint64_t sampled_ns;       // CPU time between samples, summed up: the period is this by `samples`
  uint64_t chosen;           // of the running experiment: line | speedup << 32; no_line: none
  uint32_t experiments;
  uint32_t visits;  // entries of the list
  uint32_t counter_count;
  uint32_t threads;  // begun in all
  uint32_t processes;
  uint32_t sampled_by;        // Sampler
  uint32_t lost_experiments;  // there was no room for them
  uint32_t unwound_short;     // samples whose stacks could not be walked to their end

  uint32_t only_sampler;  // what to do: no other Sampler than this; no_sampler: the best there is
  uint32_t coordinator;   // shared: the process that runs the experiments
  uint64_t asked;         // shared: what the next sample in scope answers (Asked), or its line + 2
  uint64_t line_ns;       // shared: CPU time of the samples in chosen lines, summed up
  uint64_t slept_ns;      // shared: of all threads' pauses, summed up
  uint64_t handed_on_ns;  // shared: at most so much of owed_ns is what last pauses took too long

  // Shared. Threads that visited arrival points twice or more; those beyond the room share places.
  Arrivals arrivals[most_arrival_threads];
  uint32_t arrival_threads;
  uint32_t unused;
};

// perf_event_user: as perf_event where only samples in user mode are allowed.
enum Sampler : uint32_t { no_sampler, perf_event, cpu_timer, perf_event_user };
enum Asked : uint64_t { nothing_asked, line_asked, first_answer };

// A loaded file with lines in scope. The library knows it by device and inode.
struct Object {
  uint64_t device;
  uint64_t inode;
  uint32_t first_range;
  uint32_t range_count;
};

// Code at these addresses of the object, as it was linked, is of this line.
struct Range {
  uint64_t start;
  uint32_t size;
  uint32_t line;
};

// Shared.
struct LineCount {
  uint64_t samples;
};

enum CounterKind : uint32_t {
  throughput = 1,
  begin = 2,
  end = 3,
  arrival = 4,
  sampled = 6,
  claimed = 0xffffffff  // somebody writes it just now: it is not there yet
};

// Shared. `count` and `backoff` are what macros of coz.h add to, and stand first.
struct Counter {
  uint64_t count;
  uint64_t backoff;
  uint32_t kind;  // 0: nobody has it yet; stored last
  uint32_t line;  // of a sampled one
  // Of a latency's beginnings and ends by stab_visit: when they were by their threads' own clocks, summed
  // up. It wraps.
  uint64_t begun;
  uint64_t ns;
  char name[counter_name_bytes];
};

struct Experiment {
  uint64_t start_ns;
  uint64_t duration_ns;   // as it passed
  uint64_t paused_ns;     // by which owed_ns grew; the effective duration is duration - paused
  uint64_t line_samples;  // of the chosen line, in it
  uint64_t samples;       // of all
  uint32_t line;
  uint32_t speedup;       // permille
  uint32_t first_visits;  // one for each counter there was
  uint32_t visits_count;
  uint64_t line_ns;  // CPU time that the line's samples stand for; its pauses are speedup of this
  uint64_t owed_ns;  // at its start
};

// Of one counter in one experiment.
struct Visits {
  uint32_t counter;
  uint32_t has_ns;
  uint64_t before;
  uint64_t after;
  uint64_t ns_before;
  uint64_t ns_after;
};

static_assert(sizeof(Object) == 24 && sizeof(Range) == 16 && sizeof(Counter) == 152);
static_assert(sizeof(Experiment) == 72 && sizeof(Visits) == 40);

}  // namespace stab::causal
