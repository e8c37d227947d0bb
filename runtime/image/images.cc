// SPDX-License-Identifier: MIT
#include "runtime/image/images.h"

namespace stab::rt {
namespace {

// The low bits of a slot's word. The bits above count the images that were taken from the slot.
enum State : uint32_t { empty, claimed, visible };
constexpr uint32_t state_mask = 3;
constexpr uint32_t next_image = 4;

// Valid when zero, never destroyed.
constinit Image slots[most_images];
uint32_t words[most_images];
uint32_t used;  // slots from here on were never claimed

uint32_t word_of(uint32_t i) {
  return __atomic_load_n(&words[i], __ATOMIC_ACQUIRE);
}

bool is_visible(uint32_t word) {
  return (word & state_mask) == visible;
}

// Whether everything that was read since `word` was loaded belongs to one image.
bool is_still(uint32_t i, uint32_t word) {
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return __atomic_load_n(&words[i], __ATOMIC_RELAXED) == word;
}

uint32_t index_of(const Image* image) {
  return static_cast<uint32_t>(image - slots);
}

}  // namespace

Image* claim_image() {
  for (uint32_t i = 0; i < most_images; ++i) {
    uint32_t word = word_of(i);
    if ((word & state_mask) != empty) continue;
    if (!__atomic_compare_exchange_n(&words[i], &word, word + claimed, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
      continue;
    uint32_t seen = __atomic_load_n(&used, __ATOMIC_RELAXED);
    while (seen <= i && !__atomic_compare_exchange_n(&used, &seen, i + 1, false, __ATOMIC_RELEASE,
                                                     __ATOMIC_RELAXED)) {
    }
    return &slots[i];
  }
  return nullptr;
}

void publish_image(Image* image) {
  __atomic_fetch_add(&words[index_of(image)], visible - claimed, __ATOMIC_RELEASE);
}

void retract_image(Image* image) {
  __atomic_fetch_add(&words[index_of(image)], next_image + claimed - visible, __ATOMIC_RELAXED);
  __atomic_thread_fence(__ATOMIC_RELEASE);  // later changes become visible only after the word
}

void drop_image(Image* image) {
  image->note = nullptr;
  image->table = nullptr;
  image->altered = 0;
  __atomic_fetch_sub(&words[index_of(image)], claimed, __ATOMIC_RELEASE);
}

Location locate(uint64_t address) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t word = word_of(i);
    if (!is_visible(word)) continue;
    const Layout* layout = layout_of(slots[i], address);
    if (layout != nullptr && is_still(i, word)) return {&slots[i], layout};
  }
  return {};
}

const Image* image_of_stub(uint64_t address, uint32_t& label) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i)
    if (is_visible(word_of(i)) && slots[i].board.label_of_stub(address, label)) return &slots[i];
  return nullptr;
}

const Image* image_of_function_stub(uint64_t address, uint32_t& f) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i)
    if (is_visible(word_of(i)) && slots[i].board.function_of_stub(address, f)) return &slots[i];
  return nullptr;
}

Image* image_with(const abi::Note* note) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i)
    if (is_visible(word_of(i)) && slots[i].note == note) return &slots[i];
  return nullptr;
}

void for_each_image(void (*visit)(Image& image, void* context), void* context) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i)
    if (is_visible(word_of(i))) visit(slots[i], context);
}

}  // namespace stab::rt
