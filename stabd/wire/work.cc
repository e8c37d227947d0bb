// SPDX-License-Identifier: MIT
#include "stabd/wire/work.h"

#include <fmt/format.h>

#include <concepts>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace stab::wire {
namespace {

using nlohmann::json;
using std::chrono::nanoseconds;

// Program output may be any bytes: what is not UTF-8 is replaced.
std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

// json::get would convert a number with a fraction or beyond the range, which is undefined.
template <std::integral T>
T integer(const json& value) {
  const auto refuse = [&] {
    throw json::out_of_range::create(406, "not an integer of this size", &value);
  };
  if (!value.is_number_integer()) refuse();
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (!std::in_range<T>(number)) refuse();
    return static_cast<T>(number);
  }
  const auto number = value.get<std::int64_t>();
  if (!std::in_range<T>(number)) refuse();
  return static_cast<T>(number);
}

template <class T>
T value_of(const json& value) {
  if constexpr (std::integral<T> && !std::same_as<T, bool>)
    return integer<T>(value);
  else
    return value.get<T>();
}

template <class T>
std::optional<T> optional_at(const json& object, const char* key) {
  const json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional<T>(value_of<T>(value));
}

template <class Function>
auto decoded(std::string_view line, Function function) -> Result<decltype(function(json()))> {
  try {
    return function(json::parse(line));
  } catch (const json::exception& error) {
    return fail(fmt::format("not a message of stabd: {}", one_line(error.what(), 200)));
  }
}

json check_json(const plan::Check& check) {
  return {{"exit", check.exit},
          {"stdout_sha256", optional_json(check.stdout_sha256)},
          {"stdout_file", optional_json(check.stdout_file)},
          {"command", optional_json(check.command)}};
}

plan::Check check_from(const json& object) {
  return {.exit = integer<int>(object.at("exit")),
          .stdout_sha256 = optional_at<std::string>(object, "stdout_sha256"),
          .stdout_file = optional_at<std::string>(object, "stdout_file"),
          .command = optional_at<std::string>(object, "command")};
}

json reading_json(const counters::Reading& reading) {
  return {{"name", reading.name},
          {"status", static_cast<int>(reading.status)},
          {"value", reading.value},
          {"coverage", reading.coverage},
          {"reason", reading.reason}};
}

counters::Reading reading_from(const json& object) {
  const int status = integer<int>(object.at("status"));
  const bool known = status >= 0 && status <= static_cast<int>(counters::Status::absent);
  return {.name = object.at("name").get<std::string>(),
          .status = known ? static_cast<counters::Status>(status) : counters::Status::absent,
          .value = integer<std::int64_t>(object.at("value")),
          .coverage = object.at("coverage").get<double>(),
          .reason = object.at("reason").get<std::string>()};
}

json layout_json(const store::Layout& layout) {
  return {{"randomized", optional_json(layout.randomized)},
          {"kind", layout.kind},
          {"note", layout.note},
          {"seed", optional_json(layout.seed)},
          {"epochs", optional_json(layout.epochs)},
          {"given_up", optional_json(layout.given_up)},
          {"epochs_ns", optional_json(layout.epochs_ns)},
          {"longest_pause_ns", optional_json(layout.longest_pause_ns)},
          {"functions", optional_json(layout.functions)},
          {"moved_functions", optional_json(layout.moved_functions)},
          {"text_bytes", optional_json(layout.text_bytes)},
          {"moved_bytes", optional_json(layout.moved_bytes)},
          {"setup_ns", optional_json(layout.setup_ns)},
          {"main_to_exit_ns", optional_json(layout.main_to_exit_ns)},
          {"region_ns", optional_json(layout.region_ns)},
          {"regions", optional_json(layout.regions)},
          {"heap_operations", optional_json(layout.heap_operations)},
          {"heap_bytes", optional_json(layout.heap_bytes)},
          {"heap_fixed_bytes", optional_json(layout.heap_fixed_bytes)}};
}

