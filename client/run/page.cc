// SPDX-License-Identifier: MIT
#include "client/run/page.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "client/output.h"

namespace stab::client {

Result<void> check_page(const std::string& path) {
  if (path.empty()) return {};
  if (path == "-") return fail("--html -: name a file, not -");
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return fail(fmt::format("--html {}: this is a folder; name a file", path));
  // A pipe or a device is written in place, so its folder need not be writable.
  if (const auto status = std::filesystem::status(path, error);
      std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    if (access(path.c_str(), W_OK) == 0) return {};
    return fail_errno(fmt::format("--html {}: the file cannot be written", path));
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  if (access(folder.c_str(), W_OK | X_OK) == 0) return {};
  return fail(fmt::format("--html {}: the folder {} is not writable: {}", path, folder,
                          std::strerror(errno)));
}

Result<void> write_page(const Analysed& analysed, const std::string& path) {
  if (path.empty()) return {};
  const auto page = analysed.as({.format = "html"});
  if (!page) return std::unexpected(page.error());
  if (auto written = write_output(page->text, path, Colours::none); !written) return written;
  tell("the page is " + path);
  return {};
}

}  // namespace stab::client
