// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/fd.h"
#include "base/json.h"
#include "instrumenter/postlink/frames/frames.h"
#include "instrumenter/postlink/postlink.h"

namespace stab::instrumenter {
namespace {

constexpr std::size_t largest_file = std::size_t{4} << 30;

// Reads arrays out of a table that may be damaged.
class TableView {
 public:
  explicit TableView(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] std::optional<std::vector<T>> read(std::uint64_t offset,
                                                   std::uint64_t count) const {
    if (offset > bytes_.size() || count > (bytes_.size() - offset) / sizeof(T)) return std::nullopt;
    std::vector<T> elements(count);
    if (count != 0) std::memcpy(elements.data(), bytes_.data() + offset, count * sizeof(T));
    return elements;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

std::string name_at(const std::vector<char>& names, std::uint32_t offset) {
  if (offset >= names.size()) return "?";
  return {names.data() + offset, strnlen(names.data() + offset, names.size() - offset)};
}

void explain_frame(const abi::Frame& frame, ExplainedFunction& function) {
  function.fixed_frame = describe(static_cast<abi::PadReason>(frame.reason));
  function.largest_pad = frame.most * abi::pad_unit;
  function.is_part = frame.part_of != 0;
}

Result<Explanation> explain_table(std::span<const std::uint8_t> bytes) {
  const TableView view(bytes);
  const auto headers = view.read<abi::Header>(0, 1);
  if (!headers || headers->front().magic != abi::magic) return fail("its table is damaged");
  const abi::Header& header = headers->front();
  if (header.version != abi::version)
    return fail(
        fmt::format("the binary's table has version {}, but this program reads only version {}",
                    header.version, abi::version));
  const auto functions = view.read<abi::Function>(header.functions.offset, header.functions.count);
  const auto pinned = view.read<abi::Pinned>(header.pinned.offset, header.pinned.count);
  const auto names = view.read<char>(header.names.offset, header.names.count);
  const auto frames = view.read<abi::Frame>(header.frames.offset, header.frames.count);
  const auto hiders = view.read<abi::Hider>(header.hiders.offset, header.hiders.count);
  if (!functions || !pinned || !names || !frames || !hiders) return fail("its table is damaged");
  if (!frames->empty() && frames->size() != functions->size()) return fail("its table is damaged");
  Explanation result;
  result.text_bytes = header.text_bytes;
  result.movable_bytes = header.text_bytes - header.pinned_bytes;
  for (const abi::Function& function : *functions) {
    result.functions.push_back(
        {name_at(*names, function.name), header.base + function.start, function.size, "", "", 0});
    if (!frames->empty())
      explain_frame((*frames)[static_cast<std::size_t>(&function - functions->data())],
                    result.functions.back());
  }
  for (const abi::Pinned& function : *pinned)
    result.functions.push_back(
        {name_at(*names, function.name), header.base + function.start, function.size,
         std::string(describe(static_cast<abi::PinReason>(function.reason))), "", 0});
  std::ranges::sort(result.functions, {}, &ExplainedFunction::address);
  for (const abi::Hider& hider : *hiders)
    result.keepers.push_back({name_at(*names, hider.name), header.base + hider.place,
                              std::string(describe(static_cast<abi::HideReason>(hider.reason)))});
  result.framed = header.framed;
  result.padded = static_cast<std::uint64_t>(std::ranges::count_if(
      result.functions, [](const auto& f) { return f.largest_pad != 0 && !f.is_part; }));
  result.small_stacks = (header.flags & abi::image_small_stacks) != 0;
  return result;
}

std::string frame_text(const ExplainedFunction& function) {
  if (function.largest_pad != 0 && !function.fixed_frame.empty())
    return fmt::format("pads of up to {} bytes, allocated on entry", function.largest_pad);
  if (function.is_part)
    return fmt::format("pads of up to {} bytes, with its function", function.largest_pad);
  return function.fixed_frame.empty() ? fmt::format("pads of up to {} bytes", function.largest_pad)
                                      : fmt::format("no pads, because {}", function.fixed_frame);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

Result<Explanation> explain(const std::string& path) {
  auto bytes = read_file(path, largest_file);
  if (!bytes) return std::unexpected(bytes.error());
  const auto file = ElfFile::parse(std::move(*bytes));
  if (!file) return fail(fmt::format("{}: {}", path, file.error().message));
  const Elf64_Shdr* section = file->section(abi::table_section);
  if (section == nullptr)
    return fail(fmt::format("{} was not built by szc: it has no table of functions", path));
  auto result = explain_table(file->contents(*section));
  if (!result) return fail(fmt::format("{}: {}", path, result.error().message));
  result->path = path;
  return result;
}

std::string to_text(const Explanation& explanation) {
  const auto moved =
      std::ranges::count_if(explanation.functions, [](const auto& f) { return f.pinned.empty(); });
  std::string text = fmt::format(
      "{}: {} of {} functions can move; they contain {} of {} bytes of code ({:.1f} %)\n",
      explanation.path, moved, explanation.functions.size(), explanation.movable_bytes,
      explanation.text_bytes, share(explanation.movable_bytes, explanation.text_bytes));
  fmt::format_to(
      std::back_inserter(text), "  {} of them have frames, and {} of the frames have pads{}\n",
      explanation.framed, explanation.padded,
      explanation.small_stacks ? ", small ones, because it may run on small stacks" : "");
  for (const ExplainedKeeper& keeper : explanation.keepers)
    fmt::format_to(std::back_inserter(text),
                   "  all layouts are kept, 63 at most, because {} at {:#x} {}\n", keeper.name,
                   keeper.address, keeper.reason);
  for (const ExplainedFunction& function : explanation.functions)
    if (!function.pinned.empty())
      fmt::format_to(std::back_inserter(text), "  pinned {:#x} {} bytes {}: {}\n", function.address,
                     function.size, function.name, function.pinned);
  for (const ExplainedFunction& function : explanation.functions)
    if (function.pinned.empty())
      fmt::format_to(std::back_inserter(text), "  moves  {:#x} {} bytes {}: {}\n", function.address,
                     function.size, function.name, frame_text(function));
  return text;
}

std::string to_json(const Explanation& explanation) {
  nlohmann::json functions = nlohmann::json::array();
  for (const ExplainedFunction& function : explanation.functions) {
    nlohmann::json entry = {{"name", function.name},
                            {"address", function.address},
                            {"size", function.size},
                            {"moves", function.pinned.empty()}};
    if (!function.pinned.empty()) entry["pinned"] = function.pinned;
    if (!function.fixed_frame.empty()) entry["fixed_frame"] = function.fixed_frame;
    if (function.largest_pad != 0) entry["largest_pad"] = function.largest_pad;
    if (function.is_part) entry["is_part"] = true;
    functions.push_back(std::move(entry));
  }
  nlohmann::json keepers = nlohmann::json::array();
  for (const ExplainedKeeper& keeper : explanation.keepers)
    keepers.push_back(
        {{"name", keeper.name}, {"address", keeper.address}, {"reason", keeper.reason}});
  const nlohmann::json all = {
      {"path", explanation.path},
      {"text_bytes", explanation.text_bytes},
      {"movable_bytes", explanation.movable_bytes},
      {"movable_share", share(explanation.movable_bytes, explanation.text_bytes) / 100},
      {"layouts_stay_for", std::move(keepers)},
      {"framed", explanation.framed},
      {"padded", explanation.padded},
      {"small_stacks", explanation.small_stacks},
      {"functions", std::move(functions)}};
  return json_text(all, 2) + "\n";
}

}  // namespace stab::instrumenter
