// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stab {
namespace {

TEST(Lines, TheLastOneThatIsNotBlank) {
  EXPECT_EQ(last_line("one\ntwo\n \n\n", 100), "two");
  EXPECT_EQ(last_line("a longer line", 8), "a longer...");
  EXPECT_EQ(last_line("x\x1b[31m", 100), "x [31m");
  EXPECT_EQ(last_line("", 100), "");
  EXPECT_EQ(last_line("\n\n", 100), "");
}

TEST(Lines, TheFirstErrorOfABuild) {
  EXPECT_EQ(first_error("cc -c a.c\na.c:1:5: error: no\na.c:2:1: error: nor that\n", 100),
            "a.c:1:5: error: no");
  EXPECT_EQ(first_error("ld: a.o: undefined reference to 'f'\ncollect2: error: ld\n", 100),
            "ld: a.o: undefined reference to 'f'");
  EXPECT_EQ(first_error(
                "-- Looking for x in y - not found\nsh: 1: c: not found\nm.c:3:1: error: ;\n", 100),
            "m.c:3:1: error: ;");
  EXPECT_EQ(first_error("sh: 1: gmake: not found\n", 100), "sh: 1: gmake: not found");
  EXPECT_EQ(first_error("a.c:1: warning: unused\nit ended with exit code 3", 100),
            "it ended with exit code 3");
  EXPECT_EQ(first_error("", 100), "");
}

TEST(Text, EditDistanceCountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("same", "same"), 0U);
}

TEST(Text, NearestFindsAMisspeltKeyAndNothingForAStrangeOne) {
  const std::vector<std::string> keys{"repetitions", "timeout", "warmup"};
  EXPECT_EQ(nearest("repetition", keys), "repetitions");
  EXPECT_EQ(nearest("timout", keys), "timeout");
  EXPECT_EQ(nearest("colour", keys), "");
}

TEST(Text, TailKeepsTheEndAndSaysWhatWasCut) {
  EXPECT_EQ(tail("short", 10), "short");
  EXPECT_EQ(tail("0123456789", 4), "[the first 6 bytes are not kept]\n6789");
}

TEST(Text, NamesThatDifferAtTheirEndsDifferWithoutTheirMiddles) {
  EXPECT_EQ(without_middle("short", 5), "short");
  EXPECT_EQ(without_middle("a-long-name", 9), "a-l...ame");
  EXPECT_EQ(without_middle("a-long-name-again", 9), "a-l...ain");
  EXPECT_EQ(without_middle("a-long-name-again", 10), "a-lo...ain");
  EXPECT_EQ(without_middle("a-long-name-again", 4), "a...");
  EXPECT_EQ(without_middle("a-long-name-again", 3), "...");
  EXPECT_EQ(without_middle("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", 8),
            "\xc3\xa4...\xc3\xbc");
  EXPECT_EQ(without_middle("a\x1b[2Jb c d e f", 11), "a [2... e f");
}

TEST(Text, OneLineHasNoControlCharacterOfEitherKind) {
  EXPECT_EQ(one_line("a\x1b[2Jb\n\t\x7f"
                     "c",
                     100),
            "a [2Jb   c");
  EXPECT_EQ(one_line("a\xc2\x9b"
                     "2Jb\xc2\x80\xc2\x9f\xc2\xa0\xc3\xa4",
                     100),
            "a  2Jb    \xc2\xa0\xc3\xa4");
}

TEST(Text, BothEndsOfAnIntervalHaveTheSameDecimals) {
  const auto ends = [](double low, double high, int digits, bool sign = false) {
    const auto [first, second] = rounded_ends(low, high, digits, sign);
    return first + " to " + second;
  };
  EXPECT_EQ(ends(2.0002, 2.7, 3), "2.0 to 2.7");
  EXPECT_EQ(ends(3, 3.11, 3), "3.00 to 3.11");
  EXPECT_EQ(ends(3, 4, 3), "3 to 4");
  EXPECT_EQ(ends(-0.892, 0.9, 2, true), "-0.89 to +0.90");
  EXPECT_EQ(ends(-9.91, 11, 2, true), "-9.9 to +11.0");
  EXPECT_EQ(ends(-29.3, 41.6, 2, true), "-29 to +42");
  EXPECT_EQ(ends(1.5, 2.866, 4), "1.500 to 2.866");
  EXPECT_EQ(ends(0.0123, 812.4, 3), "0.0123 to 812");
  EXPECT_EQ(ends(0.004, 812.4, 2, true), "+0.004 to +812");
  EXPECT_EQ(ends(-0.0012, 29.4, 2, true), "-0.0012 to +29");
  EXPECT_EQ(ends(0, 0, 2), "0 to 0");
  EXPECT_EQ(ends(0, 0.5, 2), "0.0 to 0.5");
  EXPECT_EQ(ends(1e-7, 0.5, 2), "1e-07 to 0.5");
  EXPECT_EQ(ends(1.5e-9, 2e9, 2), "1.5e-09 to 2e+09");
}

TEST(Text, InvalidUtf8NeverPassesThrough) {
  EXPECT_EQ(tail("a\xff"
                 "b",
                 10),
            "a?b");
  EXPECT_EQ(tail("\xc3\xa9", 10), "\xc3\xa9");
  EXPECT_EQ(tail("\xed\xa0\x80", 10), "???");
  EXPECT_EQ(one_line("two\nlines\x1b[31m", 100), "two lines [31m");
}

TEST(Text, AQuotedWordIsOneWordForTheShell) {
  EXPECT_EQ(shell_quote("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quote(""), "''");
}

TEST(Text, BytesAreWrittenExactly) {
  EXPECT_EQ(format_bytes(std::uint64_t{8} << 20), "8 MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{3} << 30), "3 GiB");
  EXPECT_EQ(format_bytes(1025), "1025 bytes");
  EXPECT_EQ(format_bytes(0), "0 bytes");
}

TEST(Text, NumbersAreRoundedWithoutPowersOfTen) {
  EXPECT_EQ(rounded(0.0354, 2), "0.035");
  EXPECT_EQ(rounded(4.24, 2), "4.2");
  EXPECT_EQ(rounded(99.4, 2), "99");
  EXPECT_EQ(rounded(99.7, 2), "100");
  EXPECT_EQ(rounded(-128, 2), "-128");
  EXPECT_EQ(rounded(1234.6, 3), "1235");
  EXPECT_EQ(rounded(3.2e9, 2), "3.2e+09");
}

TEST(Text, BytesAreWrittenInRoundNumbers) {
  EXPECT_EQ(about_bytes(0), "0 bytes");
  EXPECT_EQ(about_bytes(1023), "1023 bytes");
  EXPECT_EQ(about_bytes(1024), "1.0 KiB");
  EXPECT_EQ(about_bytes((std::uint64_t{5} << 20) / 2), "2.5 MiB");
  EXPECT_EQ(about_bytes(std::uint64_t{10} << 30), "10.0 GiB");
}

}  // namespace
}  // namespace stab
