// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <functional>

#include "instrumenter/postlink/code/code.h"

namespace stab::instrumenter {
namespace {

using abi::Fixup;
using abi::FixupKind;
using abi::HideReason;
using abi::PinReason;

Fixup make_fixup(FixupKind kind, std::uint32_t offset, std::uint32_t value) {
  return {static_cast<std::uint32_t>(kind) << abi::fixup_kind_shift | offset, value};
}

bool pc_relative(std::uint32_t type) {
  constexpr std::array<std::uint32_t, 10> types = {
      R_X86_64_PC32,          R_X86_64_PLT32,          R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX,
      R_X86_64_REX_GOTPCRELX, R_X86_64_TLSGD,          R_X86_64_GOTTPOFF, R_X86_64_TLSLD,
      R_X86_64_GOTPC32,       R_X86_64_GOTPC32_TLSDESC};
  return std::ranges::find(types, type) != types.end();
}

bool absolute(std::uint32_t type) {
  constexpr std::array<std::uint32_t, 12> types = {
      R_X86_64_NONE,    R_X86_64_64,      R_X86_64_32,       R_X86_64_32S,
      R_X86_64_TPOFF32, R_X86_64_TPOFF64, R_X86_64_DTPOFF32, R_X86_64_DTPOFF64,
      R_X86_64_SIZE32,  R_X86_64_SIZE64,  R_X86_64_16,       R_X86_64_TLSDESC_CALL};
  return std::ranges::find(types, type) != types.end();
}

// The linker may have replaced these with an instruction that has an absolute operand. The
// relocation keeps its type then.
bool may_be_relaxed(std::uint32_t type) {
  constexpr std::array<std::uint32_t, 6> types = {R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX,
                                                  R_X86_64_TLSGD,     R_X86_64_GOTTPOFF,
                                                  R_X86_64_TLSLD,     R_X86_64_GOTPC32_TLSDESC};
  return std::ranges::find(types, type) != types.end();
}

bool looks_at_its_caller(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"dlsym", "dlvsym", "dlopen", "dlmopen"};
  return std::ranges::find(names, name) != names.end();
}

// These functions keep a place in their caller to come back to, or the parent's stack, where
// nobody else can find it.
bool keeps_its_callers_place(std::string_view name) {
  constexpr std::array<std::string_view, 5> names = {"getcontext", "setcontext", "swapcontext",
                                                     "vfork", "savectx"};
  return std::ranges::find(names, name) != names.end();
}

// Whether registers that the function kept may be restored later. getcontext by itself restores
// nothing.
bool comes_back(std::string_view name) {
  return keeps_its_callers_place(name) && name != "getcontext";
}

bool is_setjmp(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"setjmp", "_setjmp", "sigsetjmp",
                                                     "__sigsetjmp"};
  return std::ranges::find(names, name) != names.end();
}

// Whether the function begins by pushing all registers that it has to preserve. The pass ensures
// that.
bool saves_all_registers(std::span<const std::uint8_t> code) {
  using Does = Instruction::Does;
  Registers saved = 0;
  while (const auto next = read_instruction(code, 0)) {
    const bool makes_frame = next->copies() && next->to == rbp_number && next->from == rsp_number;
    if (next->does == Does::push && next->number == 8 && has(preserved_by_calls, next->from))
      saved |= bit(next->from);
    else if (!makes_frame && next->does != Does::nothing)
      break;
    code = code.subspan(next->length);
  }
  return saved == preserved_by_calls;
}

// After these calls, code may run on stacks that no list of threads shows.
bool makes_stacks(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {"makecontext",   "swapcontext",   "setcontext",
                                                     "jump_fcontext", "make_fcontext", "clone"};
  return std::ranges::find(names, name) != names.end();
}

// After these calls, code may run on stacks whose size the program chose.
bool makes_small_stacks(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"sigaltstack", "pthread_attr_setstack",
                                                     "pthread_attr_setstacksize",
                                                     "pthread_attr_setstackaddr"};
  return makes_stacks(name) || std::ranges::find(names, name) != names.end();
}

// A program may define functions with these names that return. The other names are reserved.
bool ends_if_of_libc(std::string_view name) {
  constexpr std::array<std::string_view, 8> names = {
      "abort",      "exit",         "_exit",         "_Exit",
      "quick_exit", "pthread_exit", "__assert_fail", "__stack_chk_fail"};
  return std::ranges::find(names, name) != names.end();
}

// The C++ ABI or the C library guarantees this.
bool never_returns(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"__cxa_throw", "__cxa_rethrow",
                                                     "_Unwind_Resume", "_ZSt9terminatev"};
  return std::ranges::find(names, name) != names.end() || ends_if_of_libc(name);
}

