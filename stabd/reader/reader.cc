// SPDX-License-Identifier: MIT
#include "stabd/reader/reader.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <memory>
#include <string>

#include "base/text.h"
#include "machine/processes.h"
#include "stabd/protocol/reading.h"
#include "stabd/reader/answer_file.h"
#include "stabd/reader/answers.h"

namespace stab::reader {
namespace {

constexpr int request_fd = 3;

// Whatever else wants to run goes first. Where it cannot be done we only take longer from others.
// While the running experiment waits for an answer, no trial runs.
void give_way(protocol::Reading reading) {
  if (reading == protocol::Reading::look || reading == protocol::Reading::finish) return;
  machine::be_the_first_to_go();
  const sched_param none{};
  static_cast<void>(sched_setscheduler(0, SCHED_IDLE, &none));
  static_cast<void>(setpriority(PRIO_PROCESS, 0, 19));
}

Result<void> refuse(AnswerFile& file, const std::string& why) {
  if (auto begun = file.begin(); !begun) return begun;
  if (auto added = file.add(protocol::encode_refusal(why)); !added) return added;
  return file.end();
}

Result<void> answer_request(const protocol::ReadRequest& request, AnswerFile& file) {
  give_way(request.reading);
  if (request.protocol != protocol::version) return fail(protocol::reader_mismatch());
  if (is_of_archive(request.reading)) {
    if (auto begun = file.begin(); !begun) return begun;
    return answer_of_archive(request, file);
  }
  auto reader = store::Reader::open(request.database);
  if (!reader) return fail(reader.error().message);
  if (auto begun = file.begin(); !begun) return begun;
  return answer(**reader, request, file);
}

}  // namespace

Result<void> answer_in(int descriptor) {
  AnswerFile file(descriptor);
  const auto line = file.request();
  if (!line) return std::unexpected(line.error());
  const auto request = protocol::decode<protocol::ReadRequest>(*line);
  if (!request) return refuse(file, request.error().message);
  try {
    const auto answered = answer_request(*request, file);
    // What was written until then is no answer.
    return answered ? file.end() : refuse(file, answered.error().message);
  } catch (const std::exception& error) {
    return refuse(file, fmt::format("stabd cannot answer this: {}", one_line(error.what(), 200)));
  }
}

int serve() {
  return answer_in(request_fd) ? 0 : 1;
}

}  // namespace stab::reader
