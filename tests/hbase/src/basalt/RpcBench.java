// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * How fast a server answers HBase's client. One line per question: its name, tab, figure, tab, unit; `basalt bench rpc` reads them.
 *
 * <p>RpcBench rpc:HOST:PORT|zk:HOST:PORT ROWS: by the registry of a server, or by ZooKeeper. The table is made anew: one family, one column, values of 100
 * bytes, one region. It is flushed and compacted. Whatever is timed was done before without being timed, in the same process.
 */
public final class RpcBench {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final TableName NAME = TableName.valueOf("rpcbench");
  private static final TableName SCRATCH = TableName.valueOf("rpcbench_scratch");
  private static final int GETS = 5_000;
  private static final int WARM_GETS = 10_000;
  private static final int MULTI = 60_000;
  /** Calls of a scan, at most. */
  private static final int SCAN_CALLS = 3_000;
  private static final int THREADS = 64;
  /** About as many as BufferedMutator sends together. */
  private static final int PUTS_A_CALL = 5_000;
  /** All calls lie in memory before the first is sent. */
  private static final int BARE_PUTS_MAX = 500_000;

  private final Connection connection;
  private final int rows;

  private RpcBench(Connection connection, int rows) {
    this.connection = connection;
    this.rows = rows;
  }

  public static void main(String[] args) throws Exception {
    Configuration configuration = ClientCheck.configuration(args[0], List.of());
    try (Connection connection = ConnectionFactory.createConnection(configuration)) {
      RpcBench bench = new RpcBench(connection, Integer.parseInt(args[1]));
      bench.puts();
      try (Table table = connection.getTable(NAME)) {
        bench.gets(table);
        bench.multiGet(table);
        for (int caching : new int[] {1, 10, 30, 100, 1000, 0}) {
          bench.scan(table, caching);
        }
        bench.manyThreads();
      }
    }
  }

  /** Loads the table, synced as tables are by default; before and after that a scratch table. */
  private void puts() throws IOException, InterruptedException {
    try (Admin admin = connection.getAdmin()) {
      create(admin, SCRATCH);
      load(SCRATCH, Math.min(rows, 100_000), Durability.SYNC_WAL);
      load(SCRATCH, Math.min(rows, 100_000), Durability.ASYNC_WAL);
      create(admin, NAME);
      say("put_sync", rows / load(NAME, rows, Durability.SYNC_WAL), "rows/s");
      create(admin, SCRATCH);
      say("put_async", rows / load(SCRATCH, rows, Durability.ASYNC_WAL), "rows/s");
      for (Durability durability : new Durability[] {Durability.SYNC_WAL, Durability.ASYNC_WAL}) {
        create(admin, SCRATCH);
        String name = durability == Durability.SYNC_WAL ? "bare_put_sync" : "bare_put_async";
        say(name, barePuts(Math.min(rows, BARE_PUTS_MAX), durability), "rows/s");
      }
      drop(admin, SCRATCH);
      admin.flush(NAME);
      admin.majorCompact(NAME);
      Thread.sleep(2000);
      while (admin.getCompactionState(NAME) != CompactionState.NONE) {
        Thread.sleep(100);
      }
    }
  }

  private static void create(Admin admin, TableName name) throws IOException {
    drop(admin, name);
    admin.createTable(
        TableDescriptorBuilder.newBuilder(name).setColumnFamily(ColumnFamilyDescriptorBuilder.of(F)).build());
  }

  private static void drop(Admin admin, TableName name) throws IOException {
    if (admin.tableExists(name)) {
      if (admin.isTableEnabled(name)) {
        admin.disableTable(name);
      }
      admin.deleteTable(name);
    }
  }

  /** Puts rows; the seconds that it took, without the making of keys and values. */
  private double load(TableName name, int count, Durability durability) throws IOException {
    Random random = new Random(1);
    byte[][] keys = new byte[count][];
    byte[][] values = new byte[count][100];
    for (int i = 0; i < count; i++) {
      keys[i] = key(i);
      random.nextBytes(values[i]);
    }
    long begin = System.nanoTime();
    try (BufferedMutator mutator = connection.getBufferedMutator(name)) {
      for (int i = 0; i < count; i++) {
        mutator.mutate(new Put(keys[i]).addColumn(F, Q, values[i]).setDurability(durability));
      }
    }
    return seconds(begin);
  }

