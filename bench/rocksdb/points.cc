// SPDX-License-Identifier: Apache-2.0
// RocksDB on the rows and questions of crates/basalt-cli/src/bench/points.rs; prints the same lines.
//
//   c++ -O2 -std=c++17 points.cc -lrocksdb -lpthread -o points && ./points DIR [ROWS]
//
// Options: those that RocksDB comes with, but for a Bloom filter of ten bits, a block cache of 1.5 GiB (what Basalt gets of
// 2 GiB), LZ4, and two background threads. Every write is synced.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kBatchRows = 1000, kWriters = 64, kGets = 300000, kMultiGets = 200, kSinglePuts = 50000;
constexpr size_t kValueBytes = 84, kScans = 5;

void Check(const rocksdb::Status& status) {
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::exit(1);
  }
}

void Report(const std::string& question, double figure, const char* unit) {
  std::printf("%s\t%.2f\t%s\n", question.c_str(), figure, unit);
  std::fflush(stdout);
}

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

uint64_t Mixed(uint64_t number) {
  uint64_t z = number + 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// A number below 10^12 for each row below that, no two the same: a Feistel network of forty bits, walked until its number is below.
uint64_t Shuffled(uint64_t row) {
  constexpr uint64_t kHalf = (1 << 20) - 1;
  for (uint64_t number = row;;) {
    uint64_t left = number >> 20, right = number & kHalf;
    for (uint64_t round = 0; round < 4; round++) {
      uint64_t next = left ^ (Mixed(right << 8 | round) & kHalf);
      left = right;
      right = next;
    }
    number = left << 20 | right;
    if (number < 1000000000000ull) return number;
  }
}

std::string Key(uint64_t row) {
  char key[17];
  std::snprintf(key, sizeof key, "user%012llu", static_cast<unsigned long long>(Shuffled(row)));
  return std::string(key, 16);
}

std::string Value(uint64_t row) {
  std::string value(kValueBytes, 'x');
  for (size_t at = 0, i = 0; at < kValueBytes / 2; at += 8, i++) {
    uint64_t chunk = Mixed(row ^ static_cast<uint64_t>(i) << 48);
    std::memcpy(&value[at], &chunk, std::min<size_t>(8, kValueBytes / 2 - at));
  }
  return value;
}

template <typename Work>
void InThreads(uint64_t threads, Work work) {
  std::vector<std::thread> started;
  for (uint64_t thread = 0; thread < threads; thread++) started.emplace_back(work, thread);
  for (auto& thread : started) thread.join();
}

void Load(rocksdb::DB* db, uint64_t rows) {
  rocksdb::WriteOptions sync;
  sync.sync = true;
  auto started = Clock::now();
  for (uint64_t first = 0; first < rows; first += kBatchRows) {
    rocksdb::WriteBatch batch;
    for (uint64_t row = first; row < std::min(rows, first + kBatchRows); row++) batch.Put(Key(row), Value(row));
    Check(db->Write(sync, &batch));
  }
  Report("batches of 1,000 rows", rows / Seconds(Clock::now() - started), "rows/s");
  Check(db->Flush({}));
  Check(db->CompactRange({}, nullptr, nullptr));
}

void Space(rocksdb::DB* db, rocksdb::Statistics* statistics, uint64_t rows) {
  uint64_t size = 0;
  db->GetIntProperty("rocksdb.total-sst-files-size", &size);
  Report("space", double(size) / rows, "bytes/row");
  uint64_t written = statistics->getTickerCount(rocksdb::WAL_FILE_BYTES) +
                     statistics->getTickerCount(rocksdb::FLUSH_WRITE_BYTES) +
                     statistics->getTickerCount(rocksdb::COMPACT_WRITE_BYTES);
  Report("write amplification", double(written) / (rows * 100), "times");
}

void ScanOnce(rocksdb::DB* db, uint64_t rows, bool fill_cache) {
  rocksdb::ReadOptions options;
  options.fill_cache = fill_cache;
  uint64_t count = 0, sum = 0;
  std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    count++;
    sum += static_cast<uint8_t>(it->key()[15]) + static_cast<uint8_t>(it->value()[0]);
  }
  Check(it->status());
  if (count != rows || sum == 0) std::abort();
}

void Scan(rocksdb::DB* db, uint64_t rows, const char* question, bool fill_cache, size_t times, uint64_t threads) {
  std::vector<double> rates;
  for (size_t i = 0; i < times; i++) {
    auto started = Clock::now();
    if (threads == 1) {
      ScanOnce(db, rows, fill_cache);
    } else {
      InThreads(threads, [&](uint64_t) { ScanOnce(db, rows, fill_cache); });
    }
    rates.push_back(rows * threads / Seconds(Clock::now() - started));
  }
  std::sort(rates.begin(), rates.end());
  Report(question, rates[times / 2], "rows/s");
}

