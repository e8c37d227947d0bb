// SPDX-License-Identifier: MIT

#include "protocol/codec.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "protocol/messages.h"
#include "protocol/reading.h"
#include "protocol/work.h"

namespace stab::protocol {
namespace {

struct Nesting {
  std::size_t depth = 0;   // the greatest depth
  std::size_t values = 1;  // an upper bound
};

// The text may be invalid JSON; the parser reports that later.
Nesting shape_of(std::string_view text) {
  Nesting shape;
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
      continue;
    }
    quoted = c == '"';
    if (c == '[' || c == '{') shape.depth = std::max(shape.depth, ++depth);
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '[' || c == '{' || c == ',') ++shape.values;
  }
  return shape;
}

}  // namespace

Result<Parsed> parse(std::string_view text, std::size_t values) {
  const Nesting shape = shape_of(text);
  if (shape.depth > max_depth)
    return fail(fmt::format("the JSON text is nested deeper than {} levels", max_depth));
  if (shape.values > values)
    return fail(fmt::format("the JSON text has more than {} values", values));
  try {
    return Parsed::parse(text);
  } catch (const Parsed::exception& error) {
    return fail(one_line(error.what(), 200));
  }
}

std::string dump(const json& value, int indent) {
  return json_text(value, indent);
}

std::string shown(const Parsed& value) {
  constexpr std::size_t enough = 40;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  if (const auto* text = value.get_ptr<const std::string*>())
    return fmt::format("'{}'", one_line(*text, enough));
  return json_text(value);
}

namespace {

// The daemon's replies may have more values than other messages: lists can be long, and clients
// trust the daemon.
constexpr std::size_t max_reply_values = std::size_t{1} << 24;

// The tag and the members of a message, which suffice to write and read it.
struct Shape {
  Tag tag;
  std::span<const Member> members;
};
template <class M>
constexpr Shape shape{.tag = tag<M>, .members = members<M>};

bool has_tag(const Parsed& value, const Tag& wanted) {
  if (wanted.value.empty()) return value.is_boolean() && value.get<bool>();
  const auto* text = value.get_ptr<const std::string*>();
  return text != nullptr && *text == wanted.value;
}

const Parsed& value_of(const Parsed& object, std::string_view key) {
  const auto found = object.find(key);
  if (found == object.end()) throw Mismatch(fmt::format("'{}' is missing", key));
  return *found;
}

void check_tag(const Parsed& object, const Tag& wanted) {
  if (const Parsed& found = value_of(object, wanted.key); !has_tag(found, wanted))
    throw Mismatch(fmt::format("'{}' is {} and not {}", wanted.key, shown(found),
                               wanted.value.empty() ? "true" : wanted.value));
}

void read_message(const Parsed& object, const Shape& shape, void* message) {
  check_tag(object, shape.tag);
  read_members(object, message, shape.members, "the message");
}

Parsed whole(std::string_view line, std::size_t values = max_values) {
  auto object = parse(line, values);
  if (!object) throw Mismatch(object.error().message);
  if (!object->is_object()) throw Mismatch("it is not an object");
  return std::move(*object);
}

Result<void> decode_into(std::string_view line, const Shape& shape, void* message) {
  try {
    read_message(whole(line), shape, message);
    return {};
  } catch (const std::exception& error) {
    return no_message(error);
  }
}

bool is_refusal(const Parsed& object) {
  const auto ok = object.find("ok");
  return ok != object.end() && ok->is_boolean() && !ok->get<bool>();
}

Refusal read_refusal(const Parsed& object) {
  Refusal refused;
  read(object, refused, Field{}, "the answer");
  if (refused.error.empty()) refused.error = "stabd refused the request without giving a reason";
  return refused;
}

// Turns a refusal into an error with the text that the daemon sent.
Result<void> decode_reply_into(std::string_view line, const Shape& reply, void* message) {
  try {
    const Parsed object = whole(line, max_reply_values);
    if (is_refusal(object)) return fail(read_refusal(object).error);
    read_message(object, reply, message);
    return {};
  } catch (const std::exception& error) {
    return no_message(error);
  }
}

std::string encode_as(const Shape& shape, const void* message) {
  json object;
  write_tag(shape.tag, object);
  write_members(message, shape.members, object);
  return dump(object);
}

// Returns the index of the shape whose tag the object has.
std::size_t which(const Parsed& object, std::span<const Shape> shapes, std::string_view unknown) {
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (has_tag(value_of(object, shapes[i].tag.key), shapes[i].tag)) return i;
  throw Mismatch(fmt::format("{} {}", unknown, shown(value_of(object, shapes.back().tag.key))));
}

// Decodes the line as the alternative of the variant that has its tag.
template <class... M>
Result<std::variant<M...>> decode_any(std::string_view line, std::string_view unknown,
                                      std::type_identity<std::variant<M...>>) {
  static constexpr std::array shapes{shape<M>...};
  static constexpr std::array<void* (*)(std::variant<M...>&), sizeof...(M)> made{
      [](std::variant<M...>& any) -> void* { return &any.template emplace<M>(); }...};
  std::variant<M...> message;
  try {
    const Parsed object = whole(line);
    const std::size_t i = which(object, shapes, unknown);
    read_message(object, shapes[i], made[i](message));
  } catch (const std::exception& error) {
    return no_message(error);
  }
  return message;
}

}  // namespace

