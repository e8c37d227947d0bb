// SPDX-License-Identifier: MIT
// A described value to JSON and back. Only codec.cc and its tests instantiate these.
// read() throws Mismatch, whose text names the field and what must stand there.
#pragma once

#include <fmt/format.h>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>
#include <chrono>
#include <concepts>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "design/resolve.h"
#include "stabd/protocol/field.h"
#include "stabd/protocol/json.h"
#include "stabd/protocol/reading.h"
#include "store/records.h"

namespace stab::protocol {

class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
concept Described = boost::describe::has_describe_members<T>::value;

template <class T>
concept Whole = std::integral<T> && !std::same_as<T, bool>;

template <Described T>
using Members = boost::describe::describe_members<T, boost::describe::mod_public>;

template <class D>
constexpr Field field_of(D member) {
  Field known = field<D::pointer>;
  if (known.name.empty()) known.name = member.name;
  return known;
}

[[noreturn]] inline void refuse(std::string_view where, const std::string& wanted,
                                const Parsed& found) {
  throw Mismatch(fmt::format("'{}' must be {}, not {}", where, wanted, shown(found)));
}

// Enumerations, each as it has always been written. One that was never heard of is taken for the
// worst, or asks for the most.
inline json write_enum(store::TrialStatus value) {
  return store::to_string(value);
}
inline json write_enum(store::CalibrationScope value) {
  return store::to_string(value);
}
template <class E>
json write_enum(E value) {
  return static_cast<int>(value);
}

template <class E>
E numbered(const Parsed& from, E last, E otherwise, std::string_view where) {
  if (!from.is_number_integer()) refuse(where, "a whole number", from);
  const bool known = from >= 0 && from <= static_cast<int>(last);
  return known ? static_cast<E>(from.get<int>()) : otherwise;
}
inline std::string text_in(const Parsed& from, std::string_view where) {
  if (!from.is_string()) refuse(where, "a text", from);
  return from.get<std::string>();
}
inline void read_enum(const Parsed& from, store::TrialStatus& to, std::string_view where) {
  to = store::trial_status(text_in(from, where)).value_or(store::TrialStatus::not_started);
}
inline void read_enum(const Parsed& from, store::CalibrationScope& to, std::string_view where) {
  const auto scope = store::calibration_scope(text_in(from, where));
  if (!scope) refuse(where, "benchmark, any or suite", from);
  to = *scope;
}
inline void read_enum(const Parsed& from, store::BuildStatus& to, std::string_view where) {
  to = numbered(from, store::BuildStatus::failed, store::BuildStatus::failed, where);
}
inline void read_enum(const Parsed& from, counters::Status& to, std::string_view where) {
  to = numbered(from, counters::Status::absent, counters::Status::absent, where);
}
inline void read_enum(const Parsed& from, Reading& to, std::string_view where) {
  to = numbered(from, Reading::verify, Reading::verify, where);
}
inline void read_enum(const Parsed& from, plan::Needs& to, std::string_view where) {
  to = numbered(from, plan::Needs::randomized, plan::Needs::randomized, where);
}

template <class T>
json write(const T& value);
template <class T>
json write(const std::vector<T>& list);
template <class T>
json write(const std::optional<T>& value);

template <Described T>
void write_members(const T& value, json& object) {
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    const Field known = field_of(member);
    const auto& what = value.*member.pointer;
    if constexpr (requires { what.has_value(); })
      if (!what && known.may_lack) return;
    object[known.name] = write(what);
  });
}

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

template <class M>
void write_tag(json& object) {
  if constexpr (tag<M>.value.empty())
    object[tag<M>.key] = true;
  else
    object[tag<M>.key] = tag<M>.value;
}

