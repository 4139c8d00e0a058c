// SPDX-License-Identifier: Apache-2.0
// RocksDB on the table of floats of tests/reference/peers.py: loads lines `key|v1|v2|`, prints a line `what<TAB>figure` for each question.
//
//   c++ -O2 -std=c++17 floats.cc -lrocksdb -lpthread -o floats && ./floats DIR FILE RUNS
//
// A key is four bytes, sign bit flipped; its value the two floats as they lie in memory. Options: those that RocksDB comes with, but for a Bloom filter
// of ten bits, a block cache of 1.5 GiB, LZ4, and two background threads. Every batch of 1,000 rows is synced; then all is compacted.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBatchRows = 1000;

void Check(const rocksdb::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::string Key(int32_t key) {
  uint32_t bits = static_cast<uint32_t>(key) ^ 0x80000000u;
  char bytes[4] = {char(bits >> 24), char(bits >> 16), char(bits >> 8), char(bits)};
  return std::string(bytes, 4);
}

uint64_t Load(rocksdb::DB* db, const char* file) {
  auto started = Clock::now();
  std::ifstream in(file);
  std::string line;
  rocksdb::WriteOptions sync;
  sync.sync = true;
  rocksdb::WriteBatch batch;
  uint64_t rows = 0;
  while (std::getline(in, line)) {
    char* end;
    int32_t key = static_cast<int32_t>(std::strtol(line.c_str(), &end, 10));
    float values[2];
    values[0] = std::strtof(end + 1, &end);
    values[1] = std::strtof(end + 1, &end);
    batch.Put(Key(key), rocksdb::Slice(reinterpret_cast<char*>(values), sizeof values));
    if (++rows % kBatchRows == 0) {
      Check(db->Write(sync, &batch));
      batch.Clear();
    }
  }
  Check(db->Write(sync, &batch));
  std::printf("load\t%f\n", rows / Since(started));
  Check(db->Flush({}));
  Check(db->CompactRange({}, nullptr, nullptr));
  uint64_t size = 0;
  db->GetIntProperty("rocksdb.total-sst-files-size", &size);
  std::printf("bytes\t%llu\n", static_cast<unsigned long long>(size));
  return rows;
}

template <typename Take>
void Ask(rocksdb::DB* db, const char* name, int runs, Take take) {
  std::vector<double> times;
  for (int run = 0; run <= runs; run++) {
    auto started = Clock::now();
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      float v1;
      std::memcpy(&v1, it->value().data(), sizeof v1);
      take(v1);
    }
    Check(it->status());
    if (run > 0) times.push_back(Since(started));
  }
  std::sort(times.begin(), times.end());
  std::printf("%s\t%.9f\n", name, times[times.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: floats DIR FILE RUNS\n");
    return 2;
  }
  rocksdb::Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.compression = rocksdb::kLZ4Compression;
  options.IncreaseParallelism(2);
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  table.block_cache = rocksdb::NewLRUCache(1536ull << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::DB* opened;
  Check(rocksdb::DB::Open(options, argv[1], &opened));
  std::unique_ptr<rocksdb::DB> db(opened);
  Load(db.get(), argv[2]);
  double sum = 0;
  uint64_t below = 0;
  int runs = std::atoi(argv[3]);
  Ask(db.get(), "sum_float", runs, [&](float v1) { sum += v1; });
  Ask(db.get(), "count_float", runs, [&](float v1) { below += v1 < 0.5f; });
  // What was added up is used: a compiler may not leave it out.
  if (sum < 0 || below == 0) std::abort();
}
