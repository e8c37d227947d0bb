// SPDX-License-Identifier: MIT
// Finds where calls by pointers may lead. The pass has noted the types
// (instrumenter/pass/call_types.h), and the linked file shows which functions have their address
// taken.
#include <algorithm>

#include "instrumenter/postlink/elf/byte_reader.h"
#include "instrumenter/postlink/frames/recursion.h"

namespace stab::instrumenter {
namespace {

void take(Program& program, std::uint64_t target) {
  Function* function = program.find(target);
  if (function != nullptr && function->start == target) function->address_taken = true;
}

bool goes_through_got(std::uint32_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

bool is_absolute(std::uint32_t type) {
  return type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S;
}

// A call through the GOT counts too, because one edge too many does no harm.
void find_taken_addresses(Program& program) {
  for (const Function& function : program.functions)
    for (const Operand& operand : function.decoded.operands)
      if (!operand.is_branch()) take(program, operand.target);
  for (std::size_t i = 0; i < program.file->sections().size(); ++i) {
    if ((program.file->sections()[i].sh_flags & SHF_ALLOC) == 0) continue;
    for (const Relocation& relocation : program.file->relocations(i)) {
      if (is_absolute(relocation.type)) take(program, relocation.target);
      if (goes_through_got(relocation.type)) take(program, relocation.target + 4);
    }
  }
}

}  // namespace

void read_call_types(Program& program) {
  const Elf64_Shdr* section = program.file->section(abi::calls_section);
  if (section == nullptr) return;
  ByteReader reader(program.file->contents(*section));
  while (!reader.at_end()) {
    Function* function = program.find(reader.number<std::uint64_t>());
    const std::uint32_t own = reader.word();
    const auto count = reader.number<std::uint16_t>();
    if (function != nullptr) function->type = own;
    for (unsigned i = 0; i < count && reader.ok(); ++i) {
      const std::uint32_t called = reader.word();
      if (function != nullptr) function->called_types.push_back(called);
    }
  }
  find_taken_addresses(program);
}

}  // namespace stab::instrumenter
