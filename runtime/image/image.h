// SPDX-License-Identifier: MIT
// One executable or shared library, its table, and the places of its functions; and the list of all
// images.
//
// Glossary: the *original* is the code where it was linked; its entry stays the function's address
// for everybody who takes it. A *copy* is the code elsewhere, with the same inner layout. A
// *layout* is one placement of all copies. With rerandomize=once there is only one. Otherwise the
// first layout is permanent: functions run there until they are first called, and anchored
// functions run there for ever.
//
// Invariants:
//   1. The original stays valid code, except for the entry: execution that reaches it behind the
//      entry continues in it.
//   2. A copy refers to fixed places, to stubs, and to copies in its own layout or the permanent
//      one. So a layout that nothing outside refers to may be forgotten as a whole.
//   3. Code that somebody may be running is never written to. (At start no code of the program runs
//      between the first change of its text and the last.)
//   4. Memory is never writable and executable at the same time.
#pragma once

#include <elf.h>
#include <stdint.h>

#include "runtime/abi/abi.h"
#include "runtime/abi/validate.h"
#include "runtime/base/random.h"
#include "runtime/image/layout.h"
#include "runtime/image/place.h"
#include "runtime/image/switchboard.h"

namespace stab::rt {

constexpr uint32_t saved_bytes =
    16;  // of the beginning of each original, the patch may cut a field in two
constexpr uint32_t mark_bytes = 16;  // before a copy that notes its first call
constexpr uint32_t mark_code = 7;    // the last of these bytes, which are code

struct Image {
  uint8_t* base = nullptr;
  const abi::Note* note = nullptr;
  const abi::Header* table = nullptr;
  uint8_t* saved = nullptr;  // saved_bytes for each function
  // most_layouts of them, of which the first `used` may have memory. Never unmapped.
  Layout* layouts = nullptr;
  uint32_t used = 0;
  uint32_t present = 0;  // index of the layout that entries lead to
  Switchboard board;     // in use if functions move again
  Side side = Side::either;
  uint64_t lowest = 0;  // of all layouts
  uint64_t highest = 0;
  Random random{0};
  Random pad_random{0};
  bool moves = true;        // false: copies lie as the originals do, and only their frames differ
  bool padded = false;      // frames of copies get pads
  uint8_t* uses = nullptr;  // by function, with the bits in pads.h
  uint32_t* scratch = nullptr;  // for placements: 6 numbers for each function
  uint8_t* memory = nullptr;    // holds all arrays
  uint64_t memory_size = 0;
  void* debugger_entry = nullptr;
  uint64_t debugger_size = 0;
  // For the report.
  uint32_t padded_functions = 0;
  uint32_t altered = 0;
  uint64_t moved_bytes = 0;
  uint64_t setup_ns = 0;