template <class T>
json write(const T& value) {
  if constexpr (Described<T>) {
    json object = json::object();
    // What is shown to people and scripts says what it is, as on the wire.
    if constexpr (requires { T::tag; }) write_tag<T>(object);
    write_members(value, object);
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

template <Whole T>
void read(const Parsed& from, T& to, const Field& field, std::string_view where) {
  using Limits = std::numeric_limits<T>;
  const T least =
      std::cmp_greater(field.least, Limits::min()) ? static_cast<T>(field.least) : Limits::min();
  const T most = field.most != 0 && std::cmp_less(field.most, Limits::max())
                     ? static_cast<T>(field.most)
                     : Limits::max();
  const auto in_range = [&](auto number) {
    if (std::cmp_less(number, least) || std::cmp_greater(number, most)) return false;
    to = static_cast<T>(number);
    return true;
  };
  const bool good = from.is_number_unsigned()  ? in_range(from.get<std::uint64_t>())
                    : from.is_number_integer() ? in_range(from.get<std::int64_t>())
                                               : false;
  if (!good) refuse(where, fmt::format("a whole number from {} to {}", least, most), from);
}

inline void read(const Parsed& from, bool& to, const Field&, std::string_view where) {
  if (!from.is_boolean()) refuse(where, "true or false", from);
  to = from.get<bool>();
}

inline void read(const Parsed& from, double& to, const Field&, std::string_view where) {
  if (!from.is_number()) refuse(where, "a number", from);
  to = from.get<double>();
}

// A whole number stays one.
inline void read(const Parsed& from, counters::Number& to, const Field& field,
                 std::string_view where) {
  if (from.is_number_integer())
    read(from, to.emplace<std::int64_t>(), field, where);
  else
    read(from, to.emplace<double>(), field, where);
}

inline void read(const Parsed& from, std::string& to, const Field& field, std::string_view where) {
  to = text_in(from, where);
  const std::uint64_t most = field.most != 0 ? field.most : most_text;
  if (to.size() > most)
    throw Mismatch(fmt::format("'{}' has {} bytes, and {} are allowed", where, to.size(), most));
}

inline void read(const Parsed& from, std::chrono::nanoseconds& to, const Field& field,
                 std::string_view where) {
  std::int64_t number = 0;
  read(from, number, field, where);
  to = std::chrono::nanoseconds(number);
}

template <class E>
  requires std::is_enum_v<E>
void read(const Parsed& from, E& to, const Field&, std::string_view where) {
  read_enum(from, to, where);
}

inline void check_items(const Parsed& from, const Field& field, std::string_view where) {
  const std::uint64_t most = field.most != 0 ? field.most : most_items;
  if (from.size() > most)
    throw Mismatch(fmt::format("'{}' has {} items, and {} are allowed", where, from.size(), most));
}

template <Described T>
void read(const Parsed& from, T& to, const Field& field, std::string_view where);

template <class T>
void read(const Parsed& from, std::vector<T>& to, const Field& field, std::string_view where) {
  if (!from.is_array()) refuse(where, "a list", from);
  check_items(from, field, where);
  to.assign(from.size(), T{});
  for (std::size_t i = 0; i < from.size(); ++i) read(from[i], to[i], Field{}, where);
}

inline void read(const Parsed& from, std::map<std::string, std::string>& to, const Field& field,
                 std::string_view where) {
  if (!from.is_object()) refuse(where, "an object", from);
  check_items(from, field, where);
  to.clear();
  for (const auto& [key, value] : from.items()) read(value, to[key], Field{}, where);
}

template <class T>
void read(const Parsed& from, std::optional<T>& to, const Field& field, std::string_view where) {
  if (from.is_null())
    to.reset();
  else
    read(from, to.emplace(), field, where);
}

template <Described T>
void read(const Parsed& from, T& to, const Field&, std::string_view where) {
  if (!from.is_object()) refuse(where, "an object", from);
  boost::mp11::mp_for_each<Members<T>>([&](auto member) {
    const Field known = field_of(member);
    const auto found = from.find(known.name);
    if (found != from.end())
      read(*found, to.*member.pointer, known, known.name);
    else if (!known.may_lack)
      throw Mismatch(fmt::format("'{}' is missing", known.name));
  });
}

}  // namespace stab::protocol
