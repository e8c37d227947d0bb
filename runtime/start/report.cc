// SPDX-License-Identifier: MIT
#include "runtime/start/report.h"

#include "runtime/abi/validate.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/epoch/libraries.h"
#include "runtime/image/pads.h"
#include "runtime/image/unwind.h"
#include "runtime/malloc/interface/heap.h"
#include "runtime/start/thread_stacks.h"

namespace stab::rt {
namespace {

// Adds the numbers of the pinned functions that a user should know about.
void add_pinned(Line& line, const abi::Header& table) {
  uint64_t counts[static_cast<uint32_t>(abi::PinReason::count)] = {};
  const auto* pinned = elements<abi::Pinned>(table, table.pinned);
  for (uint32_t i = 0; i < table.pinned.count; ++i)
    if (pinned[i].reason < static_cast<uint32_t>(abi::PinReason::count)) ++counts[pinned[i].reason];
  const auto add = [&](const char* name, abi::PinReason reason) {
    const uint64_t count = counts[static_cast<uint32_t>(reason)];
    if (count != 0) line.field(name, count);
  };
  add("go_functions", abi::PinReason::go_code);
  add("foreign_exception_functions", abi::PinReason::foreign_exceptions);
  add("used_bytes_functions", abi::PinReason::used_bytes);
}

// The median of the functions' largest pads, in bytes.
uint64_t median_pad(const Image& image) {
  uint32_t counts[abi::largest_pad / abi::pad_unit + 1];
  fill_bytes(counts, 0, sizeof counts);
  uint32_t all = 0;
  for (uint32_t f = 0; f < image.count(); ++f) {
    const abi::Frame* frame = frame_of(image, f);
    if (frame == nullptr || frame->part_of != 0) continue;
    ++counts[frame->most];
    ++all;
  }
  uint32_t below = 0;
  for (uint32_t units = 0; units < sizeof counts / sizeof counts[0]; ++units) {
    below += counts[units];
    if (2 * below >= all) return uint64_t{units} * abi::pad_unit;
  }
  return 0;
}

void add_image(Line& line, const Image& image) {
  if (image.table == nullptr) return;
  line.field("functions", uint64_t{image.table->functions.count} + image.table->pinned.count);
  line.field("moved", image.moved());
  line.field("pinned", image.table->pinned.count);
  add_pinned(line, *image.table);
  line.field("altered", image.altered);
  line.field("text_bytes", image.table->text_bytes);
  line.field("moved_bytes", image.moved_bytes);
  line.field("copies_bytes", image.moved() == 0 ? 0 : image.first().code_size);
  line.hex_field("image", reinterpret_cast<uint64_t>(image.base));
  line.hex_field("copies",
                 image.moved() == 0 ? 0 : reinterpret_cast<uint64_t>(image.first().start));
  line.field("padded", image.padded_functions);
  // Functions that make their pads themselves are not counted above.
  if (image.padded_functions != 0)
    line.field("framed", image.table->framed)
        .field("padded_by_pass", image.table->padded_by_pass)
        .field("pad_bytes_median", median_pad(image));
  line.field("setup_ns", image.setup_ns);
}

// Adds the end of the file's name, as much as a line has room for.
void add_file(Line& line, const char* file) {
  constexpr size_t most = 400;
  if (file == nullptr) return;
  const size_t length = length_of(file);
  line.field("file", length > most ? file + length - most : file);
}

void add_outcome(Line& line, const char* problem) {
  line.field("randomized", problem == nullptr ? "yes" : "no");
  if (problem != nullptr) line.field("why", problem);
}

void add_epochs(Line& line, const EpochCounts& epochs) {
  line.field("epochs", epochs.layouts).field("given_up", epochs.given_up);
  if (epochs.why != nullptr) line.field("why_given_up", epochs.why);
  line.field("epochs_ns", epochs.total_ns).field("longest_pause_ns", epochs.longest_ns);
  line.field("frames_moved", epochs.frames_moved).field("layouts_kept", epochs.layouts_kept);
  line.field("layout_bytes", layout_bytes());
  if (epochs.period_ns != 0) line.field("period_ns", epochs.period_ns);
  if (epochs.achieved_ns != 0) line.field("achieved_period_ns", epochs.achieved_ns);
  if (layouts_stay_for.text() != nullptr) line.field("layouts_stay_for", layouts_stay_for.text());
  if (epochs.without_alarm != 0)
    line.field("threads_without_alarm", epochs.without_alarm).field("late_ns", epochs.late_ns);
}

constexpr const char* no_pads =
    "no stack frame of the executable has a pad, because szc could not add any (szc --stab-version "
    "lists the versions of clang that make room for pads in all functions, and szc --stab-explain "
    "gives each function's reason)";

constexpr const char* no_frames_for_pads =
    "no stack frame of the executable can have a pad, because the movable functions make no "
    "calls or have no frame descriptions";

constexpr const char* no_room_for_pads =
    "no stack frame has a pad, because the limit on the stack's size (ulimit -Hs) is below 1 MB or "
    "cannot be read";

void report_region(const NamedRegion& region) {
  Line line;
  line.field("event", "region").field("pid", report_owner()).field("name", region.name);
  line.field("ns", region.clock.time()).field("count", region.clock.count());
  if (region.clock.is_open()) line.field("open", 1);
  write_line(line.close());
}

// If a handler interrupts this and leaves by _exit, it continues after the regions that were
// written.
void report_regions(const NamedRegions& named) {
  static size_t done;
  for (size_t i = __atomic_load_n(&done, __ATOMIC_RELAXED); i < max_regions; ++i) {
    if (const NamedRegion* region = named.at(i)) report_region(*region);
    __atomic_store_n(&done, i + 1, __ATOMIC_RELAXED);
  }
}

}  // namespace

const char* why_no_pads(const Options& options, const Image& image) {
  if (!options.stack || has_pads(image)) return nullptr;
  if (!could_have_pads(image)) return no_frames_for_pads;
  return image.padded ? no_pads : no_room_for_pads;
}

bool report_start(const Options& options, uint64_t seed, const Image* image, const char* problem,
                  const char* why_once, const char* small_stack) {
  const bool code = options.code && problem == nullptr;
  const bool moving = (options.code || options.stack) && problem == nullptr;
  const bool repeated = options.again() && moving && why_once == nullptr;
  const bool made = problem == nullptr && image != nullptr;
  const char* unpadded = made ? why_no_pads(options, *image) : nullptr;
  Line line;
  line.field("event", "start").field("version", abi::version).field("pid", report_owner());
  line.field("code", code ? "on" : "off")
      .field("stack", options.stack && problem == nullptr && unpadded == nullptr ? "on" : "off")
      .field("rerandomize", repeated ? "repeated" : "once")
      .field("seed", seed);
  heap::add_start(line, options);
  if (repeated) line.field("period_ns", options.period).field("budget_percent", options.budget);
  if (why_once != nullptr) line.field("why_once", why_once);
  if (small_stack != nullptr) line.field("small_stack", small_stack);
  if (pads_small_for.text() != nullptr) line.field("pads_small_for", pads_small_for.text());
  // If code or stack was asked for and is impossible, a random heap does not make up for it.
  const bool asked = options.code || options.stack;
  line.field("randomized", (asked ? moving : heap::is_heap_on()) ? "yes" : "no");
  if (problem != nullptr) line.field("why", problem);
  if (image != nullptr) add_image(line, *image);
  if (unpadded != nullptr) line.field("why_no_pads", unpadded);
  line.field("never_moved", "globals, libc and other libraries that szc did not link");
  return write_line(line.close());
}

void report_image(const Image& image, const char* problem) {
  Line line;
  line.field("event", "library").field("pid", report_owner());
  add_file(line, file_of(image.note));
  add_outcome(line, problem);
  if (problem == nullptr && has_pads(image)) line.field("stack", "on");
  add_image(line, image);
  write_line(line.close());
}

void report_signal(int number, uint64_t pc, const Location& location) {
  Line line;
  line.field("event", "signal")
      .field("pid", report_owner())
      .field("signal", static_cast<uint64_t>(number));
  line.hex_field("pc", pc);
  const Image* image = location.image;
  const uint32_t f = image == nullptr ? no_copy : function_at(*image, *location.layout, pc);
  if (f != no_copy) {
    line.field("function", image->name(f));
    line.field("offset", pc - reinterpret_cast<uint64_t>(location.layout->copy(f)));
    line.hex_field("original", reinterpret_cast<uint64_t>(image->original(f)));
  }
  write_line(line.close());
}

void report_sandbox(const EpochCounts& epochs) {
  if (!report_wanted() || !end_report()) return;
  static uint64_t told;  // epochs at the last such line; end_report() lets only one thread in here
  const uint64_t epochs_now = epochs.layouts + epochs.given_up;
  if (epochs_now < 2 * told) return;
  told = epochs_now;
  Line line;
  line.field("event", "sandbox").field("pid", report_owner());
  add_epochs(line, epochs);
  write_line(line.close());
}

void report_child(const EpochCounts& epochs) {
  if (epochs.layouts < 2 && epochs.given_up == 0) return;
  Line line;
  line.field("event", "child").field("pid", static_cast<uint64_t>(os::process_id()));
  line.field("started_as", report_owner());
  add_epochs(line, epochs);
  write_line(line.close());
}

void report_exit(uint64_t run_ns, const RegionClock& plain, const NamedRegions& named,
                 const EpochCounts& epochs) {
  report_regions(named);
  Line line;
  line.field("event", "exit").field("pid", report_owner()).field("run_ns", run_ns);
  line.field("region_ns", plain.time()).field("regions", plain.count());
  if (plain.is_open()) line.field("region_open", 1);
  if (named.refused() != 0) line.field("regions_refused", named.refused());
  add_epochs(line, epochs);
  // A library that came later may be the reason, which the first line does not know.
  if (pads_small_for.text() != nullptr) line.field("pads_small_for", pads_small_for.text());
  if (small_stacks() != 0) line.field("small_thread_stacks", small_stacks());
  heap::add_counts(line);
  write_line(line.close());
}

}  // namespace stab::rt
