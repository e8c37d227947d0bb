// SPDX-License-Identifier: MIT
#include "stabd/reader/reader.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/text.h"
#include "machine/processes.h"
#include "protocol/reading.h"
#include "stabd/reader/answer_file.h"
#include "stabd/reader/answers.h"
#include "stabd/reader/bounds.h"

namespace stab::reader {
namespace {

constexpr int request_fd = 3;

// Lets everything else run first. If that is not possible, the reader only takes more time from
// others. While the running experiment waits for an answer, no trial runs, so such requests do not
// give way.
void give_way(protocol::Reading reading) {
  if (reading == protocol::Reading::look || reading == protocol::Reading::finish) return;
  // A user who submits a plan waits for the answer, even if trials leave no CPU idle.
  if (reading == protocol::Reading::plan) {
    static_cast<void>(setpriority(PRIO_PROCESS, 0, 10));
    return;
  }
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

// `line` is a client's line, which the daemon has not looked at.
Result<void> answer_request(const protocol::ReadRequest& request, std::string_view line,
                            AnswerFile& file) {
  give_way(request.reading);
  if (request.protocol != protocol::version) return fail(protocol::reader_mismatch());
  if (request.reading == protocol::Reading::plan) {
    keep_within(bounds_for(line.size()));
    if (auto alone = only_compute(request.uid, request.gid); !alone) return alone;
    if (auto begun = file.begin(); !begun) return begun;
    return answer_of_plan(request, line, file);
  }
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
  const auto text = file.request();
  if (!text) return std::unexpected(text.error());
  const std::string_view all(*text);
  const std::size_t end = std::min(all.find('\n'), all.size());
  const std::string_view rest = all.substr(std::min(end + 1, all.size()));
  const auto request = protocol::decode<protocol::ReadRequest>(all.substr(0, end));
  if (!request) return refuse(file, request.error().message);
  try {
    const auto answered = answer_request(*request, rest, file);
    // The part that was written before an error is not an answer, so a refusal replaces it.
    return answered ? file.end() : refuse(file, answered.error().message);
  } catch (const std::exception& error) {
    return refuse(file, fmt::format("stabd cannot answer this: {}", one_line(error.what(), 200)));
  }
}

int serve() {
  return answer_in(request_fd) ? 0 : 1;
}

}  // namespace stab::reader
