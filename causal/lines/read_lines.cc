// SPDX-License-Identifier: MIT
#include "causal/lines/read_lines.h"

#include <fmt/format.h>
#include <fnmatch.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/DebugInfo/DIContext.h>
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugLine.h>
#include <llvm/DebugInfo/DWARF/DWARFFormValue.h>
#include <llvm/DebugInfo/DWARF/DWARFUnit.h>
#include <llvm/Object/Binary.h>
#include <llvm/Object/BuildID.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/CRC.h>
#include <llvm/Support/Endian.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "causal/lines/line_map.h"

namespace stab::causal {
namespace {

// Finds the separate file with the debug information of a stripped object, and checks that it
// belongs to the object.

struct DebugFile {
  std::string path{};
  std::optional<std::uint32_t> checksum{};  // from the object's debug link
};

namespace fs = std::filesystem;
using llvm::object::ObjectFile;

struct Link {
  std::string file;
  std::uint32_t checksum = 0;
};

// The section holds a name that ends with a zero, zeros up to a multiple of four, and the checksum.
std::optional<Link> parse_link(llvm::StringRef contents, bool is_little) {
  const llvm::StringRef file = contents.split('\0').first;
  const std::size_t at = (file.size() + 4) / 4 * 4;
  // The name must be a plain file name, without a folder.
  if (file.empty() || file.contains('/') || contents.size() < at + 4) return std::nullopt;
  return Link{
      .file = file.str(),
      .checksum = llvm::support::endian::read32(
          contents.data() + at, is_little ? llvm::endianness::little : llvm::endianness::big)};
}

std::optional<Link> debug_link(const ObjectFile& object) {
  for (const auto& section : object.sections()) {
    auto name = section.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name != ".gnu_debuglink") continue;
    auto contents = section.getContents();
    if (contents) return parse_link(*contents, object.isLittleEndian());
    llvm::consumeError(contents.takeError());
    return std::nullopt;
  }
  return std::nullopt;
}

// Lists where the file may be, the likeliest path first: by the build id below /usr/lib/debug, and
// then by the debug link in the folder of `path`, in its .debug folder, and below /usr/lib/debug.
std::vector<DebugFile> debug_files(const ObjectFile& object, const std::string& path) {
  std::vector<DebugFile> found;
  const auto id = llvm::object::getBuildID(&object);
  if (id.size() > 1) {
    const std::string hex = llvm::toHex(id, true);
    found.push_back({.path = fmt::format("/usr/lib/debug/.build-id/{}/{}.debug", hex.substr(0, 2),
                                         hex.substr(2))});
  }
  if (const auto link = debug_link(object)) {
    std::error_code error;
    const fs::path folder = fs::weakly_canonical(path, error).parent_path();
    for (const fs::path& at : {folder / link->file, folder / ".debug" / link->file,
                               fs::path("/usr/lib/debug" + (folder / link->file).string())})
      found.push_back({.path = at.string(), .checksum = link->checksum});
  }
  return found;
}

// Compares the build ids if both files have one, or else the checksum of the whole of `debug`.
// Returns false if neither is possible.
bool is_of_same_build(const ObjectFile& object, const ObjectFile& debug,
                      std::optional<std::uint32_t> checksum) {
  const auto a = llvm::object::getBuildID(&object);
  const auto b = llvm::object::getBuildID(&debug);
  if (!a.empty() && !b.empty()) return a == b;
  return checksum && llvm::crc32(llvm::arrayRefFromStringRef(debug.getData())) == *checksum;
}

using llvm::DILineInfoSpecifier;
using llvm::DWARFContext;
using llvm::DWARFDebugLine;
using Owned = llvm::object::OwningBinary<ObjectFile>;

constexpr auto absolute = DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath;
constexpr std::uint32_t largest_range = 1U << 30;

Result<Owned> open_object(const std::string& path) {
  auto opened = ObjectFile::createObjectFile(path);
  const std::string name = one_line(path, 500);
  if (!opened)
    return fail(
        fmt::format("cannot read {}: {}", name, one_line(llvm::toString(opened.takeError()), 300)));
  if (!opened->getBinary()->isELF()) return fail(name + " is not an ELF file");
  return std::move(*opened);
}

bool has_line_table(const ObjectFile& object) {
  for (const auto& section : object.sections()) {
    auto name = section.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name == ".debug_line" && !section.isVirtual()) return true;
  }
  return false;
}

