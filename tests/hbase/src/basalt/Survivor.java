// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Writes and scans while the server is killed (SIGKILL) and started again: the client's own retries must be enough, no
 * acknowledged row may be missing, and no scan may lose or repeat one.
 *
 * <p>Survivor DIR PROGRAM: the database is DIR/survivor, the program is `basalt`.
 */
public final class Survivor {
  private static final byte[] F = Bytes.toBytes("f");
  private static final int KILLS = 4;
  private static final int FIXED_ROWS = 20_000;

  private final Path ready;
  private final String program;
  private final String database;
  private int port;
  private Process server;

  private Survivor(String dir, String program) {
    this.ready = Path.of(dir, "survivor.ready");
    this.database = new File(dir, "survivor").getPath();
    this.program = program;
  }

  public static void main(String[] args) throws Exception {
    Survivor survivor = new Survivor(args[0], args[1]);
    survivor.start();
    try {
      survivor.run();
    } finally {
      survivor.server.destroyForcibly().waitFor();
    }
  }

  private void start() throws IOException, InterruptedException {
    Files.deleteIfExists(ready);
    server =
        new ProcessBuilder(program, "serve", database, "--port", Integer.toString(port), "--ready-file", ready.toString(), "--quiet")
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    while (!Files.exists(ready)) {
      if (server.waitFor(20, TimeUnit.MILLISECONDS)) {
        throw new IllegalStateException("the server ended with code " + server.exitValue());
      }
    }
    String address = Files.readString(ready).trim();
    port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
  }

  private void run() throws Exception {
    Configuration configuration = ClientCheck.configuration("rpc:127.0.0.1:" + port, List.of());
    configuration.setInt("hbase.client.retries.number", 40);
    TableName name = TableName.valueOf("survivor");
    AtomicBoolean over = new AtomicBoolean();
    AtomicLong written = new AtomicLong();
    AtomicLong scans = new AtomicLong();
    AtomicReference<Throwable> wrong = new AtomicReference<>();
    try (Connection connection = ConnectionFactory.createConnection(configuration);
        Admin admin = connection.getAdmin()) {
      admin.createTable(
          TableDescriptorBuilder.newBuilder(name).setColumnFamily(ColumnFamilyDescriptorBuilder.of(F)).build(),
          new byte[][] {Bytes.toBytes("m")});
      try (Table table = connection.getTable(name)) {
        List<Put> puts = new ArrayList<>();
        for (int i = 0; i < FIXED_ROWS; i++) {
          puts.add(put(String.format("%s%06d", i % 2 == 0 ? "a" : "x", i)));
        }
        table.put(puts);
      }
      List<Thread> threads = new ArrayList<>();
      threads.add(new Thread(() -> guarded(wrong, over, () -> write(connection, name, over, written))));
      threads.add(new Thread(() -> guarded(wrong, over, () -> scan(connection, name, over, scans, 100))));
      threads.add(new Thread(() -> guarded(wrong, over, () -> scan(connection, name, over, scans, 3000))));
      threads.forEach(Thread::start);
      Random random = new Random(7);
      for (int kill = 0; kill < KILLS && !over.get(); kill++) {
        Thread.sleep(1000 + random.nextInt(1500));
        server.destroyForcibly().waitFor();
        Thread.sleep(random.nextInt(500));
        start();
      }
      long before = written.get();
      while (written.get() < before + 100 && wrong.get() == null) {
        Thread.sleep(20);
      }
      over.set(true);
      for (Thread thread : threads) {
        thread.join();
      }
      if (wrong.get() != null) {
        throw new AssertionError("after " + written + " rows and " + scans + " scans", wrong.get());
      }
      try (Table table = connection.getTable(name)) {
        long found = 0;
        try (ResultScanner scanner = table.getScanner(new Scan().setStartStopRowForPrefixScan(Bytes.toBytes("n")))) {
          for (Result result : scanner) {
            ClientCheck.same("row", String.format("n%06d", found), Bytes.toString(result.getRow()));
            found++;
          }
        }
        ClientCheck.same("acknowledged rows", written.get(), Math.min(found, written.get()));
      }
    }
    System.out.println(KILLS + " kills: " + written + " rows acknowledged and found, " + scans + " scans whole");
  }

  private static Put put(String row) {
    return new Put(Bytes.toBytes(row)).addColumn(F, F, Bytes.toBytes(row));
  }

  private static void write(Connection connection, TableName name, AtomicBoolean over, AtomicLong written) throws IOException {
    try (Table table = connection.getTable(name)) {
      while (!over.get()) {
        table.put(put(String.format("n%06d", written.get())));
        written.incrementAndGet();
      }
    }
  }

  /** The fixed rows, which must all come, once, in order, whatever happens meanwhile. */
  private static void scan(Connection connection, TableName name, AtomicBoolean over, AtomicLong scans, int caching)
      throws IOException {
    try (Table table = connection.getTable(name)) {
      while (!over.get()) {
        int rows = 0;
        String last = "";
        try (ResultScanner scanner = table.getScanner(new Scan().setCaching(caching))) {
          for (Result result : scanner) {
            String row = Bytes.toString(result.getRow());
            if (row.compareTo(last) <= 0) {
              throw new AssertionError("row " + row + " came after " + last);
            }
            last = row;
            rows += row.startsWith("n") ? 0 : 1;
          }
        }
        ClientCheck.same("rows of a scan", FIXED_ROWS, rows);
        scans.incrementAndGet();
      }
    }
  }

  private interface Work {
    void run() throws Exception;
  }

  private static void guarded(AtomicReference<Throwable> wrong, AtomicBoolean over, Work work) {
    try {
      work.run();
    } catch (Throwable failure) {
      wrong.compareAndSet(null, failure);
      over.set(true);
    }
  }
}
