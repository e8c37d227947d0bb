// SPDX-License-Identifier: MIT
#include "causal/preload/lines.h"

#include <dlfcn.h>
#include <link.h>

#include "causal/preload/kernel.h"
#include "causal/preload/object_cache.h"
#include "causal/preload/shared_file.h"
#include "runtime/base/memory.h"
#include "runtime/walk/description.h"
#include "runtime/walk/walk.h"

// The runtime defines this in a program that szc built, whose functions move.
extern "C" __attribute__((weak)) const void* stab_original_address_1(const void* pc);

namespace stab::causal {
namespace {

constexpr uint32_t no_object = UINT32_MAX;
constexpr uint32_t most_frames = 200;
// Handlers may run on small stacks.
constexpr uint32_t longest_path = 1024;

KnownObjects known;

bool has_slash(const char* name) {
  while (*name != '\0' && *name != '/') ++name;
  return *name == '/';
}

// A library's name is the one by which it was opened, and the current directory may have changed
// since. The loader gives each file's name a slash; the kernel's own library has none. (/proc
// shows nothing of the process itself once its first thread has ended, so this reads thread-self.)
bool identify(const link_map& map, uint64_t start, uint64_t& device, uint64_t& inode) {
  if (map.l_name == nullptr || *map.l_name == '\0')
    return kernel::identify("/proc/thread-self/exe", device, inode);
  if (*map.l_name == '/') return kernel::identify(map.l_name, device, inode);
  if (!has_slash(map.l_name)) return false;
  char path[longest_path];
  return kernel::name_of_mapping(start, path, sizeof path) && kernel::identify(path, device, inode);
}

uint32_t object_of_file(const link_map& map, uint64_t start) {
  uint64_t device = 0;
  uint64_t inode = 0;
  if (!identify(map, start, device, inode)) return no_object;
  for (uint32_t i = 0; i < shared_file.object_count; ++i)
    if (shared_file.objects[i].device == device && shared_file.objects[i].inode == inode) return i;
  return no_object;
}

uint32_t object_of(const dl_find_object& found) {
  const link_map* map = found.dlfo_link_map;
  if (map == nullptr) return no_object;
  const KnownObjects::File file = {.record = rt::address_of(map),
                                   .start = rt::address_of(found.dlfo_map_start)};
  const uint64_t generation = known.now();
  uint32_t object = no_object;
  if (known.find(generation, file, object)) return object;
  object = object_of_file(*map, file.start);
  known.add(generation, file, object);
  return object;
}

uint32_t line_in(const Object& object, uint64_t address) {
  uint64_t low = object.first_range;
  uint64_t high = low + object.range_count;
  if (high > shared_file.range_count) return no_line;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (shared_file.ranges[middle].start <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == object.first_range) return no_line;
  const Range& range = shared_file.ranges[low - 1];
  return address - range.start < range.size && range.line < shared_file.line_count ? range.line
                                                                                   : no_line;
}

bool find_description(uint64_t pc, rt::FrameDescription& description, void*) {
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return false;
  const rt::Extent extent = {rt::address_of(found.dlfo_map_start),
                             rt::address_of(found.dlfo_map_end)};
  return rt::find_in_image_header(pc, static_cast<const uint8_t*>(found.dlfo_eh_frame), extent,
                                  description);
}

}  // namespace

uint32_t line_of(uint64_t pc) {
  if (stab_original_address_1 != nullptr)
    pc = rt::address_of(stab_original_address_1(reinterpret_cast<void*>(pc)));
  dl_find_object found;
  if (_dl_find_object(reinterpret_cast<void*>(pc), &found) != 0) return no_line;
  const uint32_t object = object_of(found);
  return object == no_object
             ? no_line
             : line_in(shared_file.objects[object], pc - found.dlfo_link_map->l_addr);
}

uint32_t innermost_line(ucontext_t& interrupted, bool& is_whole) {
  is_whole = true;
  uint32_t line = line_of(static_cast<uint64_t>(interrupted.uc_mcontext.gregs[REG_RIP]));
  if (line != no_line) return line;
  rt::Walk walk;
  rt::begin_walk(walk, interrupted);
  rt::Step step = rt::Step::caller;
  for (uint32_t i = 0; i < most_frames && line == no_line && step == rt::Step::caller; ++i) {
    step = rt::step(walk, find_description, nullptr);
    if (step == rt::Step::caller) line = line_of(walk.interrupted ? walk.pc : walk.pc - 1);
  }
  is_whole = line != no_line || step == rt::Step::bottom;
  return line;
}

void forget_objects() {
  known.forget();
}

}  // namespace stab::causal