class LineTableReader {
 public:
  explicit LineTableReader(const Scope& scope) : scope_(scope) {}

  Result<void> read(const std::string& path) {
    note(path);
    auto object = open_object(path);
    if (!object) return std::unexpected(object.error());
    ObjectLines made{.path = path};
    std::string read = path;
    if (!has_line_table(*object->getBinary()))
      if (auto debug = open_debug_file(*object->getBinary(), made)) {
        object = std::move(debug->opened);
        read = std::move(debug->path);
      }
    made.has_lines = has_line_table(*object->getBinary());
    if (made.has_lines)
      if (auto taken = take(*object->getBinary(), read, made); !taken) return taken;
    map_.objects.push_back(std::move(made));
    return {};
  }

  LineMap end() {
    for (auto& [path, state] : files_) map_.files.push_back({.path = path, .state = state});
    if (files_.size() > most_files) map_.files.clear();
    return std::move(map_);
  }

 private:
  struct Debug {
    Owned opened;
    std::string path;
  };

  // Notes a debug file of another build, so that the user learns why there are no lines.
  std::optional<Debug> open_debug_file(const ObjectFile& object, ObjectLines& made) {
    for (const auto& [path, checksum] : debug_files(object, made.path)) {
      note(path);
      auto opened = open_object(path);
      if (!opened || !has_line_table(*opened->getBinary())) continue;
      if (is_of_same_build(object, *opened->getBinary(), checksum))
        return Debug{.opened = std::move(*opened), .path = path};
      if (made.stranger.empty()) made.stranger = path;
    }
    return std::nullopt;
  }

  // Records the file's state. Must be called before the file is opened, so that any later change is
  // detected.
  void note(const std::string& path) {
    if (files_.size() <= most_files && !files_.contains(path)) files_.emplace(path, state_of(path));
  }

  // Notes the files of split debug information, which LLVM itself opens when it looks for callers
  // of inlined code.
  void note_split(llvm::DWARFUnit& unit, const std::string& object) {
    if (!unit.getDWOId()) return;
    const auto name = llvm::dwarf::toString(
        unit.getUnitDIE().find({llvm::dwarf::DW_AT_dwo_name, llvm::dwarf::DW_AT_GNU_dwo_name}));
    if (!name) return;
    const char* folder = unit.getCompilationDir();
    note(object + ".dwp");
    note((fs::path(folder == nullptr ? "" : folder) / *name).string());
  }

  Result<void> take(const ObjectFile& object, const std::string& path, ObjectLines& made) {
    const auto ignore = [](llvm::Error error) { llvm::consumeError(std::move(error)); };
    const auto context = DWARFContext::create(
        object, DWARFContext::ProcessDebugRelocations::Process, nullptr, "", ignore, ignore);
    for (const auto& unit : context->compile_units()) {
      note_split(*unit, path);
      auto table = context->getLineTableForUnit(unit.get(), ignore);
      if (!table) {
        llvm::consumeError(table.takeError());
        continue;
      }
      if (*table == nullptr) continue;
      const char* folder = unit->getCompilationDir();
      if (!take_table(*context, **table, folder == nullptr ? "" : folder, made))
        return fail(
            fmt::format("in {}, the scope selects more than {} ranges of lines: narrow the scope",
                        one_line(made.path, 500), most_ranges));
    }
    settle(made.ranges);
    return {};
  }

