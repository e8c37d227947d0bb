// SPDX-License-Identifier: MIT
#include "runtime/images.h"

namespace stab::rt {
namespace {

enum State : uint32_t { empty, claimed, visible };

// Valid when zero, never destroyed.
constinit Image slots[most_images];
uint32_t states[most_images];
uint32_t used;  // slots beyond were never claimed

bool is_visible(uint32_t i) {
  return __atomic_load_n(&states[i], __ATOMIC_ACQUIRE) == visible;
}

uint32_t index_of(const Image* image) {
  return static_cast<uint32_t>(image - slots);
}

}  // namespace

Image* claim_image() {
  for (uint32_t i = 0; i < most_images; ++i) {
    uint32_t expected = empty;
    if (!__atomic_compare_exchange_n(&states[i], &expected, claimed, false, __ATOMIC_ACQ_REL,
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
  __atomic_store_n(&states[index_of(image)], visible, __ATOMIC_RELEASE);
}

void retract_image(Image* image) {
  __atomic_store_n(&states[index_of(image)], claimed, __ATOMIC_RELEASE);
}

void drop_image(Image* image) {
  image->note = nullptr;
  image->table = nullptr;
  image->altered = 0;
  __atomic_store_n(&states[index_of(image)], empty, __ATOMIC_RELEASE);
}

Place place_of(uint64_t address) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i) {
    if (!is_visible(i)) continue;
    if (const Layout* layout = layout_of(slots[i], address)) return {&slots[i], layout};
  }
  return {};
}

const Image* image_of_stub(uint64_t address, uint32_t& label) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i)
    if (is_visible(i) && slots[i].board.label_of_stub(address, label)) return &slots[i];
  return nullptr;
}

Image* image_with(const abi::Note* note) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i)
    if (is_visible(i) && slots[i].note == note) return &slots[i];
  return nullptr;
}

void for_each_image(void (*visit)(Image& image, void* context), void* context) {
  const uint32_t count = __atomic_load_n(&used, __ATOMIC_ACQUIRE);
  for (uint32_t i = 0; i < count; ++i)
    if (is_visible(i)) visit(slots[i], context);
}

}  // namespace stab::rt
