// SPDX-License-Identifier: MIT
#include "runtime/image/image.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"
#include "runtime/base/output_files.h"
#include "runtime/image/pads.h"
#include "runtime/image/place.h"
#include "runtime/image/relink.h"
#include "runtime/image/unwind_tables.h"

namespace stab::rt {
namespace {

// The image's records in the file of the option places=.

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

namespace {

// A placement chooses the functions of a layout, memory with room for all of them, and a place for
// each. An image has one placement at a time, because its arrays are the image's scratch memory.

constexpr uint64_t scratch_numbers = 6;  // for each function

// Arrays over the functions that are placed.
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

constexpr uint64_t largest_code = uint64_t{1} << 29;

// Places functions in the order of the originals, each at the same offset in its page.
uint64_t place_as_linked(const Image& image, Placement& placement) {
  constexpr uint64_t page_units = os::page_size / unit;
  uint64_t at = 0;
  for (uint32_t rank = 0; rank < placement.count; ++rank) {
    const uint64_t linked = address_of(image.original(placement.functions[rank])) / unit;
    at += (linked - at) % page_units;
    placement.order[rank] = rank;
    placement.positions[rank] = static_cast<uint32_t>(at);
    at += placement.sizes[rank];
  }
  return at;
}

// Returns the number of units of memory that fit any placement of these functions.
uint64_t span_of(const Image& image, Placement& placement) {
  return image.moves ? span_for(placement.total) : place_as_linked(image, placement);
}

uint64_t largest(const Image& image) {
  uint64_t most = 0;
  for (uint32_t f = 0; f < image.count(); ++f) {
    const uint64_t size = copy_size(image.functions()[f]);
    most = size > most ? size : most;
  }
  return most + mark_bytes;
}

// Chooses for the first layout every function whose code is as it was linked. Changed code stays in
// place, for example code with a debugger's breakpoint.
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

// Chooses for a later layout all functions that may move again, or only the called ones among them.
void choose_all(const Image& image, Placement& placement) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f)) placement.add(f, copy_size(image.functions()[f]));
}

void choose_called(const Image& image, Placement& placement) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f) && image.was_called(f))
      placement.add(f, copy_size(image.functions()[f]));
}

// Reserves memory that any placement of these functions fits in. Returns nullptr, or the reason why
// it failed.
const char* reserve(Image& image, Layout& layout, Placement& placement) {
  if (layout.offsets == nullptr && !allocate_arrays(layout, image.count())) return "no memory";
  const uint64_t span = span_of(image, placement) * unit;
  if (span > largest_code) return "the code is too large";
  layout.code_size = align_up(span + largest(image), os::page_size);
  layout.unwind_size = align_up(unwind_bytes(image), os::page_size);
  const auto low = address_of(image.base);
  layout.start =
      reserve_near(layout.size(), low, low + image.table->image_size, image.random, image.side);
  if (layout.start == nullptr) return "no memory near the image";
  count_bytes(layout);
  // Most pages will hold a function anyway, so the kernel maps them at once.
  if (2 * uint64_t{image.count()} > layout.code_size / os::page_size)
    os::populate(address_of(layout.start), layout.code_size);
  image.lowest = address_of(layout.start) < image.lowest ? address_of(layout.start) : image.lowest;
  const uint64_t end = address_of(layout.start) + layout.code_size;
  image.highest = end > image.highest ? end : image.highest;
  return nullptr;
}

// Draws a place for each function, or takes the places in the order of the originals.
void choose_places(Image& image, Placement& placement) {
  if (image.moves)
    place(placement.sizes, placement.count, span_for(placement.total), image.random,
          placement.order, placement.positions, placement.scratch);
  else
    place_as_linked(image, placement);
}

// Notes in the layout where the placement's copies lie.
void adopt_places(const Image& image, Layout& layout, const Placement& placement) {
  const uint32_t lead = image.lead(layout);  // bytes of each place before the copy
  STAB_ALWAYS(Layout, 2,
              placement.count == 0 || (uint64_t{placement.positions[placement.count - 1]} +
                                       placement.sizes[placement.order[placement.count - 1]]) *
                                              unit <=
                                          layout.code_size);
  for (uint32_t i = 0; i < layout.count; ++i) layout.offsets[layout.order[i]] = no_copy;
  layout.count = 0;
  const auto add = [&](uint32_t f, uint64_t offset) {
    layout.order[layout.count++] = f;
    layout.offsets[f] = static_cast<uint32_t>(offset);
  };
  for (uint32_t rank = 0; rank < placement.count; ++rank)
    add(placement.functions[placement.order[rank]],
        uint64_t{placement.positions[rank]} * unit + lead);
}

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

