// SPDX-License-Identifier: MIT
#include "causal/lines/debug_file.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Object/BuildID.h>
#include <llvm/Support/CRC.h>
#include <llvm/Support/Endian.h>

#include <cstddef>
#include <filesystem>
#include <utility>

namespace stab::causal {
namespace {

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

}  // namespace

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

bool is_of_same_build(const ObjectFile& object, const ObjectFile& debug,
                      std::optional<std::uint32_t> checksum) {
  const auto a = llvm::object::getBuildID(&object);
  const auto b = llvm::object::getBuildID(&debug);
  if (!a.empty() && !b.empty()) return a == b;
  return checksum && llvm::crc32(llvm::arrayRefFromStringRef(debug.getData())) == *checksum;
}

}  // namespace stab::causal
