// SPDX-License-Identifier: MIT
#include "runtime/image/unwind_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "runtime/abi/sample_table.h"
#include "runtime/base/memory.h"
#include "runtime/image/pads.h"

namespace stab::rt {
namespace {

using Bytes = std::vector<std::uint8_t>;

void append_word(Bytes& bytes, std::uint32_t word) {
  for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
}

// An entry of .eh_frame: its length, `rest`, and nops up to a multiple of 4 bytes.
Bytes entry(Bytes rest) {
  while (rest.size() % 4 != 0) rest.push_back(0);
  Bytes result;
  append_word(result, static_cast<std::uint32_t>(rest.size()));
  result.insert(result.end(), rest.begin(), rest.end());
  return result;
}

const Bytes after_call = {0x0c, 7, 8, 0x90, 1};  // at rsp + 8, return address below that

struct Common {
  std::uint8_t version = 1;
  std::uint8_t data_align = 0x78;  // -8
  std::uint8_t return_column = 16;
  bool augmented = true;
  bool signal_frame = false;
  Bytes rules = after_call;
};

// With an exception table ("zLR"), or without any augmentation.
Bytes cie(const Common& common = {}) {
  Bytes rest = {0, 0, 0, 0, common.version};
  if (common.augmented) rest.insert(rest.end(), {'z', 'L', 'R'});
  if (common.signal_frame) rest.push_back('S');
  rest.insert(rest.end(), {0, 1, common.data_align, common.return_column});
  if (common.augmented) rest.insert(rest.end(), {2, 0x1b, 0x1b});
  rest.insert(rest.end(), common.rules.begin(), common.rules.end());
  return entry(rest);
}

constexpr std::uint16_t lsda_field = 17;

Bytes fde(const Bytes& rules, bool augmented = true) {
  Bytes rest;
  for (const std::uint32_t word : {1u, 2u, 3u}) append_word(rest, word);  // replaced in clones
  if (augmented) {
    rest.push_back(4);
    append_word(rest, 4);
  }
  rest.insert(rest.end(), rules.begin(), rules.end());
  return entry(rest);
}

const Bytes ordinary = {0x41, 0x0e, 16};                    // push; then the CFA is rsp + 16
const Bytes in_frame = {0x0e, 64, 0x83, 2, 0x44, 0x0e, 8};  // a .cold part
constexpr std::uint32_t place_of_first_number = 22;         // in the part's description

// An image whose functions have these descriptions, with a switchboard and a first layout.
class Tables {
 public:
  struct Described {
    std::optional<Bytes> rules;  // nullopt: the function has no description
    bool anchored = false;
    std::uint16_t pad = 0;  // of a part, for the first number of its description
  };

