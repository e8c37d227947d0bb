// SPDX-License-Identifier: MIT
#include "runtime/image/image.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/image/own_text.h"
#include "runtime/image/pads.h"
#include "runtime/image/place.h"
#include "runtime/image/relink.h"
#include "runtime/image/unwind.h"

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

constexpr uint64_t largest_code = uint64_t{1} << 29;

uint64_t number(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Arrays of a placement, over the functions that take part.
struct Placement {
  uint32_t* functions;
  uint32_t* sizes;
  uint32_t* order;
  uint32_t* positions;
  uint32_t* scratch;
  uint32_t count = 0;
  uint64_t total = 0;

  explicit Placement(const Image& image)
      : functions(image.scratch),
        sizes(functions + image.count()),
        order(sizes + image.count()),
        positions(order + image.count()),
        scratch(positions + image.count()) {}

  void add(uint32_t f, uint32_t bytes) {
    functions[count] = f;
    sizes[count++] = bytes / unit;
    total += bytes / unit;
  }
};

constexpr uint64_t scratch_numbers = 6;

// Once for each slot: they may be read long after the image has gone.
bool allocate_layouts(Image& image) {
  if (image.layouts != nullptr) return true;
  const long memory =
      os::map(0, align_up(most_layouts * sizeof(Layout), os::page_size), os::read | os::write);
  if (os::failed(memory)) return false;
  image.layouts = reinterpret_cast<Layout*>(memory);
  return true;
}

// saved | uses, then the scratch in a mapping of its own.
bool allocate(Image& image) {
  const uint64_t n = image.count();
  const uint64_t saved = n * saved_bytes;
  image.memory_size = align_up(saved + n, os::page_size);
  const long memory = os::map(0, image.memory_size, os::read | os::write);
  const long scratch =
      os::map(0, align_up(n * scratch_numbers * 4, os::page_size), os::read | os::write);
  image.memory = os::failed(memory) ? nullptr : reinterpret_cast<uint8_t*>(memory);
  image.scratch = os::failed(scratch) ? nullptr : reinterpret_cast<uint32_t*>(scratch);
  if (image.memory == nullptr || image.scratch == nullptr || !allocate_layouts(image)) return false;
  image.saved = image.memory;
  image.uses = image.memory + saved;
  return true;
}

void free_scratch(Image& image) {
  if (image.scratch != nullptr)
    os::unmap(number(image.scratch), align_up(image.count() * scratch_numbers * 4, os::page_size));
  image.scratch = nullptr;
}

// Code that is not as it was linked (a debugger's breakpoint, say) stays in place.
void choose_functions(Image& image, Placement& placement) {
  for (uint32_t f = 0; f < image.count(); ++f) {
    const abi::Function& function = image.functions()[f];
    const uint8_t* code = image.original(f);
    if (abi::hash_code(code, function.size) != function.hash) {
      ++image.altered;
      continue;
    }
    copy_bytes(image.saved + uint64_t{f} * saved_bytes, code,
               function.size < saved_bytes ? function.size : saved_bytes);
    placement.add(f, copy_size(function) + (image.marks_calls() ? mark_bytes : 0));
    image.moved_bytes += function.size;
  }
}

// Those that have no home.
void choose_called(const Image& image, const Layout& layout, Placement& placement) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f) && image.was_called(f) && layout.homes[f] == no_copy)
      placement.add(f, copy_size(image.functions()[f]) + (image.leads ? lead_bytes : 0));
}

bool anything_called(const Image& image) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f) && image.was_called(f)) return true;
  return false;
}

// `lead`: bytes of each place before the copy.
void adopt_places(const Image& image, Layout& layout, const Placement& placement, uint32_t lead) {
  STAB_ALWAYS(Layout, 2,
              placement.count == 0 || (uint64_t{placement.positions[placement.count - 1]} +
                                       placement.sizes[placement.order[placement.count - 1]]) *
                                              unit <=
                                          layout.code_size - layout.homes_size);
  for (uint32_t i = 0; i < layout.count; ++i) layout.offsets[layout.order[i]] = no_copy;
  layout.count = 0;
  const auto add = [&](uint32_t f, uint64_t offset) {
    layout.order[layout.count++] = f;
    layout.offsets[f] = static_cast<uint32_t>(offset);
  };
  for (uint32_t i = 0; i < layout.home_count; ++i)
    if (image.was_called(layout.home_order[i]))
      add(layout.home_order[i], layout.homes[layout.home_order[i]]);
  if (2 * uint64_t{layout.count} > layout.homes_size / os::page_size)
    os::populate(number(layout.draft), layout.homes_size);
  for (uint32_t rank = 0; rank < placement.count; ++rank)
    add(placement.functions[placement.order[rank]],
        layout.homes_size + uint64_t{placement.positions[rank]} * unit + lead);
}

