// SPDX-License-Identifier: Apache-2.0
package basalt;

import static basalt.ClientCheck.same;
import static basalt.ClientCheck.throwsA;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.SnapshotDescription;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** Splits, merges and snapshots as administrators ask for them, with scans and writes under way. */
final class RegionCheck {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final int ROWS = 1000;

  private final Connection connection;
  private final Admin admin;
  private final TableName name = TableName.valueOf("parted");

  private RegionCheck(Connection connection) throws IOException {
    this.connection = connection;
    this.admin = connection.getAdmin();
  }

  static void run(Connection connection) throws Exception {
    RegionCheck check = new RegionCheck(connection);
    check.fill();
    check.splits();
    check.merges();
    check.together();
    check.snapshots();
    check.end();
  }

  private void fill() throws IOException {
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(name);
    table.setColumnFamily(ColumnFamilyDescriptorBuilder.of(F));
    admin.createTable(table.build());
    try (Table rows = connection.getTable(name)) {
      List<Put> puts = new ArrayList<>();
      for (int i = 0; i < ROWS; i++) {
        puts.add(put(i, "v" + i));
      }
      rows.put(puts);
    }
  }

  private void splits() throws Exception {
    byte[] only = admin.getRegions(name).get(0).getRegionName();
    List<String> seen = new ArrayList<>();
    try (Table table = connection.getTable(name);
        ResultScanner scanner = table.getScanner(new Scan().setCaching(10))) {
      read(scanner, 100, seen);
      finish(admin.splitRegionAsync(only, row(500)));
      same("regions after a split", "[, r00500]", starts().toString());
      // Clients find out that what they know is old.
      table.put(put(499, "changed"));
      table.put(put(500, "changed"));
      same("left of the split", "changed", value(table.get(new Get(row(499)))));
      same("right of the split", "changed", value(table.get(new Get(row(500)))));
      read(scanner, ROWS, seen);
    }
    same("a scan over a split", rows(), seen);
    throwsA("DoNotRetryIOException", () -> waitFor(admin.splitRegionAsync(admin.getRegions(name).get(0).getRegionName(), row(700))));
    admin.flush(name);
    byte[] right = admin.getRegions(name).get(1).getRegionName();
    finish(admin.splitRegionAsync(right));
    same("regions after a split in halves", 3, starts().size());
    same("rows of three regions", rows(), keys(new Scan()));
    List<String> backward = keys(new Scan().setReversed(true).setCaching(30));
    java.util.Collections.reverse(backward);
    same("rows backwards", rows(), backward);
    admin.split(name, row(100));
    // This call does not wait.
    while (starts().size() < 4) {
      Thread.onSpinWait();
    }
    same("where it was asked for", true, starts().contains("r00100"));
  }

  private void merges() throws Exception {
    List<RegionInfo> regions = admin.getRegions(name);
    byte[][] apart = {regions.get(0).getEncodedNameAsBytes(), regions.get(2).getEncodedNameAsBytes()};
    throwsA("MergeRegionException", () -> waitFor(admin.mergeRegionsAsync(apart, false)));
    List<String> seen = new ArrayList<>();
    try (Table table = connection.getTable(name);
        ResultScanner scanner = table.getScanner(new Scan().setCaching(10))) {
      read(scanner, 150, seen);
      byte[][] three = new byte[3][];
      for (int i = 0; i < three.length; i++) {
        three[i] = regions.get(i).getEncodedNameAsBytes();
      }
      finish(admin.mergeRegionsAsync(three, false));
      same("regions after a merge", 2, starts().size());
      read(scanner, ROWS, seen);
    }
    same("a scan over a merge", rows(), seen);
    same("rows after a merge", rows(), keys(new Scan()));
    boolean allowed = admin.splitSwitch(false, true);
    same("splits were allowed", true, allowed);
    throwsA("DoNotRetryIOException", () -> waitFor(admin.splitRegionAsync(admin.getRegions(name).get(0).getRegionName(), row(1))));
    admin.splitSwitch(true, true);
  }

