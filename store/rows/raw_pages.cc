// SPDX-License-Identifier: MIT
#include "store/rows/raw_pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "store/exceptions.h"

namespace stab::store {
namespace {

constexpr std::string_view magic = "SQLite format 3";
constexpr std::size_t most_payload = std::size_t{256} << 20;
constexpr std::size_t file_header = 100;
constexpr char table_leaf = 0x0d;

// Reads a big-endian number.
std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

std::uint64_t number_at(std::string_view bytes, std::size_t place, std::size_t size) {
  return place + size <= bytes.size() ? number(bytes.substr(place, size)) : 0;
}

// Removes the number from the front of `bytes`.
std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 9 && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value = i == 8 ? value << 8 | byte : value << 7 | (byte & 0x7fU);
    if (i < 8 && (byte & 0x80U) != 0) continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

std::optional<std::size_t> size_of_type(std::uint64_t type) {
  constexpr std::array<std::size_t, 10> sizes{0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
  if (type < sizes.size()) return sizes[type];
  if (type < 12 || type > 2 * most_payload) return std::nullopt;
  return (type - 12) / 2;
}

Value value_of(std::uint64_t type, std::string_view bytes) {
  if (type == 0) return {};
  if (type == 7) return std::bit_cast<double>(number(bytes));
  if (type >= 12) return std::string(bytes);
  if (type >= 8) return static_cast<std::int64_t>(type - 8);
  // Extends the sign.
  const int unused = 64 - static_cast<int>(8 * bytes.size());
  return std::bit_cast<std::int64_t>(number(bytes) << unused) >> unused;
}

}  // namespace

std::optional<std::vector<Value>> record_in(std::string_view bytes) {
  std::string_view header = bytes;
  const auto header_size = take_varint(header);
  const std::size_t before = bytes.size() - header.size();
  if (!header_size || *header_size < before || *header_size > bytes.size()) return std::nullopt;
  std::string_view body = bytes.substr(*header_size);
  header = header.substr(0, *header_size - before);
  std::vector<Value> values;
  while (!header.empty()) {
    const auto type = take_varint(header);
    const auto size = type ? size_of_type(*type) : std::nullopt;
    if (!size || *size > body.size()) return std::nullopt;
    values.push_back(value_of(*type, body.substr(0, *size)));
    body.remove_prefix(*size);
  }
  return values;
}

RawPages::RawPages(const std::string& path)
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)) {
  struct stat status{};
  if (!file_ || fstat(file_.get(), &status) != 0)
    refuse(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  // Without a valid header, assume SQLite's defaults, which our databases have.
  const std::string first = page(0);
  if (const std::uint64_t size = number_at(first, 16, 2); first.starts_with(magic)) {
    if (size == 1) page_size_ = 65536;
    if (size >= 512 && std::has_single_bit(size)) page_size_ = size;
    usable_ = page_size_ - std::min<std::size_t>(number_at(first, 20, 1), page_size_ - 480);
  }
  pages_ = static_cast<std::uint64_t>(status.st_size) / page_size_;
}

std::string RawPages::page(std::uint64_t index) const {
  std::string bytes(page_size_, '\0');
  const ssize_t n =
      pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(index * page_size_));
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

void RawPages::for_each_row(const std::function<void(const RawRow&)>& visit) {
  for (std::uint64_t i = 0; i < pages_; ++i) {
    const std::string bytes = page(i);
    const std::size_t header = i == 0 ? file_header : 0;
    if (bytes.size() < page_size_ || bytes[header] != table_leaf) continue;
    const std::size_t cells = number_at(bytes, header + 3, 2);
    for (std::size_t cell = 0; cell < cells; ++cell)
      if (const auto row = row_at(bytes, number_at(bytes, header + 8 + 2 * cell, 2))) visit(*row);
  }
}

std::optional<RawRow> RawPages::row_at(std::string_view bytes, std::size_t place) {
  if (place == 0 || place >= usable_) return std::nullopt;
  std::string_view rest = bytes.substr(0, usable_).substr(place);
  const auto size = take_varint(rest);
  const auto id = take_varint(rest);
  if (!size || !id || *size > pages_ * usable_) return std::nullopt;
  // Part of the payload is in this page, the rest in a chain of overflow pages.
  const std::size_t most_local = usable_ - 35;
  std::size_t local = *size;
  if (local > most_local) {
    const std::size_t least = (usable_ - 12) * 32 / 255 - 23;
    local = least + (*size - least) % (usable_ - 4);
    if (local > most_local) local = least;
  }
  if (local > rest.size()) return std::nullopt;
  std::string payload(rest.substr(0, local));
  std::uint64_t next = local < *size ? number_at(rest, local, 4) : 0;
  while (payload.size() < *size) {
    if (next == 0 || next > pages_) return std::nullopt;
    const std::string more = page(next - 1);
    if (more.size() < usable_) return std::nullopt;
    payload += more.substr(4, std::min(usable_ - 4, *size - payload.size()));
    next = number_at(more, 0, 4);
  }
  auto values = record_in(payload);
  if (!values) return std::nullopt;
  return RawRow{.id = std::bit_cast<Id>(*id), .values = std::move(*values)};
}

}  // namespace stab::store
