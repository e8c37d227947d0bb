// SPDX-License-Identifier: MIT
#include "runtime/image.h"

#include "runtime/memory.h"
#include "runtime/os.h"
#include "runtime/place.h"
#include "runtime/relink.h"
#include "runtime/unwind.h"

namespace stab::rt {
namespace {

Shape shape_of(const Elf64_Ehdr* elf, uint64_t base) {
  Shape shape;
  shape.count = 0;
  const auto* segments =
      reinterpret_cast<const Elf64_Phdr*>(reinterpret_cast<const uint8_t*>(elf) + elf->e_phoff);
  for (uint32_t i = 0; i < elf->e_phnum && shape.count < Shape::most_segments; ++i)
    if (segments[i].p_type == PT_LOAD)
      shape.segments[shape.count++] = {segments[i].p_vaddr - base,
                                       segments[i].p_vaddr - base + segments[i].p_memsz,
                                       segments[i].p_flags};
  return shape;
}

uint64_t lowest_address(const Elf64_Ehdr* elf) {
  const auto* segments =
      reinterpret_cast<const Elf64_Phdr*>(reinterpret_cast<const uint8_t*>(elf) + elf->e_phoff);
  uint64_t lowest = UINT64_MAX;
  for (uint32_t i = 0; i < elf->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < lowest) lowest = segments[i].p_vaddr;
  return lowest;
}

bool table_is_mapped(const abi::Note& note, const Shape& shape, uint64_t base) {
  const uint64_t start = note.own_address + static_cast<uint64_t>(note.table_offset) - base;
  for (uint32_t i = 0; i < shape.count; ++i) {
    const Segment& s = shape.segments[i];
    if (start >= s.start && start <= s.end && note.table_size <= s.end - start)
      return start % 8 == 0;
  }
  return false;
}

// Arrays that live as long as the copies, then those of the placement.
struct Workspace {
  uint32_t* sizes;
  uint32_t* positions;
  uint32_t* scratch;
  uint8_t* memory;
  uint64_t size;
};

bool allocate(Image& image, Workspace& work) {
  const uint64_t n = image.count();
  image.arrays_size = align_up(n * (4 + 4 + saved_bytes), os::page_size);
  work.size = align_up(n * 4 * 4, os::page_size);
  const long arrays = os::map(0, image.arrays_size, os::read | os::write);
  const long scratch = os::map(0, work.size, os::read | os::write);
  image.arrays = os::failed(arrays) ? nullptr : reinterpret_cast<uint8_t*>(arrays);
  work.memory = os::failed(scratch) ? nullptr : reinterpret_cast<uint8_t*>(scratch);
  if (image.arrays == nullptr || work.memory == nullptr) return false;
  image.saved = image.arrays;
  image.copies = reinterpret_cast<uint32_t*>(image.arrays + n * saved_bytes);
  image.order = image.copies + n;
  work.sizes = reinterpret_cast<uint32_t*>(work.memory);
  work.positions = work.sizes + n;
  work.scratch = work.positions + n;
  return true;
}

void free_workspace(const Workspace& work) {
  if (work.memory != nullptr) os::unmap(reinterpret_cast<uint64_t>(work.memory), work.size);
}

// Code that is not as it was linked (a debugger's breakpoint, say) stays in place.
uint64_t choose_functions(Image& image, const Workspace& work) {
  uint64_t total = 0;
  for (uint32_t f = 0; f < image.count(); ++f) {
    const abi::Function& function = image.functions()[f];
    const uint8_t* code = image.original(f);
    image.copies[f] = no_copy;
    work.sizes[f] = 0;
    if (abi::hash_code(code, function.size) != function.hash) {
      ++image.altered;
      continue;
    }
    copy_bytes(image.saved + uint64_t{f} * saved_bytes, code,
               function.size < saved_bytes ? function.size : saved_bytes);
    work.sizes[f] = copy_size(function) / unit;
    image.copies[f] = 0;
    image.moved_bytes += function.size;
    total += work.sizes[f];
  }
  return total;
}

uint32_t largest(const Image& image, const Workspace& work) {
  uint32_t most = 0;
  for (uint32_t f = 0; f < image.count(); ++f) most = work.sizes[f] > most ? work.sizes[f] : most;
  return most;
}

// Functions that stay have taken part with size 0; they leave the order here.
void adopt_places(Image& image, const Workspace& work) {
  image.moved = 0;
  for (uint32_t rank = 0; rank < image.count(); ++rank) {
    const uint32_t f = image.order[rank];
    if (work.sizes[f] == 0) continue;
    image.copies[f] = work.positions[rank] * unit;
    image.order[image.moved++] = f;
  }
}

const char* build(Image& image, const Workspace& work, Random& random) {
  const uint64_t total = choose_functions(image, work);
  const uint64_t span = span_for(total);
  if (span * unit > (uint64_t{1} << 29)) return "the code is too large";
  image.heap.half_size =
      align_up(span * unit + uint64_t{largest(image, work)} * unit, os::page_size);
  image.heap.stubs_size = align_up(uint64_t{image.table->labels.count} * 8, os::page_size);
  image.heap.unwind_size = align_up(unwind_bytes(image), os::page_size);
  const auto low = reinterpret_cast<uint64_t>(image.base);
  if (!reserve_near(image.heap, low, low + image.table->image_size, random))
    return "no memory near the image";
  // Where most pages will hold a function anyway.
  if (2 * uint64_t{image.count()} > image.heap.half_size / os::page_size)
    os::populate(reinterpret_cast<uint64_t>(image.heap.start), image.heap.half_size);
  place(work.sizes, image.count(), span, random, image.order, work.positions, work.scratch);
  adopt_places(image, work);
  for (uint32_t rank = 0; rank < image.moved; ++rank) {
    write_copy(image, image.order[rank]);
    link_copy(image, image.order[rank]);
  }
  write_stubs(image);
  build_unwind(image);
  if (!seal(image.heap)) return "memory cannot be made executable (mprotect was refused)";
  return patch_originals(image) ? nullptr
                                : "the code cannot be made writable (mprotect was refused)";
}

}  // namespace

uint32_t copy_size(const abi::Function& function) {
  return static_cast<uint32_t>(
      align_up(align_up(function.size, abi::code_align) + uint64_t{function.word_count} * 4, unit));
}

uint32_t function_at(const Image& image, uint64_t address) {
  const uint64_t offset = address - reinterpret_cast<uint64_t>(image.heap.start);
  if (image.heap.start == nullptr || offset >= image.heap.half_size) return no_copy;
  uint32_t low = 0;
  uint32_t high = image.moved;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (image.copies[image.order[middle]] <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return no_copy;
  const uint32_t f = image.order[low - 1];
  return offset - image.copies[f] < image.functions()[f].size ? f : no_copy;
}

const char* open_image(Image& image, const abi::Note* note, const Elf64_Ehdr* elf) {
  image.note = note;
  if (note->abi_version != abi::version) return "the table has another version";
  if (note->table_size == 0) return "the binary was linked without szc's post-link step";
  const uint64_t base = lowest_address(elf);
  const Shape shape = shape_of(elf, base);
  if (!table_is_mapped(*note, shape, base)) return "the table was truncated";
  const auto* table = reinterpret_cast<const uint8_t*>(note) + note->table_offset;
  if (!os::readable(reinterpret_cast<uint64_t>(table) + note->table_size - 1))
    return "the table was truncated";
  const TableError error = validate(table, note->table_size, shape);
  if (error != TableError::ok) return describe(error);
  image.table = reinterpret_cast<const abi::Header*>(table);
  if (image.table->base != base) return "the table belongs to another image";
  const uint64_t bias = reinterpret_cast<uint64_t>(note) - note->own_address;
  image.base = reinterpret_cast<uint8_t*>(base + bias);
  return nullptr;
}

const char* randomize(Image& image, Random& random) {
  const uint64_t start = os::monotonic_ns();
  if (image.count() == 0) return "it has no function that can move";
  Workspace work = {};
  const char* problem = allocate(image, work) ? build(image, work, random) : "no memory";
  free_workspace(work);
  if (problem != nullptr) close_image(image);
  image.setup_ns = os::monotonic_ns() - start;
  return problem;
}

void close_image(Image& image) {
  release(image.heap);
  if (image.arrays != nullptr)
    os::unmap(reinterpret_cast<uint64_t>(image.arrays), image.arrays_size);
  image.arrays = nullptr;
  image.unwind_header = nullptr;
  image.moved = 0;
  image.moved_bytes = 0;
}

}  // namespace stab::rt
