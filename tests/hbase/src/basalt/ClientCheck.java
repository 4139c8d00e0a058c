// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.filter.BigDecimalComparator;
import org.apache.hadoop.hbase.filter.BinaryComparator;
import org.apache.hadoop.hbase.filter.ColumnPrefixFilter;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.PageFilter;
import org.apache.hadoop.hbase.filter.PrefixFilter;
import org.apache.hadoop.hbase.filter.RegexStringComparator;
import org.apache.hadoop.hbase.filter.RowFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;
import org.apache.hadoop.hbase.filter.ValueFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.VersionInfo;

/**
 * What programs do with HBase's client; the first answer that is wrong ends it.
 *
 * <p>ClientCheck rpc:HOST:PORT|zk:HOST:PORT [inline] [gzip]: by the registry of a server or by ZooKeeper; without cell blocks, or with
 * compressed ones.
 */
public final class ClientCheck {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] G = Bytes.toBytes("g");
  private static final byte[] Q = Bytes.toBytes("q");

  private final Connection connection;
  private final Admin admin;
  private final TableName name = TableName.valueOf("shop", "orders");

  private ClientCheck(Connection connection) throws IOException {
    this.connection = connection;
    this.admin = connection.getAdmin();
  }

  public static void main(String[] args) throws Exception {
    List<String> options = Arrays.asList(args).subList(1, args.length);
    try (Connection connection = ConnectionFactory.createConnection(configuration(args[0], options))) {
      ClientCheck check = new ClientCheck(connection);
      check.tables();
      check.rows();
      check.deletes();
      check.counters();
      check.conditions();
      check.batches();
      check.scans();
      check.filters();
      check.buffered();
      check.mistakes();
      check.end();
      RegionCheck.run(connection);
    }
    System.out.println("all answers are right");
  }

  /** Of a client that finds its cluster by rpc:HOST:PORT, or by zk:HOST:PORT. */
  static Configuration configuration(String server, List<String> options) {
    Configuration configuration = HBaseConfiguration.create();
    String[] parts = server.split(":");
    if (parts[0].equals("zk")) {
      configuration.set("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.ZKConnectionRegistry");
      configuration.set("hbase.zookeeper.quorum", parts[1]);
      configuration.set("hbase.zookeeper.property.clientPort", parts[2]);
    } else {
      configuration.set("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry");
      configuration.set("hbase.client.bootstrap.servers", parts[1] + ":" + parts[2]);
    }
    configuration.setInt("hbase.client.retries.number", 4);
    if (options.contains("inline")) {
      configuration.set("hbase.client.default.rpc.codec", "");
    }
    if (options.contains("gzip")) {
      configuration.set("hbase.client.rpc.compressor", "org.apache.hadoop.io.compress.GzipCodec");
    }
    return configuration;
  }

  private void tables() throws IOException {
    admin.createNamespace(NamespaceDescriptor.create("shop").build());
    same("namespaces", "[default, hbase, shop]", Arrays.toString(namespaces()));
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(name);
    table.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(F).setMaxVersions(3).build());
    table.setValue("OWNER", "ada");
    byte[][] splits = {Bytes.toBytes("k"), Bytes.toBytes("p,!")};
    same("exists before", false, admin.tableExists(name));
    admin.createTable(table.build(), splits);
    same("exists", true, admin.tableExists(name));
    same("available", true, admin.isTableAvailable(name));
    same("regions", 3, connection.getRegionLocator(name).getAllRegionLocations().size());
    admin.modifyTable(
        TableDescriptorBuilder.newBuilder(admin.getDescriptor(name))
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(G))
            .build());
    same("families", 2, admin.getDescriptor(name).getColumnFamilyCount());
    same("owner", "ada", admin.getDescriptor(name).getValue("OWNER"));
    same("versions", 3, admin.getDescriptor(name).getColumnFamily(F).getMaxVersions());
    admin.addColumnFamily(name, ColumnFamilyDescriptorBuilder.of("h"));
    admin.deleteColumnFamily(name, Bytes.toBytes("h"));
    same("tables", "[shop:orders]", Arrays.toString(admin.listTableNames()));
    same("by pattern", 1, admin.listTableDescriptors(java.util.regex.Pattern.compile("shop:o.*")).size());
    same("enabled", true, admin.isTableEnabled(name));
    same("servers", 1, admin.getRegionServers().size());
    same("live servers", 1, admin.getClusterMetrics().getLiveServerMetrics().size());
    throwsA("TableExistsException", () -> admin.createTable(table.build()));
    throwsA("NamespaceNotFoundException", () -> admin.getNamespaceDescriptor("nowhere"));
  }

  private String[] namespaces() throws IOException {
    String[] names = admin.listNamespaces();
    Arrays.sort(names);
    return names;
  }

  private void rows() throws IOException {
    try (Table table = connection.getTable(name)) {
      same("no row", true, table.get(new Get(Bytes.toBytes("r1"))).isEmpty());
      table.put(put("r1", 1000, "one"));
      table.put(put("r1", 2000, "two"));
      table.put(new Put(Bytes.toBytes("z9")).addColumn(G, Q, Bytes.toBytes("now")));
      same("newest", "two", value(table.get(new Get(Bytes.toBytes("r1"))), F));
      Result versions = table.get(new Get(Bytes.toBytes("r1")).readVersions(3));
      same("versions", "2000:two 1000:one", text(versions));
      Get old = new Get(Bytes.toBytes("r1")).setTimeRange(0, 1500).addColumn(F, Q);
      same("time range", "1000:one", text(table.get(old)));
      same("exists", true, table.exists(new Get(Bytes.toBytes("z9"))));
      same("does not exist", false, table.exists(new Get(Bytes.toBytes("z8"))));
      long age = System.currentTimeMillis() - table.get(new Get(Bytes.toBytes("z9"))).rawCells()[0].getTimestamp();
      same("clock", true, Math.abs(age) < 600_000);
    }
  }

  private void deletes() throws IOException {
    try (Table table = connection.getTable(name)) {
      for (int i = 1; i <= 3; i++) {
        table.put(put("d1", i, "v" + i));
      }
      table.delete(new Delete(Bytes.toBytes("d1")).addColumn(F, Q));
      same("newest version deleted", "2:v2", text(table.get(new Get(Bytes.toBytes("d1")))));
      table.delete(new Delete(Bytes.toBytes("d1")).addColumn(F, Q, 1));
      same("one version deleted", "2:v2", text(table.get(new Get(Bytes.toBytes("d1")).readAllVersions())));
      table.delete(new Delete(Bytes.toBytes("d1")).addColumns(F, Q));
      same("column deleted", true, table.get(new Get(Bytes.toBytes("d1"))).isEmpty());
      Result raw;
      try (ResultScanner scanner = table.getScanner(row("d1").setRaw(true).readAllVersions())) {
        raw = scanner.next();
      }
      same("raw cells", 6, raw.size());
      table.put(new Put(Bytes.toBytes("d2")).addColumn(F, Q, Bytes.toBytes("a")).addColumn(G, Q, Bytes.toBytes("b")));
      table.delete(new Delete(Bytes.toBytes("d2")).addFamily(F));
      same("family deleted", "b", value(table.get(new Get(Bytes.toBytes("d2"))), G));
      table.delete(new Delete(Bytes.toBytes("d2")));
      same("row deleted", false, table.exists(new Get(Bytes.toBytes("d2"))));
    }
  }

  private void counters() throws IOException {
    try (Table table = connection.getTable(name)) {
      byte[] row = Bytes.toBytes("c1");
      same("counter", 5L, table.incrementColumnValue(row, F, Q, 5));
      same("counter again", 3L, table.incrementColumnValue(row, F, Q, -2));
      Result both = table.increment(new Increment(row).addColumn(F, Q, 1).addColumn(G, Q, 7));
      same("two counters", 4L, Bytes.toLong(both.getValue(F, Q)));
      same("the other", 7L, Bytes.toLong(both.getValue(G, Q)));
      Result silent = table.increment(new Increment(row).addColumn(F, Q, 1).setReturnResults(false));
      same("silent", true, silent == null || silent.isEmpty());
      Result text = table.append(new Append(Bytes.toBytes("c2")).addColumn(F, Q, Bytes.toBytes("ab")));
      text = table.append(new Append(Bytes.toBytes("c2")).addColumn(F, Q, Bytes.toBytes("cd")));
      same("appended", "abcd", value(text, F));
      throwsA("DoNotRetryIOException", () -> table.incrementColumnValue(Bytes.toBytes("c2"), F, Q, 1));
      expiringCounters(table);
    }
  }

  private void expiringCounters(Table table) throws IOException {
    byte[] row = Bytes.toBytes("c3");
    table.increment(new Increment(row).addColumn(F, Q, 1).setTimestamp(1).setTTL(1_000));
    table.append(new Append(row).addColumn(G, Q, Q).setTimestamp(1).setTTL(1_000));
    same("expired", true, table.get(new Get(row)).isEmpty());
    table.increment(new Increment(row).addColumn(F, Q, 1).setTTL(3_600_000));
    same("counted from the start", 3L, table.incrementColumnValue(row, F, Q, 2));
    table.delete(new Delete(row));
  }

  private void conditions() throws IOException {
    try (Table table = connection.getTable(name)) {
      byte[] row = Bytes.toBytes("m1");
      CheckAndMutate first = CheckAndMutate.newBuilder(row).ifNotExists(F, Q).build(put("m1", "a"));
      same("if not exists", true, table.checkAndMutate(first).isSuccess());
      same("not twice", false, table.checkAndMutate(first).isSuccess());
      CheckAndMutate less =
          CheckAndMutate.newBuilder(row).ifMatches(F, Q, CompareOperator.LESS, Bytes.toBytes("b")).build(put("m1", "b"));
      same("given b < stored a", false, table.checkAndMutate(less).isSuccess());
      CheckAndMutate equal = CheckAndMutate.newBuilder(row).ifEquals(F, Q, Bytes.toBytes("a")).build(put("m1", "c"));
      same("equal", true, table.checkAndMutate(equal).isSuccess());
      RowMutations both = new RowMutations(row);
      both.add((org.apache.hadoop.hbase.client.Mutation) put("m1", "d"));
      both.add((org.apache.hadoop.hbase.client.Mutation) new Delete(row).addColumns(G, Q));
      CheckAndMutate many = CheckAndMutate.newBuilder(row).ifEquals(F, Q, Bytes.toBytes("c")).build(both);
      same("several changes", true, table.checkAndMutate(many).isSuccess());
      same("their value", "d", value(table.get(new Get(row)), F));
      SingleColumnValueFilter filter = new SingleColumnValueFilter(F, Q, CompareOperator.EQUAL, Bytes.toBytes("d"));
      Increment increment = new Increment(row).addColumn(G, Q, 11);
      Result counted =
          table.checkAndMutate(CheckAndMutate.newBuilder(row).ifMatches(filter).build(increment)).getResult();
      same("by filter", 11L, Bytes.toLong(counted.getValue(G, Q)));
      table.mutateRow(both);
      same("mutateRow", 1, table.get(new Get(row)).size());
    }
  }

  private void batches() throws Exception {
    try (Table table = connection.getTable(name)) {
      List<Put> puts = new ArrayList<>();
      for (int i = 0; i < 2000; i++) {
        puts.add(put(String.format("%s%05d", i % 2 == 0 ? "b" : "q", i), "v" + i));
      }
      table.put(puts);
      List<Get> gets = new ArrayList<>();
      for (Put put : puts) {
        gets.add(new Get(put.getRow()));
      }
      Result[] found = table.get(gets);
      for (int i = 0; i < found.length; i++) {
        same("batch row " + i, "v" + i, value(found[i], F));
      }
      boolean[] there = table.exists(gets.subList(0, 10));
      for (boolean exists : there) {
        same("batch exists", true, exists);
      }
      List<Row> mixed = new ArrayList<>();
      mixed.add(put("x1", "1"));
      mixed.add(new Get(Bytes.toBytes("b00000")));
      mixed.add(new Increment(Bytes.toBytes("x2")).addColumn(F, Q, 4));
      mixed.add(new Delete(Bytes.toBytes("q00001")));
      mixed.add(new Append(Bytes.toBytes("x3")).addColumn(F, Q, Bytes.toBytes("z")));
      mixed.add(new Put(Bytes.toBytes("x4")).addColumn(Bytes.toBytes("nope"), Q, Q));
      Object[] results = new Object[mixed.size()];
      throwsA("NoSuchColumnFamilyException", () -> batch(table, mixed, results));
      same("get in a batch", "v0", value((Result) results[1], F));
      same("increment in a batch", 4L, Bytes.toLong(((Result) results[2]).getValue(F, Q)));
      same("append in a batch", "z", value((Result) results[4], F));
      same("delete in a batch", false, table.exists(new Get(Bytes.toBytes("q00001"))));
      same("put in a batch", true, table.exists(new Get(Bytes.toBytes("x1"))));
    }
  }

  private static void batch(Table table, List<Row> actions, Object[] results) throws IOException {
    try {
      table.batch(actions, results);
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  private void scans() throws IOException {
    try (Table table = connection.getTable(name)) {
      int all = count(table, new Scan());
      same("more than the batch", true, all > 1999);
      for (int caching : new int[] {1, 7, 100, 5000}) {
        same("caching " + caching, all, count(table, new Scan().setCaching(caching)));
      }
      same("small answers", all, count(table, new Scan().setMaxResultSize(1000)));
      same("reversed", all, count(table, new Scan().setReversed(true).setCaching(50)));
      List<String> forward = keys(table, new Scan());
      List<String> backward = keys(table, new Scan().setReversed(true));
      java.util.Collections.reverse(backward);
      same("same rows", forward, backward);
      same("limit", 13, count(table, new Scan().setLimit(13)));
      same("limit over regions", 1500, count(table, new Scan().setLimit(1500).setCaching(400)));
      Scan range = new Scan().withStartRow(Bytes.toBytes("b00010")).withStopRow(Bytes.toBytes("b00020"), true);
      same("range", "[b00010, b00012, b00014, b00016, b00018, b00020]", keys(table, range).toString());
      Scan back = new Scan().setReversed(true).withStartRow(Bytes.toBytes("b00014"), false).setLimit(2);
      same("from a row backwards", "[b00012, b00010]", keys(table, back).toString());
      same("prefix", 999, count(table, new Scan().setStartStopRowForPrefixScan(Bytes.toBytes("q"))));
      wideRow(table);
      Scan unfinished = new Scan().setCaching(10);
      try (ResultScanner scanner = table.getScanner(unfinished)) {
        scanner.next();
        // HBase 3 renews by itself, while it reads ahead, and says no when it is asked to.
        boolean renewed = scanner.renewLease();
        same("renewed", true, renewed || VersionInfo.getVersion().startsWith("3"));
        same("goes on", true, scanner.next(25).length == 25);
      }
      try (ResultScanner scanner = table.getScanner(new Scan().setScanMetricsEnabled(true).setLimit(20))) {
        int rows = 0;
        for (Result result : scanner) {
          rows += result.isEmpty() ? 0 : 1;
        }
        same("with metrics", 20, rows);
      }
    }
  }

  /** A row of many cells, larger than an answer: cut by cells, by bytes, and put together again. */
  private void wideRow(Table table) throws IOException {
    Put put = new Put(Bytes.toBytes("w"));
    for (int i = 0; i < 300; i++) {
      put.addColumn(F, Bytes.toBytes(String.format("c%03d", i)), new byte[1000]);
    }
    table.put(put);
    int results = 0;
    int cells = 0;
    try (ResultScanner scanner = table.getScanner(row("w").setBatch(70))) {
      for (Result result : scanner) {
        results++;
        cells += result.size();
      }
    }
    same("pieces of a row", 5, results);
    same("their cells", 300, cells);
    try (ResultScanner scanner = table.getScanner(row("w").setMaxResultSize(50_000))) {
      same("the row in one", 300, scanner.next().size());
    }
    results = 0;
    cells = 0;
    try (ResultScanner scanner = table.getScanner(row("w").setMaxResultSize(50_000).setAllowPartialResults(true))) {
      for (Result result : scanner) {
        results++;
        cells += result.size();
      }
    }
    same("partial results", true, results > 3);
    same("cells of partial results", 300, cells);
    table.delete(new Delete(Bytes.toBytes("w")));
  }

  private void filters() throws IOException {
    try (Table table = connection.getTable(name)) {
      same("prefix filter", 1000, count(table, new Scan().setFilter(new PrefixFilter(Bytes.toBytes("b")))));
      RowFilter even = new RowFilter(CompareOperator.EQUAL, new RegexStringComparator("^b\\d*00$"));
      same("regex", 20, count(table, new Scan().setFilter(even)));
      SingleColumnValueFilter value = new SingleColumnValueFilter(F, Q, CompareOperator.EQUAL, Bytes.toBytes("v42"));
      value.setFilterIfMissing(true);
      same("by value", "[b00042]", keys(table, new Scan().setFilter(value)).toString());
      FilterList both = new FilterList(new PrefixFilter(Bytes.toBytes("b")), new PageFilter(5));
      same("page", 5, count(table, new Scan().withStartRow(Bytes.toBytes("b")).setFilter(both)));
      FilterList either =
          new FilterList(
              FilterList.Operator.MUST_PASS_ONE,
              new RowFilter(CompareOperator.EQUAL, new BinaryComparator(Bytes.toBytes("b00004"))),
              new RowFilter(CompareOperator.EQUAL, new BinaryComparator(Bytes.toBytes("q00003"))));
      same("either", "[b00004, q00003]", keys(table, new Scan().setFilter(either)).toString());
      same("first keys", true, count(table, new Scan().setFilter(new FirstKeyOnlyFilter())) > 1999);
      Get columns = new Get(Bytes.toBytes("c1")).setFilter(new ColumnPrefixFilter(Bytes.toBytes("nope")));
      same("get with filter", true, table.get(columns).isEmpty());
      decimals(table);
    }
  }

  private void decimals(Table table) throws IOException {
    Put put = new Put(Bytes.toBytes("decimal"));
    for (String number : new String[] {"-3.5", "12.340", "700"}) {
      put.addColumn(F, Bytes.toBytes(number), Bytes.toBytes(new BigDecimal(number)));
    }
    table.put(put);
    Get get = new Get(put.getRow());
    get.setFilter(new ValueFilter(CompareOperator.GREATER_OR_EQUAL, new BigDecimalComparator(new BigDecimal("12.34"))));
    same("decimals", 2, table.get(get).size());
    table.delete(new Delete(put.getRow()));
  }

  private void buffered() throws IOException {
    try (BufferedMutator mutator = connection.getBufferedMutator(name)) {
      for (int i = 0; i < 20_000; i++) {
        mutator.mutate(put(String.format("s%06d", i), "s" + i));
      }
    }
    try (Table table = connection.getTable(name)) {
      Scan scan = new Scan().setStartStopRowForPrefixScan(Bytes.toBytes("s"));
      same("buffered rows", 20_000, count(table, scan));
      admin.flush(name);
      admin.majorCompact(name);
      while (admin.getCompactionState(name) != org.apache.hadoop.hbase.client.CompactionState.NONE) {
        Thread.onSpinWait();
      }
      same("after a compaction", 20_000, count(table, scan));
    }
  }

  private void mistakes() throws IOException {
    try (Table table = connection.getTable(name)) {
      throwsA("NoSuchColumnFamilyException", () -> table.put(new Put(Q).addColumn(Bytes.toBytes("nope"), Q, Q)));
      throwsA("NoSuchColumnFamilyException", () -> table.get(new Get(Q).addFamily(Bytes.toBytes("nope"))));
    }
    try (Table missing = connection.getTable(TableName.valueOf("missing"))) {
      throwsA("TableNotFoundException", () -> missing.get(new Get(Q)));
    }
    throwsA("TableNotDisabledException", () -> admin.deleteTable(name));
    throwsA("TableNotDisabledException", () -> admin.enableTable(name));
    throwsA("ConstraintException", () -> admin.deleteNamespace("shop"));
  }

  private void end() throws IOException {
    admin.disableTable(name);
    same("disabled", true, admin.isTableDisabled(name));
    try (Table table = connection.getTable(name)) {
      throwsA("TableNotEnabledException", () -> table.get(new Get(Q)));
    }
    admin.enableTable(name);
    try (Table table = connection.getTable(name)) {
      same("enabled again", true, table.exists(new Get(Bytes.toBytes("s000001"))));
    }
    admin.disableTable(name);
    admin.truncateTable(name, true);
    try (Table table = connection.getTable(name)) {
      same("truncated", 0, count(table, new Scan()));
      same("regions kept", 3, connection.getRegionLocator(name).getAllRegionLocations().size());
    }
    admin.disableTable(name);
    admin.deleteTable(name);
    same("dropped", false, admin.tableExists(name));
    admin.deleteNamespace("shop");
    same("switch", true, admin.balancerSwitch(false, true));
    same("switched", false, admin.isBalancerEnabled());
    same("switched back", false, admin.balancerSwitch(true, true));
  }

  private static Put put(String row, long timestamp, String value) {
    return new Put(Bytes.toBytes(row)).addColumn(F, Q, timestamp, Bytes.toBytes(value));
  }

  private static Put put(String row, String value) {
    return new Put(Bytes.toBytes(row)).addColumn(F, Q, Bytes.toBytes(value));
  }

  private static Scan row(String row) {
    return new Scan().withStartRow(Bytes.toBytes(row)).withStopRow(Bytes.toBytes(row), true);
  }

  private static int count(Table table, Scan scan) throws IOException {
    return keys(table, scan).size();
  }

  static List<String> keys(Table table, Scan scan) throws IOException {
    List<String> keys = new ArrayList<>();
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result result : scanner) {
        keys.add(Bytes.toString(result.getRow()));
      }
    }
    return keys;
  }

  private static String value(Result result, byte[] family) {
    return Bytes.toString(result.getValue(family, Q));
  }

  private static String text(Result result) {
    List<String> cells = new ArrayList<>();
    for (Cell cell : result.rawCells()) {
      cells.add(cell.getTimestamp() + ":" + Bytes.toString(CellUtil.cloneValue(cell)));
    }
    return String.join(" ", cells);
  }

  static void same(String what, Object expected, Object found) {
    if (!expected.equals(found)) {
      throw new AssertionError(what + ": expected " + expected + ", found " + found);
    }
  }

  /** Something without an answer that may fail. */
  interface Act {
    void run() throws IOException;
  }

  static void throwsA(String wanted, Act act) {
    try {
      act.run();
    } catch (IOException failure) {
      for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
        if (cause.getClass().getSimpleName().equals(wanted) || String.valueOf(cause.getMessage()).contains(wanted)) {
          return;
        }
      }
      throw new AssertionError("expected a " + wanted, failure);
    }
    throw new AssertionError("expected a " + wanted + ", nothing was thrown");
  }
}
