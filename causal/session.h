// SPDX-License-Identifier: MIT
// The file that a profiled program's processes share with the profiler: what to do, which code
// belongs to which line, and what was seen. It holds no pointers; all offsets count from its
// beginning.
//
//   Head | Objects | Ranges | names | LineCounts | Counters | Experiments | Visits
//
// Invariants:
//   1. The profiler writes everything before the program starts, except what is marked `shared`.
//   2. The ranges of an object ascend and do not overlap.
//   3. An experiment's visits are stored before Head::experiments counts it. An experiment that is
//      not counted does not exist.
//   4. Whatever a program does to the file, a reader stays within its size.
//   5. At a latency's point, `begun` grows first, then `ns`, then `count`. If `begun` and `count`
//      are equal, and were so before, `ns` belongs to all these visits.
#pragma once

#include <stdint.h>

namespace stab::causal {

constexpr uint64_t magic = 0x3330656c61737563;  // "cusale03"
constexpr uint32_t most_counters = 256;
constexpr uint32_t counter_name_bytes = 112;
constexpr uint32_t most_arrival_threads = 64;
constexpr uint32_t no_line = 0xffffffff;
constexpr int32_t drawn = -1;

// Shared. The times between visits of arrival points in one thread, by its own clock (thread.h),
// summed up.
struct Arrivals {
  uint64_t gaps;
  uint64_t ns;
};

struct Head {
  uint64_t magic;
  uint64_t size;  // of the whole file

  // Instructions for the library.
  uint64_t seed;
  uint64_t sample_ns;          // CPU time of a thread between two samples, at least 100000
  uint64_t experiment_ns;      // how long the first experiment lasts
  uint64_t cooldown_ns;        // from the end of an experiment to the next
  uint64_t least_visits;       // an experiment with fewer makes the next one twice as long
  uint64_t arrival_ns;         // each visit of an arrival point makes its thread faster by this
  uint32_t fixed_line;         // no_line: the first sample in scope decides
  int32_t fixed_speedup;       // permille; `drawn`: 0 half of the time, else 50, 100 ... 1000
  uint32_t is_end_to_end;      // one experiment, from the start to the end
  uint32_t is_without_pauses;  // only sampling, to measure its cost

  // The offsets and sizes of the parts.
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

  // Shared: what happens, and what was seen. Times are by the monotonic clock.
  uint64_t started_ns;       // when the first process started; 0: the library never began
  uint64_t ended_ns;         // the last time that a process ended by itself
  uint64_t owed_ns;          // the pauses of a thread that never ran the line
  uint64_t samples;          // in all threads
  uint64_t samples_outside;  // samples without a frame in scope
  uint64_t sampled_ns;       // CPU time between samples, summed up; its mean is the period
  uint64_t chosen;           // the running experiment: line | speedup << 32; no_line: none
  uint32_t experiments;
  uint32_t visits;  // entries of visit_list
  uint32_t counter_count;
  uint32_t threads;  // threads begun so far
  uint32_t processes;
  uint32_t sampled_by;        // a Sampler
  uint32_t lost_experiments;  // experiments for which there was no room
  uint32_t unwound_short;     // samples whose stacks could not be walked to their end

  uint32_t only_sampler;  // instruction: use only this Sampler; no_sampler: use the best one
  uint32_t coordinator;   // shared: the process that runs the experiments
  uint64_t asked;     // shared: an Asked, or first_answer + the line of the sample that answered
  uint64_t line_ns;   // shared: CPU time of the samples in chosen lines, summed up
  uint64_t slept_ns;  // shared: the pauses of all threads, summed up
  uint64_t handed_on_ns;  // shared: at most the part of owed_ns by which last pauses were too long

  // Shared. One place for each thread that visited arrival points twice or more; threads beyond
  // the room share places.
  Arrivals arrivals[most_arrival_threads];
  uint32_t arrival_threads;
  uint32_t unused;
};

// perf_event_user is perf_event where only samples in user mode are allowed.
enum Sampler : uint32_t { no_sampler, perf_event, cpu_timer, perf_event_user };
enum Asked : uint64_t { nothing_asked, line_asked, first_answer };

// A loaded file with lines in scope. The library identifies it by device and inode.
struct Object {
  uint64_t device;
  uint64_t inode;
  uint32_t first_range;
  uint32_t range_count;
};

// The code at these linked addresses of the object belongs to this line.
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
  claimed = 0xffffffff  // somebody is writing it, so it does not exist yet
};

// Shared. The macros of coz.h add to `count` and `backoff`, which come first.
struct Counter {
  uint64_t count;
  uint64_t backoff;
  uint32_t kind;  // 0: nobody has it yet; stored last
  uint32_t line;  // the line of a sampled point
  // For a latency's beginnings and ends by stab_visit. `ns` is the sum of their times, by their
  // threads' own clocks. It wraps.
  uint64_t begun;
  uint64_t ns;
  char name[counter_name_bytes];
};

struct Experiment {
  uint64_t start_ns;
  uint64_t duration_ns;   // in real time
  uint64_t paused_ns;     // the growth of owed_ns; the effective duration is duration - paused
  uint64_t line_samples;  // samples in the chosen line
  uint64_t samples;       // all samples
  uint32_t line;
  uint32_t speedup;       // permille
  uint32_t first_visits;  // one for each counter that existed
  uint32_t visits_count;
  uint64_t line_ns;  // CPU time that the line's samples stand for; the pauses are `speedup` of it
  uint64_t owed_ns;  // owed_ns at its start
};

// The visits of one counter in one experiment.
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
