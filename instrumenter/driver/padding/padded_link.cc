// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/fd.h"
#include "instrumenter/driver/padding/archive.h"
#include "instrumenter/driver/padding/gap_object.h"
#include "instrumenter/driver/padding/padding.h"

namespace stab::driver {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestInput = std::size_t{4} << 30;

// The copies of one link. Each input draws from a seed of its own, by its place in the link.
class PaddedCopies {
 public:
  PaddedCopies(const LinkArguments& link, std::uint64_t seed, const std::string& folder)
      : link_(link), seed_(seed), folder_(folder) {}

  // The path of the padded copy; nothing if there is nothing to pad in it.
  Result<std::optional<std::string>> of_input(std::size_t word);
  Result<std::string> write(std::size_t number, std::string_view name, std::string_view content);
  [[nodiscard]] Random random(std::size_t number) const {
    return Random(derive(seed_, "link_padding", {number}));
  }

 private:
  const LinkArguments& link_;
  std::uint64_t seed_;
  const std::string& folder_;
};

Result<std::optional<std::string>> PaddedCopies::of_input(std::size_t word) {
  const std::string path = file_of_input(link_, word);
  std::error_code error;
  if (path.empty() || !fs::is_regular_file(path, error)) return std::nullopt;
  auto content = read_file(path, kLargestInput);
  if (!content) return std::unexpected(content.error());
  Random draw = random(word + 1);
  Result<std::string> padded = *content;
  if (is_archive(*content)) {
    padded = change_members(
        *content, path, [&](std::string member) { return pad_object(std::move(member), draw); });
  } else {
    padded = pad_object(*content, draw);
  }
  if (!padded) return std::unexpected(padded.error());
  if (*padded == *content) return std::nullopt;
  auto copy = write(word + 1, fs::path(path).filename().string(), *padded);
  if (!copy) return std::unexpected(copy.error());
  return *copy;
}

Result<std::string> PaddedCopies::write(std::size_t number, std::string_view name,
                                        std::string_view content) {
  const fs::path place = fs::path(folder_) / fmt::to_string(number);
  std::error_code error;
  fs::create_directory(place, error);
  std::string path = place / name;
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return fail_errno(fmt::format("cannot create {}", path));
  if (auto written = write_all(file.get(), content); !written)
    return std::unexpected(written.error());
  return path;
}

}  // namespace

bool has_bitcode(const LinkArguments& link) {
  const auto is_bitcode = [](std::string_view content) {
    return content.starts_with("BC\xc0\xde") || content.starts_with("\xde\xc0\x17\x0b");
  };
  return std::ranges::any_of(link.inputs, [&](std::size_t word) {
    const std::string path = file_of_input(link, word);
    std::error_code error;
    if (path.empty() || !fs::is_regular_file(path, error)) return false;
    const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto start = read_piece(file, 16);
    if (!start) return false;
    if (!is_archive(*start)) return is_bitcode(*start);
    const auto content = read_file(path, kLargestInput);
    bool found = false;
    if (content)
      (void)for_each_member(*content, path,
                            [&](std::string_view /*name*/, std::string_view member) {
                              found = found || is_bitcode(member);
                            });
    return found;
  });
}

std::string file_of_input(const LinkArguments& link, std::size_t input) {
  const std::string& word = link.words[input];
  if (!word.starts_with("-l")) return word;
  const std::string name = word.substr(2);
  const bool exact = name.starts_with(':');
  for (const std::string& library_folder : link.library_folders) {
    const fs::path where(library_folder);
    std::error_code error;
    if (!exact && fs::exists(where / fmt::format("lib{}.so", name), error)) return "";
    const fs::path file = where / (exact ? name.substr(1) : fmt::format("lib{}.a", name));
    if (fs::exists(file, error)) return file;
  }
  return "";
}

Result<Words> pad_inputs(const LinkArguments& link, std::uint64_t seed, const std::string& folder) {
  PaddedCopies copies(link, seed, folder);
  Words words = link.words;
  for (const std::size_t word : link.inputs) {
    auto copy = copies.of_input(word);
    if (!copy) return std::unexpected(copy.error());
    if (*copy) words[word] = **copy;
  }
  Random draw = copies.random(0);
  auto gaps = copies.write(0, "gaps.o", gap_object(draw));
  if (!gaps) return std::unexpected(gaps.error());
  words.insert(words.begin(), *gaps);
  return words;
}

}  // namespace stab::driver
