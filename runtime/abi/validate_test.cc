// SPDX-License-Identifier: MIT
#include "runtime/abi/validate.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/abi/sample_table.h"

namespace stab::rt {
namespace {

using testing::check;
using testing::SampleTable;

TableError after(const std::function<void(SampleTable&)>& change) {
  SampleTable table;
  change(table);
  return check(table.build());
}

TEST(Validate, AcceptsAGoodTable) {
  EXPECT_EQ(check(SampleTable().build()), TableError::ok);
}

TEST(Validate, RefusesEveryTruncation) {
  const auto table = SampleTable().build();
  for (std::size_t words = 0; words < table.size(); ++words)
    EXPECT_NE(check({table.begin(), table.begin() + static_cast<std::ptrdiff_t>(words)}),
              TableError::ok);
}

// Table 9.
TEST(Validate, RefusesEveryFlippedBitOfWhatTheRuntimeReads) {
  const auto table = SampleTable().build();
  const std::size_t end = reinterpret_cast<const abi::Header*>(table.data())->pinned.offset / 8;
  for (std::size_t word = 0; word < end; ++word)
    for (unsigned bit = 0; bit < 64; ++bit) {
      auto altered = table;
      altered[word] ^= std::uint64_t{1} << bit;
      ASSERT_NE(check(altered), TableError::ok) << word << "." << bit;
    }
}

TEST(Validate, NamesAnotherVersion) {
  auto table = SampleTable().build();
  reinterpret_cast<abi::Header*>(table.data())->version = abi::version + 1;
  EXPECT_EQ(check(table), TableError::other_version);
  EXPECT_STREQ(describe(TableError::other_version), "the table has another version");
}

// Table 1.
TEST(Validate, RefusesArraysThatOverlapOrLeaveTheTable) {
  auto table = SampleTable().build();
  auto* header = reinterpret_cast<abi::Header*>(table.data());
  header->labels.count = 0x20000000;
  SampleTable::sign(table);
  EXPECT_EQ(check(table), TableError::bad_array);
  table = SampleTable().build();
  header = reinterpret_cast<abi::Header*>(table.data());
  header->fixups.offset = header->functions.offset;
  SampleTable::sign(table);
  EXPECT_EQ(check(table), TableError::bad_array);
}

// Table 2.
TEST(Validate, RefusesFunctionsOutsideOfTheCode) {
  EXPECT_EQ(after([](auto& t) { t.functions[1].start = 0x1ff0; }), TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.functions[1].start = 0x1020; }), TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.functions[0].size = 0; }), TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.functions[0].start = 0x3000; }), TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.functions[0].flags = 16; }), TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.functions[0].address_registers = 1; }), TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.functions[0].address_registers = abi::preserved_registers; }),
            TableError::ok);
  EXPECT_EQ(after([](auto& t) { t.functions[0].name = 10; }), TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.functions[0].first_word = 1; }), TableError::bad_function);
}

TEST(Validate, RefusesAnEntryThatCannotBePatched) {
  EXPECT_EQ(after([](auto& t) { t.functions[1].flags = 0, t.functions[1].start = 0x1044; }),
            TableError::bad_function);
  EXPECT_EQ(after([](auto& t) { t.ranges[0].size = 4; }), TableError::bad_function);
}

// Table 3.
TEST(Validate, RefusesFixupsOutsideOfTheFunction) {
  EXPECT_EQ(after([](auto& t) { t.fixups[2] = t.fixup(abi::FixupKind::shift, 37, 0); }),
            TableError::bad_fixup);
  EXPECT_EQ(after([](auto& t) { t.fixups[1] = t.fixup(abi::FixupKind::shift, 5, 0); }),
            TableError::bad_fixup);
  EXPECT_EQ(after([](auto& t) { t.fixups[1].value = 2; }), TableError::bad_fixup);
  EXPECT_EQ(after([](auto& t) { t.fixups[3].value = 1; }), TableError::bad_fixup);
  EXPECT_EQ(after([](auto& t) { t.fixups[2].value = 100; }), TableError::bad_fixup);
  EXPECT_EQ(after([](auto& t) { t.functions[1].fixup_count = 2; }), TableError::bad_fixup);
}

// Table 4 and Table 5.
TEST(Validate, RefusesLabelsSlotsAndRangesThatAreElsewhere) {
  EXPECT_EQ(after([](auto& t) { t.labels[0].offset = 20; }), TableError::bad_label);
  EXPECT_EQ(after([](auto& t) { t.labels[0].function = 2; }), TableError::bad_label);
  EXPECT_EQ(after([](auto& t) { t.slots[1].where = 0x3010; }), TableError::bad_slot);
  EXPECT_EQ(after([](auto& t) { t.pointers[0].where = 0x3008; }), TableError::bad_slot);
  EXPECT_EQ(after([](auto& t) { t.pointers[1].where = 0x3014; }), TableError::bad_slot);
  EXPECT_EQ(after([](auto& t) { t.pointers[0].function = 2; }), TableError::bad_slot);
  EXPECT_EQ(after([](auto& t) { t.slots[1].where = 0x3004; }), TableError::bad_slot);
  EXPECT_EQ(after([](auto& t) { t.slots[0].label = 1; }), TableError::bad_slot);
  EXPECT_EQ(after([](auto& t) { t.ranges[0].kind = 4; }), TableError::bad_range);
  EXPECT_EQ(after([](auto& t) { t.ranges[0].start = 0x2f00; }), TableError::bad_range);
  EXPECT_EQ(after([](auto& t) { t.ranges[1].start = 0x900; }), TableError::bad_range);
}