store::Layout layout_from(const json& object) {
  const auto number = [&](const char* key) { return optional_at<std::int64_t>(object, key); };
  return {.randomized = optional_at<bool>(object, "randomized"),
          .kind = object.at("kind").get<std::string>(),
          .note = object.at("note").get<std::string>(),
          .seed = optional_at<std::uint64_t>(object, "seed"),
          .epochs = number("epochs"),
          .given_up = number("given_up"),
          .epochs_ns = number("epochs_ns"),
          .longest_pause_ns = number("longest_pause_ns"),
          .functions = number("functions"),
          .moved_functions = number("moved_functions"),
          .text_bytes = number("text_bytes"),
          .moved_bytes = number("moved_bytes"),
          .setup_ns = number("setup_ns"),
          .main_to_exit_ns = number("main_to_exit_ns"),
          .region_ns = number("region_ns"),
          .regions = number("regions"),
          .heap_operations = number("heap_operations"),
          .heap_bytes = number("heap_bytes"),
          .heap_fixed_bytes = number("heap_fixed_bytes")};
}

// What we do not know asks for the most.
plan::Needs needs_from(const json& value) {
  switch (integer<int>(value)) {
    case 0:
      return plan::Needs::nothing;
    case 1:
      return plan::Needs::runtime;
    default:
      return plan::Needs::randomized;
  }
}

}  // namespace

std::string kind_of(std::string_view line) {
  return decoded(line, [](const json& object) { return object.at("kind").get<std::string>(); })
      .value_or("");
}

std::string encode(const SetupRequest& request) {
  return dump({{"kind", "setup"}, {"cpus", request.cpus}});
}

Result<SetupRequest> decode_setup(std::string_view line) {
  return decoded(line, [](const json& object) {
    return SetupRequest{.cpus = integer<std::uint32_t>(object.at("cpus"))};
  });
}

std::string encode(const SetupReply& reply) {
  return dump({{"kind", "setup"},
               {"error", reply.error},
               {"other_cpus", reply.other_cpus},
               {"trial_cpus", reply.trial_cpus},
               {"notes", reply.notes},
               {"machine_key", reply.machine.key},
               {"machine_host", reply.machine.host},
               {"machine_facts", reply.machine.facts}});
}

Result<SetupReply> decode_setup_reply(std::string_view line) {
  return decoded(line, [](const json& object) {
    return SetupReply{.error = object.at("error").get<std::string>(),
                      .other_cpus = object.at("other_cpus").get<std::vector<unsigned>>(),
                      .trial_cpus = object.at("trial_cpus").get<std::string>(),
                      .notes = object.at("notes").get<std::vector<std::string>>(),
                      .machine = {.key = object.at("machine_key").get<std::string>(),
                                  .host = object.at("machine_host").get<std::string>(),
                                  .facts = object.at("machine_facts").get<std::string>()}};
  });
}

std::string encode(const BuildRequest& request) {
  return dump({{"kind", "build"},
               {"command", request.command},
               {"directory", request.directory},
               {"sources", request.sources},
               {"cache", request.cache},
               {"keep_tree", request.keep_tree},
               {"known_key", request.known_key},
               {"timeout_ns", request.timeout.count()}});
}

Result<BuildRequest> decode_build(std::string_view line) {
  return decoded(line, [](const json& object) {
    return BuildRequest{.command = object.at("command").get<std::string>(),
                        .directory = object.at("directory").get<std::string>(),
                        .sources = object.at("sources").get<std::vector<std::string>>(),
                        .cache = object.at("cache").get<std::string>(),
                        .keep_tree = object.at("keep_tree").get<bool>(),
                        .known_key = object.at("known_key").get<std::string>(),
                        .timeout = nanoseconds(integer<std::int64_t>(object.at("timeout_ns")))};
  });
}

std::string encode(const BuildReply& reply) {
  return dump({{"kind", "build"},
               {"status", static_cast<int>(reply.status)},
               {"key", reply.key},
               {"directory", reply.directory},
               {"out", reply.out},
               {"binary_sha256", reply.binary_sha256},
               {"output", reply.output},
               {"duration_ns", reply.duration_ns}});
}

