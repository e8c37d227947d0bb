// SPDX-License-Identifier: MIT
#include "stabd/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/fd.h"

namespace stab::settings {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

std::string problems_in(const std::string& text) {
  const auto settings = read(text, standard());
  return settings ? "" : toml::describe(settings.error(), "stabd.toml");
}

TEST(Settings, WithoutATextAreTheDefaultsOfTheList) {
  const auto settings = read("", standard());
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->socket_mode, 0600U);
  EXPECT_EQ(settings->idle_limit, 10min);
  EXPECT_EQ(settings->stop, Stop::abandon);
  EXPECT_EQ(settings->limits.connections_of_user, 16U);
  EXPECT_EQ(settings->limits.plan_bytes_of_user, std::uint64_t{8} << 20);
  EXPECT_EQ(settings->limits.stored_bytes_of_user, std::uint64_t{10} << 30);
  EXPECT_FALSE(settings->limits.cache_of_user);
  EXPECT_EQ(settings->limits.turn, 1h);
  EXPECT_EQ(settings->quiesce_for, Quiescers::owner);
  EXPECT_TRUE(settings->notify.command.empty());
}

TEST(Settings, EachKeyIsReadIntoAField) {
  const auto settings = read(R"(
[daemon]
state = "/s"
socket = "/s/s.sock"
socket_mode = "0660"
socket_group = "domain users"
cache = "/c"
log = "debug"
namespaces = false
idle_limit = "never"
read_limit = "90s"
stop = "finish"
stop_limit = "5min"
[limits]
connections = 11
connections_of_user = 12
waiting = 13
waiting_of_user = 14
plan_bytes_of_user = 15
stored_bytes_of_user = "3MiB"
cache_of_user = "2GiB"
turn = "20min"
[machine]
quiesce_for = "nobody"
[notify]
command = ["/bin/tell", "a \"word\""]
when = "trouble"
time_limit = "1500ms"
[retention]
output_days = 30
experiments_days = 365
)",
                             standard());
  ASSERT_TRUE(settings) << toml::describe(settings.error(), "stabd.toml");
  EXPECT_EQ(settings->state_directory, "/s");
  EXPECT_EQ(settings->socket_path, "/s/s.sock");
  EXPECT_EQ(settings->socket_mode, 0660U);
  EXPECT_EQ(settings->socket_group, "domain users");
  EXPECT_EQ(settings->cache_directory, "/c");
  EXPECT_EQ(settings->log, "debug");
  EXPECT_FALSE(settings->isolate);
  EXPECT_EQ(settings->idle_limit, 0s);
  EXPECT_EQ(settings->read_limit, 90s);
  EXPECT_EQ(settings->stop, Stop::finish);
  EXPECT_EQ(settings->stop_limit, 5min);
  EXPECT_EQ(settings->limits.connections, 11U);
  EXPECT_EQ(settings->limits.connections_of_user, 12U);
  EXPECT_EQ(settings->limits.waiting, 13U);
  EXPECT_EQ(settings->limits.waiting_of_user, 14U);
  EXPECT_EQ(settings->limits.plan_bytes_of_user, 15U);
  EXPECT_EQ(settings->limits.stored_bytes_of_user, std::uint64_t{3} << 20);
  EXPECT_EQ(settings->limits.cache_of_user, std::uint64_t{2} << 30);
  EXPECT_EQ(settings->limits.turn, 20min);
  EXPECT_EQ(settings->quiesce_for, Quiescers::nobody);
  EXPECT_EQ(settings->notify.command, (std::vector<std::string>{"/bin/tell", "a \"word\""}));
  EXPECT_EQ(settings->notify.when, Notices::trouble);
  EXPECT_EQ(settings->notify.time_limit, 1500ms);
  EXPECT_EQ(settings->retention.output_days, 30U);
  EXPECT_EQ(settings->retention.experiments_days, 365U);
  // What is printed is read as the same.
  const std::string printed = print(*settings);
  const auto again = read(printed, standard());
  ASSERT_TRUE(again) << printed << toml::describe(again.error(), "printed");
  EXPECT_EQ(print(*again), printed);
  EXPECT_EQ(again->notify.time_limit, 1500ms);
}

TEST(Settings, TheDefaultsArePrintedSoThatTheyCanBeRead) {
  Settings defaults = standard();
  defaults.state_directory = defaults.socket_path = defaults.cache_directory = "/x";
  const auto again = read(print(defaults), standard());
  ASSERT_TRUE(again) << toml::describe(again.error(), "printed");
  EXPECT_EQ(print(*again), print(defaults));
}

