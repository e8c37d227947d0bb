// SPDX-License-Identifier: MIT
#include "runtime/epoch/migrate.h"

#include <link.h>
#include <signal.h>

#include "runtime/abi/abi.h"
#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/image.h"
#include "runtime/image/pads.h"
#include "runtime/image/unwind.h"
#include "runtime/walk/description.h"
#include "runtime/walk/frame.h"
#include "runtime/walk/walk.h"

namespace stab::rt {
namespace {

// A return probe (a uretprobe of perf or bpftrace) replaces a return address on the stack by the
// address of a page of the kernel, [uprobes] in /proc/self/maps. The kernel keeps the return
// address where no program can read it. The processor can read that page, and so can system calls,
// but process_vm_readv can't. This tells the page from all others, whatever code it holds.

// An object looks at the words of one stack. Only the handler uses it.
class ReturnProbes {
 public:
  // Whether a return address may be hidden behind this word. Returns true if this can't be found
  // out.
  bool may_hide(uint64_t word);

 private:
  static constexpr uint32_t most_questions = 1000;
  static constexpr uint32_t remembered = 16;
  uint64_t harmless_[remembered] = {};
  uint32_t questions_ = 0;
};

bool ReturnProbes::may_hide(uint64_t word) {
  constexpr uint64_t user_end = uint64_t{1} << 56;
  if (word % os::page_size != 0 || word == 0 || word >= user_end) return false;
  uint64_t& known = harmless_[word / os::page_size % remembered];
  if (known == word) return false;
  if (++questions_ > most_questions) return true;
  uint8_t byte = 0;
  const os::Piece there = {reinterpret_cast<void*>(word), sizeof byte};
  if (!os::copy_own_memory(&byte, sizeof byte, &there, 1) && os::readable(word)) return true;
  known = word;
  return false;
}

// A limit on the words that are read without knowing the frames in them.
constexpr uint64_t largest_stack = uint64_t{32} << 20;

struct Spot {
  Location location;
  uint32_t function = no_copy;
  uint64_t offset = 0;  // from the copy's start; negative in the mark before the copy