// The function of this file whose symbol the relocation names. A section's symbol stands for any
// place in it, but then the code shows the target.
const Function* named_by(Program& program, const Relocation& relocation) {
  constexpr std::array<std::uint32_t, 4> types = {R_X86_64_PLT32, R_X86_64_GOTPCREL,
                                                  R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX};
  const auto symbols = program.file->symbols();
  if (std::ranges::find(types, relocation.type) == types.end() ||
      relocation.symbol >= symbols.size())
    return nullptr;
  const Elf64_Sym& symbol = symbols[relocation.symbol];
  if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) == STT_SECTION) return nullptr;
  const Function* named = program.find(symbol.st_value);
  return named != nullptr && named->start == symbol.st_value ? named : nullptr;
}

// Analyses one function, with the relocations that lie in it.
class Analysis {
 public:
  Analysis(Program& program, Function& function, std::span<const Relocation> relocations)
      : program_(program), function_(function), relocations_(relocations) {}

  void run() {
    check_relocations();
    for (const Operand& operand : function_.decoded.operands) {
      if (operand.is_branch())
        add_branch(operand);
      else
        add_reference(operand);
    }
  }

 private:
  [[nodiscard]] const Operand* operand_at(std::uint64_t address) const {
    const auto offset = static_cast<std::uint32_t>(address - function_.start);
    const auto& operands = function_.decoded.operands;
    const auto found = std::ranges::lower_bound(operands, offset, {}, &Operand::offset);
    return found != operands.end() && found->offset == offset ? &*found : nullptr;
  }

  // A relaxed `jmp *x@GOTPCREL(%rip)` is one byte shorter: its field lies one byte before the
  // relocation.
  [[nodiscard]] bool has_relocation(const Operand& operand) const {
    const std::uint64_t where = function_.start + operand.offset;
    const auto found = std::ranges::lower_bound(relocations_, where, {}, &Relocation::where);
    return found != relocations_.end() && found->where <= where + 1;
  }

  void check_relocations() {
    for (const Relocation& relocation : relocations_) {
      if (looks_at_its_caller(name_of(relocation))) pin(PinReason::caller_sensitive);
      if (keeps_its_callers_place(name_of(relocation))) function_.anchored = true;
      if (comes_back(name_of(relocation))) program_.hides_by(function_, HideReason::comes_back);
      if (is_setjmp(name_of(relocation))) check_setjmp();
      if (makes_stacks(name_of(relocation))) program_.hides_by(function_, HideReason::makes_stacks);
      if (makes_small_stacks(name_of(relocation))) program_.small_stacks = true;
      note_callee(relocation);
      if (never_returns(name_of(relocation))) note_end(relocation);
      if (pc_relative(relocation.type))
        check_pc_relative(relocation);
      else if (absolute(relocation.type))
        check_absolute(relocation);
      else
        pin_unknown(relocation);
    }
  }

  // Nobody follows an address that the code gets in an unknown way, such as from the tables of the
  // large model, so the function there stays, too. Calls get theirs by PLTOFF64.
  void pin_unknown(const Relocation& relocation) {
    pin(PinReason::unknown_relocation);
    const auto symbols = program_.file->symbols();
    if (relocation.symbol >= symbols.size() || relocation.type == R_X86_64_PLTOFF64) return;
    for (const std::uint64_t place : {symbols[relocation.symbol].st_value, relocation.target})
      if (Function* function = program_.find(place);
          function != nullptr && function->start == place)
        program_.pin(*function, PinReason::used_bytes);
  }

  // In a library, a call of a function that other images may replace goes through the linker's
  // table, which the code does not show.
  void note_callee(const Relocation& relocation) {
    const Function* callee = named_by(program_, relocation);
    if (callee == nullptr) return;
    function_.callees_by_name.push_back(program_.index(*callee));
    if (callee->passes_its_caller) pin(PinReason::caller_sensitive);
  }

  // A jmp_buf holds this function's registers, so the function is anchored. It also holds those
  // registers of its callers that the function did not save, and nobody finds them in that memory.
  void check_setjmp() {
    function_.anchored = true;
    if (!saves_all_registers(function_.code))
      program_.hides_by(function_, HideReason::saves_registers);
  }

  // Notes a direct call of a function that never returns, unless the program defines a function of
  // that name itself.
  void note_end(const Relocation& relocation) {
    const Operand* operand = operand_at(relocation.where);
    const auto& symbol = program_.file->symbols()[relocation.symbol];
    if (ends_if_of_libc(name_of(relocation)) && symbol.st_shndx != SHN_UNDEF &&
        !is_runtimes(symbol))
      return;
    if (relocation.type == R_X86_64_PLT32 && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
        operand != nullptr && operand->use == Operand::Use::call)
      function_.behind_ends.push_back(operand->offset + operand->size);
  }