  /** Puts over a bare socket into the scratch table, rows a second. Their calls are made beforehand. */
  private double barePuts(int count, Durability durability) throws IOException {
    Random random = new Random(1);
    List<byte[]> calls = new ArrayList<>();
    try (BareClient bare = new BareClient(connection, SCRATCH)) {
      List<Put> puts = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        byte[] value = new byte[100];
        random.nextBytes(value);
        puts.add(new Put(key(i)).addColumn(F, Q, value).setDurability(durability));
        if (puts.size() == PUTS_A_CALL || i + 1 == count) {
          calls.add(bare.puts(puts));
          puts.clear();
        }
      }
      long begin = System.nanoTime();
      for (byte[] call : calls) {
        bare.send(call);
      }
      return count / seconds(begin);
    }
  }

  private void gets(Table table) throws IOException {
    same("rows", rows, count(table, new Scan()));
    client(table, WARM_GETS, 2);
    long[] nanos = client(table, GETS, 3);
    say("get_p50", nanos[GETS / 2] / 1e3, "microseconds");
    say("get_p99", nanos[GETS * 99 / 100] / 1e3, "microseconds");
    try (BareClient bare = new BareClient(connection, NAME)) {
      bare(bare, WARM_GETS, 2);
      say("bare_get_p50", bare(bare, GETS, 3)[GETS / 2] / 1e3, "microseconds");
    }
  }

  /** How long each of so many gets took, sorted. */
  private long[] client(Table table, int count, int seed) throws IOException {
    Random random = new Random(seed);
    long[] nanos = new long[count];
    for (int i = 0; i < count; i++) {
      Get get = new Get(key(random.nextInt(rows)));
      long begin = System.nanoTime();
      int cells = table.get(get).size();
      nanos[i] = System.nanoTime() - begin;
      same("cells", 1, cells);
    }
    Arrays.sort(nanos);
    return nanos;
  }

  private long[] bare(BareClient client, int count, int seed) throws IOException {
    Random random = new Random(seed);
    long[] nanos = new long[count];
    for (int i = 0; i < count; i++) {
      Get get = new Get(key(random.nextInt(rows)));
      long begin = System.nanoTime();
      client.get(get);
      nanos[i] = System.nanoTime() - begin;
    }
    Arrays.sort(nanos);
    return nanos;
  }

  private void multiGet(Table table) throws IOException {
    double best = Double.MAX_VALUE;
    for (int round = 0; round < 4; round++) {
      Random random = new Random(4 + round);
      List<Get> gets = new ArrayList<>();
      for (int i = 0; i < MULTI; i++) {
        gets.add(new Get(key(random.nextInt(rows))));
      }
      long begin = System.nanoTime();
      Result[] results = table.get(gets);
      // The first round is the one that is not timed.
      best = Math.min(best, round == 0 ? best : seconds(begin));
      for (Result result : results) {
        same("cells", 1, result.size());
      }
    }
    say("multi_get", best * 1e3, "ms");
    try (BareClient bare = new BareClient(connection, NAME)) {
      long nanos = Long.MAX_VALUE;
      for (int round = 0; round < 4; round++) {
        Random random = new Random(4 + round);
        List<Get> gets = new ArrayList<>();
        for (int i = 0; i < MULTI; i++) {
          gets.add(new Get(key(random.nextInt(rows))));
        }
        nanos = Math.min(nanos, bare.multi(gets));
      }
      say("bare_multi_get", nanos / 1e6, "ms");
    }
  }

  private void scan(Table table, int caching) throws IOException {
    Scan scan = new Scan();
    int wanted = rows;
    if (caching > 0) {
      scan.setCaching(caching);
      wanted = Math.min(rows, caching * SCAN_CALLS);
      scan.setLimit(wanted);
    }
    count(table, scan);
    double best = Double.MAX_VALUE;
    for (int round = 0; round < 2; round++) {
      long begin = System.nanoTime();
      same("rows", wanted, count(table, scan));
      best = Math.min(best, seconds(begin));
    }
    say("scan_" + (caching == 0 ? "default" : caching), wanted / best, "rows/s");
    if (caching == 1 || caching == 1000) {
      bareScan(caching, wanted);
    }
  }

  private void bareScan(int caching, int wanted) throws IOException {
    try (BareClient bare = new BareClient(connection, NAME)) {
      double best = Double.MAX_VALUE;
      for (int round = 0; round < 3; round++) {
        long begin = System.nanoTime();
        int calls = bare.scan(caching, wanted / caching);
        best = Math.min(best, seconds(begin) / calls);
      }
      say("bare_scan_" + caching, caching / best, "rows/s");
    }
  }

  private void manyThreads() throws Exception {
    askAll(GETS / 20);
    long begin = System.nanoTime();
    long done = askAll(GETS / 5);
    say("get_" + THREADS + "_threads", done / seconds(begin), "gets/s");
  }

  /** So many gets of every thread; how many rows were found. */
  private long askAll(int each) throws Exception {
    AtomicLong done = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    for (int number = 0; number < THREADS; number++) {
      Random random = new Random(100 + number);
      Thread thread =
          new Thread(
              () -> {
                try (Table table = connection.getTable(NAME)) {
                  for (int i = 0; i < each; i++) {
                    done.addAndGet(table.get(new Get(key(random.nextInt(rows)))).size());
                  }
                } catch (IOException failure) {
                  throw new AssertionError(failure);
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    same("gets of all threads", THREADS * each, (int) done.get());
    return done.get();
  }

  private static void same(String what, int expected, int found) {
    if (expected != found) {
      throw new AssertionError(what + ": expected " + expected + ", found " + found);
    }
  }

  private static int count(Table table, Scan scan) throws IOException {
    int count = 0;
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result result : scanner) {
        count += result.isEmpty() ? 0 : 1;
      }
    }
    return count;
  }

  private static byte[] key(int i) {
    return Bytes.toBytes(String.format("row%010d", i));
  }

  private static double seconds(long begin) {
    return (System.nanoTime() - begin) / 1e9;
  }

  private static void say(String name, double figure, String unit) {
    System.out.printf("%s\t%.1f\t%s%n", name, figure, unit);
    System.out.flush();
  }
}
