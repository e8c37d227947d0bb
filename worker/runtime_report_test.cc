// SPDX-License-Identifier: MIT
#include "worker/runtime_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "design/resolve.h"

namespace stab::worker {
namespace {

using store::Layout;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string start =
    R"({"event":"start","version":1,"pid":7,"code":"on","rerandomize":"once","seed":18446744073709551615,)"
    R"("randomized":"yes","functions":50,"moved":48,"pinned":2,"text_bytes":1000,"moved_bytes":990,)"
    R"("setup_ns":12345,"never_moved":"libc"})"
    "\n";
const std::string library =
    R"({"event":"library","pid":7,"randomized":"yes","functions":5,"moved":5,"text_bytes":100,)"
    R"("moved_bytes":100,"setup_ns":55})"
    "\n";
const std::string exit_line =
    R"({"event":"exit","pid":7,"run_ns":900,"region_ns":300,"regions":2,"epochs":1})"
    "\n";

Layout layout_of(std::string_view text, int own) {
  return read_report(text, own).layout;
}

// The lines as another process would have written them.
std::string of_process(int pid, std::string text) {
  for (std::size_t at = 0; (at = text.find("\"pid\":7", at)) != std::string::npos; ++at)
    text.replace(at, 7, fmt::format("\"pid\":{}", pid));
  return text;
}

protocol::RunRequest asking(plan::Needs needs, plan::Variables options = {}) {
  protocol::RunRequest request;
  request.needs = needs;
  request.options = std::move(options);
  return request;
}

TEST(RuntimeReport, OfOneProgramIsItsLayout) {
  const Layout expected{.randomized = true,
                        .kind = "code once",
                        .note = "",
                        .seed = UINT64_MAX,
                        .epochs = 1,
                        .functions = 55,
                        .moved_functions = 53,
                        .text_bytes = 1100,
                        .moved_bytes = 1090,
                        .setup_ns = 12400,
                        .main_to_exit_ns = 900,
                        .region_ns = 300,
                        .regions = 2,
                        .random_code = true,
                        .random_stack = false,
                        .random_heap = false,
                        .repeated = false};
  EXPECT_EQ(layout_of(start + library + exit_line, 7), expected);
}

// The first line of a program whose executable has no pads although the options ask for them.
std::string without_pads() {
  std::string text = start;
  text.insert(text.find(R"("rerandomize")"), R"("stack":"off",)");
  text.insert(text.find(R"("randomized")"),
              R"("why_no_pads":"no stack frame has a pad: another clang",)");
  return text;
}

TEST(RuntimeReport, SaysWhyFramesHaveNoPads) {
  const RuntimeReport report = read_report(without_pads() + exit_line, 7);
  EXPECT_EQ(report.layout.note, "no stack frame has a pad: another clang");
  EXPECT_EQ(report.layout.random_stack, false);
  EXPECT_EQ(report.layout.kind, "code once");
  EXPECT_EQ(report.did.at("stack"), "0");
  std::string earlier = without_pads();
  earlier.replace(earlier.find("off"), 3, "on");
  EXPECT_EQ(layout_of(earlier + exit_line, 7), report.layout);
}

TEST(RuntimeReport, ThePadsOfOneLibraryAreEnough) {
  std::string padded = library;
  padded.insert(padded.find(R"("functions")"), R"("stack":"on",)");
  const RuntimeReport report = read_report(without_pads() + padded + library + exit_line, 7);
  EXPECT_EQ(report.layout.random_stack, true);
  EXPECT_EQ(report.layout.kind, "code stack once");
  EXPECT_EQ(report.did.at("stack"), "1");
  EXPECT_EQ(report.layout.note, "no stack frame has a pad: another clang");
}

TEST(RuntimeReport, ALibrarysPadsCountIfAnEarlierRuntimeReportsOnlyTheirNumber) {
  const auto did = [](const std::string& padded) {
    std::string text = library;
    text.insert(text.find(R"("functions")"), R"("padded":)" + padded + ",");
    return read_report(without_pads() + text + exit_line, 7).did.at("stack");
  };
  EXPECT_EQ(did("3"), "1");
  EXPECT_EQ(did("0"), "0");
}

// The layout of a run whose first line has this field.
Layout with_field(const std::string& field) {
  std::string text = start;
  text.insert(text.find(R"("functions")"), field + ",");
  return layout_of(text + exit_line, 7);
}

TEST(RuntimeReport, CountsThePaddedFramesIfFewOfManyHavePads) {
  EXPECT_EQ(with_field(R"("padded":3,"framed":40)").note,
            "3 of the 40 functions of the executable that use the stack have pads");
  EXPECT_THAT(with_field(R"("padded":9,"framed":40)").note, StartsWith("9 of the 40 "));
  EXPECT_EQ(with_field(R"("padded":10,"framed":40)").note, "");
  EXPECT_THAT(with_field(R"("padded":1,"framed":8)").note, StartsWith("1 of the 8 "));
  EXPECT_EQ(with_field(R"("padded":1,"framed":7)").note, "");
  EXPECT_EQ(with_field(R"("padded":0)").note, "");
  std::string few = library;
  few.insert(few.find(R"("functions")"), R"("file":"/l/libx.so","padded":3,"framed":40,)");
  EXPECT_EQ(layout_of(start + few + exit_line, 7).note,
            "3 of the 40 functions of libx.so that use the stack have pads");
}

TEST(RuntimeReport, NotesEachLimitThatTheRuntimeNoticed) {
  const auto notes = [](const std::string& field) { return with_field(field).note; };
  EXPECT_EQ(notes(R"("why_once":"the processor checks returns")"),
            "functions move only at start: the processor checks returns");
  EXPECT_EQ(notes(R"("go_functions":7)"), "7 functions stay in place, because they are Go code");
  EXPECT_THAT(notes(R"("used_bytes_functions":2)"), StartsWith("2 functions stay in place, "));
  EXPECT_THAT(notes(R"("foreign_exception_functions":3)"), StartsWith("3 functions stay in place"));
  EXPECT_EQ(notes(R"("pads_small_for":"swap_stacks")"),
            "the pads of stack frames are at most 112 bytes, because of swap_stacks");
  EXPECT_EQ(notes(R"("small_stack":"the address space is limited")"),
            "stacks were not enlarged for pads: the address space is limited");
  EXPECT_EQ(notes(R"("go_functions":0)"), "");
  EXPECT_EQ(notes(R"("why_once":"one; two")"), "functions move only at start: one, two");
  EXPECT_EQ(notes(R"("why_once":"one;\ntwo")"), "functions move only at start: one, two");

  // The last line knows what happened later, and repeats what the first one said.
  std::string first = start;
  first.insert(first.find(R"("functions")"), R"("pads_small_for":"f",)");
  std::string last = exit_line;
  last.insert(last.find(R"("epochs")"),
              R"("pads_small_for":"f","layouts_stay_for":"g","small_thread_stacks":3,)"
              R"("threads_without_alarm":2,"late_ns":5,)");
  EXPECT_EQ(layout_of(first + last, 7).note,
            "the pads of stack frames are at most 112 bytes, because of f; the stacks of 3 threads "
            "were not enlarged for pads; some threads had no alarm, so their functions moved late "
            "(threads_without_alarm)");
}

TEST(RuntimeReport, NotesASandboxInWhichFunctionsStay) {
  std::string text = start;
  text.replace(text.find("once\""), 5, R"(repeated","period_ns":5000000)");
  const std::string sandbox = R"({"event":"sandbox","pid":7,"epochs":3})"
                              "\n";
  EXPECT_EQ(layout_of(text + sandbox, 7).note,
            "the program asked for a sandbox, in which functions stay in place");
  EXPECT_EQ(layout_of(start + sandbox, 7).note, "");
  EXPECT_EQ(layout_of(text + sandbox + exit_line, 7).note, "") << "the kernel refused the sandbox";
  EXPECT_EQ(layout_of(text + sandbox + text, 7).note, "") << "another program has the process now";
}

TEST(RuntimeReport, OfRepeatedLayoutsHasTheirNumbers) {
  std::string text = start;
  text.replace(text.find("once\""), 5, R"(repeated","period_ns":5000000)");
  const Layout layout = layout_of(
      text + R"({"event":"exit","pid":7,"run_ns":9,"region_ns":0,"regions":0,"epochs":41,)"
             R"("given_up":2,"why_given_up":"a thread did not stop","epochs_ns":800,)"
             R"("longest_pause_ns":70,"frames_moved":5})"
             "\n",
      7);
  EXPECT_EQ(layout.kind, "code repeated 5ms");
  EXPECT_EQ(layout.repeated, true);
  EXPECT_EQ(layout.epochs, 41);
  EXPECT_EQ(layout.given_up, 2);
  EXPECT_EQ(layout.epochs_ns, 800);
  EXPECT_EQ(layout.longest_pause_ns, 70);
  EXPECT_EQ(layout.note, "a thread did not stop");
}

TEST(RuntimeReport, SaysTheBudgetWhereItIsNotTheUsualOne) {
  const auto kind = [](const char* percent) {
    std::string text = start;
    text.replace(text.find("once\""), 5,
                 std::string(R"(repeated","period_ns":5000000,"budget_percent":)") + percent);
    return layout_of(text, 7).kind;
  };
  EXPECT_EQ(kind("1"), "code repeated 5ms");
  EXPECT_EQ(kind("0"), "code repeated 5ms budget off");
  EXPECT_EQ(kind("20"), "code repeated 5ms budget 20%");
}

TEST(RuntimeReport, ThatIsEmptyIsNoLayout) {
  EXPECT_EQ(layout_of("", 7), Layout());
}

TEST(RuntimeReport, WhatIsMissingIsNotZero) {
  const Layout killed = layout_of(start, 7);
  EXPECT_EQ(killed.main_to_exit_ns, std::nullopt);
  EXPECT_EQ(killed.epochs, std::nullopt);
  const Layout plain = layout_of(
      start + R"({"event":"exit","pid":7,"run_ns":9,"region_ns":0,"regions":0,"epochs":1})"
              "\n",
      7);
  EXPECT_EQ(plain.main_to_exit_ns, 9);
  EXPECT_EQ(plain.regions, 0);
  EXPECT_EQ(plain.region_ns, std::nullopt);
}

TEST(RuntimeReport, SaysWhyNothingWasRandomized) {
  const Layout off = layout_of(
      R"({"event":"start","pid":7,"code":"off","rerandomize":"once","seed":0,"randomized":"no","why":"code=0"})"
      "\n" +
          exit_line,
      7);
  EXPECT_EQ(off.randomized, false);
  EXPECT_EQ(off.note, "code=0");
  EXPECT_EQ(off.kind, "");
  EXPECT_EQ(off.seed, std::nullopt);
  EXPECT_EQ(off.epochs, std::nullopt);
  EXPECT_EQ(off.region_ns, 300);
}

TEST(RuntimeReport, SaysWhyTheHeapWasNotRandomized) {
  const Layout moved = layout_of(
      R"({"event":"start","pid":7,"code":"on","heap":"off","rerandomize":"once","seed":1,"randomized":"yes",)"
      R"("heap_why":"another allocator"})"
      "\n" +
          exit_line,
      7);
  EXPECT_EQ(moved.randomized, true);
  EXPECT_EQ(moved.kind, "code once");
  EXPECT_EQ(moved.note, "another allocator");
}

TEST(RuntimeReport, ThatIsDamagedSaysSoAndKeepsTheRest) {
  for (const std::string bad : {"nonsense\n", "{\"event\":\"exit\"}\n", "[1]\n", "{}\n", "\n",
                                "\xff\n", "{\"pid\":-1}\n", "{\"pid\":1e99}\n"}) {
    const Layout layout = layout_of(start + bad + exit_line, 7);
    EXPECT_THAT(layout.note, StartsWith("stabd: a line of the runtime's report is damaged: "))
        << bad;
    EXPECT_EQ(layout.main_to_exit_ns, 900) << bad;
  }
  EXPECT_THAT(layout_of("nonsense", 7).note, HasSubstr("damaged: nonsense"));
  EXPECT_EQ(layout_of("nonsense", 7).randomized, std::nullopt);
  const std::string cut = exit_line.substr(0, exit_line.size() - 1);
  EXPECT_EQ(layout_of(start + cut, 7).main_to_exit_ns, std::nullopt);
}

TEST(RuntimeReport, NumbersOfTheWrongKindAreMissing) {
  for (const char* value : {"-1", "1.5", "\"9\"", "null", "18446744073709551615", "[]"}) {
    const Layout layout = layout_of(
        start + fmt::format(R"({{"event":"exit","pid":7,"run_ns":{},"regions":1}})", value) + "\n",
        7);
    EXPECT_EQ(layout.main_to_exit_ns, std::nullopt) << value;
  }
}

TEST(RuntimeReport, TheProgramsOwnProcessCountsNotItsChildren) {
  const std::string child = of_process(8, start + exit_line);
  EXPECT_EQ(layout_of(child + start + child + exit_line, 7), layout_of(start + exit_line, 7));
}

TEST(RuntimeReport, AnExecStartsAnew) {
  EXPECT_EQ(layout_of(start + library + start + exit_line, 7), layout_of(start + exit_line, 7));
}

TEST(RuntimeReport, ProcessesOfAShellAreTakenTogether) {
  const std::string one = of_process(8, start + exit_line);
  EXPECT_EQ(layout_of(one, 7), layout_of(start + exit_line, 7));
  const Layout both = layout_of(one + of_process(9, start + exit_line), 7);
  EXPECT_EQ(both.randomized, true);
  EXPECT_EQ(both.kind, "code once");
  EXPECT_EQ(both.moved_bytes, 1980);
  EXPECT_EQ(both.main_to_exit_ns, 1800);
  EXPECT_EQ(both.region_ns, 600);
  EXPECT_EQ(both.regions, 4);
  EXPECT_EQ(both.epochs, 1);
  EXPECT_EQ(both.note, "stabd: 2 processes taken together");

  const Layout unfinished = layout_of(one + of_process(9, start), 7);
  EXPECT_EQ(unfinished.main_to_exit_ns, std::nullopt);
  const Layout failed =
      layout_of(one + R"({"event":"start","pid":9,"randomized":"no","why":"no memory"})"
                      "\n",
                7);
  EXPECT_EQ(failed.randomized, false);
  EXPECT_THAT(failed.note, HasSubstr("no memory"));
}

std::string region_line(int pid, const std::string& name, const std::string& rest) {
  return fmt::format(R"({{"event":"region","pid":{},"name":{},{}}})", pid, name, rest) + "\n";
}
const std::string parse_line = region_line(7, "\"parse\"", R"("ns":40,"count":3)");

TEST(RuntimeReport, HasTheRegionsThatTheProgramNamed) {
  const RuntimeReport report =
      read_report(start + parse_line +
                      region_line(7, "\"emit.all-1\"", R"("ns":0,"count":1,"open":1)") + exit_line,
                  7);
  EXPECT_EQ(report.regions,
            (std::vector<NamedRegion>{{.name = "parse", .ns = 40, .count = 3},
                                      {.name = "emit.all-1", .ns = 0, .count = 1}}));
  EXPECT_EQ(report.layout.note,
            "stabd: the region emit.all-1 was still open when the program ended");
  EXPECT_EQ(report.layout.region_ns, 300);
}

TEST(RuntimeReport, SaysWhichRegionsWereNotMeasured) {
  std::string refused = exit_line;
  refused.insert(refused.find(",\"epochs\""), R"(,"region_open":1,"regions_refused":12)");
  EXPECT_EQ(layout_of(start + refused, 7).note,
            "stabd: the region without a name was still open when the program ended; stabd: 12 "
            "regions were not measured: a region's name must consist of 1 to 40 letters, digits, "
            "'_', '.' and '-', "
            "and a program may have at most 64 regions");
}

// The file is the program's: whoever writes lines of the runtime into it gets no more than its own
// numbers wrong.
TEST(RuntimeReport, ARegionThatNoRuntimeWritesIsNone) {
  for (const std::string name :
       {"\"\"", "\"a b\"", "\"a\\u0000b\"", "\"../../etc\"", "\"a\\\"b\"", "\"\\u00e4\"", "null",
        "7", "[\"parse\"]", "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\""}) {
    const RuntimeReport report =
        read_report(start + region_line(7, name, R"("ns":1,"count":1)") + exit_line, 7);
    EXPECT_TRUE(report.regions.empty()) << name;
    EXPECT_EQ(report.layout.note, "stabd: a region in the runtime's report is damaged") << name;
  }
  for (const char* rest :
       {R"("ns":-1,"count":1)", R"("ns":1.5,"count":1)", R"("ns":18446744073709551615,"count":1)",
        R"("ns":"1","count":1)", R"("ns":1,"count":0)", R"("ns":1,"count":-1)", R"("count":1)",
        R"("ns":1)"})
    EXPECT_TRUE(
        read_report(start + region_line(7, "\"parse\"", rest) + exit_line, 7).regions.empty())
        << rest;
  EXPECT_EQ(read_report(start + parse_line + parse_line + exit_line, 7).regions.size(), 1U);
}

TEST(RuntimeReport, HasNoMoreRegionsThanARuntimeMeasures) {
  std::string text = start;
  std::string others = of_process(8, start);
  for (int i = 0; i < 100; ++i) {
    text += region_line(7, fmt::format("\"a{}\"", i), R"("ns":1,"count":1)");
    others += region_line(8, fmt::format("\"b{}\"", i), R"("ns":1,"count":1)");
  }
  EXPECT_EQ(read_report(text + exit_line, 7).regions.size(), 64U);
  EXPECT_EQ(read_report(text + exit_line + others, 1).regions.size(), 64U);
}

TEST(RuntimeReport, RegionsOfAShellsProcessesAreSumsIfAllOfThemReported) {
  const std::string one = of_process(8, start + parse_line + exit_line);
  const std::string most = R"("ns":9223372036854775807,"count":9223372036854775807)";
  const std::string two =
      of_process(9, start) + region_line(9, "\"parse\"", most) + of_process(9, exit_line);
  const RuntimeReport both = read_report(one + of_process(9, start + parse_line + exit_line), 7);
  EXPECT_EQ(both.regions, (std::vector<NamedRegion>{{.name = "parse", .ns = 80, .count = 6}}));
  EXPECT_EQ(read_report(one + two, 7).regions.at(0).ns, INT64_MAX);
  EXPECT_EQ(region_readings(both, {}).size(), 2U);
  const RuntimeReport killed = read_report(one + of_process(9, start), 7);
  EXPECT_TRUE(region_readings(killed, {}).empty());
}

TEST(RegionReadings, AreTimeAndCountAndWhatIsWantedIsAbsentWithTheReason) {
  using counters::absent;
  using counters::counted;
  const RuntimeReport report = read_report(start + parse_line + exit_line, 7);
  const std::vector<std::string> wanted{"wall", "region-parse-ns", "region-emit-ns",
                                        "region-emit-count", "region-emit-ns"};
  const auto readings = region_readings(report, wanted);
  const std::string why =
      "the program did not enter the region: put STAB_BEGIN_REGION(\"emit\") and "
      "STAB_END_REGION(\"emit\") from stabilizer.h around the code to measure";
  EXPECT_EQ(readings,
            (std::vector<counters::Reading>{
                counted("region-parse-ns", "ns", 40), counted("region-parse-count", "", 3),
                absent("region-emit-ns", "ns", why), absent("region-emit-count", "", why)}));
  EXPECT_THAT(region_readings(read_report("", 7), wanted).at(0).reason,
              HasSubstr("build it with szc"));
  EXPECT_THAT(region_readings(read_report(start, 7), wanted).at(0).reason,
              HasSubstr("the last line of the runtime's report is missing"));
}

TEST(RuntimeReport, ACrashNamesItsFunction) {
  EXPECT_EQ(layout_of(start + R"({"event":"signal","pid":7,"signal":11,"function":"sort"})"
                              "\n",
                      7)
                .note,
            "signal 11 in sort");
}

TEST(RuntimeReport, EventsThatAreNotKnownAreNoDamage) {
  EXPECT_EQ(layout_of(start + "{\"event\":\"pause\",\"pid\":7}\n", 7), layout_of(start, 7));
}

TEST(OptionsText, HasOneSizeWhateverItSays) {
  const std::string text =
      options_text({{"code", "1"}, {"seed", "42"}}, {.report = "/proc/9/fd/5"});
  EXPECT_THAT(text, StartsWith("code=1:seed=42:report=/proc/9/fd/5::"));
  EXPECT_EQ(text.size(), options_size);
  EXPECT_EQ(options_text({}, {}), std::string(options_size, ':'));
  const plan::Variables longest{{"code", "1"},
                                {"rerandomize", "repeated"},
                                {"period", "3600000ms"},
                                {"seed", "18446744073709551615"}};
  const RuntimeFiles files{.report = "/proc/4194304/fd/1048576",
                           .places = "/proc/4194304/fd/1048577"};
  EXPECT_THAT(options_text(longest, files), EndsWith(":"));
  EXPECT_EQ(options_text(longest, files).size(), options_size);
}

TEST(LayoutFault, IsNoneWhereThePlanAsksForNothing) {
  EXPECT_EQ(layout_fault(asking(plan::Needs::nothing), Layout()), "");
}

TEST(LayoutFault, AProgramWithoutTheRuntimeIsToBeBuiltWithSzc) {
  for (const plan::Needs needs : {plan::Needs::runtime, plan::Needs::randomized})
    EXPECT_THAT(layout_fault(asking(needs), Layout()), HasSubstr("build it with szc"));
}

TEST(LayoutFault, WhatTheRuntimeCouldNotDoIsSaid) {
  const Layout failed{.randomized = false, .note = "no memory near the image"};
  EXPECT_EQ(layout_fault(asking(plan::Needs::randomized), failed),
            "the program was not randomized: no memory near the image");
  EXPECT_EQ(layout_fault(asking(plan::Needs::runtime, {{"code", "0"}}), failed, {{"code", "0"}}),
            "");
}

// The report of a runtime whose start line has these fields in addition.
RuntimeReport after(const std::string& fields) {
  std::string text = start;
  text.insert(text.find(R"("randomized")"), fields);
  return read_report(text, 7);
}

std::string fault_of(const RuntimeReport& report, plan::Variables options,
                     std::vector<std::string> by_default = {}) {
  auto request = asking(plan::Needs::randomized, std::move(options));
  request.by_default = std::move(by_default);
  return layout_fault(request, report.layout, report.did);
}

TEST(LayoutFault, WhatTheProgramIsToDoByDefaultItNeedNotDo) {
  const plan::Variables options{{"code", "1"}, {"stack", "1"}};
  EXPECT_THAT(fault_of(after(""), options), HasSubstr("asks for stack=1"));
  EXPECT_EQ(fault_of(after(""), options, {"stack"}), "");
}

TEST(LayoutFault, NamesTheReasonWhyFramesHaveNoPads) {
  const RuntimeReport report = read_report(without_pads() + exit_line, 7);
  const plan::Variables options{{"code", "1"}, {"stack", "1"}};
  EXPECT_EQ(fault_of(report, options),
            "the plan asks for stack=1, but the program's runtime reported 'code once': no stack "
            "frame has a pad: another clang; to run the program without pads, set stack = false in "
            "[randomize], or remove the factor 'stack'");
  EXPECT_EQ(fault_of(report, options, {"stack"}), "");
}

TEST(LayoutFault, ARuntimeThatDoesSomethingElseIsNoticed) {
  const RuntimeReport once = after("");
  EXPECT_EQ(fault_of(once, {{"code", "1"}, {"rerandomize", "once"}, {"seed", "1"}}), "");
  EXPECT_THAT(
      fault_of(once, {{"rerandomize", "repeated"}}),
      HasSubstr("asks for rerandomize=repeated, but the program's runtime reported 'code once'"));
  EXPECT_THAT(fault_of(once, {{"code", "0"}}), HasSubstr("asks for code=0"));
  EXPECT_THAT(fault_of(once, {{"heap", "1"}}),
              AllOf(HasSubstr("asks for heap=1"), HasSubstr("szc did not build the program, or")));
  // A period means nothing with one layout.
  EXPECT_EQ(fault_of(once, {{"rerandomize", "once"}, {"period", "5ms"}}), "");
  const auto repeated = [](const std::string& fields) {
    RuntimeReport report = after(fields);
    report.did["rerandomize"] = "repeated";
    return report;
  };
  const auto with_period = [&](const std::string& period) {
    return fault_of(repeated(R"("period_ns":500000000,)"),
                    {{"rerandomize", "repeated"}, {"period", period}});
  };
  EXPECT_EQ(with_period("500ms"), "");
  EXPECT_THAT(with_period("50ms"), HasSubstr("asks for period=50ms"));
  const auto with_budget = [&](const std::string& percent, const std::string& budget) {
    return fault_of(repeated(percent), {{"budget", budget}});
  };
  const std::string off = R"("budget_percent":0,)";
  EXPECT_THAT(with_budget("", "1%"), HasSubstr("asks for budget=1%"));
  EXPECT_EQ(with_budget(R"("budget_percent":1,)", "1%"), "");
  EXPECT_EQ(with_budget(off, "off"), "");
  EXPECT_EQ(with_budget(R"("budget_percent":20,)", "20%"), "");
  EXPECT_THAT(with_budget("", "off"), HasSubstr("asks for budget=off"));
  EXPECT_THAT(with_budget(off, "1%"), HasSubstr("budget=1%"));
}

TEST(LayoutFault, AProgramThatWasNotRandomizedDidNothing) {
  std::string text = start;
  text.replace(text.find(R"("randomized":"yes")"), 18, R"("randomized":"no")");
  const RuntimeReport report = read_report(text, 7);
  EXPECT_EQ(report.did, (plan::Variables{{"code", "0"}, {"stack", "0"}, {"heap", "0"}}));
  EXPECT_EQ(layout_fault(asking(plan::Needs::runtime, {{"code", "0"}}), report.layout, report.did),
            "");
}

TEST(LayoutFault, OfSeveralProcessesOnlyWhatAllDidCounts) {
  std::string other = start;
  other.replace(other.find(R"("pid":7)"), 7, R"("pid":8)");
  other.insert(other.find(R"("randomized")"), R"("stack":"on",)");
  const RuntimeReport report = read_report(start + other, 1);
  EXPECT_EQ(fault_of(report, {{"code", "1"}}), "");
  EXPECT_THAT(fault_of(report, {{"stack", "1"}}), HasSubstr("asks for stack=1"));
  EXPECT_THAT(fault_of(report, {{"stack", "0"}}), HasSubstr("asks for stack=0"));
  EXPECT_EQ(report.layout.random_code, true);
  EXPECT_EQ(report.layout.random_stack, std::nullopt);
}

TEST(LayoutFault, OfSeveralProgramsOneThatHasPadsIsEnough) {
  std::string padded = of_process(8, start);
  padded.insert(padded.find(R"("randomized")"), R"("stack":"on",)");
  const std::string unpadded = without_pads();
  for (const std::string& text : {unpadded + padded, padded + unpadded}) {
    const RuntimeReport report = read_report(text, 1);
    EXPECT_EQ(fault_of(report, {{"code", "1"}, {"stack", "1"}}), "") << text;
    EXPECT_EQ(report.layout.random_stack, std::nullopt);
  }
  EXPECT_THAT(fault_of(read_report(unpadded + of_process(8, unpadded), 1), {{"stack", "1"}}),
              HasSubstr("no stack frame has a pad"));
}

TEST(LayoutFault, TheDescriptionOfALayoutDecidesNothing) {
  RuntimeReport report = after("");
  report.layout.kind = "code stack heap layer repeated 5ms";
  EXPECT_EQ(fault_of(report, {{"code", "1"}, {"rerandomize", "once"}}), "");
  EXPECT_THAT(fault_of(report, {{"stack", "1"}}), HasSubstr("asks for stack=1"));
}

TEST(ResponseFault, SaysWhatIsMissing) {
  protocol::RunRequest request;
  request.response = "wall";
  EXPECT_EQ(response_fault(request, Layout()), "");
  request.response = "main_to_exit";
  EXPECT_THAT(response_fault(request, Layout()), HasSubstr("build it with szc"));
  EXPECT_THAT(response_fault(request, Layout{.randomized = true}),
              HasSubstr("was ended from outside"));
  const Layout without_region{.randomized = false, .main_to_exit_ns = 5, .regions = 0};
  EXPECT_EQ(response_fault(request, without_region), "");
  request.response = "region";
  EXPECT_THAT(response_fault(request, without_region), HasSubstr("STAB_BEGIN()"));
  EXPECT_EQ(
      response_fault(
          request, Layout{.randomized = false, .main_to_exit_ns = 5, .region_ns = 3, .regions = 1}),
      "");
}

}  // namespace
}  // namespace stab::worker