  // The runtime defines _exit, unless the program has its own.
  [[nodiscard]] bool is_runtimes(const Elf64_Sym& symbol) const {
    const auto sections = program_.file->sections();
    return symbol.st_shndx < sections.size() &&
           program_.file->name(sections[symbol.st_shndx]) == abi::runtime_section;
  }

  [[nodiscard]] std::string_view name_of(const Relocation& relocation) const {
    const auto symbols = program_.file->symbols();
    return relocation.symbol < symbols.size() ? program_.file->name(symbols[relocation.symbol])
                                              : std::string_view();
  }

  void check_pc_relative(const Relocation& relocation) {
    if (operand_at(relocation.where) != nullptr || operand_at(relocation.where - 1) != nullptr)
      return;
    if (may_be_relaxed(relocation.type)) return;
    if (relocation.type == R_X86_64_PLT32 && belongs_to_relaxed_tls(relocation)) return;
    pin(PinReason::relocation_mismatch);
  }

  // A relaxed general or local dynamic access no longer makes its call of __tls_get_addr.
  [[nodiscard]] bool belongs_to_relaxed_tls(const Relocation& call) const {
    return std::ranges::any_of(relocations_, [&](const Relocation& other) {
      return (other.type == R_X86_64_TLSGD || other.type == R_X86_64_TLSLD) &&
             other.where < call.where && call.where - other.where <= 12;
    });
  }

  void check_absolute(const Relocation& relocation) {
    if (relocation.type != R_X86_64_64 && relocation.type != R_X86_64_32 &&
        relocation.type != R_X86_64_32S)
      return;
    Function* other = program_.find(relocation.target);
    if (other != nullptr && other->start != relocation.target)
      program_.pin(*other, PinReason::label_reference);
  }

  void add(FixupKind kind, const Operand& operand, std::uint32_t value) {
    function_.fixups.push_back(make_fixup(kind, operand.offset, value));
  }

  // Compilers leave jumps to the function's end in blocks that are never reached. If the jump has
  // a relocation, it is a real jump.
  [[nodiscard]] bool stays_inside(const Operand& operand) const {
    return function_.contains(operand.target) ||
           (operand.target == function_.end() && program_.find(operand.target) == nullptr &&
            !has_relocation(operand));
  }

  // The program may keep the address that such a call leaves on the stack, or find data by it.
  [[nodiscard]] bool calls_a_label(const Operand& operand) const {
    return operand.use == Operand::Use::call && operand.target != function_.start &&
           function_.contains(operand.target);
  }

  // The callee may read data that lie behind the call.
  [[nodiscard]] bool calls_what_takes_its_return_address(const Operand& operand) const {
    const Function* callee = program_.find_code(operand.target);
    return operand.use == Operand::Use::call && callee != nullptr &&
           callee->decoded.takes_return_address;
  }

  void add_branch(const Operand& operand) {
    if (calls_a_label(operand)) return pin(PinReason::own_place);
    if (calls_what_takes_its_return_address(operand)) pin(PinReason::data_in_code);
    const Function* next = program_.find_code(operand.target);
    if (next != nullptr && next->passes_its_caller) pin(PinReason::caller_sensitive);
    if (stays_inside(operand)) return;
    if (operand.size != 4) return pin(PinReason::outside_reference);
    Function* callee = program_.find(operand.target);
    const bool at_entry = callee != nullptr ? callee->start == operand.target
                                            : program_.begins_unsized(operand.target);
    if (!at_entry && !has_relocation(operand)) return pin(PinReason::relocation_mismatch);
    if (callee != nullptr)
      add(FixupKind::branch, operand, program_.index(*callee));
    else
      add_shift(operand);
  }

  void add_reference(const Operand& operand) {
    if (function_.contains(operand.target)) return add_reference_to_itself(operand);
    Function* other = program_.find(operand.target);
    const bool at_entry = other != nullptr && other->start == operand.target;
    if (!at_entry && !has_relocation(operand)) return pin(PinReason::relocation_mismatch);
    if (other != nullptr && !at_entry && operand.use == Operand::Use::address)
      program_.pin(*other, PinReason::label_reference);
    // The program would access our jump instead of these bytes.
    if (other != nullptr && operand.use == Operand::Use::access &&
        operand.target < other->start + abi::entry_bytes)
      program_.pin(*other, PinReason::used_bytes);
    add_shift(operand);
  }

  // The target must lie in the image: the runtime puts copies within 2 GB of all of it.
  void add_shift(const Operand& operand) {
    if (operand.target < program_.file->lowest() || operand.target > program_.file->highest())
      return pin(PinReason::outside_reference);
    add(FixupKind::shift, operand, 0);
  }

