// SPDX-License-Identifier: MIT
// Inside this folder errors are exceptions, like those of SQLiteCpp. At the interface, guarded()
// turns all of them into values.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <concepts>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "store/store.h"

namespace stab::store {

class Failure : public std::exception {
 public:
  explicit Failure(StoreError error) : error_(std::move(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }
  [[nodiscard]] const StoreError& error() const { return error_; }

 private:
  StoreError error_;
};

[[noreturn]] void refuse(std::string message);

inline constexpr const char* checksum_problem = "the row's content does not match its checksum";

// For a row that does not match its checksum or its readings (S4); the message says what to do.
[[noreturn]] void refuse_damaged(const Damage& damage);

// Whether SQLite found that a row or the file's structure is corrupt.
bool is_corrupt(const SQLite::Exception& error);

// The message starts with `what`, for example "cannot store a trial".
StoreError explain(const std::exception& error, std::string_view what, std::string_view path);

template <std::invocable F>
auto guarded(std::string_view what, std::string_view path, F&& action)
    -> Outcome<std::invoke_result_t<F>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      std::forward<F>(action)();
      return {};
    } else {
      return std::forward<F>(action)();
    }
  } catch (const std::exception& error) {
    return std::unexpected(explain(error, what, path));
  }
}

}  // namespace stab::store
