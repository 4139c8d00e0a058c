// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.CheckAndMutateResult;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/** One random program: draws operations, makes them, and keeps the answers. */
final class ProgramRun implements AutoCloseable {
  /** A clock's millisecond decides between versions: whoever asks for the server's time then waits until it is another one. */
  private static final long CLOCK_TICK_MS = 2;

  private final Connection connection;
  private final TableName name;
  private final Table table;
  private final Draw draw;
  private final int skipped;
  private final byte[] prefix;
  private final boolean flushes;
  /** Flushes are made. */
  private final boolean records;
  /** Raw scans are part of the program; then counters are not, for HBase drops their old values from memory when it likes. */
  private final boolean raw;

  private final List<Programs.Step> steps = new ArrayList<>();

  ProgramRun(Connection connection, TableName name, int number, String prefix, boolean flushes, boolean records)
      throws IOException {
    this.connection = connection;
    this.name = name;
    this.table = connection.getTable(name);
    this.draw = new Draw(number, prefix);
    this.skipped = prefix.length();
    this.prefix = Bytes.toBytes(prefix);
    this.flushes = flushes;
    this.records = records;
    this.raw = !flushes && draw.once(2);
  }

  List<Programs.Step> steps() {
    return steps;
  }

  @Override
  public void close() throws IOException {
    table.close();
  }

  /** All that is there at the end. */
  void end() {
    Scan all = new Scan().setStartStopRowForPrefixScan(prefix).readAllVersions();
    note("end", all, () -> scan(all));
    if (raw) {
      Scan stored = new Scan().setStartStopRowForPrefixScan(prefix).readAllVersions().setRaw(true);
      note("stored", stored, () -> scan(stored));
    }
  }

  void step() {
    try {
      draw();
    } catch (IllegalArgumentException refused) {
      // The client's own classes refuse what was drawn.
      steps.add(new Programs.Step("refused", refused.getMessage(), refused.getClass().getSimpleName(), ""));
    }
  }

  private void draw() {
    // Of 5 and 6, the counters, puts are made where those are not wanted.
    int kind = draw.below(20);
    switch (raw && (kind == 5 || kind == 6) ? 0 : kind) {
      case 0, 1, 2 -> {
        Put put = put(draw.row());
        note("put", put, () -> done(() -> table.put(put)));
      }
      case 3, 4 -> {
        Delete delete = delete(draw.row());
        note("delete", delete, () -> done(() -> table.delete(delete)));
      }
      case 5 -> {
        Increment increment = increment(draw.row());
        note("increment", increment, () -> text(table.increment(increment)));
      }
      case 6 -> {
        Append append = append(draw.row());
        note("append", append, () -> text(table.append(append)));
      }
      case 7 -> {
        CheckAndMutate check = check();
        note("check", check, () -> text(table.checkAndMutate(check)));
      }
      case 8 -> checks();
      case 9 -> {
        RowMutations mutations = mutations(draw.row());
        note("mutateRow", mutations.getMutations(), () -> text(table.mutateRow(mutations)));
      }
      case 10, 11 -> batch();
      case 12 -> buffered();
      case 13, 14 -> {
        Get get = get();
        note("get", get, () -> text(table.get(get)));
      }
      case 15 -> {
        List<Get> gets = List.of(get(), get(), get());
        boolean exist = draw.once(2);
        note(exist ? "exist" : "gets", gets, () -> exist ? java.util.Arrays.toString(table.exists(gets)) : Answers.text(table.get(gets), skipped));
      }
      default -> {
        Scan scan = scanDrawn();
        note("scan", scan, () -> scan(scan));
      }
    }
    if (flushes && draw.once(400)) {
      note("flush", name, this::flush);
    }
  }

  private void note(String kind, Object what, Answers.Ask ask) {
    String text = String.valueOf(what);
    String answer = Answers.of(ask);
    steps.add(new Programs.Step(kind, text, answer, Answers.SAID.get()));
    tick();
  }