  [[nodiscard]] bool found() const { return function != no_copy; }
  [[nodiscard]] bool in_mark() const { return offset > UINT64_MAX - mark_bytes; }
};

Spot spot_of(uint64_t address) {
  Spot spot;
  spot.location = locate(address);
  if (spot.location.image == nullptr) return spot;
  spot.function = function_at(*spot.location.image, *spot.location.layout, address);
  if (spot.found()) spot.offset = address - address_of(spot.location.layout->copy(spot.function));
  return spot;
}

bool has_frame_of(const Spot& spot, uint64_t address) {
  const Spot other = spot_of(address);
  return other.found() && other.function == spot.function &&
         other.location.layout->pads[other.function] == spot.location.layout->pads[spot.function];
}

// Returns the address of the same instruction in the current layout, or the address itself.
uint64_t present(const Spot& spot, uint64_t address) {
  if (!spot.found() || spot.in_mark() || spot.location.image->present == 0) return address;
  const Layout& now = spot.location.image->current();
  if (spot.location.layout == &now || !now.has(spot.function)) return address;
  if (spot.location.layout->pads[spot.function] != now.pads[spot.function]) return address;
  const uint64_t moved = address_of(now.copy(spot.function)) + spot.offset;
  STAB_EXPENSIVE(Pads, 1, has_frame_of(spot, moved));
  return moved;
}

bool is_table(const Spot& spot) {
  const abi::Function& function = spot.location.image->functions()[spot.function];
  return spot.offset < copy_size(function) && spot.offset >= abi::tables_offset(function.size);
}

bool is_code(const Spot& spot) {
  return spot.offset <= spot.location.image->functions()[spot.function].size;
}

// Returns whether a value in this register that looks like the address of a jump table is one, in
// this function. Below 4 GB, 32-bit numbers look like addresses, too.
bool holds_addresses(const Spot& spot, uint32_t r) {
  if (!spot.found()) return false;
  const abi::Function& function = spot.location.image->functions()[spot.function];
  return (function.address_registers >> r & 1) != 0 &&
         address_of(spot.location.layout->copy(spot.function)) > UINT32_MAX;
}

// Uses the layout's own description, because frames of its copies may be larger than the
// original's.
bool describe(const Image& image, const Layout& layout, uint32_t f, uint64_t start,
              FrameDescription& description) {
  const abi::Function& function = image.functions()[f];
  if (function.fde == 0) return false;
  const abi::Cie& cie = elements<abi::Cie>(*image.table, image.table->cies)[function.cie];
  description = {layout.has(f) ? layout.description(f) : image.base + function.fde,
                 function.fde_size,
                 image.base + cie.offset,
                 cie.size,
                 start,
                 function.size};
  return true;
}

bool find_description(uint64_t pc, FrameDescription& description, void* /*context*/) {
  const Spot spot = spot_of(pc);
  uint32_t label = 0;
  if (const Image* image = image_of_stub(pc, label)) {
    const abi::Label& at = elements<abi::Label>(*image->table, image->table->labels)[label];
    return describe(*image, image->layout_in_use(at.function), at.function, pc - at.offset,
                    description);
  }
  uint32_t entered = 0;
  if (const Image* image = image_of_function_stub(pc, entered))
    return describe(*image, image->layout_in_use(entered), entered, pc, description);
  if (spot.location.image == nullptr) {
    dl_find_object object;
    if (find_object_of_libc(reinterpret_cast<void*>(pc), &object) != 0) return false;
    return find_in_image_header(
        pc, static_cast<const uint8_t*>(object.dlfo_eh_frame),
        {address_of(object.dlfo_map_start), address_of(object.dlfo_map_end)}, description);
  }
  if (!spot.found()) return false;
  // The mark before a copy counts as the copy's first instruction.
  const uint64_t start = is_code(spot) ? address_of(spot.location.layout->copy(spot.function)) : pc;
  return describe(*spot.location.image, *spot.location.layout, spot.function, start, description);
}

// A return address may be the end of a copy, where the next copy or table starts.
Location locate_word(uint64_t word) {
  const Location location = locate(word);
  return location.layout != nullptr ? location : locate(word - 1);
}

void refer_to(const Location& location, Migration& migration) {
  auto* layout = const_cast<Layout*>(location.layout);
  if (layout->state() != LayoutState::old) return;
  layout->referred = true;
  if (layout->retired < migration.oldest) migration.oldest = layout->retired;
}

// Handles a word that may be a reference, when nothing else is known about the word.
void mark_word(uint64_t word, Migration& migration) {
  const Location location = locate_word(word);
  if (location.layout != nullptr) refer_to(location, migration);
}

// Reads the words of a stack upwards, up to the first unreadable page. Other memory of the program
// may begin where the stack ends, and a thread that is not stopped may unmap that memory at any
// moment. So the kernel copies each page for us.
class Stack {
 public:
  // `start` must be 8-aligned.
  explicit Stack(uint64_t start) : next_(start), limit_(start + largest_stack) {}

  // Reads the next word. Returns false at the end.
  bool read(uint64_t& word) {
    if (left_ == 0 && !copy_rest_of_page()) return false;
    word = words_[words_of_page - left_];
    --left_;
    return true;
  }

  // Called at the end: whether memory follows that was not read. Either the stack is too large, or
  // the kernel does not copy the next page, although the page can be read.
  [[nodiscard]] bool goes_on() const { return next_ >= limit_ || is_not_copied_; }

 private:
  static constexpr uint64_t words_of_page = os::page_size / sizeof(uint64_t);

  bool copy_rest_of_page() {
    if (next_ >= limit_) return false;
    const uint64_t size = os::page_size - next_ % os::page_size;
    const uint64_t count = size / sizeof(uint64_t);
    const os::Piece there = {reinterpret_cast<void*>(next_), size};
    if (!os::copy_own_memory(words_ + (words_of_page - count), size, &there, 1)) {
      is_not_copied_ = os::readable(next_);
      return false;
    }
    next_ += size;
    left_ = count;
    return true;
  }