  /** A writer that reads what it wrote, and a scanner, while regions are split and merged. */
  private void together() throws Exception {
    // Between two tries of a call the client pauses, and regions change here many times a second.
    Configuration patience = new Configuration(connection.getConfiguration());
    patience.setInt("hbase.client.retries.number", 40);
    Thread writer =
        new Thread(
            () -> {
              try (Connection patient = ConnectionFactory.createConnection(patience);
                  Table table = patient.getTable(name)) {
                for (int i = 0; i < 400; i++) {
                  int row = i * 37 % ROWS;
                  table.put(put(row, "again" + i));
                  same("own write", "again" + i, value(table.get(new Get(row(row)))));
                }
              } catch (IOException failure) {
                throw new AssertionError(failure);
              }
            });
    List<Throwable> failures = new ArrayList<>();
    writer.setUncaughtExceptionHandler((thread, failure) -> failures.add(failure));
    writer.start();
    int changes = 0;
    do {
      List<RegionInfo> regions = admin.getRegions(name);
      if (regions.size() < 4) {
        RegionInfo first = regions.get(changes % regions.size());
        byte[] at = row(113 * (changes + 1) % ROWS);
        if (first.containsRow(at) && Bytes.compareTo(first.getStartKey(), at) != 0) {
          finish(admin.splitRegionAsync(first.getRegionName(), at));
        }
      } else {
        byte[][] two = {regions.get(1).getEncodedNameAsBytes(), regions.get(2).getEncodedNameAsBytes()};
        finish(admin.mergeRegionsAsync(two, false));
      }
      changes++;
      same("rows while regions change", rows(), keys(new Scan().setCaching(100)));
    } while (writer.isAlive());
    writer.join();
    if (!failures.isEmpty()) {
      throw new AssertionError("the writer failed", failures.get(0));
    }
    same("regions changed", true, changes > 0);
  }

  private void snapshots() throws Exception {
    int regions = starts().size();
    admin.snapshot("monday", name);
    throwsA("SnapshotExistsException", () -> admin.snapshot("monday", name));
    throwsA("SnapshotCreationException", () -> admin.snapshot("none", TableName.valueOf("missing")));
    List<SnapshotDescription> found = admin.listSnapshots();
    same("snapshots", "[monday]", found.stream().map(SnapshotDescription::getName).toList().toString());
    same("of the table", name, found.get(0).getTableName());
    try (Table table = connection.getTable(name)) {
      table.put(put(ROWS + 1, "after"));
      same("a row more", ROWS + 1, keys(new Scan()).size());
    }
    TableName copy = TableName.valueOf("copy");
    admin.cloneSnapshot("monday", copy);
    same("the clone", true, admin.isTableEnabled(copy));
    try (Table table = connection.getTable(copy)) {
      same("rows of the clone", rows(), ClientCheck.keys(table, new Scan()));
      same("regions of the clone", regions, admin.getRegions(copy).size());
      table.put(put(3, "of the clone"));
    }
    throwsA("TableExistsException", () -> admin.cloneSnapshot("monday", copy));
    admin.majorCompact(copy);
    throwsA("TableNotDisabledException", () -> admin.restoreSnapshot("monday"));
    admin.disableTable(name);
    admin.restoreSnapshot("monday");
    admin.enableTable(name);
    same("restored", rows(), keys(new Scan()));
    same("its regions", regions, starts().size());
    throwsA("SnapshotDoesNotExistException", () -> admin.cloneSnapshot("tuesday", TableName.valueOf("none")));
    admin.deleteSnapshot("monday");
    same("no snapshot", 0, admin.listSnapshots().size());
    throwsA("SnapshotDoesNotExistException", () -> admin.deleteSnapshot("monday"));
    try (Table table = connection.getTable(copy)) {
      same("the clone stays", "of the clone", value(table.get(new Get(row(3)))));
    }
    admin.disableTable(copy);
    admin.deleteTable(copy);
  }

  private void end() throws IOException {
    int regions = starts().size();
    admin.disableTable(name);
    admin.truncateTable(name, true);
    same("regions kept", regions, starts().size());
    same("no rows", 0, keys(new Scan()).size());
    admin.disableTable(name);
    admin.deleteTable(name);
  }

  private static Put put(int row, String value) {
    return new Put(row(row)).addColumn(F, Q, Bytes.toBytes(value));
  }

  private static byte[] row(int number) {
    return Bytes.toBytes(String.format("r%05d", number));
  }

  private static List<String> rows() {
    List<String> rows = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      rows.add(Bytes.toString(row(i)));
    }
    return rows;
  }

  private List<String> starts() throws IOException {
    List<String> starts = new ArrayList<>();
    for (RegionInfo region : admin.getRegions(name)) {
      starts.add(Bytes.toString(region.getStartKey()));
    }
    return starts;
  }

  private List<String> keys(Scan scan) throws IOException {
    try (Table table = connection.getTable(name)) {
      return ClientCheck.keys(table, scan);
    }
  }

  private static void read(ResultScanner scanner, int count, List<String> seen) throws IOException {
    for (int i = 0; i < count; i++) {
      Result result = scanner.next();
      if (result == null) {
        return;
      }
      seen.add(Bytes.toString(result.getRow()));
    }
  }

  private static String value(Result result) {
    return Bytes.toString(result.getValue(F, Q));
  }

  private static void finish(Future<?> change) throws Exception {
    change.get();
  }

  /** For what is expected to fail. */
  private static void waitFor(Future<?> change) throws IOException {
    try {
      change.get();
    } catch (ExecutionException failure) {
      throw new IOException(failure.getCause());
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }
}
