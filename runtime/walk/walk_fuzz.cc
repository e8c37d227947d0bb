// SPDX-License-Identifier: MIT
// Walks over stacks, registers, descriptions and search tables that the input makes up. The
// descriptions are in memory of exactly their size, the stack ends at a page that can't be read
// (Walks 1).
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "runtime/walk/description.h"
#include "runtime/walk/sample.h"
#include "runtime/walk/walk.h"

namespace {

using namespace stab::rt;
using stab::rt::testing::Bytes;

constexpr uint64_t page = 4096;
constexpr uint64_t stack_size = 4 * page;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Input {
  const uint8_t* at;
  size_t left;

  uint8_t byte() { return left == 0 ? 0 : (--left, *at++); }
  Bytes block(size_t size) {
    const size_t count = std::min(size, left);
    Bytes bytes(at, at + count);
    bytes.shrink_to_fit();
    at += count;
    left -= count;
    return bytes;
  }
};

struct World {
  uint8_t* stack;  // stack_size bytes
  uint8_t* code;   // a page

  World() {
    const uint64_t size = stack_size + 4 * page;
    auto* all = static_cast<uint8_t*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    require(all != MAP_FAILED);
    stack = all + page;
    code = stack + stack_size + page;
    mprotect(all, page, PROT_NONE);
    mprotect(stack + stack_size, page, PROT_NONE);
    mprotect(code + page, page, PROT_NONE);
    write_code();
  }

  // Writes calls almost everywhere, a trampoline, and a PLT.
  void write_code() const {
    for (uint64_t i = 0; i + 1 < page; i += 2) std::memcpy(code + i, "\xff\xd0", 2);
    std::memcpy(code + 64, "\xb8\x0f\0\0\0\x0f\x05", 7);
    std::memcpy(code + 80, "\xff\x25\0\0\0\0\x68\0\0\0\0\xe9\0\0\0\0", 16);
  }

  // Eight bytes of input make a word: a number, and the address that it is relative to.
  [[nodiscard]] uint64_t word(Input& input) const {
    uint64_t raw = 0;
    const Bytes bytes = input.block(8);
    for (size_t i = 0; i < bytes.size(); ++i) raw |= uint64_t{bytes[i]} << (8 * i);
    switch (raw >> 56) {
      case 0:
        return reinterpret_cast<uint64_t>(stack) + raw % (stack_size + 2 * page);
      case 1:
        return reinterpret_cast<uint64_t>(code) + raw % page;
      case 2:
        return raw & 0xff;
      case 3:
        return 0x33;
      default:
        return raw;
    }
  }

  [[nodiscard]] bool holds(const uint64_t* slot) const {
    const auto at = reinterpret_cast<uint64_t>(slot) - reinterpret_cast<uint64_t>(stack);
    return at % 8 == 0 && at < stack_size;
  }
};

struct Finder {
  const World* world;
  Bytes fde;
  Bytes cie;
  uint64_t start;  // the start of the described part of the code
};

bool find(uint64_t pc, FrameDescription& description, void* context) {
  const auto& finder = *static_cast<const Finder*>(context);
  const uint64_t begin = reinterpret_cast<uint64_t>(finder.world->code) + finder.start;
  const uint64_t size = page - finder.start;
  if (pc - begin >= size) return false;
  description = stab::rt::testing::describe(finder.fde, finder.cie);
  description.function_start = begin;
  description.function_size = size;
  return true;
}

Finder make_finder(const World& world, uint8_t shape, Input& input) {
  Finder finder = {&world, {}, {}, input.byte() * uint64_t{16}};
  const Bytes fde = input.block(input.byte());
  const Bytes cie = input.block(input.byte() % 64);
  finder.fde = (shape & 1) != 0 ? fde : stab::rt::testing::usual_fde(fde);
  finder.cie = (shape & 2) != 0   ? cie
               : (shape & 4) != 0 ? stab::rt::testing::usual_cie(cie)
                                  : stab::rt::testing::usual_cie();
  return finder;
}

// Fills the stack with the rest of the input, repeatedly.
void fill_stack(const World& world, Input& input) {
  std::memset(world.stack, 0, stack_size);
  const uint64_t words = std::min<uint64_t>(input.left / 8, stack_size / 8);
  for (uint64_t i = 0; i < words; ++i) {
    const uint64_t value = world.word(input);
    for (uint64_t at = i; at < stack_size / 8; at += words)
      std::memcpy(world.stack + at * 8, &value, 8);
  }
}

void check_frame(const World& world, const ucontext_t& context, const Walk& walk) {
  const auto* kept = reinterpret_cast<const uint8_t*>(walk.pc_slot);
  const auto* registers = reinterpret_cast<const uint8_t*>(&context);
  require(world.holds(walk.pc_slot) || (kept >= registers && kept < registers + sizeof context));
  require(*walk.pc_slot == walk.pc);
  for (uint32_t i = 0; i < register_count; ++i)
    if (walk.saved[i] != nullptr && walk.registers.is_known(i))
      require(*walk.saved[i] == walk.registers.value[i]);
}

// Whether the step led to a caller. A step that doesn't must leave the walk where it was (Walks 4).
bool steps(Walk& walk, Finder& finder) {
  const uint64_t pc = walk.pc;
  const uint64_t* slot = walk.pc_slot;
  const Registers registers = walk.registers;
  if (step(walk, find, &finder) == Step::caller) return true;
  require(walk.pc == pc && walk.pc_slot == slot && walk.registers.known == registers.known);
  for (uint32_t i = 0; i < register_count; ++i)
    require(!registers.is_known(i) || walk.registers.value[i] == registers.value[i]);
  return false;
}

void walk_frames(Input input) {
  static const World world;
  const uint8_t shape = input.byte();
  Finder finder = make_finder(world, shape, input);
  ucontext_t context = {};
  for (greg_t& value : context.uc_mcontext.gregs) value = static_cast<greg_t>(world.word(input));
  fill_stack(world, input);
  Walk walk;
  if ((shape & 8) != 0)
    begin_walk(walk, static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RIP]),
               static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RSP]));
  else
    begin_walk(walk, context);
  uint64_t count = 0;
  while (steps(walk, finder)) {
    // Walks 2.
    require(++count <= (most_stacks + 2) * (stack_size / 8 + 8));
    check_frame(world, context, walk);
  }
}

void search_table(Input input) {
  const uint64_t at = input.byte();
  const uint64_t distance = input.byte();
  const Bytes image = input.block(input.left);
  if (image.empty()) return;
  const auto start = reinterpret_cast<uint64_t>(image.data());
  FrameDescription found;
  const Extent extent = {start, start + image.size()};
  if (!find_in_image_header(start + distance, image.data() + at, extent, found)) return;
  Bytes copy(found.fde, found.fde + found.fde_size);
  copy.insert(copy.end(), found.cie, found.cie + found.cie_size);
  require(start + distance - found.function_start < found.function_size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input = {data, size};
  if (input.byte() % 4 == 3)
    search_table(input);
  else
    walk_frames(input);
  return 0;
}
