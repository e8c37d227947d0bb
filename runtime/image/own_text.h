// SPDX-License-Identifier: MIT
// A probe of the kernel (perf's or bpftrace's uprobe) that is set where a jump lies over the entry
// of an original would crash the program: the kernel runs the instruction that the file has there,
// and goes on behind it, inside the jump. It sets probes only where memory is the file's. So
// patched text becomes memory of the process's own with the same bytes, and such a probe is never
// hit. Pages that hold a probe already stay, for it goes on by them.
#pragma once

#include "runtime/image/image.h"

namespace stab::rt {

class OwnText {
 public:
  // Finds out which pages are the file's own while none of the text is changed: patch_originals
  // asks for this object. Where that cannot be known (there is no /proc), all pages stay as they are.
  explicit OwnText(const Image& image);
  ~OwnText();
  OwnText(const OwnText&) = delete;
  OwnText& operator=(const OwnText&) = delete;

  // Replaces those pages, once the text was changed and is executable again. Pages that the kernel
  // refuses to replace (before Linux 5.7) stay.
  void take() const;

 private:
  const Image& image_;
  uint8_t* of_file_ = nullptr;  // for each page of the image
  uint64_t size_ = 0;
};

}  // namespace stab::rt