std::unexpected<Error> no_message(const std::exception& error) {
  return fail(fmt::format("this is not a message of stabd: {}", one_line(error.what(), 300)));
}

void refuse(std::string_view where, const std::string& wanted, const Parsed& found) {
  throw Mismatch(fmt::format("'{}' must be {}, not {}", where, wanted, shown(found)));
}

void write_tag(const Tag& tag, json& to) {
  if (tag.value.empty())
    to[tag.key] = true;
  else
    to[tag.key] = tag.value;
}

void write_members(const void* object, std::span<const Member> members, json& to) {
  for (const Member& member : members) {
    // The cast is safe: nobody writes through this pointer.
    const void* value = member.in(const_cast<void*>(object));
    if (member.field.may_lack && member.codec->lacks(value)) continue;
    to[member.field.name] = member.codec->write(value);
  }
}

void read_members(const Parsed& from, void* object, std::span<const Member> members,
                  std::string_view where) {
  if (!from.is_object()) refuse(where, "an object", from);
  for (const Member& member : members) {
    const auto found = from.find(member.field.name);
    if (found != from.end())
      member.codec->read(*found, member.in(object), member.field, member.field.name);
    else if (!member.field.may_lack)
      throw Mismatch(fmt::format("'{}' is missing", member.field.name));
  }
}

std::string text_in(const Parsed& from, std::string_view where) {
  if (!from.is_string()) refuse(where, "a text", from);
  return from.get<std::string>();
}

std::optional<int> number_in(const Parsed& from, int last, std::string_view where) {
  if (!from.is_number_integer()) refuse(where, "a whole number", from);
  if (from.is_number_unsigned()) {
    const auto number = from.get<std::uint64_t>();
    if (std::cmp_less_equal(number, last)) return static_cast<int>(number);
  }
  return {};
}

std::uint64_t whole_in(const Parsed& from, std::int64_t least, std::uint64_t most,
                       std::string_view where) {
  const auto in_range = [&](auto number) {
    return !std::cmp_less(number, least) && !std::cmp_greater(number, most);
  };
  const bool good = from.is_number_unsigned()  ? in_range(from.get<std::uint64_t>())
                    : from.is_number_integer() ? in_range(from.get<std::int64_t>())
                                               : false;
  if (!good) refuse(where, fmt::format("a whole number from {} to {}", least, most), from);
  return from.get<std::uint64_t>();
}

void read(const Parsed& from, bool& to, const Field&, std::string_view where) {
  if (!from.is_boolean()) refuse(where, "true or false", from);
  to = from.get<bool>();
}

void read(const Parsed& from, double& to, const Field&, std::string_view where) {
  if (!from.is_number()) refuse(where, "a number", from);
  to = from.get<double>();
}

void read(const Parsed& from, counters::Number& to, const Field& field, std::string_view where) {
  if (from.is_number_integer())
    read(from, to.emplace<std::int64_t>(), field, where);
  else
    read(from, to.emplace<double>(), field, where);
}

void read(const Parsed& from, std::string& to, const Field& field, std::string_view where) {
  to = text_in(from, where);
  const std::uint64_t most = field.most != 0 ? field.most : most_text;
  if (to.size() > most)
    throw Mismatch(
        fmt::format("'{}' has {} bytes, but at most {} are allowed", where, to.size(), most));
}

void read(const Parsed& from, std::chrono::nanoseconds& to, const Field& field,
          std::string_view where) {
  std::int64_t number = 0;
  read(from, number, field, where);
  to = std::chrono::nanoseconds(number);
}

void read(const Parsed& from, std::map<std::string, std::string>& to, const Field& field,
          std::string_view where) {
  if (!from.is_object()) refuse(where, "an object", from);
  check_items(from, field, where);
  to.clear();
  for (const auto& [key, value] : from.items()) read(value, to[key], Field{}, where);
}

void check_items(const Parsed& from, const Field& field, std::string_view where) {
  const std::uint64_t most = field.most != 0 ? field.most : most_items;
  if (from.size() > most)
    throw Mismatch(
        fmt::format("'{}' has {} items, but at most {} are allowed", where, from.size(), most));
}

template <class M>
std::string encode(const M& message) {
  return encode_as(shape<M>, &message);
}

