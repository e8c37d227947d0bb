// SPDX-License-Identifier: MIT
#include "runtime/malloc/memory/metadata.h"

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::heap {
namespace {

constexpr unsigned smallest = 6;  // log2 of the smallest piece
constexpr unsigned largest = 16;  // larger ones are mapped on their own
constexpr uint64_t chunk_size = uint64_t{256} << 10;

struct Piece {
  Piece* next;
};

Piece* unused[largest + 1];
uint64_t chunk_next;
uint64_t chunk_end;

unsigned log2_of(size_t size) {
  const unsigned bits =
      size <= 1 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(uint64_t{size} - 1));
  return bits < smallest ? smallest : bits;
}

void* map_pages(size_t size) {
  const long got = os::map(0, rt::align_up(size, os::page_size), os::read | os::write);
  return os::failed(got) ? nullptr : reinterpret_cast<void*>(got);
}

}  // namespace

Lock metadata_lock;

void* new_metadata(size_t size) {
  const unsigned bits = log2_of(size);
  if (bits > largest) return map_pages(size);
  const uint64_t rounded = uint64_t{1} << bits;
  const Guard guard(metadata_lock);
  if (Piece* piece = unused[bits]; piece != nullptr) {
    unused[bits] = piece->next;
    rt::fill_bytes(piece, 0, rounded);
    return piece;
  }
  if (chunk_end - chunk_next < rounded) {
    void* chunk = map_pages(chunk_size);
    if (chunk == nullptr) return nullptr;
    chunk_next = reinterpret_cast<uint64_t>(chunk);
    chunk_end = chunk_next + chunk_size;
  }
  void* piece = reinterpret_cast<void*>(chunk_next);
  chunk_next += rounded;
  return piece;
}

void drop_metadata(void* dropped, size_t size) {
  if (dropped == nullptr) return;
  const unsigned bits = log2_of(size);
  if (bits > largest) {
    os::unmap(reinterpret_cast<uint64_t>(dropped), rt::align_up(size, os::page_size));
    return;
  }
  const Guard guard(metadata_lock);
  auto* piece = static_cast<Piece*>(dropped);
  piece->next = unused[bits];
  unused[bits] = piece;
}

}  // namespace stab::heap