TEST(Settings, EachKeyOfTheListHasAField) {
  std::set<std::string_view> fields;
  Settings settings;
  for_each_setting(settings, [&]<toml::Path path>(auto&) { fields.insert(path.view()); });
  for (const toml::Key& key : keys) EXPECT_TRUE(fields.contains(key.path)) << key.path;
  EXPECT_EQ(fields.size(), std::size(keys));
}

TEST(Settings, EveryMistakeIsNamedWithItsPlaceAndWhatToChange) {
  const std::string said = problems_in(
      "[daemon]\nsoket = \"/x\"\nstate = \"relative\"\nstop = \"finsh\"\nread_limit = \"0s\"\n"
      "[limits]\nconnections = 0\ncache_of_user = \"much\"\n[notfy]\n");
  EXPECT_THAT(said,
              HasSubstr("stabd.toml:2:1: unknown key 'daemon.soket', did you mean 'socket'?"));
  EXPECT_THAT(said, HasSubstr("stabd.toml:3:1: 'daemon.state' must be an absolute path"));
  EXPECT_THAT(said, HasSubstr("stabd.toml:4:1: 'daemon.stop' must be \"abandon\" or \"finish\", "
                              "not \"finsh\", did you mean 'finish'?"));
  EXPECT_THAT(said, HasSubstr("stabd.toml:5:1: 'daemon.read_limit' must be a duration above 0"));
  EXPECT_THAT(said,
              HasSubstr("stabd.toml:7:1: 'limits.connections' must be a whole number from 1"));
  EXPECT_THAT(said, HasSubstr("stabd.toml:8:1: 'limits.cache_of_user' must be a number of bytes"));
  EXPECT_THAT(said, HasSubstr("stabd.toml:9:"));
  EXPECT_THAT(said, HasSubstr("did you mean 'notify'?"));
}

TEST(Settings, ASocketsPathIsNoLongerThanTheKernelTakes) {
  const std::string longest = "/" + std::string(106, 's');
  EXPECT_EQ(problems_in("[daemon]\nsocket = \"" + longest + "\"\n"), "");
  EXPECT_THAT(problems_in("[daemon]\nsocket = \"" + longest + "s\"\n"),
              HasSubstr("stabd.toml:2:1: 'daemon.socket' must be an absolute path of at most 107"));
}

TEST(Settings, TheSocketsGroupIsANameOrANumber) {
  for (const char* good : {"measurers", "990", "domain users"})
    EXPECT_EQ(problems_in(std::string("[daemon]\nsocket_group = \"") + good + "\"\n"), "") << good;
  for (const char* bad : {"", "a:b", "two\\nlines"})
    EXPECT_THAT(problems_in(std::string("[daemon]\nsocket_group = \"") + bad + "\"\n"),
                HasSubstr("stabd.toml:2:1: 'daemon.socket_group' must be the name or number"))
        << bad;
}

TEST(Settings, ATextThatIsNoTomlSaysWhere) {
  EXPECT_THAT(problems_in("[daemon\n"), HasSubstr("stabd.toml:1:"));
}

TEST(Settings, ANoticeWithoutACommandIsAMistake) {
  EXPECT_THAT(problems_in("[notify]\nwhen = \"trouble\"\n"),
              HasSubstr("stabd.toml:2:1: 'notify.when' has no effect without 'notify.command'"));
}

TEST(Settings, WhatChangedIsNamedAndWhatIsFixedWhileADaemonRunsStays) {
  Settings before = standard();
  before.state_directory = "/s";
  Settings after = before;
  EXPECT_THAT(differences(before, after), ::testing::IsEmpty());
  after.state_directory = "/t";
  after.isolate = !before.isolate;
  after.limits.waiting = 7;
  after.notify.command = {"/bin/true"};
  EXPECT_THAT(differences(before, after),
              ::testing::ElementsAre("daemon.state", "daemon.namespaces", "limits.waiting",
                                     "notify.command"));
  const Settings in_force = changed(before, after);
  EXPECT_EQ(in_force.state_directory, "/s");
  EXPECT_EQ(in_force.isolate, before.isolate);
  EXPECT_EQ(in_force.limits.waiting, 7U);
  EXPECT_EQ(in_force.notify.command, after.notify.command);
  for (const std::string_view key : words::fixed_keys)
    EXPECT_TRUE(std::ranges::any_of(keys, [&](const toml::Key& each) { return each.path == key; }))
        << key;
}

TEST(Settings, TheDocumentHasTheTableOfTheList) {
  const auto document = read_file(STAB_SOURCE_DIR "/doc/operations.md", 1 << 20);
  ASSERT_TRUE(document);
  EXPECT_THAT(*document, HasSubstr(table_of_keys())) << "paste into doc/operations.md:\n"
                                                     << table_of_keys();
}

}  // namespace
}  // namespace stab::settings