// In the order of the originals, and at the same place of a page.
uint64_t place_as_linked(const Image& image, Placement& placement) {
  constexpr uint64_t page_units = os::page_size / unit;
  uint64_t at = 0;
  for (uint32_t rank = 0; rank < placement.count; ++rank) {
    const uint64_t linked = number(image.original(placement.functions[rank])) / unit;
    at += (linked - at) % page_units;
    placement.order[rank] = rank;
    placement.positions[rank] = static_cast<uint32_t>(at);
    at += placement.sizes[rank];
  }
  return at;
}

void choose_places(Image& image, Placement& placement) {
  if (image.moves)
    place(placement.sizes, placement.count, span_for(placement.total), image.random,
          placement.order, placement.positions, placement.scratch);
  else
    place_as_linked(image, placement);
}

// Units of memory that any placement of these functions fits in.
uint64_t span_of(const Image& image, Placement& placement) {
  return image.moves ? span_for(placement.total) : place_as_linked(image, placement);
}

uint64_t largest(const Image& image) {
  uint64_t most = 0;
  for (uint32_t f = 0; f < image.count(); ++f) {
    const uint64_t size = copy_size(image.functions()[f]);
    most = size > most ? size : most;
  }
  return most + (mark_bytes > lead_bytes ? mark_bytes : lead_bytes);
}

bool may_have_home(const Image& image, uint32_t f) {
  return image.may_move_again(f) && (image.uses[f] & is_in_vtable) != 0;
}

// Programs with vtables: which functions they hold.
void find_virtual(Image& image) {
  const auto* pointers = elements<abi::Pointer>(*image.table, image.table->pointers);
  for (uint32_t i = 0; i < image.table->pointers.count; ++i)
    image.uses[pointers[i].function] |= is_in_vtable;
  image.leads = image.leads && image.marks_calls() && image.table->pointers.count != 0;
}

// The functions of vtables have one place in each layout, for good (Layout 3).
void choose_homes(Image& image, Layout& layout) {
  if (!image.leads || layout.homes_size != 0) return;
  Placement placement(image);
  for (uint32_t f = 0; f < image.count(); ++f)
    if (may_have_home(image, f)) placement.add(f, copy_size(image.functions()[f]) + lead_bytes);
  const uint64_t span = span_for(placement.total);
  if (placement.count == 0 || span * unit > largest_code) return;
  choose_places(image, placement);
  layout.home_count = placement.count;
  for (uint32_t rank = 0; rank < placement.count; ++rank) {
    const uint32_t f = placement.functions[placement.order[rank]];
    layout.home_order[rank] = f;
    layout.homes[f] = placement.positions[rank] * unit + lead_bytes;
  }
  layout.homes_size = align_up(span * unit + largest(image), os::page_size);
}

// Memory for functions that take so many units.
const char* reserve(Image& image, Layout& layout, uint64_t units) {
  if (layout.offsets == nullptr && !allocate_arrays(layout, image.count())) return "no memory";
  const uint64_t span = units * unit;
  if (span > largest_code) return "the code is too large";
  layout.code_size = layout.homes_size + align_up(span + largest(image), os::page_size);
  layout.unwind_size = align_up(unwind_bytes(image), os::page_size);
  const auto low = number(image.base);
  layout.start =
      reserve_near(layout.size(), low, low + image.table->image_size, image.random, image.side);
  if (layout.start == nullptr) return "no memory near the image";
  // Where most pages will hold a function anyway.
  if (2 * uint64_t{image.count()} > layout.code_size / os::page_size)
    os::populate(number(layout.start) + layout.homes_size, layout.code_size - layout.homes_size);
  image.lowest = number(layout.start) < image.lowest ? number(layout.start) : image.lowest;
  const uint64_t end = number(layout.start) + layout.code_size;
  image.highest = end > image.highest ? end : image.highest;
  return nullptr;
}

