// SPDX-License-Identifier: MIT
// Reads a file's text, without a copy of it if the file is regular.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace stab::client {

// Owns a mapping of a regular file, or the text that was read from a pipe.
class Input {
 public:
  // "-" is stdin.
  static Result<Input> open(const std::string& path);

  Input(Input&& other) noexcept;
  Input& operator=(Input&&) = delete;
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input();

  // Valid as long as this object.
  [[nodiscard]] std::string_view text() const;

 private:
  Input() = default;

  void* mapping_ = nullptr;
  std::size_t size_ = 0;
  std::string copy_;
};

}  // namespace stab::client
