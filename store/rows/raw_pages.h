// SPDX-License-Identifier: MIT
// Reads the rows of an SQLite database file page by page, without the trees that lead to them, for
// files whose trees are damaged. See sqlite.org/fileformat2.html for the format.
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
  std::vector<Value> values;  // as they are stored; blobs become texts
};

// A record's values; nothing if the bytes are not a record.
std::optional<std::vector<Value>> record_in(std::string_view bytes);

class RawPages {
 public:
  // Ignores the file's write-ahead log.
  explicit RawPages(const std::string& path);

  // Visits the rows of all pages that look like leaves of tables. Skips bytes that can't be a row,
  // and checks nothing else. The file may contain any bytes.
  void for_each_row(const std::function<void(const RawRow&)>& visit);

 private:
  std::optional<RawRow> row_at(std::string_view page, std::size_t place);
  [[nodiscard]] std::string page(std::uint64_t number) const;

  Fd file_;
  std::size_t page_size_ = 4096;
  std::size_t usable_ = 4096;  // the usable bytes of a page
  std::uint64_t pages_ = 0;
};

}  // namespace stab::store
