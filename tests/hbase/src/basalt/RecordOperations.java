// SPDX-License-Identifier: Apache-2.0
package basalt;

import static basalt.OperationDraw.object;

import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.GZIPOutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.LocalHBaseCluster;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;
import org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HRegion;
import org.apache.hadoop.hbase.regionserver.HStore;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonNull;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;
import org.apache.hbase.thirdparty.com.google.gson.JsonPrimitive;

/**
 * RecordOperations DIR FILE SEQUENCES OPERATIONS THEME...: random operations on tables of HBase's, each sequence on one of its own, with HBase's answers; the
 * themes take turns. For {@code cargo xtask replay ops}.
 *
 * <p>HBase runs in this process, with its files in DIR, so that nothing happens behind a recording's back: compactions are off, and those that are recorded run to
 * their end in the thread that asks for them, on the region itself. A region with references to files of the one before it is neither split nor merged by HBase; a
 * compaction of all, recorded as well, comes before then.
 */
public final class RecordOperations {
  /** The server's clock during operation i of a sequence is written as this and i. */
  private static final long CLOCK_START = 1_800_000_000_000L;

  private static final int AT_ONCE = 3;
  /** What HBase answers to mistakes of its callers. Anything else is a fault of its own, such as a scan that goes round in circles. */
  private static final Set<String> REFUSALS = Set.of("DoNotRetryIOException", "IncompatibleFilterException", "IllegalArgumentException");
  private static final int ANSWER_MS_MAX = 10_000;
  private static final int ATTEMPTS_MAX = 100;
  /** End of a moment that is not over. */
  private static final long NOW = -1;

  private final LocalHBaseCluster cluster;
  private final Connection connection;
  private final Admin admin;
  private final TableName name;
  private final int number;
  private final List<String> lines = new ArrayList<>();
  /** From, to, operation: when the clock was asked. */
  private final List<long[]> moments = new ArrayList<>();

  private Table table;

  private RecordOperations(LocalHBaseCluster cluster, Connection connection, Admin admin, int number) {
    this.cluster = cluster;
    this.connection = connection;
    this.admin = admin;
    this.number = number;
    this.name = TableName.valueOf("sequence" + number);
  }