const char* make_switchboard(Image& image) {
  Switchboard board = measure_switchboard(*image.table);
  const auto low = number(image.base);
  board.start =
      reserve_near(board.size(), low, low + image.table->image_size, image.random, image.side);
  if (board.start == nullptr) return "no memory near the image";
  image.board = board;
  write_switchboard(board, *image.table, image.base);
  return seal(board) ? nullptr : "memory cannot be made executable (mprotect was refused)";
}

void fill(const Image& image, Layout& layout) {
  for (uint32_t rank = 0; rank < layout.count; ++rank) {
    const uint32_t f = layout.order[rank];
    write_copy(image, layout, f);
    link_copy(image, layout, f);
    if (image.marks_calls() && &layout == &image.first()) write_mark(image, layout, f);
    if (layout.homes[f] != no_copy) write_lead(image, layout, f);
  }
  build_unwind(image, layout);
}

// All of it: with the sizes of copies, and what lies before them.
bool is_valid(const Image& image, const Layout& layout) {
  if (!is_valid(layout, image.count())) return false;
  const uint32_t lead = image.lead(layout);
  uint64_t end = 0;
  for (uint32_t rank = 0; rank < layout.count; ++rank) {
    const uint32_t f = layout.order[rank];
    if (layout.offsets[f] < end + lead || function_at(image, layout, number(layout.copy(f))) != f)
      return false;
    end = uint64_t{layout.offsets[f]} + copy_size(image.functions()[f]);
  }
  return end <= layout.code_size;
}

const char* build(Image& image, bool again) {
  if (again)
    if (const char* problem = make_switchboard(image)) return problem;
  Placement placement(image);
  choose_functions(image, placement);
  Layout& layout = image.layouts[0];
  image.used = 1;
  if (const char* problem = reserve(image, layout, span_of(image, placement))) return problem;
  choose_places(image, placement);
  adopt_places(image, layout, placement, image.lead(layout));
  layout.state = LayoutState::permanent;
  find_stubs(image);
  find_virtual(image);
  draw_pads(image, layout);
  draw_pad_bytes(image);
  fill(image, layout);
  STAB_EXPENSIVE(Layout, 2, is_valid(image, layout));
  if (again) direct_to(image, layout);
  if (!seal(layout)) return "memory cannot be made executable (mprotect was refused)";
  const OwnText text(image);
  if ((!again && !set_pointers(image)) || !patch_originals(image))
    return "the code cannot be made writable (mprotect was refused)";
  text.take();
  return nullptr;
}

uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

// Layouts among which homes are chosen: each keeps the pages of its own. Making one costs more than
// using one again, so a short run has fewer.
uint64_t layouts_wanted(const Image& image, uint64_t epoch) {
  constexpr uint64_t most_memory = uint64_t{64} << 20;
  constexpr uint64_t at_least = 2;
  constexpr uint64_t at_once = 8;
  if (!image.leads || image.used < at_least) return 0;
  const uint64_t fit = most_memory / image.layouts[1].size();
  const uint64_t most = smaller(smaller(fit, most_layouts / 2), at_once + epoch / 4);
  return most < at_least ? at_least : most;
}

Layout* unused_layout(Image& image) {
  uint32_t unused = 0;
  for (uint32_t i = 1; i < image.used; ++i)
    unused += image.layouts[i].state == LayoutState::unused ? 1 : 0;
  if (unused == 0) return nullptr;
  uint64_t left = image.leads ? image.random.below(unused) : 0;
  for (uint32_t i = 1;; ++i)
    if (image.layouts[i].state == LayoutState::unused && left-- == 0) return &image.layouts[i];
}

Layout* new_layout(Image& image) {
  if (image.used == most_layouts) return nullptr;
  Layout& layout = image.layouts[image.used];
  if (layout.offsets == nullptr && !allocate_arrays(layout, image.count())) return nullptr;
  choose_homes(image, layout);
  Placement all(image);
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f) && layout.homes[f] == no_copy)
      all.add(f, copy_size(image.functions()[f]) + (image.leads ? lead_bytes : 0));
  if (reserve(image, layout, span_of(image, all)) != nullptr) return nullptr;
  layout.state = LayoutState::unused;
  ++image.used;
  return &layout;
}