  // The function's own address is always the original's address; a label's address is its stub's.
  void add_reference_to_itself(const Operand& operand) {
    if (operand.target == function_.start) return add(FixupKind::shift, operand, 0);
    if (operand.use != Operand::Use::address || !function_.starts_instruction(operand.target))
      return pin(PinReason::data_in_code);
    function_.anchored = true;
    add(FixupKind::label, operand,
        program_.label(function_, static_cast<std::uint32_t>(operand.target - function_.start)));
  }

  void pin(PinReason reason) { program_.pin(function_, reason); }

  Program& program_;
  Function& function_;
  std::span<const Relocation> relocations_;
};

std::span<const Relocation> inside(std::span<const Relocation> all, const Function& function) {
  const auto first = std::ranges::lower_bound(all, function.start, {}, &Relocation::where);
  const auto last = std::ranges::lower_bound(all, function.end(), {}, &Relocation::where);
  return {first, last};
}

}  // namespace

namespace {

// Calls `what` with each function and the relocations that lie in it.
void for_each_with_relocations(
    Program& program,
    const std::function<void(Function& function, std::span<const Relocation>)>& what) {
  std::size_t section = 0;
  std::vector<Relocation> relocations;
  for (Function& function : program.functions) {
    if (function.section != section) {
      section = function.section;
      relocations = program.file->relocations(section);
    }
    what(function, inside(relocations, function));
  }
}

// Whether the relocation's field belongs to a call, directly or by the linker's table.
bool is_call(const Function& function, const Relocation& relocation) {
  const std::uint64_t offset = relocation.where - function.start;
  const auto& operands = function.decoded.operands;
  const auto operand = std::ranges::lower_bound(operands, offset, {}, &Operand::offset);
  if (operand != operands.end() && operand->offset == offset && operand->use == Operand::Use::call)
    return true;
  // The bytes of call *x@GOTPCREL(%rip), without prefixes. The function need not be decoded.
  constexpr std::uint64_t opcode = 2;
  if (offset < opcode || offset > function.code.size()) return false;
  const auto read = read_instruction(std::span(function.code).subspan(offset - opcode), 0);
  return read && read->does == Instruction::Does::call && read->memory &&
         read->memory->pc_relative && read->memory->field.at == opcode;
}

// If a function's last act is a jump to dlopen() or its like, the return address that libc looks at
// is the one of the function's caller. The same holds for a function that jumps to such a function.
void find_jumps_to_what_looks_at_its_caller(Program& program) {
  const auto symbols = program.file->symbols();
  std::vector<std::pair<Function*, const Function*>> jumps;  // through the linker's table
  for_each_with_relocations(program, [&](Function& function, auto relocations) {
    for (const Relocation& relocation : relocations) {
      if (relocation.symbol >= symbols.size() || is_call(function, relocation)) continue;
      const Elf64_Sym& symbol = symbols[relocation.symbol];
      if (looks_at_its_caller(program.file->name(symbol)))
        function.passes_its_caller = true;
      else if (const Function* next = named_by(program, relocation))
        jumps.emplace_back(&function, next);
    }
  });
  for (bool changed = true; changed;) {
    changed = false;
    for (Function& function : program.functions)
      for (const Operand& operand : function.decoded.operands) {
        if (function.passes_its_caller) break;
        if (operand.use != Operand::Use::jump || function.contains(operand.target)) continue;
        const Function* next = program.find_code(operand.target);
        if (next == nullptr || !next->passes_its_caller) continue;
        function.passes_its_caller = changed = true;
      }
    for (const auto& [function, next] : jumps) {
      if (function->passes_its_caller || !next->passes_its_caller) continue;
      function->passes_its_caller = changed = true;
    }
  }
}

// Coroutines may be made by a signal handler on a stack of its own that is left by setjmp() and
// entered again by longjmp(): no list of threads shows such stacks.
void find_stacks_of_handlers(Program& program) {
  const auto symbols = program.file->symbols();
  Function* makes_stack = nullptr;
  bool saves_place = false;
  for_each_with_relocations(program, [&](Function& function, auto relocations) {
    for (const Relocation& relocation : relocations) {
      if (relocation.symbol >= symbols.size()) continue;
      const std::string_view name = program.file->name(symbols[relocation.symbol]);
      if (name == "sigaltstack") makes_stack = &function;
      saves_place |= is_setjmp(name);
    }
  });
  if (makes_stack != nullptr && saves_place)
    program.hides_by(*makes_stack, HideReason::makes_stacks);
}

}  // namespace

void analyse_code(Program& program) {
  for (Function& function : program.functions) {
    if (!function.decoded.complete) program.pin(function, PinReason::undecodable);
    if (function.decoded.open_end) program.pin(function, PinReason::falls_through);
  }
  find_jumps_to_what_looks_at_its_caller(program);
  for_each_with_relocations(program, [&](Function& function, auto relocations) {
    Analysis(program, function, relocations).run();
  });
  find_stacks_of_handlers(program);
}

}  // namespace stab::instrumenter
