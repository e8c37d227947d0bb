// SPDX-License-Identifier: MIT
// Regions that programs mark by name, from the macros of stabilizer.h to the verdict.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/system/built_program_testing.h"

namespace stab::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

// At one level "parse" waits longer and "emit" shorter than at the other: all of it takes the same.
constexpr const char* program = R"(
#include <time.h>
#include <stabilizer.h>
static void wait_ms(long ms) {
  struct timespec t = {0, ms * 1000000};
  while (nanosleep(&t, &t) != 0) {}
}
int main(void) {
  STAB_BEGIN_REGION("parse");
  wait_ms(PARSE);
  STAB_END_REGION("parse");
  for (int i = 0; i < 2; ++i) {
    STAB_BEGIN_REGION("emit");
    wait_ms((140 - PARSE) / 2);
    STAB_END_REGION("emit");
  }
  return 0;
}
)";

std::string plan(const std::string& compiler, int blocks, const std::string& more) {
  return "[experiment]\nname = \"regions\"\nseed = 3\n[variables]\nCC = \"" + compiler +
         "\"\n[defaults]\nrepetitions = " + std::to_string(blocks) +
         "\n[[benchmark]]\nname = \"b\"\n"
         "build = \"${CC} -O1 -I" STAB_BIN_DIR
         "/../include ${CFLAGS} -o ${OUT} b.c\"\nsources = [\"b.c\"]\nrun = [\"${OUT}\"]\n"
         "[factor.parser]\nlevels = { old = { CFLAGS = \"-DPARSE=20\" }, new = { CFLAGS = "
         "\"-DPARSE=120\" } }\n" +
         more;
}

class Regions : public BuiltProgram {
 protected:
  Regions() : BuiltProgram(program) {}
};

TEST_F(Regions, ANamedOneIsTheResponseWhereTheTotalTellsNothing) {
  int id = 0;
  json document;
  std::map<std::string, std::string> verdicts;
  // A trial beside which the machine stands still for seconds hides the difference: try again.
  for (int tries = 0; tries < 4 && verdicts["emit-once"] != "faster"; ++tries) {
    id = run(plan("szc", 8,
                  "[measure.derived]\n\"emit-once\" = \"'region-emit-ns' / "
                  "'region-emit-count'\"\n[analysis]\nequivalence = \"30%\"\n"
                  "response = [\"region-parse-ns\", \"emit-once\", \"wall\"]\n"));
    ASSERT_EQ(lab_.state(id), "done");
    document = report(id);
    for (const json& other : document["responses"])
      verdicts[other["response"]] = other["effects"].at(0)["verdict"];
    if (document["effects"].at(0)["verdict"] != "slower") verdicts.clear();
  }
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "ok") << row;
    const bool is_new = row["parser"] == "new";
    EXPECT_GE(row["region-parse-ns"].get<std::int64_t>(), is_new ? 120'000'000 : 20'000'000);
    EXPECT_GE(row["region-emit-ns"].get<std::int64_t>(), is_new ? 20'000'000 : 120'000'000);
    EXPECT_LE(
        row["region-parse-ns"].get<std::int64_t>() + row["region-emit-ns"].get<std::int64_t>(),
        row["main_to_exit_ns"].get<std::int64_t>());
    EXPECT_EQ(row["region-parse-count"], 1);
    EXPECT_EQ(row["region-emit-count"], 2);
    EXPECT_EQ(row["regions"], 0);
    EXPECT_EQ(row["region-parse-ns.status"], "counted");
  }
  EXPECT_EQ(document["analysis"]["response"], "region-parse-ns");
  const json& effect = document["effects"].at(0);
  EXPECT_EQ(effect["verdict"], "slower") << effect;
  EXPECT_GT(effect["ratio"].get<double>(), 1.3) << effect;
  EXPECT_EQ(verdicts["emit-once"], "faster") << document["responses"];
  EXPECT_NE(verdicts["wall"], "slower");
  EXPECT_NE(verdicts["wall"], "faster");
  std::map<std::string, json> measures;
  for (const json& each : document["measures"]) measures[each["name"]] = each;
  EXPECT_EQ(measures["region-emit-ns"]["counted"], 16);
  EXPECT_EQ(measures["region-emit-count"]["median"], 2);

  EXPECT_EQ(report(id, {"--response", "region-emit-count"})["analysis"]["response"],
            "region-emit-count");
  EXPECT_THAT(lab_.ctl({"compare", std::to_string(id), "--response", "region-emit-ns"}).out,
              HasSubstr("region-emit-ns"));
}

TEST_F(Regions, AProgramThatDoesNotEnterItIsNotMeasured) {
  const int id = run(plan("szc", 2, "[analysis]\nresponse = \"region-link-ns\"\n"));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "not_measured");
    EXPECT_THAT(row["reason"].get<std::string>(),
                AllOf(HasSubstr("region-link-ns"), HasSubstr("STAB_BEGIN_REGION(\"link\")")));
    EXPECT_EQ(row["region-link-ns.status"], "absent");
    EXPECT_EQ(row["region-parse-count"], 1);
  }
}

TEST_F(Regions, WithoutSzcTheMacrosDoNothingAndTheReasonSaysSo) {
  const int id = run(plan("clang-22", 2, "[analysis]\nresponse = \"region-parse-ns\"\n"));
  for (const json& row : lab_.trials(id)) {
    EXPECT_EQ(row["status"], "not_measured");
    EXPECT_THAT(row["reason"].get<std::string>(), HasSubstr("build it with szc"));
  }
}

// The runtime's bounds and those of plans are the same.
TEST_F(Regions, TheLongestNameAndTheLastOneAreReadingsAndWhatIsMoreIsSaid) {
  lab_.write("b.c", R"(
#include <stdio.h>
#include <stabilizer.h>
int main(void) {
  char name[64];
  for (int i = 0; i < 65; ++i) {
    snprintf(name, sizeof name, "%040d", i + PARSE);
    STAB_BEGIN_REGION(name);
    STAB_END_REGION(name);
  }
  return 0;
}
)");
  const std::string last = "region-" + std::string(37, '0') + "183-count";
  const int id = run(plan("szc", 2, "[analysis]\nresponse = \"" + last + "\"\n"));
  ASSERT_EQ(lab_.state(id), "done");
  for (const json& row : lab_.trials(id)) {
    const bool has = row["parser"] == "new";  // from 120 to 183, and one more
    EXPECT_EQ(row["status"], has ? "ok" : "not_measured") << row;
    EXPECT_THAT(
        row["layout_note"].get<std::string>(),
        HasSubstr("1 regions were not measured: a region's name must consist of 1 to 40 letters"));
    int readings = 0;
    for (const auto& [key, value] : row.items())
      readings += key.starts_with("region-") && !key.ends_with(".status") && !value.is_null();
    EXPECT_EQ(readings, 128);
  }
}

}  // namespace
}  // namespace stab::test
