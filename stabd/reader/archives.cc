// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/base64.h"
#include "base/fd.h"
#include "stabd/archive/archive.h"
#include "stabd/reader/answers.h"
#include "stabd/reader/bounds.h"

namespace stab::reader {
namespace {

using protocol::Reading;
using protocol::ReadRequest;

constexpr std::size_t at_once = std::size_t{3} << 16;

Result<void> write_text(const std::string& path, AnswerFile& answer) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("cannot read the archive");
  for (;;) {
    const auto piece = read_piece(file, at_once);
    if (!piece) return std::unexpected(piece.error());
    if (piece->empty()) return {};
    if (auto added = answer.add(to_base64(*piece)); !added) return added;
  }
}

}  // namespace

bool is_of_archive(Reading reading) {
  return reading == Reading::archive || reading == Reading::import;
}

Result<void> answer_of_archive(const ReadRequest& request, AnswerFile& file) {
  if (request.reading == Reading::import) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(request.file, error);
    if (error) return fail("cannot read the archive: " + error.message());
    keep_within(bounds_for(bytes));
    auto taken = archive::take_apart(request.file,
                                     {.uid = request.uid,
                                      .gid = request.gid,
                                      .believed = request.believed,
                                      .name = request.name},
                                     request.parts);
    return taken ? file.add(protocol::encode(protocol::FindingsReply())) : taken;
  }
  if (request.experiments.empty()) return fail("the request names no experiment");
  auto made = archive::write(request.database, request.experiments.front().id, request.file);
  if (!made) return made;
  return file.add_around(protocol::encode(protocol::ExportReply()),
                         [&] { return write_text(request.file, file); });
}

}  // namespace stab::reader
