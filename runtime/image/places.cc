// SPDX-License-Identifier: MIT
// The image's records in the file of the option places=.
#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/place_file.h"
#include "runtime/image/image.h"

namespace stab::rt {
namespace {

template <class T>
T* items_of(places::Record* record) {
  return reinterpret_cast<T*>(record + 1);
}

uint64_t names_size(const Image& image) {
  uint64_t size = 0;
  for (uint32_t f = 0; f < image.count(); ++f) size += length_of(image.name(f)) + 1;
  return size;
}

}  // namespace

void note_image(const Image& image, uint64_t time_ns) {
  if (!places_wanted()) return;
  const uint32_t count = image.count();
  const uint64_t names = names_size(image);
  places::Record* record = take_record(count * sizeof(places::Function) + names, time_ns);
  if (record == nullptr) return;
  record->count = count;
  record->base = address_of(image.base);
  record->bytes = names;
  auto* function = items_of<places::Function>(record);
  auto* text = reinterpret_cast<char*>(function + count);
  uint32_t name = 0;
  for (uint32_t f = 0; f < count; ++f) {
    const auto length = static_cast<uint32_t>(length_of(image.name(f)) + 1);
    copy_bytes(text + name, image.name(f), length);
    function[f] = {copy_size(image.functions()[f]), name};
    name += length;
  }
  give_kind(record, places::image);
}

void note_layout(const Image& image, const Layout& layout, uint64_t time_ns) {
  if (!places_wanted()) return;
  STAB_DEBUG(Places, 2, &layout == &image.first() || layout.state() == LayoutState::unused);
  places::Record* record = take_record(layout.count * sizeof(places::Place), time_ns);
  if (record == nullptr) return;
  record->count = layout.count;
  record->base = address_of(image.base);
  record->start = address_of(layout.start);
  record->bytes = layout.code_size;
  record->lead = image.lead_code_of(layout);
  auto* place = items_of<places::Place>(record);
  for (uint32_t rank = 0; rank < layout.count; ++rank)
    place[rank] = {layout.order[rank], layout.offsets[layout.order[rank]]};
  give_kind(record, places::layout);
}

void note_stubs(const Image& image, uint64_t time_ns) {
  const Switchboard& board = image.board;
  if (!places_wanted() || !board.in_use()) return;
  const uint32_t count = board.functions + board.labels;
  places::Record* record = take_record(count * sizeof(places::Place), time_ns);
  if (record == nullptr) return;
  record->count = count;
  record->base = address_of(image.base);
  record->start = address_of(board.function_stub(0));
  record->bytes = count * Switchboard::stub_bytes;
  record->lead = 0;
  auto* place = items_of<places::Place>(record);
  const auto* labels = elements<abi::Label>(*image.table, image.table->labels);
  for (uint32_t i = 0; i < count; ++i)
    place[i] = {i < board.functions ? i : labels[i - board.functions].function,
                static_cast<uint32_t>(i * Switchboard::stub_bytes)};
  give_kind(record, places::layout);
}

void note_gone(const Image& image, uint64_t time_ns) {
  if (!places_wanted()) return;
  places::Record* record = take_record(0, time_ns);
  if (record == nullptr) return;
  record->base = address_of(image.base);
  give_kind(record, places::gone);
}

}  // namespace stab::rt