template <class M>
Result<M> decode(std::string_view line) {
  M message{};
  if (auto done = decode_into(line, shape<M>, &message); !done)
    return std::unexpected(done.error());
  return message;
}

template <class Reply>
Result<Reply> decode_reply(std::string_view line) {
  Reply reply{};
  if (auto done = decode_reply_into(line, shape<Reply>, &reply); !done)
    return std::unexpected(done.error());
  return reply;
}

std::string encode_refusal(const std::string& error) {
  const Refusal refusal{.error = error, .protocol = version};
  json object;
  object["ok"] = false;
  write_members(&refusal, members<Refusal>, object);
  return dump(object);
}

std::optional<Refusal> refusal_in(std::string_view line) {
  try {
    const Parsed object = whole(line, max_reply_values);
    if (is_refusal(object)) return read_refusal(object);
  } catch (const std::exception&) {
    // decode_reply() says what is wrong with the line.
  }
  return std::nullopt;
}

namespace {

constexpr std::array<std::pair<Loss, std::string_view>, 12> losses{
    {{Loss::worker, "worker"},
     {Loss::cannot_start, "cannot-start"},
     {Loss::no_node, "no-node"},
     {Loss::controller_away, "controller-away"},
     {Loss::node_lost, "node-lost"},
     {Loss::preempted, "preempted"},
     {Loss::requeued, "requeued"},
     {Loss::time_limit, "time-limit"},
     {Loss::cancelled, "cancelled"},
     {Loss::old_step, "old-step"},
     {Loss::silent, "silent"},
     {Loss::step_lost, "step-lost"}}};

}  // namespace

std::string_view to_string(Loss loss) {
  for (const auto& [each, text] : losses)
    if (each == loss) return text;
  return "step-lost";
}

Loss loss_named(std::string_view text) {
  for (const auto& [each, name] : losses)
    if (name == text) return each;
  return Loss::step_lost;
}

std::string worker_mismatch() {
  return "stabd's program file was replaced while the daemon was running, so the worker process "
         "has another version: restart the daemon, then submit the plan again";
}

std::string reader_mismatch() {
  return "stabd's program file was replaced while the daemon was running, so the reader process "
         "has another version: restart the daemon, then repeat the request";
}

Result<Request> decode_request(std::string_view line) {
  return decode_any(line, "stabd does not know the request", std::type_identity<Request>{});
}

Result<WorkRequest> decode_work(std::string_view line) {
  return decode_any(line, "a worker does not know", std::type_identity<WorkRequest>{});
}

Result<WorkReply> decode_work_reply(std::string_view line) {
  return decode_any(line, "a worker does not answer", std::type_identity<WorkReply>{});
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
STAB_VERB(Results);
STAB_VERB(Export);
STAB_VERB(Import);
STAB_VERB(Replay);
STAB_VERB(Profile);
STAB_VERB(Calibrations);
STAB_VERB(Learn);
STAB_MESSAGE(Progress);
template Result<Progress> decode_reply(std::string_view);
STAB_MESSAGE(ReadRequest);
STAB_MESSAGE(LookReply);
template Result<LookReply> decode_reply(std::string_view);
STAB_MESSAGE(PlanReply);
template Result<PlanReply> decode_reply(std::string_view);
STAB_MESSAGE(NoticeReply);
template Result<NoticeReply> decode_reply(std::string_view);
STAB_MESSAGE(FindingsReply);
template Result<FindingsReply> decode_reply(std::string_view);
STAB_MESSAGE(SetupVersion);
STAB_MESSAGE(SetupRequest);
STAB_MESSAGE(SetupReply);
STAB_MESSAGE(BuildRequest);
STAB_MESSAGE(BuildReply);
STAB_MESSAGE(RunRequest);
STAB_MESSAGE(RunReply);
STAB_MESSAGE(FetchRequest);
STAB_MESSAGE(FetchReply);
STAB_MESSAGE(KeepRequest);
STAB_MESSAGE(KeepReply);
STAB_MESSAGE(NodeReply);
STAB_MESSAGE(LostReply);
#undef STAB_VERB
#undef STAB_MESSAGE

template std::string to_text(const std::vector<Summary>&, int);
template std::string to_text(const StatusReply&, int);
template std::string to_text(const VersionReply&, int);
template std::string to_text(const PauseReply&, int);
template std::string to_text(const RetryReply&, int);
template std::string to_text(const RemoveReply&, int);
template std::string to_text(const LogEntry&, int);
template std::string to_text(const ReplayReply&, int);
template std::string to_text(const Progress&, int);
template std::string to_text(const std::vector<KnownMachine>&, int);
template Result<std::vector<KnownMachine>> from_text(std::string_view, std::size_t);

}  // namespace stab::protocol
