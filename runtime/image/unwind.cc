// SPDX-License-Identifier: MIT
#include "runtime/image/unwind.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>

#include "runtime/base/memory.h"
#include "runtime/image/image.h"
#include "runtime/image/unwind_tables.h"

namespace stab::rt {
namespace {

using FindObject = int (*)(void*, dl_find_object*);

int find_before_start(void* pc, dl_find_object* result) {
  prepare_find_object(BeforeStart::outside());
  return find_object_of_libc(pc, result);
}

int find_nothing(void* /*pc*/, dl_find_object* /*result*/) {
  return -1;
}

FindObject next_find_object = find_before_start;

// Returns the image whose stub this address is, and the stub's descriptions. Returns nullptr if it
// is not a stub's address or nothing describes the stub.
const Image* image_with_stub(uint64_t address, uint8_t*& descriptions) {
  uint32_t which = 0;
  if (const Image* image = image_of_function_stub(address, which)) {
    descriptions = image->board.descriptions();
    return image;
  }
  const Image* image = image_of_stub(address, which);
  if (image == nullptr) return nullptr;
  descriptions = describe_label_stub(*image, which);
  return descriptions == nullptr ? nullptr : image;
}

}  // namespace

int find_object_of_libc(void* pc, dl_find_object* result) {
  return next_find_object(pc, result);
}

const char* file_of(const void* address) {
  dl_find_object found;
  if (find_object_of_libc(const_cast<void*>(address), &found) != 0 ||
      found.dlfo_link_map == nullptr || found.dlfo_link_map->l_name == nullptr)
    return nullptr;
  return *found.dlfo_link_map->l_name == '\0' ? nullptr : found.dlfo_link_map->l_name;
}

// libc has had this function since 2.35.
void prepare_find_object(const OutsideHandlers& /*proof*/) {
  void* found = dlsym(RTLD_NEXT, "_dl_find_object");
  next_find_object = found == nullptr ? find_nothing : reinterpret_cast<FindObject>(found);
}

}  // namespace stab::rt

// The unwinder asks _dl_find_object for the frame descriptions of a pc. Our function is exported
// from the executable and so precedes libc's: it answers for copies, and asks libc's for everything
// else. It takes no locks and allocates nothing.
extern "C" __attribute__((visibility("default"))) int _dl_find_object(void* pc,
                                                                      dl_find_object* result) {
  using namespace stab::rt;
  const auto address = reinterpret_cast<uint64_t>(pc);
  const auto [image, layout] = locate(address);
  uint8_t* descriptions = nullptr;
  const Image* stubs = image == nullptr ? image_with_stub(address, descriptions) : nullptr;
  if (image == nullptr && stubs == nullptr) return find_object_of_libc(pc, result);
  // Everything is as libc answers for the original, except where the code and its descriptions are.
  if (find_object_of_libc((image != nullptr ? image : stubs)->base, result) != 0)
    fill_bytes(result, 0, sizeof *result);
  if (stubs != nullptr) {
    result->dlfo_map_start = stubs->board.start;
    result->dlfo_map_end = stubs->board.start + stubs->board.size();
    result->dlfo_eh_frame = descriptions;
    return 0;
  }
  result->dlfo_map_start = layout->start;
  result->dlfo_map_end = layout->start + layout->size();
  result->dlfo_eh_frame = const_cast<uint8_t*>(layout->unwind_header);
  return 0;
}

// For profilers inside the program: returns the instruction's address in the original of the copy
// that `pc` is in. Any other address is returned unchanged. It may be called in any handler and
// during an epoch: it reads only data that locate() and the frame that runs there keep. The number
// in the name is the version of this contract.
extern "C" __attribute__((visibility("default"))) const void* stab_original_address_1(
    const void* pc) {
  using namespace stab::rt;
  const auto address = reinterpret_cast<uint64_t>(pc);
  uint32_t f = no_copy;
  const auto [image, layout] = locate(address);
  if (image == nullptr) {
    if (const Image* entered = image_of_function_stub(address, f)) return entered->original(f);
    uint32_t label = 0;
    const Image* stubs = image_of_stub(address, label);
    if (stubs == nullptr) return pc;
    const auto* labels = elements<stab::abi::Label>(*stubs->table, stubs->table->labels);
    return stubs->original(labels[label].function) + labels[label].offset;
  }
  f = function_at(*image, *layout, address);
  if (f == no_copy) return pc;
  const uint64_t copy = address_of(layout->copy(f));
  // The mark before a copy counts as the copy's beginning. The jump tables behind it are not code.
  if (address < copy) return image->original(f);
  const uint64_t offset = address - copy;
  return offset < image->functions()[f].size ? image->original(f) + offset : pc;
}