// Each slot of an image allocates its layouts once, because they may be read long after the image
// was closed.
bool allocate_layouts(Image& image) {
  if (image.layouts != nullptr) return true;
  const long memory =
      os::map(0, align_up(most_layouts * sizeof(Layout), os::page_size), os::read | os::write);
  if (os::failed(memory)) return false;
  image.layouts = reinterpret_cast<Layout*>(memory);
  return true;
}

// One mapping holds saved | uses. The scratch memory has its own.
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
    os::unmap(address_of(image.scratch),
              align_up(image.count() * scratch_numbers * 4, os::page_size));
  image.scratch = nullptr;
}

bool anything_called(const Image& image) {
  for (uint32_t f = 0; f < image.count(); ++f)
    if (image.may_move_again(f) && image.was_called(f)) return true;
  return false;
}

const char* make_switchboard(Image& image) {
  find_parts(image);
  Switchboard board = measure_switchboard(*image.table, stub_description_bytes(image));
  const auto low = address_of(image.base);
  board.start =
      reserve_near(board.size(), low, low + image.table->image_size, image.random, image.side);
  if (board.start == nullptr) return "no memory near the image";
  image.board = board;
  write_switchboard(board, *image.table, image.base);
  return nullptr;
}

// The descriptions of parts' stubs contain the parts' pads.
const char* finish_switchboard(const Image& image) {
  describe_stubs(image);
  return seal(image.board) ? nullptr : "memory cannot be made executable (mprotect was refused)";
}

// Prefetches a copy that will be written soon, and the copy that it is made from. Functions come in
// the order of the table, so their copies lie at random places.
void fetch(const Image& image, const Layout& layout, uint32_t f) {
  constexpr uint64_t line = 64;
  constexpr uint64_t most_lines = 8;
  if (f >= image.count() || !layout.has(f)) return;
  const bool again = &layout != &image.first();
  for (uint64_t at = 0; at < image.functions()[f].size && at < most_lines * line; at += line) {
    __builtin_prefetch(layout.copy(f) + at, 1);
    if (again) __builtin_prefetch(image.first().copy(f) + at);
  }
}

void fill(const Image& image, Layout& layout) {
  constexpr uint32_t ahead = 6;
  const bool again = &layout != &image.first();
  for (uint32_t f = 0; f < image.count(); ++f) {
    fetch(image, layout, f + ahead);
    if (!layout.has(f)) continue;
    if (again) {
      copy_again(image, layout, f);
    } else {
      write_copy(image, layout, f);
      link_copy(image, layout, f);
      if (image.marks_calls()) write_mark(image, layout, f);
    }
  }
  build_unwind(image, layout);
}

// Checks the whole layout, with the sizes of the copies and the bytes before them.
bool is_valid(const Image& image, const Layout& layout) {
  if (!is_valid(layout, image.count())) return false;
  const uint32_t lead = image.lead(layout);
  uint64_t end = 0;
  for (uint32_t rank = 0; rank < layout.count; ++rank) {
    const uint32_t f = layout.order[rank];
    if (layout.offsets[f] < end + lead ||
        function_at(image, layout, address_of(layout.copy(f))) != f)
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
  if (const char* problem = reserve(image, layout, placement)) return problem;
  choose_places(image, placement);
  adopt_places(image, layout, placement);
  layout.life.stay();
  find_kept_pads(image);
  draw_pads(image, layout);
  draw_pad_bytes(image);
  if (again)
    if (const char* problem = finish_switchboard(image)) return problem;
  fill(image, layout);
  STAB_EXPENSIVE(Layout, 2, is_valid(image, layout));
  if (const char* problem = seal(layout)) return problem;
  note_image(image, os::monotonic_ns());
  note_stubs(image, os::monotonic_ns());
  note_layout(image, layout, os::monotonic_ns());
  if (again) {
    StubsDraft stubs(image.board);
    if (!stubs.has_memory()) return "no memory";
    lead_to(image, layout, stubs);
    if (!stubs.put_in_place()) return place_refused;
  }
  const OwnText text(image);
  if (!patch_originals(image, text))
    return "the code cannot be made writable (mprotect was refused)";
  // The changes from here on can't be undone. A vtable that stays as it is leads to the entries of
  // the originals.
  set_pointers(image);
  text.take();
  return nullptr;
}

Layout* unused_layout(Image& image) {
  for (uint32_t i = 1; i < image.used; ++i)
    if (image.layouts[i].state() == LayoutState::unused) return &image.layouts[i];
  return nullptr;
}

Layout* new_layout(Image& image) {
  if (image.used >= image.layouts_at_most()) return nullptr;
  Layout& layout = image.layouts[image.used];
  if (layout.offsets == nullptr && !allocate_arrays(layout, image.count())) return nullptr;
  Placement all(image);
  choose_all(image, all);
  if (reserve(image, layout, all) != nullptr) return nullptr;
  layout.life.begin();
  ++image.used;
  return &layout;
}

// Finds a layout that nothing refers to. Each layout has room for all functions.
Layout* take_layout(Image& image) {
  if (Layout* unused = unused_layout(image)) return unused;
  return new_layout(image);
}

const char* why_no_layout(const Image& image) {
  return image.used < most_layouts && image.used >= image.layouts_at_most() ? no_bytes : no_room;
}

}  // namespace