  // Returns false if there are too many ranges.
  bool take_table(DWARFContext& context, const DWARFDebugLine::LineTable& table,
                  const std::string& folder, ObjectLines& made) {
    std::map<std::uint64_t, std::optional<std::uint32_t>> files;
    for (const auto& sequence : table.Sequences) {
      // Code that the linker dropped has the address 0.
      if (sequence.LowPC == 0 || sequence.LastRowIndex > table.Rows.size()) continue;
      for (std::size_t i = sequence.FirstRowIndex; i + 1 < sequence.LastRowIndex; ++i) {
        const auto& row = table.Rows[i];
        const std::uint64_t start = row.Address.Address;
        const std::uint64_t end = table.Rows[i + 1].Address.Address;
        if (end <= start || end - start > largest_range) continue;
        const auto [at, is_new] = files.try_emplace(row.File);
        if (is_new) at->second = file_in_scope(table, row.File, folder);
        const std::optional<std::uint32_t> line = at->second && row.Line != 0
                                                      ? line_index(*at->second, row.Line)
                                                      : caller_in_scope(context, row.Address);
        if (!line) continue;
        if (++count_ > most_ranges) return false;
        made.ranges.push_back(
            {.start = start, .size = static_cast<std::uint32_t>(end - start), .line = *line});
      }
    }
    return true;
  }

  std::optional<std::uint32_t> file_in_scope(const DWARFDebugLine::LineTable& table,
                                             std::uint64_t file, const std::string& folder) {
    std::string name;
    if (!table.getFileNameByIndex(file, folder, absolute, name)) return std::nullopt;
    return file_in_scope(name);
  }

  std::optional<std::uint32_t> file_in_scope(const std::string& path) {
    std::string name = fs::path(path).lexically_normal().string();
    if (!scope_(name)) return std::nullopt;
    const auto [at, is_new] =
        known_files_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(std::move(name));
    return at->second;
  }

  // For inlined code, the innermost caller in scope.
  std::optional<std::uint32_t> caller_in_scope(DWARFContext& context,
                                               llvm::object::SectionedAddress address) {
    const auto frames = context.getInliningInfoForAddress(
        address, {absolute, DILineInfoSpecifier::FunctionNameKind::None});
    for (std::uint32_t i = 1; i < frames.getNumberOfFrames(); ++i) {
      const auto& frame = frames.getFrame(i);
      if (frame.Line == 0) continue;
      if (const auto file = file_in_scope(frame.FileName)) return line_index(*file, frame.Line);
    }
    return std::nullopt;
  }

  std::uint32_t line_index(std::uint32_t file, std::uint32_t line) {
    const auto [at, is_new] = known_lines_.try_emplace(
        std::uint64_t{file} << 32 | line, static_cast<std::uint32_t>(map_.lines.size()));
    if (is_new) map_.lines.push_back(fmt::format("{}:{}", names_[file], line));
    return at->second;
  }

  // Sorts the ranges, drops those that overlap an earlier one, and joins neighbours of the same
  // line.
  static void settle(std::vector<LineRange>& ranges) {
    std::ranges::sort(ranges, {},
                      [](const LineRange& each) { return std::pair(each.start, each.size); });
    std::vector<LineRange> kept;
    for (const LineRange& each : ranges) {
      const std::uint64_t end = kept.empty() ? 0 : kept.back().start + kept.back().size;
      if (each.start < end) continue;
      if (!kept.empty() && each.start == end && kept.back().line == each.line &&
          kept.back().size + std::uint64_t{each.size} <= largest_range)
        kept.back().size += each.size;
      else
        kept.push_back(each);
    }
    ranges = std::move(kept);
  }

  const Scope& scope_;
  LineMap map_;
  std::unordered_map<std::string, std::uint32_t> known_files_;
  std::vector<std::string> names_;                                // of known_files_
  std::unordered_map<std::uint64_t, std::uint32_t> known_lines_;  // by file and line
  std::map<std::string, FileState> files_;
  std::size_t count_ = 0;
};

}  // namespace

Scope scope_of(std::vector<std::string> patterns) {
  return [patterns = std::move(patterns)](const std::string& file) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), file.c_str(), 0) == 0 ||
             fnmatch(("*/" + pattern).c_str(), file.c_str(), 0) == 0;
    });
  };
}

Result<LineMap> read_lines(const std::vector<std::string>& paths, const Scope& scope) {
  LineTableReader reader(scope);
  for (const std::string& path : paths)
    if (auto read = reader.read(path); !read) return std::unexpected(read.error());
  return reader.end();
}

}  // namespace stab::causal
