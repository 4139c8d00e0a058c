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
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * How fast a server answers HBase's client. One line per question: name, tab, figure, tab, unit.
 *
 * <p>RpcBench rpc:HOST:PORT|zk:HOST:PORT ROWS: by the registry of a server, or by ZooKeeper. The table is made anew: one family, one column, values of 100
 * bytes, one region. It is flushed and compacted, and read once before anything is timed.
 */
public final class RpcBench {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final TableName NAME = TableName.valueOf("rpcbench");
  private static final int GETS = 5_000;
  private static final int MULTI = 60_000;
  private static final int THREADS = 64;

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
      bench.load();
      try (Table table = connection.getTable(NAME)) {
        bench.warm(table);
        bench.gets(table);
        bench.multiGet(table);
        for (int caching : new int[] {1, 10, 30, 100, 1000, 0}) {
          bench.scan(table, caching);
        }
        bench.manyThreads();
      }
    }
  }

  private void load() throws IOException, InterruptedException {
    try (Admin admin = connection.getAdmin()) {
      if (admin.tableExists(NAME)) {
        if (admin.isTableEnabled(NAME)) {
          admin.disableTable(NAME);
        }
        admin.deleteTable(NAME);
      }
      admin.createTable(
          TableDescriptorBuilder.newBuilder(NAME).setColumnFamily(ColumnFamilyDescriptorBuilder.of(F)).build());
      Random random = new Random(1);
      long begin = System.nanoTime();
      try (BufferedMutator mutator = connection.getBufferedMutator(NAME)) {
        for (int i = 0; i < rows; i++) {
          byte[] value = new byte[100];
          random.nextBytes(value);
          mutator.mutate(new Put(key(i)).addColumn(F, Q, value));
        }
      }
      say("puts through BufferedMutator", rows / seconds(begin), "rows/s");
      admin.flush(NAME);
      admin.majorCompact(NAME);
      Thread.sleep(2000);
      while (admin.getCompactionState(NAME) != org.apache.hadoop.hbase.client.CompactionState.NONE) {
        Thread.sleep(100);
      }
    }
  }

  private void warm(Table table) throws IOException {
    count(table, new Scan());
    Random random = new Random(2);
    for (int i = 0; i < 3 * GETS; i++) {
      table.get(new Get(key(random.nextInt(rows))));
    }
  }

  private void gets(Table table) throws IOException {
    Random random = new Random(3);
    long[] nanos = new long[GETS];
    for (int i = 0; i < GETS; i++) {
      Get get = new Get(key(random.nextInt(rows)));
      long begin = System.nanoTime();
      if (table.get(get).size() != 1) {
        throw new AssertionError("a row is missing");
      }
      nanos[i] = System.nanoTime() - begin;
    }
    Arrays.sort(nanos);
    say("single get, p50", nanos[GETS / 2] / 1e3, "microseconds");
    say("single get, p99", nanos[GETS * 99 / 100] / 1e3, "microseconds");
  }

  private void multiGet(Table table) throws IOException {
    double best = Double.MAX_VALUE;
    for (int round = 0; round < 3; round++) {
      Random random = new Random(4 + round);
      List<Get> gets = new ArrayList<>();
      for (int i = 0; i < MULTI; i++) {
        gets.add(new Get(key(random.nextInt(rows))));
      }
      long begin = System.nanoTime();
      for (Result result : table.get(gets)) {
        if (result.size() != 1) {
          throw new AssertionError("a row is missing");
        }
      }
      best = Math.min(best, seconds(begin));
    }
    say("multi-get of " + MULTI + " rows, best of 3", best * 1e3, "ms");
  }

  private void scan(Table table, int caching) throws IOException {
    Scan scan = new Scan();
    int wanted = rows;
    if (caching > 0) {
      scan.setCaching(caching);
      wanted = Math.min(rows, caching * 10_000);
      scan.setLimit(wanted);
    }
    count(table, scan);
    double best = Double.MAX_VALUE;
    for (int round = 0; round < 2; round++) {
      long begin = System.nanoTime();
      if (count(table, scan) != wanted) {
        throw new AssertionError("rows are missing");
      }
      best = Math.min(best, seconds(begin));
    }
    say("scan, caching " + (caching == 0 ? "default" : caching), wanted / best, "rows/s");
  }

  private void manyThreads() throws Exception {
    AtomicLong done = new AtomicLong();
    List<Thread> threads = new ArrayList<>();
    long begin = System.nanoTime();
    for (int number = 0; number < THREADS; number++) {
      Random random = new Random(100 + number);
      Thread thread =
          new Thread(
              () -> {
                try (Table table = connection.getTable(NAME)) {
                  for (int i = 0; i < GETS / 5; i++) {
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
    ClientCheck.same("gets of all threads", (long) THREADS * (GETS / 5), done.get());
    say(THREADS + " threads, gets", done.get() / seconds(begin), "gets/s");
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
    System.out.printf("%s\t%.0f\t%s%n", name, figure, unit);
  }
}
