// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/postlink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "base/fd.h"
#include "instrumenter/postlink/code/code.h"
#include "instrumenter/postlink/frames/frames.h"
#include "instrumenter/postlink/output.h"

namespace stab::instrumenter {
namespace {

constexpr std::size_t largest_input = std::size_t{4} << 30;

Result<void> replace(const std::string& path, std::string_view content) {
  struct stat before{};
  if (stat(path.c_str(), &before) != 0) return fail_errno("cannot read the file's properties");
  const std::string draft = fmt::format("{}.{}.stab", path, getpid());
  const Fd fd(open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return fail_errno(fmt::format("cannot create {}", draft));
  auto written = write_all(fd.get(), content);
  if (written && fchmod(fd.get(), before.st_mode & 07777) != 0)
    written = fail_errno("cannot set the mode");
  if (written && std::rename(draft.c_str(), path.c_str()) != 0)
    written = fail_errno("cannot rename");
  if (!written) unlink(draft.c_str());
  return written;
}

Summary summarize(const Program& program, std::size_t table_bytes) {
  Summary summary;
  summary.functions = program.functions.size();
  summary.table_bytes = table_bytes;
  summary.code_bounds = program.code_bounds;
  for (const Function& function : program.functions) {
    summary.text_bytes += function.size;
    summary.large_functions += function.pin() == abi::PinReason::large_model ? 1 : 0;
    if (!function.movable()) continue;
    ++summary.movable_functions;
    summary.movable_bytes += function.size;
  }
  summary.functions += program.unsized.size();
  for (const Function& function : program.unsized) summary.text_bytes += function.size;
  return summary;
}

// Each stage uses what the stages above it have found.
constexpr std::array stages = {
    find_functions,         find_unsized,   read_frames,   analyse_code,
    find_address_registers, analyse_labels, analyse_data,  analyse_exceptions,
    analyse_switches,       pin_dependents, analyse_stack,
};

Program analyse(const ElfFile& file, const Options& options) {
  Program program;
  program.file = &file;
  program.pads_for_others = options.pads_for_others;
  for (const auto stage : stages) stage(program);
  return program;
}

// Earlier versions of the pass wrote these sections. Their records may say that functions must stay
// in place.
constexpr std::array older_records = {".stab_frames", ".stab_calls", ".stab_entries",
                                      ".stab_compiled", ".stab_bytes"};

// lld puts common thread-local variables into memory that all threads share, far from the program's
// thread-local memory. Without any other thread-local variables, lld refuses the link.
const Elf64_Sym* misplaced_thread_local(const ElfFile& file) {
  const auto found = std::ranges::find_if(file.symbols(), [&](const Elf64_Sym& s) {
    return ELF64_ST_TYPE(s.st_info) == STT_TLS && s.st_shndx != SHN_UNDEF &&
           s.st_shndx < file.sections().size() &&
           (file.sections()[s.st_shndx].sh_flags & SHF_TLS) == 0;
  });
  return found == file.symbols().end() ? nullptr : &*found;
}

// Refuses a binary that would run, but not correctly.
Result<void> check(const ElfFile& file) {
  if (file.section(abi::table_section) != nullptr) return fail("it is already instrumented");
  if (file.symbols().empty())
    return fail("the binary has no symbols; link it without -s and let szc strip it");
  for (const char* name : older_records)
    if (file.section(name) != nullptr)
      return fail(
          fmt::format("an earlier version of szc compiled some of its object files, and this "
                      "version does not read their section {}: compile them again",
                      name));
  if (file.has_unread_relocations())
    return fail(
        "some of its object files have relocations in a form that szc does not read, such as CREL: "
        "compile them without -Wa,--crel");
  if (const Elf64_Sym* misplaced = misplaced_thread_local(file))
    return fail(fmt::format(
        "lld put the thread-local variable {} into memory that all threads share, because it is a "
        "common variable: compile it with -fno-common, or without __attribute__((common))",
        file.name(*misplaced)));
  if (file.section(abi::runtime_section) == nullptr) return {};
  if (file.section(".dynsym") == nullptr) return fail("it is linked statically");
  if (!file.exports("_dl_find_object"))
    return fail(
        "a version script or a similar option hides _dl_find_object; exception handling needs this "
        "function to find moved code");
  // Its thread runs before the runtime does, in code that the runtime would change.
  if (std::ranges::any_of(file.symbols(), [&](const Elf64_Sym& s) {
        return file.name(s) == "__tsan_init" && s.st_shndx != SHN_UNDEF;
      }))
    return fail("ThreadSanitizer is linked in, and it starts a thread too early");
  return {};
}

Result<Summary> instrument_file(const std::string& path, const Options& options) {
  auto bytes = read_file(path, largest_input);
  if (!bytes) return std::unexpected(bytes.error());
  const auto file = ElfFile::parse(std::move(*bytes));
  if (!file) return std::unexpected(file.error());
  if (auto checked = check(*file); !checked) return std::unexpected(checked.error());
  const Program program = analyse(*file, options);
  const auto table = build_table(program);
  if (!table) return std::unexpected(table.error());
  const auto result =
      add_table(*file, *table, program.patches, options.strip_all, options.strip_debug);
  if (!result) return std::unexpected(result.error());
  if (auto replaced = replace(path, *result); !replaced) return std::unexpected(replaced.error());
  return summarize(program, table->size());
}

}  // namespace

Result<Summary> instrument(const std::string& binary_path, const Options& options) {
  auto summary = instrument_file(binary_path, options);
  if (!summary)
    return fail(fmt::format("cannot instrument {}: {}", binary_path, summary.error().message));
  return summary;
}

}  // namespace stab::instrumenter
