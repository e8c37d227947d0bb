// SPDX-License-Identifier: MIT
#include "client/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fstream>
#include <optional>
#include <thread>

#include "base/testing.h"

namespace stab::client {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

// Connects a client to a server that answers the first line with this one, or hangs up. The socket
// is in a folder that may have another file.
Result<Client> greeted_with(const std::optional<std::string>& answer,
                            std::size_t most = Client::max_answer, const std::string& beside = "") {
  const test::Folder folder;
  const std::string path = folder / "s.sock";
  if (!beside.empty()) std::ofstream(folder / beside) << "why\n";
  const Fd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  EXPECT_EQ(bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(listen(server.get(), 1), 0);
  const std::jthread other([&] {
    const Fd connection(accept(server.get(), nullptr, nullptr));
    protocol::Channel channel(connection.get(), 1 << 20);
    static_cast<void>(channel.receive());
    if (answer) static_cast<void>(channel.send(*answer));
  });
  return Client::connect({path}, most);
}

TEST(Client, ADaemonOfTheFirstVersionDoesNotKnowTheGreeting) {
  const auto client =
      greeted_with(R"({"error":"stabd does not know the request 'hello'","ok":false})");
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("is older than this stabctl"));
  EXPECT_THAT(client.error().message, HasSubstr("start the newer stabd"));
  EXPECT_THAT(client.error().message, EndsWith("stabd does not know the request 'hello'"));
}

TEST(Client, ARefusalOfADaemonThatIsNotOlderIsShownAsItIs) {
  const auto client = greeted_with(protocol::encode_refusal("you have too many connections"));
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().message, "you have too many connections");
}

TEST(Client, AnAnswerThatIsNoneIsAnError) {
  for (const char* answer : {"", "hello", "{}", R"({"ok":true})", R"({"ok":1})"})
    EXPECT_FALSE(greeted_with(answer)) << answer;
}

TEST(Client, SaysWhereTheLogOfADaemonIsThatHangsUp) {
  const auto of_daemon = greeted_with(std::nullopt);
  ASSERT_FALSE(of_daemon);
  EXPECT_THAT(of_daemon.error().message,
              AllOf(HasSubstr("stabd closed the connection"), HasSubstr("'journalctl -u stabd'")));
  const auto of_run = greeted_with(std::nullopt, Client::max_answer, "stabd.log");
  ASSERT_FALSE(of_run);
  EXPECT_THAT(of_run.error().message, AllOf(EndsWith("/stabd.log"), Not(HasSubstr("journalctl"))));
}

TEST(Client, AnAnswerThatIsTooLargeIsAnErrorThatNamesTheLimitAndAWayOut) {
  const auto client = greeted_with(std::string(3 << 20, 'x'), 1 << 20);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("larger than 1 MiB"));
  EXPECT_THAT(client.error().message, HasSubstr("--folder FOLDER"));
}

}  // namespace
}  // namespace stab::client
