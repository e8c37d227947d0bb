// SPDX-License-Identifier: MIT
#include "machine/migrations.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>

#include "base/fd.h"

namespace stab::machine {

std::optional<std::int64_t> migrations_in(std::string_view sched) {
  // The kernel pads the name and the number: "se.nr_migrations      :       3".
  constexpr std::string_view name = "se.nr_migrations ";
  const auto place = sched.find(name);
  if (place == std::string_view::npos || (place != 0 && sched[place - 1] != '\n'))
    return std::nullopt;
  std::string_view line = sched.substr(place + name.size());
  const auto end = line.find('\n');
  if (end == std::string_view::npos) return std::nullopt;  // the text was cut
  line = line.substr(0, end);
  const auto digits = line.find_first_not_of(" :\t");
  if (digits == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const auto [stop, error] =
      std::from_chars(line.data() + digits, line.data() + line.size(), number);
  if (error != std::errc() || stop != line.data() + line.size() || number < 0) return std::nullopt;
  return number;
}

std::optional<std::int64_t> migrations_of(pid_t process) {
  std::array<char, 32> path{"/proc/self/sched"};
  if (process != 0)
    *fmt::format_to_n(path.data(), path.size() - 1, "/proc/{}/sched", process).out = 0;
  const Fd fd(open(path.data(), O_RDONLY | O_CLOEXEC));
  std::array<char, 2048> text;  // the line is near the beginning
  const ssize_t size = fd ? read(fd.get(), text.data(), text.size()) : -1;
  if (size <= 0) return std::nullopt;
  return migrations_in({text.data(), static_cast<std::size_t>(size)});
}

}  // namespace stab::machine