// One that nothing refers to. Each one has room for all functions.
Layout* take_layout(Image& image, uint64_t epoch) {
  if (image.used > layouts_wanted(image, epoch))
    if (Layout* unused = unused_layout(image)) return unused;
  if (Layout* fresh = new_layout(image)) return fresh;
  return unused_layout(image);
}

}  // namespace

uint32_t copy_size(const abi::Function& function) {
  return static_cast<uint32_t>(abi::size_of_copy(function.size, function.word_count));
}

uint32_t function_at(const Image& image, const Layout& layout, uint64_t address) {
  const uint64_t offset = address - number(layout.start);
  const uint32_t lead = image.lead_code_of(layout);
  uint32_t low = 0;
  uint32_t high = layout.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (layout.offsets[layout.order[middle]] - lead <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return no_copy;
  const uint32_t f = layout.order[low - 1];
  return offset + lead - layout.offsets[f] < lead + copy_size(image.functions()[f]) ? f : no_copy;
}

const Layout* layout_of(const Image& image, uint64_t address) {
  if (!image.near(address)) return nullptr;
  for (uint32_t i = 0; i < image.used; ++i) {
    const Layout& layout = image.layouts[i];
    if (layout.holds(address) && layout.state != LayoutState::unused) return &layout;
  }
  return nullptr;
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

const char* randomize(Image& image, const Random& random, Wishes wishes) {
  const uint64_t start = os::monotonic_ns();
  if (image.count() == 0) return "it has no function that can move";
  image.random = wishes.code ? random : Random(0);
  image.pad_random = random.derived();
  image.moves = wishes.code;
  image.padded = wishes.stack;
  image.leads = wishes.leads;
  image.lowest = UINT64_MAX;
  image.highest = 0;
  const char* problem = allocate(image) ? build(image, wishes.again) : "no memory";
  if (!wishes.again) free_scratch(image);
  if (problem != nullptr) close_image(image);
  image.setup_ns = os::monotonic_ns() - start;
  return problem;
}

const char* randomize_again(Image& image, uint64_t epoch, PadChange change) {
  if (!anything_called(image)) return nullptr;
  Layout* layout = take_layout(image, epoch);
  if (layout == nullptr) return "no room for another layout";
  STAB_ALWAYS(Image, 3, layout != &image.first() && layout != &image.layouts[image.present]);
  if (!make_writable(*layout)) return "memory cannot be made writable (mprotect was refused)";
  Placement placement(image);
  choose_called(image, *layout, placement);
  choose_places(image, placement);
  adopt_places(image, *layout, placement, image.lead(*layout));
  draw_pads_again(image, *layout, change);
  draw_pad_bytes(image);
  fill(image, *layout);
  STAB_EXPENSIVE(Layout, 2, is_valid(image, *layout));
  if (!seal(*layout)) return "memory cannot be made executable (mprotect was refused)";
  Layout& before = image.layouts[image.present];
  if (image.present != 0) before.state = LayoutState::old;
  before.retired = epoch;
  layout->state = LayoutState::current;
  layout->born = epoch;
  image.present = static_cast<uint32_t>(layout - image.layouts);
  direct_to(image, *layout);
  enter_leads(image, *layout);
  return nullptr;
}

void close_image(Image& image) {
  // One that found no memory near the image has arrays of this image's size, and is not in use.
  for (uint32_t i = 0; image.layouts != nullptr && i < most_layouts; ++i)
    release(image.layouts[i], image.count());
  if (image.board.in_use()) os::unmap(number(image.board.start), image.board.size());
  free_scratch(image);
  if (image.memory != nullptr) os::unmap(number(image.memory), image.memory_size);
  Image closed;
  closed.layouts = image.layouts;  // it holds this value at every moment
  closed.note = image.note;
  closed.table = image.table;
  closed.altered = image.altered;
  closed.base = image.base;
  image = closed;
}

}  // namespace stab::rt
