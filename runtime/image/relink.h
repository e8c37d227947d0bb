// SPDX-License-Identifier: MIT
// Writes and links copies in a writable layout whose places are chosen, and changes the text of the
// originals.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

// A kernel probe (a uprobe of perf or bpftrace) at the entry of an original would crash the
// program: the kernel would execute the instruction that the file has there, and then continue
// behind it, in the middle of our jump. The kernel sets probes only in memory that is the file's.
// So the text that patch_originals() changes becomes private memory with the same bytes, which no
// probe can hit. Pages that hold a probe already stay, because the probe needs them.
class OwnText {
 public:
  // Finds out which pages still belong to the file, before any text is changed: patch_originals
  // asks for this object. If that can't be found out (/proc is missing), all pages stay as they
  // are.
  explicit OwnText(const Image& image);
  ~OwnText();
  OwnText(const OwnText&) = delete;
  OwnText& operator=(const OwnText&) = delete;

  // Replaces those pages, after the text was changed and is executable again. Pages that the kernel
  // refuses to replace (before Linux 5.7) stay.
  void take() const;

 private:
  const Image& image_;
  uint8_t* of_file_ = nullptr;  // for each page of the image
  uint64_t size_ = 0;
};

// Writes a copy of the first layout: the bytes of the original (its entry as it was linked),
// padding, and jump tables.
void write_copy(const Image& image, const Layout& layout, uint32_t f);

// Writes code before a copy of the first layout that notes the first call and continues in the
// copy.
void write_mark(const Image& image, const Layout& layout, uint32_t f);

// Gives each field of a copy of the first layout its value, if the value depends on the copy's
// place.
void link_copy(const Image& image, const Layout& layout, uint32_t f);

// Writes a copy of a later layout: the copy of the first layout, linked for this place. It doesn't
// read the original, which may have been changed since (by a probe, for example) and is in no
// cache.
void copy_again(const Image& image, const Layout& layout, uint32_t f);

// Lets each stub of a function or label that the layout contains lead to the layout.
void lead_to(const Image& image, const Layout& layout, StubsDraft& stubs);

// Makes the originals jump to the copies of the first layout, or to their stubs, and sets the slots
// in data. Returns false, and changes nothing, if the text can't be made writable. If the text
// can't be made executable again, the process ends, because it can't run any more. `untouched` has
// seen the text before the change.
bool patch_originals(const Image& image, const OwnText& untouched);

// Makes vtables refer to the copies if the image has one layout, and otherwise to the stubs, which
// are always right: programs carry addresses from vtables to places that the runtime can't find,
// such as the frame of a coroutine. The originals must be patched before. If the kernel refuses a
// change, vtables still lead to the originals.
void set_pointers(const Image& image);

}  // namespace stab::rt
