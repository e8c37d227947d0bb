// SPDX-License-Identifier: MIT
#include <algorithm>

#include "instrumenter/postlink/code/code.h"
#include "instrumenter/postlink/elf/elf_file.h"

namespace stab::instrumenter {
namespace {

constexpr std::uint8_t omit = 0xff;
constexpr std::uint8_t udata4 = 0x03;
constexpr std::uint64_t longest_table = std::uint64_t{64} << 20;

// Reads one number of the table of call sites.
std::uint64_t read_number(ByteReader& reader, std::uint8_t encoding) {
  switch (encoding) {
    case 0x01:
      return reader.uleb();
    case 0x02:
      return reader.number<std::uint16_t>();
    case udata4:
      return reader.word();
    case 0x04:
      return reader.number<std::uint64_t>();
    default:
      reader.skip(UINT64_MAX);
      return 0;
  }
}

// Returns the length of the action table, or SIZE_MAX if it is damaged. The file does not say
// where the table ends, so its end is behind the last action that is used.
std::size_t actions_end(std::span<const std::uint8_t> bytes, const std::vector<CallSite>& sites) {
  std::size_t end = 0;
  for (const CallSite& site : sites) {
    std::int64_t next = site.action;  // the action's offset, plus 1
    for (std::size_t steps = 0; next > 0 && steps <= bytes.size(); ++steps) {
      const auto at = static_cast<std::size_t>(next) - 1;
      if (at >= bytes.size()) return SIZE_MAX;
      ByteReader reader(bytes.subspan(at));
      reader.sleb();
      const auto link_at = static_cast<std::int64_t>(at + reader.position());
      const std::int64_t link = reader.sleb();
      if (!reader.ok()) return SIZE_MAX;
      end = std::max(end, at + reader.position());
      next = link == 0 ? 0 : link_at + link + 1;
    }
  }
  return end;
}

class ExceptionReader {
 public:
  ExceptionReader(Program& program, Function& function) : program_(program), function_(function) {}

  bool run() {
    const std::uint64_t address = function_.frame.lsda;
    const auto bytes = rest_of_section(address);
    ByteReader reader(bytes);
    if (reader.byte() != omit) return false;
    Exceptions result;
    result.types_encoding = reader.byte();
    if (result.types_encoding != omit) {
      const std::uint64_t distance = reader.uleb();
      result.types = address + reader.position() + distance;
      if (distance > bytes.size()) return false;
    }
    const std::uint8_t encoding = reader.byte();
    const std::uint64_t length = reader.uleb();
    const std::size_t begin = reader.position();
    if (!reader.ok() || length > bytes.size() - begin) return false;
    if (!read_call_sites(bytes.subspan(begin, length), encoding, result)) return false;
    const auto behind = bytes.subspan(begin + length);
    const std::size_t end = actions_end(behind, result.call_sites);
    if (end == SIZE_MAX) return false;
    result.actions = behind.subspan(0, end);
    function_.exceptions = std::move(result);
    return true;
  }

 private:
  [[nodiscard]] std::span<const std::uint8_t> rest_of_section(std::uint64_t address) const {
    for (const Elf64_Shdr& section : program_.file->sections())
      if ((section.sh_flags & SHF_ALLOC) != 0 && section.sh_type != SHT_NOBITS &&
          address >= section.sh_addr && address - section.sh_addr < section.sh_size)
        return program_.file->contents(section).subspan(
            address - section.sh_addr,
            std::min(longest_table, section.sh_size - (address - section.sh_addr)));
    return {};
  }

  bool read_call_sites(std::span<const std::uint8_t> bytes, std::uint8_t encoding,
                       Exceptions& result) {
    ByteReader reader(bytes);
    while (!reader.at_end()) {
      CallSite site;
      const std::uint64_t start = read_number(reader, encoding);
      const std::uint64_t length = read_number(reader, encoding);
      const std::uint64_t pad = read_number(reader, encoding);
      const std::uint64_t action = reader.uleb();
      if (!reader.ok() || start > function_.size || length > function_.size - start ||
          action > UINT32_MAX)
        return false;
      site.start = static_cast<std::uint32_t>(start);
      site.length = static_cast<std::uint32_t>(length);
      site.action = static_cast<std::uint32_t>(action);
      if (pad != 0) {
        if (pad >= function_.size || !function_.starts_instruction(function_.start + pad))
          return false;
        site.label = program_.label(function_, static_cast<std::uint32_t>(pad));
      }
      result.call_sites.push_back(site);
    }
    return true;
  }

  Program& program_;
  Function& function_;
};

class ExceptionWriter {
 public:
  void byte(std::uint8_t value) { bytes_.push_back(value); }
  void word(std::uint32_t value) {
    for (unsigned shift = 0; shift < 32; shift += 8)
      byte(static_cast<std::uint8_t>(value >> shift));
  }
  void uleb(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void append(std::span<const std::uint8_t> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void fill(std::size_t count) { bytes_.resize(bytes_.size() + count); }
  [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

}  // namespace

void analyse_exceptions(Program& program) {
  for (Function& function : program.functions)
    if (function.movable() && function.frame.lsda != 0 && !ExceptionReader(program, function).run())
      program.pin(function, abi::PinReason::unwind_info);
}

std::vector<std::uint8_t> write_exceptions(
    const Exceptions& exceptions, const std::function<std::uint32_t(std::uint32_t)>& number) {
  ExceptionWriter sites;
  for (const CallSite& site : exceptions.call_sites) {
    sites.word(site.start);
    sites.word(site.length);
    sites.word(site.label ? 8 * (number(*site.label) + 1) : 0);
    sites.uleb(site.action);
  }
  ExceptionWriter table;
  table.byte(0);  // landing pads count from an address
  table.fill(8);
  table.byte(exceptions.types_encoding);
  if (exceptions.types_encoding != omit) table.fill(abi::exception_types_bytes);
  table.byte(udata4);
  table.uleb(sites.bytes().size());
  table.append(sites.bytes());
  table.append(exceptions.actions);
  // The runtime fills in an ExceptionTable, so the result is never shorter.
  if (table.bytes().size() < sizeof(abi::ExceptionTable)) table.fill(sizeof(abi::ExceptionTable));
  return table.bytes();
}

}  // namespace stab::instrumenter
