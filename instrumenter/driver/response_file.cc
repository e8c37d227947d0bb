// SPDX-License-Identifier: MIT
#include "instrumenter/driver/response_file.h"

#include <algorithm>
#include <cstddef>

#include "base/fd.h"

namespace stab::driver {
namespace {

constexpr std::size_t kLimit = std::size_t{256} << 20;
constexpr std::string_view kSpace = " \t\r\n";

// Reads one word that starts at `at`, and moves `at` behind it.
std::string take_word(std::string_view text, std::size_t& at) {
  std::string word;
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && at + 1 < text.size()) {
      word += text[++at];
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (kSpace.contains(c)) {
      break;
    } else {
      word += c;
    }
  }
  return word;
}

// `open` holds the files that are being read, so that a file that includes itself is not expanded
// again.
void expand(const std::string& argument, Words& open, Words& out) {
  if (argument.size() < 2 || argument[0] != '@' ||
      std::ranges::find(open, argument) != open.end()) {
    out.push_back(argument);
    return;
  }
  auto text = read_file(argument.substr(1), kLimit);
  if (!text) {
    out.push_back(argument);
    return;
  }
  open.push_back(argument);
  for (const std::string& word : split_response(*text)) expand(word, open, out);
  open.pop_back();
}

}  // namespace

Words split_response(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Words words;
  for (std::size_t at = text.find_first_not_of(kSpace); at < text.size();
       at = text.find_first_not_of(kSpace, at)) {
    words.push_back(take_word(text, at));
  }
  return words;
}

std::string join_response(const Words& words) {
  std::string text;
  for (const std::string& word : words) {
    if (word.empty()) text += "\"\"";
    for (const char c : word) {
      if (kSpace.contains(c) || c == '\\' || c == '"' || c == '\'') text += '\\';
      text += c;
    }
    text += '\n';
  }
  return text;
}

Words expand_response_files(const Words& arguments) {
  Words out;
  Words open;
  for (const std::string& argument : arguments) expand(argument, open, out);
  return out;
}

}  // namespace stab::driver
