// SPDX-License-Identifier: MIT
#include "runtime/base/options.h"

#include <errno.h>
#include <sys/auxv.h>

#include "runtime/base/memory.h"
#include "runtime/base/os.h"

// The dynamic linker defines this: the address where the kernel put the arguments.
extern "C" void* __libc_stack_end;

namespace stab::rt {
namespace {

// Asks libc, which kept the kernel's answer. The words behind the environment can't be trusted: if
// ld.so removes variables from a privileged program, the words are no longer at the end of the
// environment.
bool runs_with_more_rights() {
  const int before = errno;
  errno = 0;
  const bool secure = getauxval(AT_SECURE) != 0 || errno != 0;
  errno = before;
  return secure;
}

}  // namespace

const char* options_text(char** environment) {
  constexpr char name[] = "STABILIZER_OPTIONS=";
  if (runs_with_more_rights()) return nullptr;
  for (; *environment != nullptr; ++environment)
    if (equal(*environment, name, sizeof name - 1)) return *environment + sizeof name - 1;
  return nullptr;
}

char** initial_environment() {
  auto** words = static_cast<char**>(__libc_stack_end);
  const auto arguments = reinterpret_cast<uint64_t>(words[0]);
  return words + 1 + arguments + 1;
}

uint64_t run_seed(const Options& options) {
  static uint64_t drawn;
  static bool is_drawn;
  if (options.seed_given) return options.seed;
  if (is_drawn) return drawn;
  if (os::random_bytes(&drawn, sizeof drawn) != sizeof drawn)
    drawn = os::monotonic_ns() ^ static_cast<uint64_t>(os::process_id()) << 40;
  is_drawn = true;
  return drawn;
}

namespace {

bool parse(Text value, uint64_t& number) {
  if (value.size == 0 || value.size > 20) return false;
  uint64_t result = 0;
  for (size_t i = 0; i < value.size; ++i) {
    if (value.start[i] < '0' || value.start[i] > '9') return false;
    const uint64_t digit = static_cast<uint64_t>(value.start[i] - '0');
    if (result > (UINT64_MAX - digit) / 10) return false;
    result = result * 10 + digit;
  }
  number = result;
  return true;
}

// Reads the number of the option with this name.
bool parse_number(Text value, Text name, uint64_t& number) {
  uint64_t result = 0;
  if (!parse(value, result)) return false;
  const bool is_bag = spells("heap_bag", name.start, name.size);
  if (is_bag && (result < least_bag || result > largest_bag)) return false;
  number = result;
  return true;
}

bool parse(Text value, bool& flag) {
  uint64_t number = 0;
  if (!parse(value, number) || number > 1) return false;
  flag = number == 1;
  return true;
}

bool parse(Text value, Text& text) {
  text = value;
  return true;
}

bool parse(Text value, When& when) {
  if (spells("repeated", value.start, value.size)) {
    when = When::repeated;
  } else if (spells("once", value.start, value.size)) {
    when = When::once;
  } else {
    return false;
  }
  return true;
}

#define STAB_NAME(name, ...) #name,
constexpr const char* base_names[] = {STAB_EACH_ALLOCATOR(STAB_NAME)};
#undef STAB_NAME

bool parse(Text value, Base& base) {
  for (uint8_t i = 0; i < sizeof base_names / sizeof *base_names; ++i) {
    if (!spells(base_names[i], value.start, value.size)) continue;
    base = static_cast<Base>(i);
    return true;
  }
  return false;
}

// Reads a number of bytes with K or M behind it, or "never".
bool parse_size(Text value, uint64_t& bytes) {
  if (spells("never", value.start, value.size)) {
    bytes = UINT64_MAX;
    return true;
  }
  constexpr uint64_t most = uint64_t{1} << 30;
  const char unit = value.size == 0 ? '\0' : value.start[value.size - 1];
  uint64_t number = 0;
  if (unit != 'K' && unit != 'M') return false;
  if (!parse(Text{value.start, value.size - 1}, number) || number > most) return false;
  bytes = number << (unit == 'K' ? 10 : 20);
  return true;
}

// Reads a number from 1 to 100 with % behind it, or "off".
bool parse_share(Text value, uint64_t& percent) {
  if (spells("off", value.start, value.size)) {
    percent = 0;
    return true;
  }
  uint64_t number = 0;
  if (value.size == 0 || value.start[value.size - 1] != '%') return false;
  if (!parse(Text{value.start, value.size - 1}, number) || number == 0 || number > 100)
    return false;
  percent = number;
  return true;
}

// Reads a number with its unit, from 20 us to an hour.
bool parse_duration(Text value, uint64_t& nanoseconds) {
  struct Unit {
    const char* name;
    uint64_t size;
  };
  constexpr Unit units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  constexpr uint64_t shortest = 20000;
  constexpr uint64_t longest = uint64_t{3600} * 1000000000;
  Text digits = {value.start, 0};
  while (digits.size < value.size && digits.start[digits.size] >= '0' &&
         digits.start[digits.size] <= '9')
    ++digits.size;
  uint64_t number = 0;
  if (!parse(digits, number)) return false;
  for (const Unit& unit : units) {
    if (!spells(unit.name, value.start + digits.size, value.size - digits.size)) continue;
    if (number > longest / unit.size || number * unit.size < shortest) return false;
    nanoseconds = number * unit.size;
    return true;
  }
  return false;
}

// Takes the next name=value off the text. `well_quoted` is false if a quote is not closed, or not
// closed at the value's end.
bool take_pair(const char*& at, Text& name, Text& value, bool& well_quoted) {
  while (*at == ':') ++at;
  if (*at == '\0') return false;
  name = {at, 0};
  while (*at != '\0' && *at != ':' && *at != '=') ++at;
  name.size = static_cast<size_t>(at - name.start);
  value = {at, 0};
  well_quoted = true;
  if (*at != '=') return true;
  ++at;
  const bool quoted = *at == '\'' || *at == '"';
  value.start = at;
  if (quoted) {
    const char* end = at + 1;
    while (*end != '\0' && *end != *at) ++end;
    well_quoted = *end != '\0' && (end[1] == ':' || end[1] == '\0');
    if (*end != '\0') at = end;
  }
  while (*at != '\0' && *at != ':') ++at;
  value.size = static_cast<size_t>(at - value.start);
  if (quoted && well_quoted) value = {value.start + 1, value.size - 2};
  return true;
}

void complain(Line& complaints, const char* what, Text name) {
  if (complaints.size() != 0) complaints.text(", ");
  complaints.text(what).text(name.start, name.size);
}

void set(Options& options, Text name, Text value, Line& complaints) {
#define STAB_PARSE_flag(field) parse(value, options.field)
#define STAB_PARSE_number(field) parse_number(value, name, options.field)
#define STAB_PARSE_text(field) parse(value, options.field)
#define STAB_PARSE_when(field) parse(value, options.field)
#define STAB_PARSE_base(field) parse(value, options.field)
#define STAB_PARSE_size(field) parse_size(value, options.field)
#define STAB_PARSE_share(field) parse_share(value, options.field)
#define STAB_PARSE_duration(field) parse_duration(value, options.field)
#define STAB_OPTION(kind, field, initial, help)     \
  if (spells(#field, name.start, name.size)) {      \
    if (!STAB_PARSE_##kind(field))                  \
      complain(complaints, "bad value of ", name);  \
    else if (spells("seed", name.start, name.size)) \
      options.seed_given = true;                    \
    else if (spells("heap", name.start, name.size)) \
      options.heap_given = true;                    \
    return;                                         \
  }
#include "runtime/base/options.inc"
#undef STAB_OPTION
  complain(complaints, "unknown option ", name);
}

}  // namespace

const char* name_of(Base base) {
  return base_names[static_cast<uint8_t>(base)];
}

Options parse_options(const char* text, Line& complaints) {
  Options options;
  Text name;
  Text value;
  bool well_quoted = true;
  while (text != nullptr && take_pair(text, name, value, well_quoted)) {
    if (well_quoted)
      set(options, name, value, complaints);
    else
      complain(complaints, "wrong quotes around the value of ", name);
  }
  return options;
}

void describe_options(void (*print)(const char* line, size_t size)) {
  print("STABILIZER_OPTIONS=name=value:...\n", 34);
  // The table of options writes 500ms as 500_ms, and 1% as 1_percent.
  const auto value = [](Line& line, const char* text) {
    for (; *text != '\0'; ++text) {
      if (spells("_percent", text, length_of(text))) {
        line.text("%");
        return;
      }
      if (*text != '_') line.text(text, 1);
    }
  };
#define STAB_OPTION(kind, name, initial, help)     \
  {                                                \
    Line line;                                     \
    line.text("  " #name " (" #kind ", default "); \
    value(line, #initial);                         \
    line.text("): " help "\n");                    \
    print(line.data(), line.size());               \
  }
#include "runtime/base/options.inc"
#undef STAB_OPTION
}

}  // namespace stab::rt