  private static void tick() {
    try {
      Thread.sleep(CLOCK_TICK_MS);
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
  }

  /** Something that answers nothing. */
  private interface Act {
    void act() throws IOException;
  }

  private static String done(Act act) throws IOException {
    act.act();
    return "done";
  }

  private String flush() throws IOException {
    if (!records) {
      // What is flushed may be compacted at any moment, and a marker that is gone then hides nothing that is put later with an older time.
      return "done";
    }
    try (Admin admin = connection.getAdmin()) {
      return done(() -> admin.flush(name));
    }
  }

  private String text(Result result) {
    return Answers.text(result, skipped);
  }

  private String text(CheckAndMutateResult result) {
    return result.isSuccess() + " " + text(result.getResult());
  }

  private Put put(byte[] row) {
    // Without a time all cells of a put have the server's.
    Put put = new Put(row);
    boolean clock = draw.once(6);
    for (int i = 1 + draw.below(3); i > 0; i--) {
      if (clock) {
        put.addColumn(draw.family(), draw.qualifier(), draw.value());
      } else {
        put.addColumn(draw.family(), draw.qualifier(), draw.timestamp(), draw.value());
      }
    }
    return put;
  }

  private Delete delete(byte[] row) {
    Delete delete = new Delete(row);
    if (draw.once(5)) {
      return draw.once(2) ? delete : new Delete(row, draw.timestamp());
    }
    for (int i = 1 + draw.below(2); i > 0; i--) {
      switch (draw.below(6)) {
        case 0 -> delete.addFamily(draw.family());
        case 1 -> delete.addFamily(draw.family(), draw.timestamp());
        case 2 -> delete.addFamilyVersion(draw.family(), draw.timestamp());
        case 3 -> delete.addColumns(draw.family(), draw.qualifier(), draw.timestamp());
        case 4 -> delete.addColumn(draw.family(), draw.qualifier(), draw.timestamp());
        default -> {
          if (draw.once(2)) {
            delete.addColumns(draw.family(), draw.qualifier());
          } else {
            delete.addColumn(draw.family(), draw.qualifier());
          }
        }
      }
    }
    return delete;
  }

  /** Counters have columns of their own, so that their values are numbers as a rule. */
  private Increment increment(byte[] row) {
    Increment increment = new Increment(row);
    increment.addColumn(draw.of(Draw.FAMILIES), draw.once(8) ? draw.qualifier() : Bytes.toBytes("count"), draw.below(9) - 3L);
    if (draw.once(3)) {
      increment.addColumn(draw.family(), Bytes.toBytes("count2"), 1);
    }
    if (draw.once(5)) {
      increment.setReturnResults(false);
    }
    return increment;
  }

  private Append append(byte[] row) {
    Append append = new Append(row);
    append.addColumn(draw.family(), draw.once(3) ? draw.qualifier() : Bytes.toBytes("log"), draw.value());
    if (draw.once(5)) {
      append.setReturnResults(false);
    }
    return append;
  }

  private Mutation mutation(byte[] row) {
    switch (draw.below(raw ? 4 : 6)) {
      case 0, 1, 2:
        return put(row);
      case 3:
        return delete(row);
      case 4:
        return increment(row);
      default:
        return append(row);
    }
  }

  private RowMutations mutations(byte[] row) throws UncheckedFailure {
    RowMutations mutations = new RowMutations(row);
    try {
      for (int i = 1 + draw.below(3); i > 0; i--) {
        mutations.add(mutation(row));
      }
    } catch (IOException failure) {
      throw new UncheckedFailure(failure);
    }
    return mutations;
  }

  private CheckAndMutate check() {
    byte[] row = draw.row();
    CheckAndMutate.Builder builder = CheckAndMutate.newBuilder(row);
    if (draw.once(4)) {
      builder.ifMatches(draw.filter(1));
    } else if (draw.once(4)) {
      builder.ifNotExists(draw.family(), draw.qualifier());
    } else {
      builder.ifMatches(draw.family(), draw.qualifier(), draw.operator(), draw.value());
    }
    if (draw.once(6)) {
      builder.timeRange(org.apache.hadoop.hbase.io.TimeRange.between(draw.below(4), 5 + draw.below(8)));
    }
    if (draw.once(3)) {
      return builder.build(mutations(row));
    }
    Mutation mutation = mutation(row);
    if (mutation instanceof Put put) {
      return builder.build(put);
    }
    if (mutation instanceof Delete delete) {
      return builder.build(delete);
    }
    return mutation instanceof Increment increment ? builder.build(increment) : builder.build((Append) mutation);
  }

  private void checks() {
    List<CheckAndMutate> checks = List.of(check(), check());
    note(
        "checks",
        checks,
        () -> {
          StringJoiner text = new StringJoiner(" ");
          for (CheckAndMutateResult result : table.checkAndMutate(checks)) {
            text.add(text(result));
          }
          return text.toString();
        });
  }

  /** Of rows that differ: the order of a batch is not promised. */
  private void batch() {
    List<Row> actions = new ArrayList<>();
    List<String> rows = new ArrayList<>();
    for (int i = 2 + draw.below(5); i > 0; i--) {
      byte[] row = draw.row();
      Row action = draw.once(3) ? get(row) : draw.once(6) ? mutations(row) : mutation(row);
      if (!rows.contains(Bytes.toStringBinary(row))) {
        rows.add(Bytes.toStringBinary(row));
        actions.add(action);
      }
    }
    Object[] results = new Object[actions.size()];
    note("batch", actions, () -> batched(actions, results));
  }

  private String batched(List<Row> actions, Object[] results) throws IOException {
    String failure = "";
    try {
      table.batch(actions, results);
    } catch (IOException exception) {
      failure = Answers.name(exception) + " ";
    } catch (InterruptedException interrupted) {
      throw new AssertionError(interrupted);
    }
    return failure + Answers.text(results, skipped);
  }

  private void buffered() {
    List<Mutation> mutations = new ArrayList<>();
    for (int i = 1 + draw.below(4); i > 0; i--) {
      byte[] row = draw.row();
      mutations.add(draw.once(4) ? delete(row) : put(row));
    }
    note(
        "buffered",
        mutations,
        () -> {
          try (BufferedMutator mutator = connection.getBufferedMutator(name)) {
            for (Mutation mutation : mutations) {
              mutator.mutate(mutation);
              mutator.flush();
              // The next one may put into the same row, and is a version of its own.
              tick();
            }
          }
          return "done";
        });
  }

  private Get get() {
    return get(draw.row());
  }

  private Get get(byte[] row) {
    Get get = new Get(row);
    try {
      for (int i = draw.below(3); i > 0; i--) {
        if (draw.once(3)) {
          get.addFamily(draw.family());
        } else {
          get.addColumn(draw.family(), draw.qualifier());
        }
      }
      if (draw.once(3)) {
        get.readVersions(1 + draw.below(4));
      }
      if (draw.once(4)) {
        get.setTimeRange(draw.below(5), 4 + draw.below(9));
      }
      if (draw.once(4)) {
        get.setFilter(draw.filter(1));
      }
      if (draw.once(8)) {
        get.setMaxResultsPerColumnFamily(1 + draw.below(3)).setRowOffsetPerColumnFamily(draw.below(3));
      }
      if (draw.once(10)) {
        get.setCheckExistenceOnly(true);
      }
    } catch (IOException failure) {
      throw new UncheckedFailure(failure);
    }
    return get;
  }

  private Scan scanDrawn() {
    Scan scan = new Scan().setStartStopRowForPrefixScan(prefix);
    boolean reversed = draw.once(4);
    scan.setReversed(reversed);
    if (reversed) {
      // From the last row of the program down to its first.
      scan.withStartRow(Bytes.add(prefix, new byte[] {(byte) 0xff, (byte) 0xff}), true).withStopRow(prefix, true);
    }
    if (draw.once(3)) {
      byte[] low = draw.row();
      byte[] high = draw.row();
      boolean ordered = Bytes.compareTo(low, high) <= 0 != reversed;
      scan.withStartRow(ordered ? low : high, !draw.once(3)).withStopRow(ordered ? high : low, draw.once(3));
    }
    boolean stored = raw && draw.once(3);
    scan.setRaw(stored);
    for (int i = draw.once(2) ? 0 : draw.below(3); i > 0; i--) {
      if (stored || draw.once(2)) {
        scan.addFamily(draw.family());
      } else {
        scan.addColumn(draw.family(), draw.qualifier());
      }
    }
    try {
      if (draw.once(2)) {
        scan.readVersions(1 + draw.below(5));
      }
      if (draw.once(5)) {
        scan.setTimeRange(draw.below(5), 4 + draw.below(9));
      }
    } catch (IOException failure) {
      throw new UncheckedFailure(failure);
    }
    if (draw.once(3)) {
      scan.setFilter(draw.filter(2));
      // HBase refuses to go backwards if a filter could leave families for later.
      scan.setLoadColumnFamiliesOnDemand(!reversed && draw.once(2));
    }
    limits(scan);
    return scan;
  }

  private void limits(Scan scan) {
    if (draw.once(2)) {
      scan.setCaching(1 + draw.below(5));
    }
    if (draw.once(4)) {
      scan.setLimit(1 + draw.below(5));
    }
    if (draw.once(6) && !scan.hasFilter()) {
      scan.setBatch(1 + draw.below(3));
    }
    if (draw.once(6)) {
      scan.setMaxResultSize(1 + draw.below(300));
    }
    if (draw.once(10)) {
      scan.setMaxResultsPerColumnFamily(1 + draw.below(3)).setRowOffsetPerColumnFamily(draw.below(2));
    }
    if (draw.once(4)) {
      scan.setReadType(draw.of(Scan.ReadType.PREAD, Scan.ReadType.STREAM));
    }
    if (draw.once(8)) {
      scan.setAsyncPrefetch(true);
    }
  }

  private String scan(Scan scan) throws IOException {
    StringJoiner text = new StringJoiner(" ");
    try (ResultScanner scanner = table.getScanner(scan)) {
      for (Result result : scanner) {
        text.add(text(result));
      }
    }
    return text.toString();
  }

  /** An exception of building an operation, which cannot be. */
  private static final class UncheckedFailure extends RuntimeException {
    private static final long serialVersionUID = 1;

    UncheckedFailure(IOException cause) {
      super(cause);
    }
  }
}