Result<BuildReply> decode_build_reply(std::string_view line) {
  return decoded(line, [](const json& object) {
    const int status = integer<int>(object.at("status"));
    const bool known = status >= 0 && status <= static_cast<int>(store::BuildStatus::failed);
    return BuildReply{
        .status = known ? static_cast<store::BuildStatus>(status) : store::BuildStatus::failed,
        .key = object.at("key").get<std::string>(),
        .directory = object.at("directory").get<std::string>(),
        .out = object.at("out").get<std::string>(),
        .binary_sha256 = object.at("binary_sha256").get<std::string>(),
        .output = object.at("output").get<std::string>(),
        .duration_ns = integer<std::int64_t>(object.at("duration_ns"))};
  });
}

std::string encode(const RunRequest& request) {
  return dump({{"kind", "run"},
               {"argv", request.argv},
               {"env", request.env},
               {"env_bytes", request.env_bytes},
               {"directory", request.directory},
               {"stdin", request.stdin_path},
               {"aslr", request.aslr},
               {"timeout_ns", request.timeout.count()},
               {"output_limit", request.output_limit},
               {"check", check_json(request.check)},
               {"options", request.options},
               {"needs", static_cast<int>(request.needs)},
               {"response", request.response}});
}

Result<RunRequest> decode_run(std::string_view line) {
  return decoded(line, [](const json& object) {
    return RunRequest{.argv = object.at("argv").get<std::vector<std::string>>(),
                      .env = object.at("env").get<plan::Variables>(),
                      .env_bytes = integer<std::uint64_t>(object.at("env_bytes")),
                      .directory = object.at("directory").get<std::string>(),
                      .stdin_path = object.at("stdin").get<std::string>(),
                      .aslr = object.at("aslr").get<bool>(),
                      .timeout = nanoseconds(integer<std::int64_t>(object.at("timeout_ns"))),
                      .output_limit = integer<std::uint64_t>(object.at("output_limit")),
                      .check = check_from(object.at("check")),
                      .options = object.at("options").get<plan::Variables>(),
                      .needs = needs_from(object.at("needs")),
                      .response = object.at("response").get<std::string>()};
  });
}

std::string encode_run(const RunReply& reply) {
  json readings = json::array();
  for (const counters::Reading& reading : reply.readings) readings.push_back(reading_json(reading));
  return dump({{"kind", "run"},
               {"status", store::to_string(reply.status)},
               {"reason", reply.reason},
               {"exit_code", optional_json(reply.exit_code)},
               {"signal", optional_json(reply.signal)},
               {"started_ns", reply.started_ns},
               {"wall_ns", optional_json(reply.wall_ns)},
               {"user_ns", optional_json(reply.user_ns)},
               {"system_ns", optional_json(reply.system_ns)},
               {"max_rss_bytes", optional_json(reply.max_rss_bytes)},
               {"stdout_sha256", reply.stdout_sha256},
               {"stderr_tail", reply.stderr_tail},
               {"layout", layout_json(reply.layout)},
               {"readings", std::move(readings)}});
}

Result<RunReply> decode_run_reply(std::string_view line) {
  return decoded(line, [](const json& object) {
    RunReply reply;
    reply.status = store::trial_status(object.at("status").get<std::string>())
                       .value_or(store::TrialStatus::not_started);
    reply.reason = object.at("reason").get<std::string>();
    reply.exit_code = optional_at<int>(object, "exit_code");
    reply.signal = optional_at<int>(object, "signal");
    reply.started_ns = integer<std::int64_t>(object.at("started_ns"));
    reply.wall_ns = optional_at<std::int64_t>(object, "wall_ns");
    reply.user_ns = optional_at<std::int64_t>(object, "user_ns");
    reply.system_ns = optional_at<std::int64_t>(object, "system_ns");
    reply.max_rss_bytes = optional_at<std::int64_t>(object, "max_rss_bytes");
    reply.stdout_sha256 = object.at("stdout_sha256").get<std::string>();
    reply.stderr_tail = object.at("stderr_tail").get<std::string>();
    reply.layout = layout_from(object.at("layout"));
    for (const json& reading : object.at("readings"))
      reply.readings.push_back(reading_from(reading));
    return reply;
  });
}

}  // namespace stab::wire
