// SPDX-License-Identifier: MIT
#include "instrumenter/driver/linking/archive.h"

#include <ar.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "base/fd.h"

namespace stab::driver {
namespace {

constexpr std::string_view kOrdinary = "!<arch>\n";
constexpr std::string_view kThin = "!<thin>\n";
constexpr std::size_t kLimit = std::size_t{2} << 30;
constexpr std::size_t kHeader = sizeof(ar_hdr);
constexpr std::size_t kNameField = sizeof(ar_hdr::ar_name);
constexpr std::size_t kSizeField = offsetof(ar_hdr, ar_size);

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Walks through an archive once and rewrites it.
class Rewriter {
 public:
  Rewriter(std::string_view archive, const std::string& path) : archive_(archive), path_(path) {}
  Result<std::string> run(const std::function<std::string(std::string)>& change);
  Result<void> read(const std::function<void(std::string_view, std::string_view)>& take);

 private:
  [[nodiscard]] Error damaged() const { return {fmt::format("{} is a damaged archive", path_)}; }
  Result<std::string> content(std::string_view name, std::uint64_t size);
  [[nodiscard]] std::string file_of(std::string_view name) const;
  void append(std::string_view header, std::string_view data);

  std::string_view archive_;
  const std::string& path_;
  std::string_view names_;
  std::size_t at_ = kOrdinary.size();
  bool thin_ = false;
  std::string out_{kOrdinary};
};

// "/12" stands for the name that starts at byte 12 of the table of names and ends with "/\n";
// "a.o/" stands for "a.o".
std::string Rewriter::file_of(std::string_view name) const {
  std::string_view file = name.substr(0, name.rfind('/'));
  if (name.starts_with('/')) {
    const auto start = number(name.substr(1));
    if (!start || *start >= names_.size()) return "";
    file = names_.substr(*start);
    file = file.substr(0, file.find("/\n"));
  }
  return std::filesystem::path(path_).parent_path() / file;
}

Result<std::string> Rewriter::content(std::string_view name, std::uint64_t size) {
  const bool special = name == "/" || name == "//" || name == "/SYM64/";
  if (thin_ && !special) return read_file(file_of(name), kLimit);
  if (size > archive_.size() - at_) return std::unexpected(damaged());
  std::string data(archive_.substr(at_, size));
  if (name == "//") names_ = archive_.substr(at_, size);
  at_ += size + size % 2;
  return data;
}

void Rewriter::append(std::string_view header, std::string_view data) {
  std::string changed(header);
  changed.replace(kSizeField, sizeof(ar_hdr::ar_size),
                  fmt::format("{:<{}}", data.size(), sizeof(ar_hdr::ar_size)));
  out_ += changed;
  out_ += data;
  if (data.size() % 2 != 0) out_ += '\n';
}

Result<void> Rewriter::read(const std::function<void(std::string_view, std::string_view)>& take) {
  thin_ = archive_.starts_with(kThin);
  while (at_ < archive_.size()) {
    if (archive_.size() - at_ < kHeader) return std::unexpected(damaged());
    const std::string_view header = archive_.substr(at_, kHeader);
    const auto size = number(header.substr(kSizeField));
    if (!size) return std::unexpected(damaged());
    at_ += kHeader;
    const std::string_view name = trimmed(header.substr(0, kNameField));
    const bool special = name == "/" || name == "//" || name == "/SYM64/";
    if (!special && thin_) {
      auto data = content(name, *size);
      if (!data) return std::unexpected(data.error());
      take(std::filesystem::path(file_of(name)).filename().string(), *data);
      continue;
    }
    if (*size > archive_.size() - at_) return std::unexpected(damaged());
    const std::string_view data = archive_.substr(at_, *size);
    at_ += *size + *size % 2;
    if (name == "//") names_ = data;
    if (!special) take(std::filesystem::path(file_of(name)).filename().string(), data);
  }
  return {};
}

Result<std::string> Rewriter::run(const std::function<std::string(std::string)>& change) {
  thin_ = archive_.starts_with(kThin);
  while (at_ < archive_.size()) {
    if (archive_.size() - at_ < kHeader) return std::unexpected(damaged());
    const std::string_view header = archive_.substr(at_, kHeader);
    const auto size = number(header.substr(kSizeField));
    if (!size) return std::unexpected(damaged());
    at_ += kHeader;
    const std::string_view name = trimmed(header.substr(0, kNameField));
    auto data = content(name, *size);
    if (!data) return std::unexpected(data.error());
    if (name == "/" || name == "/SYM64/") continue;
    append(header, name == "//" ? *data : change(*std::move(data)));
  }
  return std::move(out_);
}

}  // namespace

bool is_archive(std::string_view content) {
  return content.starts_with(kOrdinary) || content.starts_with(kThin);
}

Result<std::string> change_members(std::string_view archive, const std::string& path,
                                   const std::function<std::string(std::string)>& change) {
  return Rewriter(archive, path).run(change);
}

Result<void> for_each_member(
    std::string_view archive, const std::string& path,
    const std::function<void(std::string_view name, std::string_view content)>& take) {
  return Rewriter(archive, path).read(take);
}

}  // namespace stab::driver