  uint64_t next_;  // what was not copied yet
  uint64_t limit_;
  uint64_t left_ = 0;  // the words at the end of words_ that were not read yet
  bool is_not_copied_ = false;
  uint64_t words_[words_of_page];
};

void mark_stack(uint64_t from, Migration& migration) {
  Stack stack(from & -uint64_t{8});
  ReturnProbes probes;
  uint64_t count = 0;
  for (uint64_t word = 0; stack.read(word); ++count) {
    mark_word(word, migration);
    if (probes.may_hide(word)) migration.complete = false;
  }
  if (count == 0 || stack.goes_on()) migration.complete = false;
}

// The size of the part of a signal's frame that holds siginfo, ucontext and the words around them.
// The vector registers behind this part hold no addresses of code.
constexpr uint64_t signal_frame_size = 1152;

class Migrator {
 public:
  Migrator(ucontext_t& context, Migration& migration)
      : migration_(migration), signal_stack_(context.uc_stack) {
    begin_walk(walk_, context);
    begin_scan();
  }

  void run(uint32_t most_frames) {
    Step last = Step::caller;
    for (uint32_t frames = 0; last == Step::caller && frames < most_frames; ++frames) {
      copy_bytes(&frame_, &walk_, sizeof frame_);
      last = step(walk_, find_description, nullptr);
      const Spot own = spot_of(frame_.interrupted ? frame_.pc : frame_.pc - 1);
      move_program_counter(own);
      move_registers(own, last == Step::caller);
      const uint64_t stack_pointer = frame_.registers.value[rsp];
      scan_to(stack_pointer);
      find_pad(own, last == Step::caller && walk_.stacks == frame_.stacks);
      if (last == Step::caller && walk_.stacks != frame_.stacks) {
        scan_signal_frame(stack_pointer + signal_frame_size);
        begin_scan();
      }
    }
    if (last == Step::bottom) return;
    mark_stack(scanned_, migration_);
    // The interrupted code runs on another stack.
    if (is_on_signal_stack()) migration_.complete = false;
  }

 private:
  // A leaf may keep its caller's registers below the stack pointer.
  void begin_scan() {
    const uint64_t stack_pointer = walk_.registers.value[rsp];
    scanned_ = stack_pointer - red_zone;
    uint64_t ignored = 0;
    read_stack(walk_, (stack_pointer - 8) & -uint64_t{8}, ignored);
  }

  // The walk is on the interrupted stack already.
  void scan_signal_frame(uint64_t end) {
    scanned_ &= -uint64_t{8};
    Stack stack(scanned_);
    uint64_t word = 0;
    for (; scanned_ < end && stack.read(word); scanned_ += 8) scan(&word);
    if (stack.goes_on()) migration_.complete = false;
  }

  [[nodiscard]] bool is_on_signal_stack() const {
    return (signal_stack_.ss_flags & SS_DISABLE) == 0 &&
           walk_.registers.value[rsp] - address_of(signal_stack_.ss_sp) < signal_stack_.ss_size;
  }

  void replace(uint64_t* where, uint64_t from, uint64_t to) {
    if (to == from || where == nullptr) return;
    if (*where != from) return;
    *where = to;
    ++migration_.moved;
  }

  void move_program_counter(const Spot& spot) {
    const uint64_t back = frame_.interrupted ? 0 : 1;
    follow(frame_.pc_slot, frame_.pc, spot, present(spot, frame_.pc - back) + back);
  }

  // A frame that stays in an old layout keeps the layout.
  void follow(uint64_t* where, uint64_t from, const Spot& spot, uint64_t to) {
    if (spot.found() && to == from) refer_to(spot.location, migration_);
    replace(where, from, to);
  }

  // Whether this frame saved the register, so that the value in the register belongs to the frame.
  [[nodiscard]] bool is_saved_here(uint32_t r) const {
    return walk_.saved[r] != frame_.saved[r] &&
           address_of(walk_.saved[r]) >= frame_.registers.value[rsp];
  }

  // Moves registers that hold the address of a jump table of their own function, if the value can't
  // be anything else: no byte of it was changed, and it is neither the caller's nor left by a
  // callee that did not save the register. All other addresses in registers keep their layout.
  void move_registers(const Spot& own, bool caller_is_known) {
    for (uint32_t r = 0; r < register_count; ++r) {
      const uint32_t bit = 1u << r;
      const bool is_own = caller_is_known && is_saved_here(r);
      const bool holds = holds_addresses(own, r);
      if (frame_.saved[r] != nullptr && frame_.registers.is_known(r))
        move_register(r, own, is_own && holds && (kept_ & bit) != 0);
      kept_ = is_own ? kept_ | bit : holds ? kept_ : kept_ & ~bit;
    }
  }

