// SPDX-License-Identifier: MIT
// Parses JSON text from untrusted sources into a document of bounded size, and converts described
// values to JSON and back. codec.cc instantiates the templates for the messages; a source file that
// keeps a described value of its own in a file includes this header for to_text() and from_text().
#pragma once

#include <fmt/format.h>

#include <array>
#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "design/resolve.h"
#include "protocol/document.h"
#include "protocol/field.h"
#include "protocol/reading.h"
#include "store/records.h"

namespace stab::protocol {

// JSON that we write keeps the order of its fields. Parsed JSON does not, because each look-up in
// an ordered object goes through all its keys.
using json = nlohmann::ordered_json;
using Parsed = nlohmann::json;

inline constexpr std::size_t max_depth = 16;

// Checks the depth and the number of values before it allocates anything.
Result<Parsed> parse(std::string_view text, std::size_t values = max_values);

// Replaces bytes that are not UTF-8, because a program's output may contain any bytes.
std::string dump(const json& value, int indent = -1);

// Shows a value in an error message: short, and on one line.
std::string shown(const Parsed& value);

// read() throws it. Its text names the field and the expected value.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
concept Described = boost::describe::has_describe_members<T>::value;

template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool>;

// With the members of its bases, which come first.
template <Described T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public |
                                                         boost::describe::mod_inherited>;

template <class D>
constexpr Field field_of(D member) {
  Field known = field<D::pointer>;
  if (known.name.empty()) known.name = member.name;
  return known;
}

// Writes and reads the values of one type.
struct Codec {
  json (*write)(const void* value);
  void (*read)(const Parsed& from, void* value, const Field& field, std::string_view where);
  bool (*lacks)(const void* value);  // whether it is an empty optional
};

// Each described type has a table of its members, so the code that walks the tables is compiled
// only once and not for every type.
struct Member {
  Field field;
  void* (*in)(void* object);
  const Codec* codec;
};

void write_members(const void* object, std::span<const Member> members, json& to);
void read_members(const Parsed& from, void* object, std::span<const Member> members,
                  std::string_view where);
void write_tag(const Tag& tag, json& to);

[[noreturn]] void refuse(std::string_view where, const std::string& wanted, const Parsed& found);

// Each enumeration has its own form on the wire, a text or a number. An unknown value is read as
// the worst one or as the one that asks for the most; an unknown scope is refused.
inline json write_enum(store::TrialStatus value) {
  return store::to_string(value);
}
inline json write_enum(store::CalibrationScope value) {
  return store::to_string(value);
}
inline json write_enum(store::StopCause value) {
  return store::to_string(value);
}
inline json write_enum(store::Quietness value) {
  return store::to_string(value);
}
template <class E>
json write_enum(E value) {
  return static_cast<int>(value);
}

// Returns the number, or nothing if it is negative or above `last`, the enumeration's last value.
// Refuses anything that is not a whole number.
std::optional<int> number_in(const Parsed& from, int last, std::string_view where);
std::string text_in(const Parsed& from, std::string_view where);

// A row for each enumeration that is written as a number. An enumeration without a row doesn't compile.
template <class E>
struct Numbered {
  E last;
  E otherwise;  // stands for an unknown number
};
template <class E>
inline constexpr auto numbered = nullptr;
template <>
inline constexpr Numbered numbered<store::BuildStatus>{store::BuildStatus::failed,
                                                       store::BuildStatus::failed};
template <>
inline constexpr Numbered numbered<counters::Status>{counters::Status::absent,
                                                     counters::Status::absent};
template <>
inline constexpr Numbered numbered<Reading>{Reading::notice, Reading::verify};
template <>
inline constexpr Numbered numbered<plan::Pick>{plan::Pick::samples, plan::Pick::only};
template <>
inline constexpr Numbered numbered<plan::Needs>{plan::Needs::randomized, plan::Needs::randomized};
template <>
inline constexpr Numbered numbered<stats::Unit>{stats::Unit::number, stats::Unit::number};
template <>
inline constexpr Numbered numbered<stats::Scope>{stats::Scope::like_these,
                                                 stats::Scope::like_these};
template <>
inline constexpr Numbered numbered<stats::Verdict>{stats::Verdict::unsure, stats::Verdict::unsure};
template <>
inline constexpr Numbered numbered<stats::causal::PointKind>{stats::causal::PointKind::latency,
                                                             stats::causal::PointKind::throughput};
template <>
inline constexpr Numbered numbered<stats::causal::Finding>{stats::causal::Finding::unclear,
                                                           stats::causal::Finding::too_few};

template <class E>
void read_enum(const Parsed& from, E& to, std::string_view where) {
  const auto known = number_in(from, static_cast<int>(numbered<E>.last), where);
  to = known ? static_cast<E>(*known) : numbered<E>.otherwise;
}
inline void read_enum(const Parsed& from, store::TrialStatus& to, std::string_view where) {
  to = store::trial_status(text_in(from, where)).value_or(store::TrialStatus::not_started);
}
inline void read_enum(const Parsed& from, store::CalibrationScope& to, std::string_view where) {
  const auto scope = store::calibration_scope(text_in(from, where));
  if (!scope) refuse(where, "benchmark, any or suite", from);
  to = *scope;
}
inline void read_enum(const Parsed& from, store::StopCause& to, std::string_view where) {
  const auto cause = store::stop_cause(text_in(from, where));
  if (!cause) refuse(where, "time or rule", from);
  to = *cause;
}
inline void read_enum(const Parsed& from, store::Quietness& to, std::string_view where) {
  const auto quietness = store::quietness_named(text_in(from, where));
  if (!quietness) refuse(where, "good, fair or poor", from);
  to = *quietness;
}

template <class T>
json write(const T& value);
template <class T>
json write(const std::vector<T>& list);
template <class T>
json write(const std::optional<T>& value);

template <Described T>
constexpr auto table_of();
// The members of a message or of a part of one.
template <Described T>
inline constexpr auto members = table_of<T>();

template <class T>
json write(const std::vector<T>& list) {
  json array = json::array();
  for (const T& each : list) array.push_back(write(each));
  return array;
}

template <class T>
json write(const std::optional<T>& value) {
  return value ? write(*value) : json(nullptr);
}

template <class T>
json write(const T& value) {
  if constexpr (Described<T>) {
    json object = json::object();
    // Messages that people and scripts see have the same tag as on the wire.
    if constexpr (requires { T::tag; }) write_tag(T::tag, object);
    write_members(&value, members<T>, object);
    return object;
  } else if constexpr (std::is_enum_v<T>) {
    return write_enum(value);
  } else if constexpr (std::same_as<T, std::chrono::nanoseconds>) {
    return value.count();
  } else if constexpr (std::same_as<T, counters::Number>) {
    return std::visit([](auto number) { return json(number); }, value);
  } else {
    return value;
  }
}

// Returns a whole number between these bounds, modulo 2^64.
std::uint64_t whole_in(const Parsed& from, std::int64_t least, std::uint64_t most,
                       std::string_view where);

template <Whole T>
void read(const Parsed& from, T& to, const Field& field, std::string_view where) {
  using Limits = std::numeric_limits<T>;
  const auto least = std::max<std::int64_t>(field.least, std::int64_t{Limits::min()});
  const auto most = std::min(field.most != 0 ? field.most : std::uint64_t{Limits::max()},
                             std::uint64_t{Limits::max()});
  to = static_cast<T>(whole_in(from, least, most, where));
}

void read(const Parsed& from, bool& to, const Field&, std::string_view where);
void read(const Parsed& from, double& to, const Field&, std::string_view where);
// Reads a whole number as an integer, and any other number as a double.
void read(const Parsed& from, counters::Number& to, const Field& field, std::string_view where);
void read(const Parsed& from, std::string& to, const Field& field, std::string_view where);
void read(const Parsed& from, std::chrono::nanoseconds& to, const Field& field,
          std::string_view where);
void read(const Parsed& from, std::map<std::string, std::string>& to, const Field& field,
          std::string_view where);

template <class E>
  requires std::is_enum_v<E>
void read(const Parsed& from, E& to, const Field&, std::string_view where) {
  read_enum(from, to, where);
}

// Throws a Mismatch if there are more items than the field allows.
void check_items(const Parsed& from, const Field& field, std::string_view where);

template <Described T>
void read(const Parsed& from, T& to, const Field&, std::string_view where) {
  read_members(from, &to, members<T>, where);
}

template <class T>
void read(const Parsed& from, std::vector<T>& to, const Field& field, std::string_view where) {
  if (!from.is_array()) refuse(where, "a list", from);
  check_items(from, field, where);
  to.assign(from.size(), T{});
  for (std::size_t i = 0; i < from.size(); ++i) read(from[i], to[i], Field{}, where);
}

template <class T>
void read(const Parsed& from, std::optional<T>& to, const Field& field, std::string_view where) {
  if (from.is_null())
    to.reset();
  else
    read(from, to.emplace(), field, where);
}

template <class T>
inline constexpr Codec codec{
    .write = [](const void* value) -> json { return write(*static_cast<const T*>(value)); },
    .read = [](const Parsed& from, void* value, const Field& field,
               std::string_view where) { read(from, *static_cast<T*>(value), field, where); },
    .lacks =
        [](const void* value) {
          if constexpr (requires(const T& t) { t.has_value(); })
            return !static_cast<const T*>(value)->has_value();
          else
            return false;
        }};

template <Described T, class D>
constexpr Member member_of(D described) {
  using Value = std::remove_reference_t<decltype(std::declval<T&>().*D::pointer)>;
  return {.field = field_of(described),
          .in = [](void* object) -> void* { return &(static_cast<T*>(object)->*D::pointer); },
          .codec = &codec<Value>};
}

template <Described T>
constexpr auto table_of() {
  return []<template <class...> class List, class... D>(List<D...>) {
    return std::array<Member, sizeof...(D)>{member_of<T>(D{})...};
  }(Members<T>{});
}

std::unexpected<Error> no_message(const std::exception& error);

template <class T>
std::string to_text(const T& value, int indent) {
  return dump(write(value), indent);
}

template <class T>
Result<T> from_text(std::string_view text, std::size_t values) {
  T value{};
  try {
    const auto from = parse(text, values);
    if (!from) throw Mismatch(from.error().message);
    read(*from, value, Field{}, "it");
  } catch (const std::exception& error) {
    return no_message(error);
  }
  return value;
}

}  // namespace stab::protocol
