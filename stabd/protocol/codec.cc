// SPDX-License-Identifier: MIT
#include "stabd/protocol/codec.h"

#include "stabd/protocol/messages.h"
#include "stabd/protocol/reading.h"
#include "stabd/protocol/work.h"

namespace stab::protocol {
namespace {

// The daemon is believed more than others: a list may be long.
constexpr std::size_t max_reply_values = std::size_t{1} << 24;

template <class M>
void check_tag(const Parsed& object) {
  constexpr Tag wanted = tag<M>;
  const auto found = object.find(wanted.key);
  if (found == object.end()) throw Mismatch(fmt::format("'{}' is missing", wanted.key));
  const bool same = wanted.value.empty() ? *found == true : *found == wanted.value;
  if (!same)
    throw Mismatch(fmt::format("'{}' is {} and not {}", wanted.key, shown(*found),
                               wanted.value.empty() ? "true" : wanted.value));
}

template <class Function>
auto caught(Function function) -> Result<decltype(function())> {
  try {
    return function();
  } catch (const std::exception& error) {
    return fail(fmt::format("not a message of stabd: {}", one_line(error.what(), 300)));
  }
}

template <class M>
M read_message(const Parsed& object) {
  check_tag<M>(object);
  M message{};
  read(object, message, Field{}, "the message");
  return message;
}

Parsed whole(std::string_view line, std::size_t values = max_values) {
  auto object = parse(line, values);
  if (!object) throw Mismatch(object.error().message);
  if (!object->is_object()) throw Mismatch("it is no object");
  return std::move(*object);
}

// The alternative of a variant whose tag the line has.
template <class Variant>
Result<Variant> decode_any(std::string_view line, std::string_view unknown) {
  return caught([&]() -> Variant {
    const Parsed object = whole(line);
    std::optional<Variant> found;
    std::string name;
    boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, Variant>>([&](auto id) {
      using M = typename decltype(id)::type;
      const auto key = object.find(tag<M>.key);
      if (key == object.end()) throw Mismatch(fmt::format("'{}' is missing", tag<M>.key));
      if (!found && *key == tag<M>.value) found = read_message<M>(object);
      name = shown(*key);
    });
    if (!found) throw Mismatch(fmt::format("{} {}", unknown, name));
    return std::move(*found);
  });
}

}  // namespace

template <class M>
std::string encode(const M& message) {
  json object;
  write_tag<M>(object);
  write_members(message, object);
  return dump(object);
}

template <class M>
Result<M> decode(std::string_view line) {
  return caught([&] { return read_message<M>(whole(line)); });
}

template <class T>
std::string to_text(const T& value, int indent) {
  return dump(write(value), indent);
}

template <class T>
Result<T> from_text(std::string_view text) {
  return caught([&] {
    const auto from = parse(text);
    if (!from) throw Mismatch(from.error().message);
    T value{};
    read(*from, value, Field{}, "it");
    return value;
  });
}

template <class Reply>
Result<Reply> decode_reply(std::string_view line) {
  std::string refusal;
  auto reply = caught([&]() -> Reply {
    const Parsed object = whole(line, max_reply_values);
    if (const auto ok = object.find("ok"); ok != object.end() && *ok == false) {
      Refusal refused;
      read(object, refused, Field{}, "the answer");
      refusal = refused.error.empty() ? "stabd refused without a reason" : refused.error;
      return {};
    }
    return read_message<Reply>(object);
  });
  if (!refusal.empty()) return fail(refusal);
  return reply;
}

std::string encode_refusal(const std::string& error) {
  json object;
  object["ok"] = false;
  write_members(Refusal{.error = error}, object);
  return dump(object);
}

std::string worker_mismatch() {
  return "the program of stabd was replaced while the daemon ran, so that its worker is of another "
         "version: start the daemon anew, then submit the plan again";
}

std::string reader_mismatch() {
  return "the program of stabd was replaced while the daemon ran, so that its reader is of another "
         "version: start the daemon anew, then ask again";
}

Result<Request> decode_request(std::string_view line) {
  return decode_any<Request>(line, "stabd does not know the request");
}

Result<WorkRequest> decode_work(std::string_view line) {
  return decode_any<WorkRequest>(line, "a worker does not know");
}

Result<WorkReply> decode_work_reply(std::string_view line) {
  return decode_any<WorkReply>(line, "a worker does not answer");
}

#define STAB_MESSAGE(M)                  \
  template std::string encode(const M&); \
  template Result<M> decode(std::string_view)
#define STAB_VERB(verb)        \
  STAB_MESSAGE(verb##Request); \
  STAB_MESSAGE(verb##Reply);   \
  template Result<verb##Reply> decode_reply(std::string_view)

STAB_VERB(Hello);
STAB_VERB(Version);
STAB_VERB(Submit);
STAB_VERB(List);
STAB_VERB(Status);
STAB_VERB(Watch);
STAB_VERB(Cancel);
STAB_VERB(Pause);
STAB_MESSAGE(ResumeRequest);
STAB_VERB(Retry);
STAB_VERB(Remove);
STAB_VERB(Logs);
STAB_VERB(Report);
STAB_MESSAGE(CompareRequest);
STAB_VERB(Export);
STAB_VERB(Import);
STAB_VERB(Replay);
STAB_VERB(Calibrations);
STAB_VERB(Learn);
STAB_MESSAGE(Progress);
template Result<Progress> decode_reply(std::string_view);
STAB_MESSAGE(ReadRequest);
STAB_MESSAGE(LookReply);
template Result<LookReply> decode_reply(std::string_view);
STAB_MESSAGE(FindingsReply);
template Result<FindingsReply> decode_reply(std::string_view);
STAB_MESSAGE(SetupVersion);
STAB_MESSAGE(SetupRequest);
STAB_MESSAGE(SetupReply);
STAB_MESSAGE(BuildRequest);
STAB_MESSAGE(BuildReply);
STAB_MESSAGE(RunRequest);
STAB_MESSAGE(RunReply);
#undef STAB_VERB
#undef STAB_MESSAGE

template std::string to_text(const std::vector<Summary>&, int);
template std::string to_text(const StatusReply&, int);
template std::string to_text(const PauseReply&, int);
template std::string to_text(const RetryReply&, int);
template std::string to_text(const RemoveReply&, int);
template std::string to_text(const LogEntry&, int);
template std::string to_text(const ReplayReply&, int);
template std::string to_text(const Progress&, int);
template std::string to_text(const std::vector<KnownMachine>&, int);
template Result<std::vector<KnownMachine>> from_text(std::string_view);

}  // namespace stab::protocol