  void move_register(uint32_t r, const Spot& own, bool is_address) {
    const uint64_t value = frame_.registers.value[r];
    const Spot spot = is_address ? spot_of(value) : Spot{};
    const bool inside =
        spot.found() && spot.function == own.function && spot.location.image == own.location.image;
    if (inside && is_table(spot) && may_move_table(spot))
      follow(frame_.saved[r], value, spot, present(spot, value));
    else if (frame_.interrupted)
      scan(frame_.saved[r]);
  }

  // A jmp_buf may hold a copy of an address in a held layout, so the address keeps its layout.
  static bool may_move_table(const Spot& spot) {
    return spot.location.layout->state() != LayoutState::current &&
           !spot.location.layout->is_held();
  }

  // Return addresses and registers were rewritten before. Any other word that looks like an address
  // in an old layout may be one that the program keeps, or may be left over from an earlier frame
  // and partly overwritten. Such a word keeps its value, and its layout is kept too.
  void scan(const uint64_t* word) {
    const Location location = locate_word(*word);
    if (location.layout == nullptr || location.layout->state() == LayoutState::current) return;
    refer_to(location, migration_);
  }

  // Notes where the pad of this frame lies. The words of the frame are scanned next, and the
  // program uses no word of the pad.
  void find_pad(const Spot& own, bool caller_is_known) {
    pad_end_ = 0;
    if (!caller_is_known || !own.found()) return;
    const abi::Frame* frame = frame_of(*own.location.image, own.function);
    if (frame == nullptr || frame->above == 0) return;
    const uint64_t end = walk_.registers.value[rsp] - frame->above;
    pad_start_ = end - own.location.layout->pads[own.function] * uint64_t{abi::pad_unit};
    // Otherwise the frame has not been made yet, or is gone already.
    if (frame_.registers.value[rsp] > pad_start_) return;
    pad_end_ = end;
    STAB_EXPENSIVE(Pads, 3, spoil_pad());
  }

  // Fills the pad, so that the program would read a wrong address if it used a word of the pad.
  [[nodiscard]] bool spoil_pad() const {
    if (pad_start_ < walk_.readable_start || pad_end_ > walk_.readable_end) return true;
    fill_bytes(reinterpret_cast<void*>(pad_start_), 0xdb, pad_end_ - pad_start_);
    return true;
  }

  void scan_to(uint64_t end) {
    for (scanned_ &= -uint64_t{8}; scanned_ < end; scanned_ += 8) {
      if (scanned_ >= pad_start_ && scanned_ < pad_end_) continue;
      if (scanned_ < frame_.readable_start || scanned_ + 8 > frame_.readable_end) continue;
      scan(reinterpret_cast<const uint64_t*>(scanned_));
    }
  }

  Migration& migration_;
  stack_t signal_stack_;
  Walk walk_;                   // at the caller of frame_
  Walk frame_;                  // the frame that is moved
  uint32_t kept_ = UINT32_MAX;  // registers that no callee can have changed
  uint64_t scanned_ = 0;
  uint64_t pad_start_ = 0;
  uint64_t pad_end_ = 0;  // 0: no pad is known
};

void mark_active(uint64_t pc) {
  uint32_t label = 0;
  if (const Image* image = image_of_stub(pc, label)) {
    image->uses[elements<abi::Label>(*image->table, image->table->labels)[label].function] |=
        is_active;
    return;
  }
  uint32_t entered = 0;
  if (const Image* image = image_of_function_stub(pc, entered)) {
    image->uses[entered] |= is_active;
    return;
  }
  const Spot spot = spot_of(pc);
  if (!spot.found()) return;
  spot.location.image->uses[spot.function] |= is_active;
}

}  // namespace

void mark_active_functions(const InHandler& /*proof*/, ucontext_t& context, uint32_t most_frames,
                           ActiveFrames& frames) {
  Walk walk;
  begin_walk(walk, context);
  Step last = Step::caller;
  for (uint32_t count = 0; last == Step::caller && count < most_frames; ++count) {
    mark_active(walk.interrupted ? walk.pc : walk.pc - 1);
    last = step(walk, find_description, nullptr);
  }
  frames.complete &= last == Step::bottom;
}

void migrate(const InHandler& /*proof*/, ucontext_t& context, uint32_t most_frames,
             Migration& migration) {
  Migrator(context, migration).run(most_frames);
}

}  // namespace stab::rt
