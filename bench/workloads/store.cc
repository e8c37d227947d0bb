// SPDX-License-Identifier: MIT
// Drives leveldb in a fresh folder: writes, overwrites, deletes, reads, scans, and a compaction.
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace {

std::string key_of(std::uint64_t i) {
  char text[32];
  std::snprintf(text, sizeof text, "key%08llu",
                static_cast<unsigned long long>(i * 2654435761 % 1000003));
  return text;
}

void check(const leveldb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void fill(leveldb::DB& db, std::uint64_t records) {
  for (std::uint64_t i = 0; i < records; i += 100) {
    leveldb::WriteBatch batch;
    for (std::uint64_t j = i; j < i + 100; ++j) {
      batch.Put(key_of(j), std::string(20 + j % 90, static_cast<char>('a' + j % 26)));
      if (j % 10 == 9) batch.Delete(key_of(j / 2));
    }
    check(db.Write(leveldb::WriteOptions(), &batch));
  }
}

std::uint64_t read_some(leveldb::DB& db, std::uint64_t records) {
  std::uint64_t bytes = 0;
  std::string value;
  for (std::uint64_t i = 0; i < records; i += 3)
    if (db.Get(leveldb::ReadOptions(), key_of(i), &value).ok()) bytes += value.size();
  return bytes;
}

std::uint64_t scan(leveldb::DB& db) {
  std::uint64_t hash = 14695981039346656037U;
  const std::unique_ptr<leveldb::Iterator> it(db.NewIterator(leveldb::ReadOptions()));
  for (it->SeekToFirst(); it->Valid(); it->Next())
    for (const char c : it->key().ToString() + it->value().ToString())
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::uint64_t records = std::strtoull(argv[2], nullptr, 10);
  std::filesystem::remove_all(argv[1]);
  const std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  leveldb::Options options;
  options.create_if_missing = true;
  options.filter_policy = filter.get();
  options.compression = leveldb::kNoCompression;
  leveldb::DB* opened = nullptr;
  check(leveldb::DB::Open(options, argv[1], &opened));
  std::unique_ptr<leveldb::DB> db(opened);
  fill(*db, records);
  const std::uint64_t bytes = read_some(*db, records);
  db->CompactRange(nullptr, nullptr);
  std::printf("%llu %016llx\n", static_cast<unsigned long long>(bytes),
              static_cast<unsigned long long>(scan(*db)));
  db.reset();
  std::filesystem::remove_all(argv[1]);
}
