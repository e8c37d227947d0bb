// SPDX-License-Identifier: MIT
#include "report/html/live.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "base/base64.h"
#include "base/hash.h"
#include "report/html/page.h"
#include "report/html/parsing_testing.h"
#include "report/html/parts.h"
#include "report/sample_document.h"

namespace stab::report::html {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* hostile = "</aside><body><script>alert(1)</script>\"&'";

Live some_live() {
  return {.title = hostile,
          .facts = {{.name = "State", .value = hostile}},
          .share = 0.25,
          .remark = hostile,
          .after = hostile,
          .report = 7,
          .pace = std::chrono::milliseconds(5000)};
}

std::string digest_in_base64(std::string_view text) {
  const std::string hex = sha256_hex(text);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return to_base64(bytes);
}

TEST(LivePage, ItsPolicyAllowsThisScriptAndNoOther) {
  EXPECT_THAT(std::string(live_policy.text()),
              HasSubstr("script-src 'sha256-" + digest_in_base64(live_script().text()) + "'"));
  EXPECT_THAT(std::string(live_policy.text()), Not(HasSubstr("script-src 'unsafe-inline'")));
}

TEST(LivePage, WithAReportOrWithoutHasTheProgressOnTopAndHostileNamesAsText) {
  Document document = sample_document();
  document.experiment = hostile;
  const std::string report = page(document, {});
  for (const std::string& below : {std::string(), report}) {
    const auto text = live_page(below, some_live());
    ASSERT_TRUE(text);
    const Parsed parsed = parse(*text);
    ASSERT_EQ(parsed.problem, "");
    EXPECT_EQ(elements_named(parsed, "script").size(), 1U);
    EXPECT_EQ(elements_named(parsed, "body").size(), 1U);
    const auto progress = elements_named(parsed, "aside");
    ASSERT_EQ(progress.size(), 1U);
    EXPECT_EQ(progress[0].attributes.at("data-title"), hostile);
    EXPECT_EQ(elements_named(parsed, "dd").front().text, hostile);
    EXPECT_LT(text->find("<aside"), text->find("<main>"));
    // The first policy that a browser reads stands before whatever it is about.
    EXPECT_LT(text->find("Content-Security-Policy"), text->find("<style"));
    EXPECT_EQ(text->find(std::string(page_policy.text()) + "\""), std::string::npos);
  }
}

TEST(LivePage, ThatIsFinalAsksForNothingMore) {
  Live live = some_live();
  EXPECT_THAT(*live_page("", live), HasSubstr("http-equiv=\"refresh\""));
  live.final = true;
  EXPECT_THAT(*live_page("", live), Not(HasSubstr("http-equiv=\"refresh\"")));
  EXPECT_THAT(*live_page("", live), HasSubstr("data-final=\"yes\""));
}

TEST(LivePage, OfWhatIsNoReportIsNone) {
  EXPECT_FALSE(live_page("<html><body></body></html>", some_live()));
  EXPECT_FALSE(live_page("nonsense", some_live()));
}

}  // namespace
}  // namespace stab::report::html
