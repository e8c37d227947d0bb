// SPDX-License-Identifier: MIT
// Reads records with JsonCpp, groups and changes them, and writes and reads them again. A member of each seventh record has
// the wrong type, and each ninth line is not JSON: the exceptions of both are caught.
#include <json/json.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>

int main() {
  const std::unique_ptr<Json::CharReader> reader(Json::CharReaderBuilder().newCharReader());
  Json::StreamWriterBuilder format;
  format["indentation"] = "";
  std::map<std::string, long> records;
  long lines = 0;
  long wrong = 0;
  long mistyped = 0;
  std::uint64_t hash = 14695981039346656037U;
  Json::Value all(Json::arrayValue);
  for (std::string line; std::getline(std::cin, line);) {
    if (line.size() < 3) continue;
    if (line[0] == ',') line.erase(0, 1);
    ++lines;
    if (lines % 9 == 0) line[line.size() / 2] = '{';
    try {
      Json::Value record;
      std::string errors;
      if (!reader->parse(line.data(), line.data() + line.size(), &record, &errors))
        throw Json::RuntimeError(errors);
      if (lines % 7 == 0) record["size"] = "none";
      record["area"] = record["size"]["w"].asDouble() * record["size"]["h"].asDouble();
      ++records[record["tags"][0].asString()];
      all.append(record);
    } catch (const Json::RuntimeError&) {
      ++wrong;
    } catch (const Json::LogicError&) {
      ++mistyped;
    }
  }
  const std::string text = Json::writeString(format, all);
  Json::Value again;
  if (!reader->parse(text.data(), text.data() + text.size(), &again, nullptr) || again != all)
    return 1;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::printf("%ld lines, %ld wrong, %ld of a wrong type, %016llx\n", lines, wrong, mistyped,
              static_cast<unsigned long long>(hash));
  for (const auto& [tag, times] : records) std::printf("%s %ld\n", tag.c_str(), times);
}
