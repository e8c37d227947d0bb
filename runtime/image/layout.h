// SPDX-License-Identifier: MIT
// One placement of an image's functions: memory, and the place of each copy in it.
//
//   | copies | call frame descriptions of the copies |
//
// A layout is written while nobody uses it. Then it becomes executable, and is not changed again
// until nothing refers to it.
//
// Invariants:
//   1. It starts at a page, and its code and its descriptions are whole pages.
//   2. A function with an offset is in the order exactly once, and no other function is in it.
//      Places ascend and lie in the code; copies do not overlap.
#pragma once

#include <stdint.h>

namespace stab::rt {

constexpr uint32_t no_copy = UINT32_MAX;

// The first two limits are for the layouts of one image, including the first layout. The last two
// bound the memory of programs whose layouts are all kept: the layouts of all images have at most
// most_layout_bytes together, except that each image may have least_layouts.
constexpr uint32_t most_layouts = 64;
constexpr uint32_t least_layouts = 5;
constexpr uint64_t most_layout_bytes = uint64_t{256} << 20;

// Tells which functions may get frames of another size in a new layout, among those without a frame
// now.
enum class PadChange : uint8_t {
  none,  // there may be unknown frames in threads that are about to be moved
  all,
};

enum class LayoutState : uint32_t {
  absent,     // has no memory
  unused,     // nothing refers to it
  current,    // entries lead to it
  old,        // entries lead elsewhere, but frames or registers may refer to it
  permanent,  // holds functions that were not called yet, or may not move again
};

struct Layout;

// Proof that nothing outside refers to an old layout (Epochs 3). Only reclamation makes one. It is
// valid for this layout, once, so no other code can make a layout's memory writable again.
class Unreferred {
 public:
  Unreferred(Unreferred&& other) noexcept : layout_(other.layout_) { other.layout_ = nullptr; }
  Unreferred(const Unreferred&) = delete;
  Unreferred& operator=(const Unreferred&) = delete;
  Unreferred& operator=(Unreferred&&) = delete;
  ~Unreferred() = default;

  [[nodiscard]] bool is_of(const Layout& layout) const { return layout_ == &layout; }

 private:
  friend class Reclamation;  // one_epoch.cc: after every thread was examined
  explicit Unreferred(const Layout& layout) : layout_(&layout) {}

  const Layout* layout_;
};

// Proof that an image goes away, or was never completed: no code may run in its copies any more.
class ImageIsGone {
  ImageIsGone() = default;
  friend struct ClosedImage;  // image.cc
};

// The state of a layout, and the changes that are allowed.
class LayoutLife {
 public:
  [[nodiscard]] LayoutState state() const { return state_; }
  // The memory is new, so nothing refers to it.
  void begin();
  // This is the first layout, which is kept as long as the image.
  void stay();
  // Entries lead elsewhere now. (The first layout stays permanent.)
  void retire();
  void forget(const Layout& own, const Unreferred& proof);

 private:
  friend class Entry;
  LayoutState state_ = LayoutState::absent;
};

struct Layout {
  uint8_t* start = nullptr;
  uint64_t code_size = 0;       // whole pages
  uint64_t unwind_size = 0;     // whole pages
  uint64_t counted = 0;         // the part of its size that layout_bytes() counts
  uint32_t* offsets = nullptr;  // of copies from `start`, by function, or no_copy
  uint32_t* order = nullptr;    // functions that have copies, ordered by place
  uint32_t count = 0;           // of the functions in `order`
  uint32_t* descriptions =
      nullptr;  // of frames, from unwind(), by function that has a copy; 0: not described
  uint16_t* pads = nullptr;  // of frames, in abi::pad_unit, by function
  const uint8_t* unwind_header = nullptr;
  const uint8_t* unwind_frames = nullptr;  // terminated by a zero word
  uint64_t unwind_frames_size = 0;
  LayoutLife life;
  uint64_t born = 0;      // the epoch that made it
  uint64_t retired = 0;   // the epoch that made it old
  bool referred = false;  // something out of our reach may refer to it; determined at each epoch
  bool held = false;      // a jmp_buf may refer to it, for good (contexts.h)

  [[nodiscard]] LayoutState state() const { return life.state(); }
  [[nodiscard]] bool is_held() const { return __atomic_load_n(&held, __ATOMIC_ACQUIRE); }
  [[nodiscard]] bool has(uint32_t f) const { return offsets[f] != no_copy; }
  [[nodiscard]] uint8_t* copy(uint32_t f) const { return start + offsets[f]; }
  [[nodiscard]] uint8_t* unwind() const { return start + code_size; }
  // For a function that has a copy and a description.
  [[nodiscard]] const uint8_t* description(uint32_t f) const { return unwind() + descriptions[f]; }
  [[nodiscard]] uint64_t size() const { return code_size + unwind_size; }
  [[nodiscard]] bool holds(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(start) < code_size;
  }
};

// Makes an unused layout the current one before anybody can run there, so that unwinders find it.
// If this is not completed, no entry has ever led to the layout, and it is unused again.
class Entry {
 public:
  Entry(Layout& layout, uint64_t epoch);
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry();
  void complete() { completed_ = true; }

 private:
  Layout& layout_;
  bool completed_ = false;
};

// Nothing refers to the layout any more, so it may be written again.
void forget(Layout& layout, Unreferred proof);

// Allocates memory for the arrays, which have an element for each function. Returns false if there
// is no memory.
bool allocate_arrays(Layout& layout, uint32_t functions);
void release(Layout& layout, uint32_t functions, const ImageIsGone& proof);

// Counts the memory of this layout, until it is released.
void count_bytes(Layout& layout);
// The bytes of all layouts of all images.
uint64_t layout_bytes();
// The number of layouts of this size that an image may have if it has `has` of them now.
uint32_t layouts_that_fit(uint32_t has, uint64_t size);

// Checks invariants 1 and 2, except for the sizes of copies.
bool is_valid(const Layout& layout, uint32_t functions);

// The layout must be unused. Returns false if the kernel refuses.
bool make_writable(Layout& layout);
// Makes the copies executable and the descriptions read-only. Returns nullptr, or what the kernel
// refused; then the layout is as unused as before.
const char* seal(Layout& layout);
extern const char* const place_refused;

}  // namespace stab::rt