  explicit Tables(const std::vector<Described>& described, const Common& common = {}) {
    testing::SampleTable sample;
    const Bytes own = cie(common);
    sample.cies = {{place_of_cie, static_cast<std::uint32_t>(own.size()), 0, 0}};
    std::ranges::copy(own, memory_.begin() + place_of_cie);
    std::uint32_t at = place_of_fdes;
    sample.functions.clear();
    sample.frames.clear();
    sample.frame_fields = {abi::description_field(place_of_first_number, 1)};
    for (const auto& [rules, anchored, pad] : described) {
      abi::Function function{};
      function.start = 0x1000 + 64 * static_cast<std::uint32_t>(sample.functions.size());
      function.size = 40;
      function.flags = anchored ? abi::function_anchored : 0;
      if (rules) {
        const Bytes description = fde(*rules, common.augmented);
        std::ranges::copy(description, memory_.begin() + at);
        function.fde = at;
        function.fde_size = static_cast<std::uint32_t>(description.size());
        function.lsda_field = common.augmented ? lsda_field : std::uint16_t{0};
        function.exceptions_size = common.augmented ? 24 : 0;
        at += function.fde_size;
      }
      sample.functions.push_back(function);
      sample.frames.push_back({0, 0, std::uint16_t{1}, pad, 1, 0, 0, 0});
      pads_.push_back(pad);
    }
    sample.labels = {};
    table_ = sample.build();
    image.table = reinterpret_cast<const abi::Header*>(table_.data());
    image.base = memory_.data();
    uses_.resize(described.size());
    image.uses = uses_.data();
    image.layouts = &layout;
    layout.pads = pads_.data();
    find_parts(image);
    make_board();
    make_layout();
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  [[nodiscard]] bool is_part(std::uint32_t f) const { return (uses_[f] & begins_in_frame) != 0; }

  Image image;
  Layout layout;

 private:
  static constexpr std::uint32_t place_of_cie = 0x100;
  static constexpr std::uint32_t place_of_fdes = 0x200;
  static constexpr std::uint32_t place_of_board = 0x4000;
  static constexpr std::uint32_t place_of_layout = 0x10000;

  void make_board() {
    image.board = measure_switchboard(*image.table, stub_description_bytes(image));
    image.board.start = memory_.data() + place_of_board;
    ASSERT_LT(place_of_board + image.board.size(), place_of_layout);
    describe_stubs(image);
  }

  // The copies lie in the opposite order.
  void make_layout() {
    const std::uint32_t count = image.count();
    arrays_.resize(3 * count);
    layout.start = memory_.data() + place_of_layout;
    layout.code_size = 0x1000;
    layout.offsets = arrays_.data();
    layout.order = arrays_.data() + count;
    layout.descriptions = arrays_.data() + 2 * count;
    for (layout.count = 0; layout.count < count; ++layout.count) {
      const std::uint32_t f = count - 1 - layout.count;
      layout.order[layout.count] = f;
      layout.offsets[f] = 64 * layout.count + mark_bytes;
    }
    layout.unwind_size = unwind_bytes(image);
    build_unwind(image, layout);
  }

  Bytes memory_ = Bytes(0x20000);
  std::vector<std::uint64_t> table_;
  Bytes uses_;
  std::vector<std::uint32_t> arrays_;
  std::vector<std::uint16_t> pads_;
};

const std::uint8_t* follow(const std::uint8_t* field, const std::uint8_t* from) {
  return from + static_cast<std::int32_t>(load32(field));
}

struct Found {
  const std::uint8_t* start = nullptr;
  std::uint32_t size = 0;
  Bytes common_rules;
  Bytes rules;
  const std::uint8_t* exceptions = nullptr;
};

Bytes without_nops(Bytes rules) {
  while (!rules.empty() && rules.back() == 0) rules.pop_back();
  return rules;
}

// Reads the search table as an unwinder does: looks for the last entry at or before pc.
std::optional<Found> find(const std::uint8_t* header, const std::uint8_t* pc) {
  EXPECT_EQ(load32(header), 0x3b031b01u);
  const std::uint32_t count = load32(header + 8);
  const std::uint8_t* fde = nullptr;
  const std::uint8_t* before = nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint8_t* start = follow(header + 12 + 8 * i, header);
    EXPECT_LT(before, start);
    before = start;
    if (start > pc) break;
    fde = follow(header + 16 + 8 * i, header);
    EXPECT_EQ(follow(fde + 8, fde + 8), start);
  }
  if (fde == nullptr) return std::nullopt;
  Found found;
  found.start = follow(fde + 8, fde + 8);
  found.size = load32(fde + 12);
  if (pc >= found.start + found.size) return std::nullopt;
  const std::uint8_t* common = fde + 4 - load32(fde + 4);
  EXPECT_EQ(load32(common + 4), 0u);
  const bool has_exceptions = common[10] == 'L';
  const std::uint8_t* common_rules = common + (has_exceptions ? 19 : common[9] == 'z' ? 17 : 13);
  found.common_rules = without_nops({common_rules, common + 4 + load32(common)});
  const std::uint8_t* rules = fde + (common[9] == 'z' ? 17 + fde[16] : 16);
  found.rules = without_nops({rules, fde + 4 + load32(fde)});
  if (has_exceptions) found.exceptions = follow(fde + lsda_field, fde + lsda_field);
  return found;
}

std::vector<Tables::Described> described(const std::vector<std::optional<Bytes>>& rules) {
  std::vector<Tables::Described> result;
  for (const auto& own : rules) result.push_back({own, false, 0});
  return result;
}

void expect_after_call(const std::optional<Found>& found, const std::uint8_t* code) {
  ASSERT_TRUE(found);
  EXPECT_LE(found->start, code);
  EXPECT_EQ(found->common_rules, after_call);
  EXPECT_EQ(found->rules, Bytes());
  EXPECT_EQ(found->exceptions, nullptr);
}

void expect_part(const std::optional<Found>& found, const std::uint8_t* code, std::uint32_t size,
                 const Image& image, const Bytes& rules = in_frame) {
  ASSERT_TRUE(found);
  EXPECT_EQ(found->start, code);
  EXPECT_EQ(found->size, size);
  EXPECT_EQ(found->common_rules, after_call);
  EXPECT_EQ(found->rules, rules);
  EXPECT_EQ(found->exceptions, image.board.exceptions());
}

// Parts are first, last, next to each other and alone, or there are none or only parts.
const std::vector<std::vector<std::optional<Bytes>>> mixtures = {
    {ordinary},
    {in_frame},
    {ordinary, std::nullopt, ordinary},
    {std::nullopt, std::nullopt, ordinary, std::nullopt, in_frame, std::nullopt, ordinary},
    {in_frame, ordinary, in_frame, in_frame, std::nullopt, ordinary, in_frame},
    {ordinary, in_frame, ordinary},
    {in_frame, in_frame}};

TEST(UnwindTables, AStubHasTheStateOfItsFunctionsFirstInstruction) {
  for (const auto& rules : mixtures) {
    const Tables tables(described(rules));
    const Switchboard& board = tables.image.board;
    for (std::uint32_t f = 0; f < rules.size(); ++f) {
      const std::uint8_t* stub = board.function_stub(f);
      const auto found = find(board.descriptions(), stub);
      EXPECT_EQ(tables.is_part(f), rules[f] == in_frame);
      if (tables.is_part(f))
        expect_part(found, stub, Switchboard::stub_bytes, tables.image);
      else if (rules[f])
        expect_after_call(found, stub);
      else
        EXPECT_FALSE(found) << "nobody knows whether the function begins in a frame";
    }
    const std::uint8_t* end = board.function_stub(board.functions);
    EXPECT_FALSE(find(board.descriptions(), board.function_stub(0) - 1));
    EXPECT_TRUE(find(board.descriptions(), end - 1));
    EXPECT_FALSE(find(board.descriptions(), end));
  }
}

TEST(UnwindTables, AMarkHasTheStateOfItsFunctionsFirstInstruction) {
  for (const auto& rules : mixtures) {
    const Tables tables(described(rules));
    for (std::uint32_t f = 0; f < rules.size(); ++f) {
      const std::uint8_t* copy = tables.layout.copy(f);
      const std::uint8_t* mark = copy - mark_code;
      EXPECT_FALSE(find(tables.layout.unwind_header, mark - 1));
      const auto found = find(tables.layout.unwind_header, mark);
      if (tables.is_part(f))
        expect_part(found, mark, mark_code, tables.image);
      else if (rules[f])
        expect_after_call(found, mark);
      else
        EXPECT_FALSE(found);
      const auto own = find(tables.layout.unwind_header, copy);
      ASSERT_EQ(own.has_value(), rules[f].has_value());
      if (!own) continue;
      EXPECT_EQ(own->start, copy);
      EXPECT_EQ(own->rules, *rules[f]);
      EXPECT_EQ(own->exceptions, tables.image.board.exceptions());
    }
  }
}

TEST(UnwindTables, AnAnchoredPartHasNoMark) {
  const Tables tables({{ordinary, false, 0}, {in_frame, true, 0}});
  const std::uint8_t* copy = tables.layout.copy(1);
  EXPECT_FALSE(find(tables.layout.unwind_header, copy - mark_code));
  EXPECT_EQ(find(tables.layout.unwind_header, copy)->rules, in_frame);
  const std::uint8_t* stub = tables.image.board.function_stub(1);
  expect_part(find(tables.image.board.descriptions(), stub), stub, Switchboard::stub_bytes,
              tables.image);
}

TEST(UnwindTables, APartBeginsInAFrameWithItsPad) {
  const Tables tables({{ordinary, false, 0}, {in_frame, false, 2}});
  Bytes padded = in_frame;
  padded[1] += 2 * abi::pad_unit;
  const Image& image = tables.image;
  const std::uint8_t* stub = image.board.function_stub(1);
  expect_part(find(image.board.descriptions(), stub), stub, Switchboard::stub_bytes, image, padded);
  const std::uint8_t* copy = tables.layout.copy(1);
  const std::uint8_t* mark = copy - mark_code;
  expect_part(find(tables.layout.unwind_header, mark), mark, mark_code, image, padded);
  EXPECT_EQ(find(tables.layout.unwind_header, copy)->rules, padded);
}

// Debuggers read the descriptions one after the other.
TEST(UnwindTables, DescriptionsFollowEachOtherAndFit) {
  for (const auto& rules : mixtures) {
    const Tables tables(described(rules));
    const Switchboard& board = tables.image.board;
    const auto read_all = [](const std::uint8_t* at) {
      while (load32(at) != 0) at += 4 + load32(at);
      return at + 4;
    };
    const Layout& layout = tables.layout;
    EXPECT_EQ(read_all(layout.unwind_frames), layout.unwind_frames + layout.unwind_frames_size);
    EXPECT_LE(read_all(layout.unwind_frames), layout.unwind() + layout.unwind_size);
    const std::uint8_t* header = board.descriptions();
    EXPECT_LE(read_all(follow(header + 4, header + 4)),
              header + stub_description_bytes(tables.image));
  }
}

bool is_part(const std::optional<Bytes>& rules, const Common& common = {}) {
  return Tables(described({rules}), common).is_part(0);
}

TEST(UnwindTables, APartIsWhatDoesNotSurelyBeginAfterACall) {
  EXPECT_FALSE(is_part(std::nullopt));
  for (const Bytes& rules :
       {Bytes{}, Bytes{0, 0, 0}, Bytes{0x41, 0x0e, 16}, Bytes{0, 0x41, 0x0e, 16},
        Bytes{2, 200, 0x0e, 16}, Bytes{3, 0, 1, 0x0e, 16}, Bytes{4, 0, 0, 1, 0, 0x0e, 16}}) {
    EXPECT_FALSE(is_part(rules));
    EXPECT_FALSE(is_part(rules, {.augmented = false}));
    EXPECT_FALSE(is_part(rules, {.version = 3}));
    EXPECT_TRUE(is_part(rules, {.data_align = 0x7c}));
    EXPECT_TRUE(is_part(rules, {.return_column = 15}));
    EXPECT_TRUE(is_part(rules, {.signal_frame = true}));
    EXPECT_TRUE(is_part(rules, {.rules = {0x0c, 7, 16, 0x90, 1}}));
    EXPECT_TRUE(is_part(rules, {.rules = {0x0c, 7, 8}}));
    EXPECT_TRUE(is_part(rules, {.rules = {0x0c, 7, 8, 0x90, 1, 0x83, 2}}));
  }
  for (const Bytes& rules :
       {Bytes{0x0e, 16}, Bytes{0, 0x0e, 16}, Bytes{0x0c, 6, 16}, Bytes{0x83, 2}, Bytes{0x0a, 0x41},
        Bytes{7, 16}, Bytes{0x0f, 2, 0x77, 8}, Bytes{0x40, 0x0e, 16}, Bytes{2, 0, 0x0e, 16},
        Bytes{3, 0, 0, 0x0e, 16}})
    EXPECT_TRUE(is_part(rules));
}

}  // namespace
}  // namespace stab::rt