  [[nodiscard]] const abi::Function* functions() const {
    return elements<abi::Function>(*table, table->functions);
  }
  [[nodiscard]] uint32_t count() const { return table->functions.count; }
  [[nodiscard]] uint8_t* original(uint32_t f) const { return base + functions()[f].start; }
  [[nodiscard]] const Layout& first() const { return layouts[0]; }
  [[nodiscard]] const Layout& current() const { return layouts[present]; }
  [[nodiscard]] uint32_t moved() const { return layouts == nullptr ? 0 : first().count; }
  [[nodiscard]] bool anchored(uint32_t f) const {
    return (functions()[f].flags & abi::function_anchored) != 0;
  }
  [[nodiscard]] bool may_move_again(uint32_t f) const { return first().has(f) && !anchored(f); }
  [[nodiscard]] bool was_called(uint32_t f) const {
    return !marks_calls() || __atomic_load_n(board.called(f), __ATOMIC_RELAXED) != 0;
  }
  // Whether copies of the first layout note their first call. If copies lie as the originals do,
  // there is no room for that between them.
  [[nodiscard]] bool marks_calls() const { return board.in_use() && moves; }
  // lead() is the number of bytes before each copy of a layout. If the copy has a mark, the last
  // lead_code_of() of them are code.
  [[nodiscard]] uint32_t lead(const Layout& layout) const {
    return &layout == &first() && marks_calls() ? mark_bytes : 0;
  }
  [[nodiscard]] uint32_t lead_code_of(const Layout& layout) const {
    return &layout == &first() && marks_calls() ? mark_code : 0;
  }
  // All later layouts have the same size. Until the second one exists, the first one's size is the
  // estimate.
  [[nodiscard]] uint32_t layouts_at_most() const {
    return layouts_that_fit(used, layouts[used > 1 ? 1 : 0].size());
  }
  // The layout whose copy of this function is called now.
  [[nodiscard]] const Layout& layout_in_use(uint32_t f) const {
    return current().has(f) ? current() : first();
  }
  [[nodiscard]] const char* name(uint32_t f) const {
    return elements<char>(*table, table->names) + functions()[f].name;
  }
  // A quick check: returns false if the address can't lie in a layout.
  [[nodiscard]] bool near(uint64_t address) const { return address - lowest < highest - lowest; }
};

// Includes the jump tables.
uint32_t copy_size(const abi::Function& function);

// The layout that holds this address, or nullptr. Unused layouts don't count.
const Layout* layout_of(const Image& image, uint64_t address);
// The function whose copy (including jump tables and the mark before it) holds this address, or
// no_copy.
uint32_t function_at(const Image& image, const Layout& layout, uint64_t address);

// Finds the table of the image and checks it. Returns nullptr, or the reason why the image cannot
// be randomized.
const char* open_image(Image& image, const abi::Note* note, const Elf64_Ehdr* elf);

struct Wishes {
  bool code = true;   // places at random
  bool stack = true;  // pads of frames at random
  bool again = true;  // both again later
};

// Copies all functions whose code is as it was linked. Returns nullptr, or the reason why nothing
// was moved.
const char* randomize(Image& image, const Random& random, Wishes wishes);

// randomize_again returns these texts if all layouts are in use, and the limit on their number or
// on their bytes is reached.
extern const char* const no_room;
extern const char* const no_bytes;

// Makes a new layout for the functions that were called. All threads are stopped, or run where this
// changes nothing. `uses` tells which functions have frames. Returns nullptr, or the reason why the
// old layout stays.
const char* randomize_again(Image& image, uint64_t epoch, PadChange change);

// These write records for a tool that samples the program, if there is one (places.h): the
// functions of an image, the places of its stubs, the places that a layout gives them from this
// moment on, and that the image is gone.
void note_image(const Image& image, uint64_t time_ns);
void note_stubs(const Image& image, uint64_t time_ns);
void note_layout(const Image& image, const Layout& layout, uint64_t time_ns);
void note_gone(const Image& image, uint64_t time_ns);

// Forgets the copies. No code may run in them any more.
void close_image(Image& image);

// The images of this process that have moved code. The list is written only while epochs are kept
// out.
//
// locate() may be called at any time, by exception handling on any thread and by signal handlers:
//   1. The memory that it reads of an image (the image itself, and where its layouts lie) is never
//      unmapped, though the next image in the same slot may be written over it.
//   2. It finds nothing in an image that was retracted meanwhile. (Nobody looks up addresses in
//      such an image: its code may be unmapped by then.)
//
// The other functions are for callers that keep images from changing: an epoch, or NoEpochs.

constexpr uint32_t most_images = 256;

// Returns a place for a new image, or nullptr if there are too many. Readers don't see it yet.
Image* claim_image();
void publish_image(Image* image);
// Hides the image from readers. Its place may be claimed again after drop_image.
void retract_image(Image* image);
void drop_image(Image* image);

// The image and the layout whose copies hold an address, or nullptr.
struct Location {
  const Image* image = nullptr;
  const Layout* layout = nullptr;
};
Location locate(uint64_t address);
// Returns the image and the label whose stub this address is, or nullptr.
const Image* image_of_stub(uint64_t address, uint32_t& label);
// The same for a function's stub.
const Image* image_of_function_stub(uint64_t address, uint32_t& f);
Image* image_with(const abi::Note* note);

// Calls `visit` for each visible image.
void for_each_image(void (*visit)(Image& image, void* context), void* context);

}  // namespace stab::rt