std::vector<uint32_t> TimedGets(rocksdb::DB* db, uint64_t rows, uint64_t thread) {
  std::vector<uint32_t> times;
  times.reserve(kGets);
  for (uint64_t i = 0; i < kGets; i++) {
    uint64_t row = Mixed(i << 8 | thread) % rows;
    auto started = Clock::now();
    std::string key = Key(row);
    rocksdb::PinnableSlice value;
    Check(db->Get({}, db->DefaultColumnFamily(), key, &value));
    char first = value[0];
    times.push_back(std::chrono::nanoseconds(Clock::now() - started).count());
    if (first != Value(row)[0]) std::abort();
  }
  return times;
}

void Gets(rocksdb::DB* db, uint64_t rows, uint64_t threads) {
  // Of the cache, which holds what was asked for before.
  for (uint64_t thread : {9, 10}) TimedGets(db, rows, thread);
  std::vector<std::vector<uint32_t>> parts(threads);
  auto started = Clock::now();
  InThreads(threads, [&](uint64_t thread) { parts[thread] = TimedGets(db, rows, thread); });
  double rate = kGets * threads / Seconds(Clock::now() - started);
  std::vector<uint32_t> times;
  for (auto& part : parts) times.insert(times.end(), part.begin(), part.end());
  std::sort(times.begin(), times.end());
  auto at = [&](double part) { return times[times.size() * part] / 1e3; };
  std::string name = "get, " + std::to_string(threads) + " threads, ";
  Report(name + "p50", at(0.5), "us");
  Report(name + "p99", at(0.99), "us");
  Report(name + "rate", rate, "rows/s");
}

void MultiGets(rocksdb::DB* db, uint64_t rows, uint64_t threads) {
  std::vector<double> times(threads * kMultiGets, 0);
  InThreads(threads, [&](uint64_t thread) {
    for (uint64_t i = 0; i < kMultiGets; i++) {
      std::vector<uint64_t> wanted;
      std::vector<std::string> keys;
      for (uint64_t k = 0; k < kBatchRows; k++) {
        wanted.push_back(Mixed(i << 32 | k << 8 | thread) % rows);
        keys.push_back(Key(wanted.back()));
      }
      auto started = Clock::now();
      std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
      std::vector<rocksdb::PinnableSlice> values(kBatchRows);
      std::vector<rocksdb::Status> statuses(kBatchRows);
      db->MultiGet({}, db->DefaultColumnFamily(), kBatchRows, slices.data(), values.data(), statuses.data());
      times[thread * kMultiGets + i] = Seconds(Clock::now() - started);
      for (uint64_t k = 0; k < kBatchRows; k++) {
        Check(statuses[k]);
        if (values[k].ToString() != Value(wanted[k])) std::abort();
      }
    }
  });
  std::sort(times.begin(), times.end());
  Report("multi-get of 1,000, " + std::to_string(threads) + " threads, p50",
         times[times.size() / 2] / kBatchRows * 1e6, "us/key");
}

void Puts(rocksdb::DB* db, uint64_t rows) {
  auto started = Clock::now();
  InThreads(kWriters, [&](uint64_t writer) {
    rocksdb::WriteOptions sync;
    sync.sync = true;
    for (uint64_t i = 0; i < kSinglePuts / kWriters; i++) {
      Check(db->Put(sync, Key(Mixed(i << 8 | writer) % rows), Value(i)));
    }
  });
  Report("durable single puts, 64 writers", kSinglePuts / Seconds(Clock::now() - started), "rows/s");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: points DIR [ROWS]\n");
    return 2;
  }
  uint64_t rows = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000000;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.error_if_exists = true;
  options.compression = rocksdb::kLZ4Compression;
  options.statistics = rocksdb::CreateDBStatistics();
  options.IncreaseParallelism(2);
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  table.block_cache = rocksdb::NewLRUCache(1536ull << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksdb::DB* db = nullptr;
  Check(rocksdb::DB::Open(options, std::string(argv[1]) + "/rocksdb", &db));
  Load(db, rows);
  Space(db, options.statistics.get(), rows);
  // Statistics cost time on every read.
  options.statistics->set_stats_level(rocksdb::StatsLevel::kDisableAll);
  Scan(db, rows, "scan of files", false, kScans, 1);
  Scan(db, rows, "scan into the cache", true, 1, 1);
  Scan(db, rows, "second scan, of the cache", true, 1, 1);
  Scan(db, rows, "scan of the cache", true, kScans, 1);
  Scan(db, rows, "scan of files, 2 threads", false, kScans, 2);
  Scan(db, rows, "scan of the cache, 2 threads", true, kScans, 2);
  Report("cache, after scans", double(table.block_cache->GetUsage()) / rows, "bytes/row");
  for (uint64_t threads : {1, 2}) {
    Gets(db, rows, threads);
    MultiGets(db, rows, threads);
  }
  Report("cache, after gets", double(table.block_cache->GetUsage()) / rows, "bytes/row");
  Puts(db, rows);
  Check(db->Close());
  delete db;
}
