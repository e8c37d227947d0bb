// SPDX-License-Identifier: MIT
// One placement of an image's functions: memory, and where in it each copy lies.
//
//   | copies | call frame descriptions of the copies |
//
// Written while it is no one's, then executable and never changed again until nothing refers to it.
//
// Invariants:
//   1. It starts at a page, and its code and its descriptions are whole pages.
//   2. A function is in the order, once, exactly if it has an offset. Places ascend and lie in the
//      code; copies do not overlap.
#pragma once

#include <stdint.h>

namespace stab::rt {

constexpr uint32_t no_copy = UINT32_MAX;

// Of an image, the first one included. The last two bound the memory of programs whose layouts are
// all kept: there are no more bytes of layouts in all images than these, unless an image has less
// than its least.
constexpr uint32_t most_layouts = 64;
constexpr uint32_t least_layouts = 5;
constexpr uint64_t most_layout_bytes = uint64_t{256} << 20;

// Whose frames may get another size in a new layout, of the functions that have no frame now.
enum class PadChange : uint8_t {
  none,  // there may be frames that nobody knows of, in threads that are about to move over
  all,
};

enum class LayoutState : uint32_t {
  absent,     // has no memory
  unused,     // nothing refers to it
  current,    // entries lead to it
  old,        // entries lead elsewhere, but frames or registers may refer to it
  permanent,  // where functions are that were not called yet, or may not move again
};

struct Layout;

// Proof that nothing outside refers to an old layout (Epochs 3). Only reclamation makes one, and it
// is good for this layout, once: so nobody else can have a layout's memory written again.
class Unreferred {
 public:
  Unreferred(Unreferred&& other) noexcept : layout_(other.layout_) { other.layout_ = nullptr; }
  Unreferred(const Unreferred&) = delete;
  Unreferred& operator=(const Unreferred&) = delete;
  Unreferred& operator=(Unreferred&&) = delete;
  ~Unreferred() = default;

  [[nodiscard]] bool is_of(const Layout& layout) const { return layout_ == &layout; }

 private:
  friend class Reclamation;  // one_epoch.cc: when every thread was looked at
  explicit Unreferred(const Layout& layout) : layout_(&layout) {}

  const Layout* layout_;
};

// Proof that an image goes, or never came to be: the program may run nothing of it any more.
class ImageIsGone {
  ImageIsGone() = default;
  friend struct ClosedImage;  // image.cc
};

// The state of a layout, which changes only as it may.
class LayoutLife {
 public:
  [[nodiscard]] LayoutState state() const { return state_; }
  // Memory that is new, so nothing refers to it.
  void begin();
  // The first layout, which is kept as long as the image.
  void stay();
  // Entries lead elsewhere now. (The first layout stays what it is.)
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
  uint64_t counted = 0;         // bytes of it among layout_bytes()
  uint32_t* offsets = nullptr;  // of copies from `start`, by function, or no_copy
  uint32_t* order = nullptr;    // functions that have copies, by place
  uint32_t count = 0;           // of these
  uint32_t* descriptions =
      nullptr;               // of frames, from unwind(), by function that has a copy; 0: none
  uint16_t* pads = nullptr;  // of frames, in abi::pad_unit, by function
  const uint8_t* unwind_header = nullptr;
  const uint8_t* unwind_frames = nullptr;  // ended by a zero word
  uint64_t unwind_frames_size = 0;
  LayoutLife life;
  uint64_t born = 0;     // the epoch that made it
  uint64_t retired = 0;  // the epoch that made it old
  bool referred =
      false;          // something outside of our reach may refer to it: asked anew at each epoch
  bool held = false;  // a jmp_buf may refer to it, for good (contexts.h)

  [[nodiscard]] LayoutState state() const { return life.state(); }
  [[nodiscard]] bool is_held() const { return __atomic_load_n(&held, __ATOMIC_ACQUIRE); }
  [[nodiscard]] bool has(uint32_t f) const { return offsets[f] != no_copy; }
  [[nodiscard]] uint8_t* copy(uint32_t f) const { return start + offsets[f]; }
  [[nodiscard]] uint8_t* unwind() const { return start + code_size; }
  // Of a function that has a copy and a description.
  [[nodiscard]] const uint8_t* description(uint32_t f) const { return unwind() + descriptions[f]; }
  [[nodiscard]] uint64_t size() const { return code_size + unwind_size; }
  [[nodiscard]] bool holds(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(start) < code_size;
  }
};

// An unused layout becomes the current one before anybody can run there, for unwinders. Unless it
// is completed no entry has ever led there, and it is unused again.
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

// Nothing refers to it any more: it may be written again.
void forget(Layout& layout, Unreferred proof);

// Memory for functions and for the arrays; false: there is none.
bool allocate_arrays(Layout& layout, uint32_t functions);
void release(Layout& layout, uint32_t functions, const ImageIsGone& proof);

// The memory of this layout counts until it is released.
void count_bytes(Layout& layout);
// Bytes of all layouts of all images.
uint64_t layout_bytes();
// How many layouts of this size an image may have that has so many of them now.
uint32_t layouts_that_fit(uint32_t has, uint64_t size);

// Invariants 1 and 2, but for the sizes of copies.
bool is_valid(const Layout& layout, uint32_t functions);

// The layout must be unused. Returns false if the kernel refuses.
bool make_writable(Layout& layout);
// The copies become executable, the descriptions read-only. nullptr, or what the kernel refused: then
// the layout is as unused as it was.
const char* seal(Layout& layout);
extern const char* const place_refused;

}  // namespace stab::rt
