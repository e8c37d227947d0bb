// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/web/server.h"

namespace stab::client::web {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(WebAddress, IsThisMachineWhateverIsGiven) {
  for (const char* text : {"0", "127.0.0.1:0", "localhost:0", "127.8.9.1:0"}) {
    const auto address = Address::read(text);
    ASSERT_TRUE(address) << text;
    const auto listening = address->listen();
    ASSERT_TRUE(listening) << listening.error().message;
    EXPECT_THAT(place_of(*listening), StartsWith("127."));
    EXPECT_TRUE(is_own_host(place_of(*listening)));
  }
  EXPECT_TRUE(Address::read("[::1]:0"));
  for (const char* text : {"0.0.0.0:80", "[::]:80", "192.168.1.2:80", "example.org:80", ":80x", "",
                           "65536", "-1", "127.0.0.1", "127.0.0.1:", "[::ffff:10.0.0.1]:1", "1 "}) {
    const auto address = Address::read(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().message, HasSubstr("127.0.0.1:PORT"));
  }
}

TEST(WebAddress, ThatIsTakenIsAnError) {
  const auto first = Address::read("0")->listen();
  ASSERT_TRUE(first);
  const auto second = Address::read(place_of(*first))->listen();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("Address already in use"));
}

TEST(WebAddress, OnlyNamesOfThisMachineAreItsHosts) {
  for (const char* host : {"localhost", "LOCALHOST:9000", "127.0.0.1", "127.0.0.1:41234", "[::1]",
                           "[::1]:80", "127.1.2.3:1"})
    EXPECT_TRUE(is_own_host(host)) << host;
  for (const char* host : {"", "example.org", "example.org:80", "localhost.example.org",
                           "127.0.0.1.example.org", "10.0.0.1", "0.0.0.0", "127.0.0.1:",
                           "127.0.0.1:x", "::1", "localhost ", "[::1", "127.0.0.1@example.org"})
    EXPECT_FALSE(is_own_host(host)) << host;
}

using ::testing::EndsWith;
using ::testing::Not;

int status_of(const std::string& lines) {
  const auto request = read_request(lines + "\r\n\r\n", "/t/");
  return request ? request->status : 0;
}

TEST(WebRequest, OfThePageIsAGetOrAHeadOfThisMachine) {
  const auto get = read_request(
      "GET /t/ HTTP/1.1\r\nhost:\t127.0.0.1:80 \r\nIf-None-Match: \"3\"\r\n\r\nmore", "/t/");
  ASSERT_TRUE(get);
  EXPECT_EQ(get->status, 200);
  EXPECT_FALSE(get->without_body);
  EXPECT_EQ(get->known, "\"3\"");
  EXPECT_TRUE(read_request("HEAD /t/ HTTP/1.0\r\nHost: localhost\r\n\r\n", "/t/")->without_body);
}

TEST(WebRequest, OfAnythingElseIsRefused) {
  for (const char* path :
       {"/", "/t", "/t/x", "/t/?a", "/T/", "t/", "*", "http://127.0.0.1/t/", "/t/ /t/", "//t/"})
    EXPECT_EQ(status_of(std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost"), 404) << path;
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get", "CONNECT", ""})
    EXPECT_EQ(status_of(std::string(method) + " /t/ HTTP/1.1\r\nHost: localhost"), 405) << method;
  EXPECT_EQ(status_of("GET /t/ HTTP/1.1\r\nHost: example.org"), 403);
  for (const char* lines :
       {"", "GET", "GET /t/", "GET /t/ HTTP/2\r\nHost: localhost", "GET /t/ HTTP/1.1",
        "GET /t/ HTTP/1.1\r\nHost: localhost\r\nHost: localhost",
        "GET /t/ HTTP/1.1\r\nHost : localhost", "GET /t/ HTTP/1.1\r\nHost: localhost\r\n folded: x",
        "GET /t/ HTTP/1.1\r\nHost: localhost\r\nno colon",
        "GET /t/ HTTP/1.1\r\nHost: localhost\nHost: example.org", "GET /\x01/ HTTP/1.1"})
    EXPECT_EQ(status_of(lines), 400) << lines;
}

TEST(WebRequest, HasABound) {
  const std::string line = "GET /t/ HTTP/1.1\r\nHost: localhost\r\nX: ";
  EXPECT_FALSE(read_request(line + std::string(most_request - line.size(), 'x'), "/t/"));
  EXPECT_EQ(read_request(line + std::string(most_request, 'x'), "/t/")->status, 431);
  EXPECT_EQ(status_of(line + std::string(most_request, 'x')), 431);
}

TEST(WebRequest, AnAnswerMayBeKeptByNobodyAndShownInNoOtherPage) {
  const std::string head = head_of(200, 12, "\"3\"");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  for (const char* line :
       {"Content-Length: 12\r\n", "ETag: \"3\"\r\n", "Cache-Control: no-store",
        "frame-ancestors 'none'", "default-src 'none'", "nosniff", "Connection: close"})
    EXPECT_THAT(head, HasSubstr(line));
  EXPECT_THAT(head_of(405, 0, ""), HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(head_of(304, 0, "\"3\""), Not(HasSubstr("Content-Length")));
}

}  // namespace
}  // namespace stab::client::web