// Table 6 and Table 7.
TEST(Validate, RefusesFramesOutsideOfTheImage) {
  EXPECT_EQ(after([](auto& t) { t.functions[0].fde = 0x7f0; }), TableError::bad_frame);
  EXPECT_EQ(after([](auto& t) { t.functions[0].lsda_field = 21; }), TableError::bad_frame);
  EXPECT_EQ(after([](auto& t) { t.functions[0].cie = 1; }), TableError::bad_frame);
  EXPECT_EQ(after([](auto& t) { t.functions[0].exceptions = 1; }), TableError::bad_frame);
  EXPECT_EQ(after([](auto& t) { t.functions[0].exceptions_size = 19; }), TableError::bad_frame);
  EXPECT_EQ(after([](auto& t) { t.functions[0].exception_types = 0x900; }), TableError::bad_frame);
  EXPECT_EQ(after([](auto& t) { t.cies[0].personality_field = 21; }), TableError::bad_frame);
  EXPECT_EQ(after([](auto& t) { t.cies[0].size = 0x10000; }), TableError::bad_frame);
}

// Table 8.
TEST(Validate, RefusesSizesOfFramesThatAreElsewhere) {
  EXPECT_EQ(after([](auto& t) { t.frames.pop_back(); }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[0].first_field = 2; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[0].step = 0; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[0].step = 4; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[0].most = 256; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[1].most = 1; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[1].reason = 200; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[0].above = 12; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[1].above = 16; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frame_fields[0] = 37; }),
            TableError::bad_frame_size);  // beyond the code
  EXPECT_EQ(after([](auto& t) { t.frame_fields[0] = 12; }),
            TableError::bad_frame_size);  // in a fix-up
  EXPECT_EQ(after([](auto& t) { t.frame_fields[1] = 16; }),
            TableError::bad_frame_size);  // in the one before
  EXPECT_EQ(after([](auto& t) { t.frame_fields[2] = abi::description_field(23, 2); }),
            TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frame_fields[2] = abi::description_field(12, 2); }),
            TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frame_fields[2] = abi::description_field(20, 1); }),
            TableError::bad_frame_size);
}

// Table 8.
TEST(Validate, AcceptsSmallFieldsOnlyWithSmallPads) {
  constexpr std::uint16_t most = abi::narrow_pad / abi::pad_unit;
  const auto in_code = [](SampleTable& t, std::uint32_t offset, std::uint16_t pad) {
    t.frames[0].most = pad;
    t.frame_fields[1] = abi::code_field(offset, 1);
  };
  EXPECT_EQ(after([&](auto& t) { in_code(t, 30, most); }), TableError::ok);
  EXPECT_EQ(after([&](auto& t) { in_code(t, 39, most); }), TableError::ok);
  EXPECT_EQ(after([&](auto& t) { in_code(t, 30, most + 1); }), TableError::bad_frame_size);
  EXPECT_EQ(after([&](auto& t) { in_code(t, 40, most); }),
            TableError::bad_frame_size);  // beyond the code
  EXPECT_EQ(after([&](auto& t) { in_code(t, 23, most); }),
            TableError::bad_frame_size);  // in a fix-up
  EXPECT_EQ(after([&](auto& t) { in_code(t, 17, most); }),
            TableError::bad_frame_size);  // in the field before
  EXPECT_EQ(after([&](auto& t) { in_code(t, 18, most); }), TableError::ok);
  const auto described = [](SampleTable& t, std::uint16_t pad) {
    t.frames[0].most = pad;
    t.frame_fields[2] = abi::description_field(20, 1);
  };
  EXPECT_EQ(after([&](auto& t) { described(t, most); }), TableError::ok);
  EXPECT_EQ(after([&](auto& t) { described(t, most + 1); }), TableError::bad_frame_size);
}

// Table 8.
TEST(Validate, AcceptsAPartOnlyWithTheFrameOfAFunction) {
  const auto with_part = [](const std::function<void(SampleTable&)>& change) {
    return after([&](SampleTable& t) {
      t.frames[1] = {3, 0, 0, 255, 1, 0, 16, 1};
      change(t);
    });
  };
  EXPECT_EQ(with_part([](auto&) {}), TableError::ok);
  EXPECT_EQ(with_part([](auto& t) { t.frames[1].most = 254; }), TableError::bad_frame_size);
  EXPECT_EQ(with_part([](auto& t) { t.frames[1].step = 5; }), TableError::bad_frame_size);
  EXPECT_EQ(with_part([](auto& t) { t.frames[1].above = 24; }), TableError::bad_frame_size);
  EXPECT_EQ(with_part([](auto& t) { t.frames[1].part_of = 2; }), TableError::bad_frame_size);
  EXPECT_EQ(with_part([](auto& t) { t.frames[1].part_of = 3; }), TableError::bad_frame_size);
  EXPECT_EQ(with_part([](auto& t) { t.frames[0].part_of = 2; }), TableError::bad_frame_size);
  EXPECT_EQ(after([](auto& t) { t.frames[1].part_of = 1; }), TableError::bad_frame_size);
}

TEST(Validate, RefusesNamesWithoutAnEnd) {
  EXPECT_EQ(after([](auto& t) { t.names.back() = 'x'; }), TableError::bad_array);
}

}  // namespace
}  // namespace stab::rt