  public static void main(String[] args) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    configuration.setBoolean("hbase.regionserver.compaction.enabled", false);
    configuration.setBoolean("hbase.hregion.memstore.mslab.enabled", false);
    configuration.setInt("hbase.client.retries.number", 1);
    configuration.setInt("hbase.client.scanner.timeout.period", ANSWER_MS_MAX);
    LocalHBaseCluster cluster = RealServer.start(configuration, Path.of(args[0]).toAbsolutePath());
    int operations = Integer.parseInt(args[3]);
    ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
    List<Future<List<String>>> sequences = new ArrayList<>();
    try (Connection connection = ConnectionFactory.createConnection(configuration);
        Admin admin = connection.getAdmin();
        PrintWriter out = new PrintWriter(new OutputStreamWriter(new GZIPOutputStream(Files.newOutputStream(Path.of(args[1]))), StandardCharsets.UTF_8))) {
      for (int number = 0; number < Integer.parseInt(args[2]); number++) {
        RecordOperations sequence = new RecordOperations(cluster, connection, admin, number);
        OperationDraw.Theme theme = OperationDraw.Theme.valueOf(args[4 + number % (args.length - 4)]);
        sequences.add(threads.submit(() -> sequence.record(new OperationDraw(theme, sequence.number), operations)));
      }
      threads.shutdown();
      for (Future<List<String>> sequence : sequences) {
        sequence.get().forEach(line -> out.print(line + "\n"));
      }
    }
    System.out.println(sequences.size() + " sequences recorded");
    // The cluster has threads that go on for ever.
    Runtime.getRuntime().halt(0);
  }

  private List<String> record(OperationDraw draw, int operations) throws Exception {
    JsonObject described = draw.table();
    create(described);
    lines.add(OperationDraw.line(object("seq", number, "theme", draw.theme.name(), "table", described)));
    table = connection.getTable(name);
    if (operations(draw, operations)) {
      admin.disableTable(name);
    }
    return lines;
  }

  /** False if the sequence ended early, before an operation that HBase failed at. */
  private boolean operations(OperationDraw draw, int operations) throws Exception {
    for (int i = 0; i < operations; i++) {
      JsonObject operation = draw.next();
      String kind = operation.get("op").getAsString();
      if (kind.equals("split") || kind.equals("merge")) {
        if (!step(object("op", "flush")) || regions().stream().anyMatch(HRegion::hasReferences) && !step(object("op", "major_compact"))) {
          return false;
        }
      }
      if (!step(operation)) {
        return false;
      }
    }
    JsonObject stored = object("op", "scan", "raw", true, "versions", Integer.MAX_VALUE);
    JsonObject seen = object("op", "scan", "versions", Integer.MAX_VALUE);
    if (draw.theme == OperationDraw.Theme.NEW_VERSION_BEHAVIOR) {
      // What is stored beyond what is seen is HBase's own affair there.
      return step(seen) && step(object("op", "major_compact")) && step(seen);
    }
    return step(seen) && step(stored) && step(object("op", "major_compact")) && step(stored);
  }

  private void create(JsonObject described) throws IOException {
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(name);
    for (JsonElement element : described.getAsJsonArray("families")) {
      JsonObject of = element.getAsJsonObject();
      ColumnFamilyDescriptorBuilder family =
          ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(of.get("name").getAsString()))
              .setMaxVersions(of.get("versions").getAsInt())
              .setMinVersions(of.get("min_versions").getAsInt())
              .setKeepDeletedCells(KeepDeletedCells.valueOf(of.get("keep_deleted_cells").getAsString()))
              .setDataBlockEncoding(DataBlockEncoding.valueOf(of.get("encoding").getAsString()))
              .setBloomFilterType(BloomType.valueOf(of.get("bloom").getAsString()))
              .setBlocksize(of.get("block_size").getAsInt())
              .setNewVersionBehavior(of.has("new_version_behavior"));
      if (!of.get("ttl_seconds").isJsonNull()) {
        family.setTimeToLive(of.get("ttl_seconds").getAsInt());
      }
      builder.setColumnFamily(family.build());
    }
    admin.createTable(builder.build());
  }

  /** Makes and records an operation, unless HBase fails at it. */
  private boolean step(JsonObject operation) throws Exception {
    int i = lines.size() - 1;
    // A moment belongs to one operation.
    Thread.sleep(2);
    long[] moment = {System.currentTimeMillis(), NOW, i};
    moments.add(moment);
    JsonElement answer;
    try {
      answer = run(operation);
    } catch (IOException | RuntimeException failure) {
      String name = name(failure);
      if (!REFUSALS.contains(name)) {
        System.err.println("sequence " + number + " ends before operation " + i + ", at which HBase fails: " + operation + ": " + failure);
        return false;
      }
      answer = object("error", name);
    }
    moment[1] = System.currentTimeMillis();
    Thread.sleep(2);
    lines.add(OperationDraw.line(object("seq", number, "i", i, "do", operation, "answer", answer)));
    return true;
  }

  /** The class of what went wrong, without what the client wraps around it. */
  private static String name(Throwable failure) {
    while (failure instanceof RetriesExhaustedException && !(failure instanceof RetriesExhaustedWithDetailsException) && failure.getCause() != null) {
      failure = failure.getCause();
    }
    if (failure instanceof RetriesExhaustedWithDetailsException details) {
      failure = details.getCause(0);
    }
    return failure.getClass().getSimpleName();
  }

  private JsonElement run(JsonObject of) throws Exception {
    switch (of.get("op").getAsString()) {
      case "flush":
        for (HRegion region : regions()) {
          region.flush(true);
        }
        return JsonNull.INSTANCE;
      case "major_compact":
        compact();
        return JsonNull.INSTANCE;
      case "split":
        return split(RecordedFilter.hex(of.get("row")));
      case "merge":
        return merge();
      case "scan":
        return scan(of);
      case "batch":
        return batch(of);
      case "check_and_mutate":
        CheckAndMutateResult checked = table.checkAndMutate(RecordedOperation.check(of));
        return object("success", checked.isSuccess(), "cells", cells(checked.getResult()));
      default:
        return one(of);
    }
  }

  private JsonElement one(JsonObject of) throws IOException {
    Row action = RecordedOperation.action(of);
    return switch (of.get("op").getAsString()) {
      case "put" -> {
        table.put((org.apache.hadoop.hbase.client.Put) action);
        yield JsonNull.INSTANCE;
      }
      case "delete" -> {
        table.delete((org.apache.hadoop.hbase.client.Delete) action);
        yield JsonNull.INSTANCE;
      }
      case "increment" -> cells(table.increment((org.apache.hadoop.hbase.client.Increment) action));
      case "append" -> cells(table.append((org.apache.hadoop.hbase.client.Append) action));
      case "row_mutations" -> cells(table.mutateRow((org.apache.hadoop.hbase.client.RowMutations) action));
      default -> cells(table.get((org.apache.hadoop.hbase.client.Get) action));
    };
  }

  private JsonElement scan(JsonObject of) throws IOException {
    JsonArray results = new JsonArray();
    try (ResultScanner scanner = table.getScanner(RecordedOperation.scan(of))) {
      for (Result result; (result = scanner.next()) != null; ) {
        results.add(cells(result));
      }
    }
    return results;
  }

  private JsonElement batch(JsonObject of) throws Exception {
    List<Row> actions = new ArrayList<>();
    for (JsonElement action : of.getAsJsonArray("actions")) {
      actions.add(RecordedOperation.action(action.getAsJsonObject()));
    }
    Object[] found = new Object[actions.size()];
    try {
      table.batch(actions, found);
    } catch (RetriesExhaustedWithDetailsException failure) {
      // The answers say which action failed.
    }
    JsonArray answers = new JsonArray();
    for (Object one : found) {
      answers.add(one instanceof Throwable failure ? object("error", name(failure)) : cells((Result) one));
    }
    return answers;
  }

  private JsonElement cells(Result result) {
    if (result == null) {
      return JsonNull.INSTANCE;
    }
    JsonArray cells = new JsonArray();
    for (Cell cell : result.rawCells() == null ? new Cell[0] : result.rawCells()) {
      JsonArray one = new JsonArray();
      HexFormat hex = HexFormat.of();
      one.add(hex.formatHex(CellUtil.cloneRow(cell)));
      one.add(Bytes.toString(CellUtil.cloneFamily(cell)));
      one.add(hex.formatHex(CellUtil.cloneQualifier(cell)));
      one.add(new JsonPrimitive(moment(cell.getTimestamp())));
      one.add(cell.getType().name());
      one.add(hex.formatHex(CellUtil.cloneValue(cell)));
      cells.add(one);
    }
    return cells;
  }

  /** A timestamp as it is written; of those that the server made, the operation's number. */
  private long moment(long timestamp) {
    for (long[] moment : moments) {
      long end = moment[1] == NOW ? System.currentTimeMillis() : moment[1];
      if (moment[0] <= timestamp && timestamp <= end) {
        return CLOCK_START + moment[2];
      }
    }
    return timestamp;
  }

  private List<HRegion> regions() {
    List<HRegion> regions = new ArrayList<>(cluster.getRegionServer(0).getRegions(name));
    regions.removeIf(region -> !region.isAvailable());
    regions.sort((a, b) -> Bytes.compareTo(a.getRegionInfo().getStartKey(), b.getRegionInfo().getStartKey()));
    return regions;
  }

  /** Rewrites all files of each region; afterwards a family has one at most, and none that belonged to another region. */
  private void compact() throws IOException {
    for (HRegion region : regions()) {
      region.compact(true);
      for (HStore store : region.getStores()) {
        store.closeAndArchiveCompactedFiles();
        if (store.getStorefilesCount() > 1 || store.hasReferences()) {
          throw new AssertionError(store + " still has files to be compacted");
        }
      }
    }
  }

  /** Splits the region of a row there; says whether it could be. */
  private JsonElement split(byte[] row) throws Exception {
    HRegion region = regions().stream().filter(one -> one.getRegionInfo().containsRow(row)).findFirst().orElseThrow();
    if (Bytes.equals(region.getRegionInfo().getStartKey(), row)) {
      return new JsonPrimitive(false);
    }
    int before = regions().size();
    byte[] parent = region.getRegionInfo().getRegionName();
    insist(() -> admin.splitRegionAsync(parent, row));
    awaitRegions(before + 1);
    return new JsonPrimitive(true);
  }

  /** Merges the first two regions; says whether there were two. */
  private JsonElement merge() throws Exception {
    List<HRegion> regions = regions();
    if (regions.size() < 2) {
      return new JsonPrimitive(false);
    }
    byte[][] names = {regions.get(0).getRegionInfo().getRegionName(), regions.get(1).getRegionInfo().getRegionName()};
    insist(() -> admin.mergeRegionsAsync(names, true));
    awaitRegions(regions.size() - 1);
    return new JsonPrimitive(true);
  }

  /** HBase's master refuses to change regions until it has cleaned up behind the last change. */
  private void insist(Callable<Future<Void>> change) throws Exception {
    for (int attempt = 1; ; attempt++) {
      try {
        change.call().get();
        return;
      } catch (IOException | ExecutionException refused) {
        if (attempt == ATTEMPTS_MAX) {
          throw new AssertionError(refused);
        }
        admin.runCatalogJanitor();
        Thread.sleep(100);
      }
    }
  }

  private void awaitRegions(int count) throws InterruptedException {
    while (regions().size() != count) {
      Thread.sleep(5);
    }
  }
}
