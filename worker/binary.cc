// SPDX-License-Identifier: MIT
#include "worker/binary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/elf.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"

namespace stab::worker {
namespace {

constexpr std::size_t piece = std::size_t{1} << 20;
constexpr std::size_t longest_id = 64;
// The digest keeps this many bytes back for the next piece. It is more than a key or a build id, so
// that neither is ever cut in two.
constexpr std::size_t kept = 256;

// Blanks the linker's build id, a digest of the binary that depends on folder names. The linker
// chooses its length: 20 bytes by default, 8 with --build-id=fast.
void blank_build_id(std::string& content) {
  using namespace std::string_view_literals;
  // The note's type and owner, which follow two lengths.
  constexpr auto header = "\x03\0\0\0GNU\0"sv;
  for (std::size_t at = content.find(header); at != std::string::npos;
       at = content.find(header, at + 1)) {
    if (at < 8 || content.compare(at - 8, 4, "\x04\0\0\0"sv) != 0) continue;
    const std::size_t start = at + header.size();
    const std::size_t size = static_cast<unsigned char>(content[at - 4]);
    if (content.compare(at - 3, 3, "\0\0\0"sv) != 0 || size > longest_id) continue;
    if (start + size <= content.size()) content.replace(start, size, size, '\0');
  }
}

void blank_key(std::string& content, std::string_view key) {
  const std::string blank(key.size(), '0');
  for (std::size_t at = content.find(key); at != std::string::npos;
       at = content.find(key, at + key.size()))
    content.replace(at, key.size(), blank);
}

bool asked_to_stop(int fd) {
  pollfd stop{fd, POLLIN, 0};
  return fd >= 0 && poll(&stop, 1, 0) > 0;
}

Result<void> check_file(int fd, const std::string& path) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return fail_errno(fmt::format("cannot look at {}", path));
  if (!S_ISREG(status.st_mode)) return fail("${OUT} is not a regular file");
  if (std::cmp_greater(status.st_size, max_binary_bytes))
    return fail(fmt::format("${{OUT}} has {} bytes, but at most {} are allowed", status.st_size,
                            max_binary_bytes));
  return {};
}

constexpr std::size_t most_comment = 64U << 10;
constexpr std::size_t most_makers = 8;
constexpr std::size_t longest_maker = 100;

// Returns the beginning of the section .comment. The rest of a long section is not needed.
std::string_view comment_of(const ElfReader& elf) {
  const auto section = elf.find_section(".comment").value_or(std::nullopt);
  if (!section || section->sh_type != SHT_PROGBITS) return "";
  return elf.bytes(section->sh_offset, std::min<std::uint64_t>(section->sh_size, most_comment))
      .value_or("");
}

// The file's identity, size and times; "" if there is no such file.
std::string state_of(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return "";
  return fmt::format("{} {} {} {}.{} {}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

}  // namespace

Result<std::optional<std::string>> digest_of(const std::string& path, const Reading& reading) {
  // Without O_NONBLOCK, a FIFO that nobody writes to would block us.
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) return fail_errno("${OUT} cannot be opened");
  if (auto checked = check_file(fd.get(), path); !checked) return std::unexpected(checked.error());
  Sha256 hash;
  std::string content;
  std::string buffer(piece, '\0');
  std::uint64_t bytes = 0;
  for (;;) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("${OUT} cannot be read");
    content.append(buffer, 0, static_cast<std::size_t>(n));
    blank_key(content, reading.key);
    blank_build_id(content);
    if (n == 0) break;
    // The file may grow while we read it.
    if ((bytes += static_cast<std::uint64_t>(n)) > max_binary_bytes)
      return fail(fmt::format("${{OUT}} has more than {} bytes", max_binary_bytes));
    if (std::chrono::steady_clock::now() > reading.until)
      return fail("${OUT} could not be read before the build's timeout");
    if (asked_to_stop(reading.stop_fd)) return fail("${OUT} was not read to its end");
    if (content.size() <= kept) continue;
    hash.add(std::string_view(content).substr(0, content.size() - kept));
    content.erase(0, content.size() - kept);
  }
  hash.add(content);
  return hash.hex();
}

std::string compilers_of(const std::string& path) {
  const auto elf = ElfReader::open(path);
  if (!elf) return "";
  const std::string_view comment = comment_of(*elf);
  std::vector<std::string> makers;
  for (std::size_t at = 0; at < comment.size() && makers.size() < most_makers;) {
    const std::size_t end = std::min(comment.find('\0', at), comment.size());
    std::string_view said = comment.substr(at, end - at);
    constexpr std::string_view linker = "Linker: ";
    if (said.starts_with(linker)) said.remove_prefix(linker.size());
    std::string maker = one_line(said, longest_maker);
    if (!maker.empty() && std::ranges::find(makers, maker) == makers.end())
      makers.push_back(std::move(maker));
    at = end + 1;
  }
  std::string text;
  for (const std::string& maker : makers) text += (text.empty() ? "" : ", ") + maker;
  return text;
}

Result<std::int64_t> code_size_of(const std::string& path) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno("it cannot be read");
  const auto elf = ElfReader::of(fd.get());
  if (!elf || (elf->header().e_type != ET_EXEC && elf->header().e_type != ET_DYN) ||
      elf->header().e_phnum == 0)
    return fail("the file is not a 64-bit ELF program");
  const auto segments = elf->segments();
  if (!segments) return fail("its segments cannot be read");
  std::uint64_t bytes = 0;
  for (const Elf64_Phdr& segment : *segments) {
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (segment.p_memsz > max_binary_bytes) return fail("its segments have impossible sizes");
    bytes += segment.p_memsz;
  }
  if (bytes == 0) return fail("the file has no code that is loaded into memory");
  return static_cast<std::int64_t>(bytes);
}

Result<std::int64_t> CodeSizes::of(const std::string& path) {
  const std::string state = state_of(path);
  const auto found = known_.find(path);
  if (found != known_.end() && !state.empty() && found->second.state == state)
    return found->second.size;
  Known known{.state = state, .size = code_size_of(path)};
  return known_.insert_or_assign(path, std::move(known)).first->second.size;
}

}  // namespace stab::worker
