// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "client/streams.h"

namespace stab::client {
namespace {

TEST(ForTerminal, LinesStayAndOtherControlCharactersDoNot) {
  EXPECT_EQ(for_terminal("a\n\x1b[2Jb\tc\r\n\n"), "a\n [2Jb c \n\n");
  EXPECT_EQ(for_terminal("\xc2\x9b"
                         "31mx"),
            "  31mx");
  EXPECT_EQ(for_terminal(""), "");
}

// A terminal of our own in place of stdout.
class Terminal {
 public:
  Terminal() : ours_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), before_(dup(1)) {
    grantpt(ours_.get());
    unlockpt(ours_.get());
    const Fd theirs(open(ptsname(ours_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios raw{};
    tcgetattr(theirs.get(), &raw);
    cfmakeraw(&raw);
    tcsetattr(theirs.get(), TCSANOW, &raw);
    dup2(theirs.get(), 1);
  }
  ~Terminal() { dup2(before_.get(), 1); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void set_width(unsigned short columns) const {
    winsize size{};
    size.ws_col = columns;
    ioctl(ours_.get(), TIOCSWINSZ, &size);
  }
  // So many bytes, however long they take, and what comes soon after them.
  std::string shown(std::size_t bytes) const {
    std::string text;
    std::array<char, 4096> buffer;
    pollfd ready{ours_.get(), POLLIN, 0};
    while (poll(&ready, 1, text.size() < bytes ? 60'000 : 200) > 0) {
      const ssize_t n = read(ours_.get(), buffer.data(), buffer.size());
      if (n <= 0) break;
      text.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return text;
  }

 private:
  Fd ours_;
  Fd before_;
};

TEST(WriteOutput, ATerminalGetsColoursOfOursAndNothingElseThatItObeys) {
  const Terminal terminal;
  ASSERT_TRUE(write_output("\x1b[1mbold\x1b[0m\x1b[2J\x1b]0;t\x07\x1b[\x1b", "", Colours::ours));
  const std::string ours = "\x1b[1mbold\x1b[0m [2J ]0;t  [ ";
  EXPECT_EQ(terminal.shown(ours.size()), ours);
  ASSERT_TRUE(write_output("\x1b[1mbold\x1b[0m", "", Colours::none));
  const std::string none = " [1mbold [0m";
  EXPECT_EQ(terminal.shown(none.size()), none);
}

TEST(TerminalWidth, IsThatOfStdoutUnlessColumnsSaysAnother) {
  const Terminal terminal;
  unsetenv("COLUMNS");
  EXPECT_EQ(terminal_width(), std::nullopt) << "one that does not know its size";
  terminal.set_width(70);
  EXPECT_EQ(terminal_width(), 70U);
  setenv("COLUMNS", "50", 1);
  EXPECT_EQ(terminal_width(), 50U);
  for (const char* nonsense : {"", "0", "-3", "7x", "99999999999999999999"}) {
    setenv("COLUMNS", nonsense, 1);
    EXPECT_EQ(terminal_width(), 70U) << nonsense;
  }
  unsetenv("COLUMNS");
}

TEST(TerminalWidth, OfWhatIsNoTerminalIsNotKnown) {
  setenv("COLUMNS", "50", 1);
  const Fd before(dup(1));
  const Fd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  dup2(nowhere.get(), 1);
  const auto width = terminal_width();
  dup2(before.get(), 1);
  unsetenv("COLUMNS");
  EXPECT_EQ(width, std::nullopt);
}

}  // namespace
}  // namespace stab::client
