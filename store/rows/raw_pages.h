// SPDX-License-Identifier: MIT
// The rows of a database file of SQLite, page by page, without the trees that lead to them: what is
// left where those are damaged. The format is SQLite's (sqlite.org/fileformat2.html).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "store/records.h"
#include "store/rows/row.h"

namespace stab::store {

struct RawRow {
  Id id = 0;
  std::vector<Value> values;  // as they are stored; bytes are texts
};

// A record's values; nothing if these bytes are none.
std::optional<std::vector<Value>> record_in(std::string_view bytes);

class RawPages {
 public:
  // A file without a write-ahead log.
  explicit RawPages(const std::string& path);

  // Of all pages that look like leaves of tables. What cannot be a row is left out; what can is not
  // looked at any further. Any bytes will do.
  void for_each_row(const std::function<void(const RawRow&)>& visit);

 private:
  std::optional<RawRow> row_at(std::string_view page, std::size_t place);
  [[nodiscard]] std::string page(std::uint64_t number) const;

  Fd file_;
  std::size_t page_size_ = 4096;
  std::size_t usable_ = 4096;  // of a page
  std::uint64_t pages_ = 0;
};

}  // namespace stab::store