constinit const char* const no_room = "no room for another layout";
constinit const char* const no_bytes =
    "no room for another layout: the layouts that are kept take 256 MB, which is the limit";
static_assert(most_layout_bytes == uint64_t{256} << 20);

uint32_t copy_size(const abi::Function& function) {
  return static_cast<uint32_t>(abi::size_of_copy(function.size, function.word_count));
}

uint32_t function_at(const Image& image, const Layout& layout, uint64_t address) {
  const uint64_t offset = address - address_of(layout.start);
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
    if (layout.holds(address) && layout.state() != LayoutState::unused) return &layout;
  }
  return nullptr;
}

const char* open_image(Image& image, const abi::Note* note, const Elf64_Ehdr* elf) {
  image.note = note;
  // Tools that edit binaries move notes and leave other bytes in their place.
  if (note->desc_size != sizeof(abi::Note) - offsetof(abi::Note, abi_version))
    return "a tool such as patchelf has rewritten the binary since szc linked it; have szc make "
           "the edit while it links, for example with -Wl,-rpath";
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
  if (image.count() == 0) return "no function of the image can move";
  image.random = wishes.code ? random : Random(0);
  image.pad_random = random.derived();
  image.moves = wishes.code;
  image.padded = wishes.stack;
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
  Layout* layout = take_layout(image);
  if (layout == nullptr) return why_no_layout(image);
  const uint64_t unused_at = os::monotonic_ns();
  STAB_ALWAYS(Image, 3, layout != &image.first() && layout != &image.layouts[image.present]);
  if (!make_writable(*layout)) return "memory cannot be made writable (mprotect was refused)";
  Placement placement(image);
  choose_called(image, placement);
  choose_places(image, placement);
  adopt_places(image, *layout, placement);
  draw_pads_again(image, *layout, change);
  draw_pad_bytes(image);
  fill(image, *layout);
  STAB_EXPENSIVE(Layout, 2, is_valid(image, *layout));
  if (const char* problem = seal(*layout)) return problem;
  StubsDraft stubs(image.board);
  if (!stubs.has_memory()) return "no memory";
  lead_to(image, *layout, stubs);
  note_layout(image, *layout, unused_at);  // before anybody can run there
  Entry entry(*layout, epoch);
  if (!stubs.put_in_place()) return place_refused;
  entry.complete();
  Layout& before = image.layouts[image.present];
  before.life.retire();
  before.retired = epoch;
  image.present = static_cast<uint32_t>(layout - image.layouts);
  return nullptr;
}

struct ClosedImage {
  static ImageIsGone proof() { return {}; }
};

void close_image(Image& image) {
  note_gone(image, os::monotonic_ns());
  // A layout that found no memory near the image has arrays of this image's size, and is not in
  // use.
  for (uint32_t i = 0; image.layouts != nullptr && i < most_layouts; ++i)
    release(image.layouts[i], image.count(), ClosedImage::proof());
  if (image.board.in_use()) os::unmap(address_of(image.board.start), image.board.size());
  free_scratch(image);
  if (image.memory != nullptr) os::unmap(address_of(image.memory), image.memory_size);
  Image closed;
  closed.layouts = image.layouts;  // the pointer has this value at every moment
  closed.note = image.note;
  closed.table = image.table;
  closed.altered = image.altered;
  closed.base = image.base;
  image = closed;
}

namespace {

// The list of images.

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
