// SPDX-License-Identifier: MIT
#include "revisions/tree_copy.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace stab::revisions {
namespace {

namespace fs = std::filesystem;

fs::file_status status_of(const fs::path& path) {
  std::error_code error;
  return fs::symlink_status(path, error);
}

Result<void> no_copy(const fs::path& path, const fs::path& to, const std::string& why) {
  return fail(
      fmt::format("cannot copy {} to {}: {}", one_line(path.string(), 300), to.string(), why));
}

// Ignores files that have vanished meanwhile, and everything that is not a file, link or folder.
void copy_entry(const fs::path& from, const fs::path& to, std::error_code& error) {
  switch (status_of(from).type()) {
    case fs::file_type::regular:
      fs::copy_file(from, to, error);
      break;
    case fs::file_type::symlink:
      fs::copy_symlink(from, to, error);
      break;
    case fs::file_type::directory:
      fs::create_directories(to, error);
      break;
    default:
      return;
  }
  if (error == std::errc::no_such_file_or_directory && !fs::exists(status_of(from))) error.clear();
}

void copy_all(const fs::path& from, const fs::path& to, std::error_code& error) {
  copy_entry(from, to, error);
  if (error || !fs::is_directory(status_of(from))) return;
  for (auto it = fs::recursive_directory_iterator(from, error); !error && it != fs::end(it);
       it.increment(error)) {
    copy_entry(it->path(), to / it->path().lexically_relative(from), error);
    if (error) return;
  }
}

// Whether this is an ELF file, an archive, LLVM bitcode or a header that gcc compiled.
bool is_product(const fs::path& file) {
  std::array<char, 8> start{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), start.size());
  const std::string_view read(start.data(), static_cast<std::size_t>(stream.gcount()));
  return read.starts_with(
             "\x7f"
             "ELF") ||
         read == "!<arch>\n" || read == "!<thin>\n" || read.starts_with("BC\xc0\xde") ||
         read.starts_with("gpch");
}

void make_older(const fs::path& file, std::error_code& error) {
  if (!fs::is_regular_file(status_of(file))) return;
  constexpr std::chrono::hours day{24};
  fs::last_write_time(file, fs::file_time_type::clock::now() - (is_product(file) ? 2 * day : day),
                      error);
}

}  // namespace

bool is_way(const fs::path& path) {
  return !path.empty() && path.is_relative() && std::ranges::none_of(path, [](const auto& part) {
    return part == ".." || strcasecmp(part.c_str(), ".git") == 0;
  });
}

bool is_inside(const fs::path& root, const fs::path& path) {
  std::error_code error;
  const fs::path top = fs::canonical(root, error);
  if (error) return false;
  const fs::path parent = fs::weakly_canonical((root / path).parent_path(), error);
  if (error) return false;
  const auto [end, there] = std::ranges::mismatch(top, parent);
  return end == top.end();
}

bool is_tracked_way(const fs::path& root, const fs::path& path) {
  fs::path way = root;
  for (const fs::path& part : path.parent_path()) {
    way /= part;
    if (!fs::is_directory(status_of(way))) return false;
  }
  return true;
}

bool has_place(const fs::path& root, const fs::path& path) {
  if (!is_way(path) || !is_inside(root, path)) return false;
  const fs::file_status status = status_of(root / path);
  return !fs::exists(status) || fs::is_directory(status);
}

Result<void> bring(const fs::path& path, const fs::path& from, const fs::path& to) {
  if (!is_inside(to, path)) return no_copy(path, to, "a symbolic link points outside the copy");
  std::error_code error;
  fs::remove_all(to / path, error);
  if (!error && fs::exists(status_of(from / path))) {
    fs::create_directories((to / path).parent_path(), error);
    if (!error) copy_all(from / path, to / path, error);
  }
  if (error) return no_copy(path, to, error.message());
  return {};
}

TreeCopy::TreeCopy(fs::path from, fs::path to)
    : from_(std::move(from)), to_(std::move(to)), looked_at_("/") {}

Result<void> TreeCopy::add(const std::string& listed) {
  const bool whole = listed.ends_with('/');
  const fs::path path = whole ? fs::path(listed).parent_path() : fs::path(listed);
  if (!is_way(path)) return no_copy(path, to_, "it is not a file of a working tree");
  std::error_code error;
  if (path.parent_path() != looked_at_) {
    if (!is_tracked_way(from_, path)) return {};
    if (!is_inside(to_, path)) return no_copy(path, to_, "a symbolic link points outside the copy");
    fs::create_directories((to_ / path).parent_path(), error);
    if (error) return no_copy(path, to_, error.message());
    looked_at_ = path.parent_path().string();
  }
  if (whole)
    copy_all(from_ / path, to_ / path, error);
  else if (!fs::is_directory(status_of(from_ / path)))
    copy_entry(from_ / path, to_ / path, error);
  if (error) return no_copy(path, to_, error.message());
  return {};
}

Result<void> TreeCopy::add_untracked(const std::string& listed) {
  if (auto added = add(listed); !added) return added;
  const fs::path copied = to_ / listed;
  std::error_code error;
  make_older(copied, error);
  if (fs::is_directory(status_of(listed.ends_with('/') ? copied.parent_path() : copied)))
    for (auto it = fs::recursive_directory_iterator(copied, error); !error && it != fs::end(it);
         it.increment(error))
      make_older(it->path(), error);
  if (error) return no_copy(listed, to_, error.message());
  return {};
}

}  // namespace stab::revisions
