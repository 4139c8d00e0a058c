// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.KeepDeletedCells;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Random client programs: what HBase itself answered was recorded once, and every server has to answer the same.
 *
 * <p>Programs record CLUSTER FILE COUNT asks a cluster and writes the answers; Programs check CLUSTER FILE [KNOWN] asks another and compares. A program is
 * made of its number alone. Lines of FILE: program, operation, kind and answer, between tabs. Lines of KNOWN: program, operation and why the answer is
 * another one there; what follows in that program is not compared.
 */
public final class Programs {
  private static final int TABLES = 4;
  private static final int OPERATIONS = 40;
  /** Programs in a row between those that lie in two regions. */
  private static final int SPLIT_EVERY = 8;
  /** Programs that are checked side by side; each has rows of its own. */
  private static final int AT_ONCE = 8;

  private final Connection connection;

  private Programs(Connection connection) {
    this.connection = connection;
  }

  public static void main(String[] args) throws Exception {
    Configuration configuration = ClientCheck.configuration(args[1], List.of());
    configuration.setInt("hbase.client.pause", 20);
    Path file = Path.of(args[2]);
    try (Connection connection = ConnectionFactory.createConnection(configuration)) {
      Programs programs = new Programs(connection);
      if (args[0].equals("record")) {
        programs.record(file, Integer.parseInt(args[3]));
      } else {
        programs.check(file, args.length > 3 ? Path.of(args[3]) : null);
      }
    }
  }

  /** One operation of a program. */
  record Step(String kind, String what, String answer, String said) {}

  private void record(Path file, int count) throws Exception {
    createTables(count);
    try (PrintWriter out =
        new PrintWriter(new OutputStreamWriter(new GZIPOutputStream(Files.newOutputStream(file)), StandardCharsets.UTF_8))) {
      for (int number = 0; number < count; number++) {
        List<Step> steps = run(number, true);
        for (int at = 0; at < steps.size(); at++) {
          Step step = steps.get(at);
          out.printf("%d\t%d\t%s\t%s\n", number, at, step.kind, step.answer);
        }
      }
    }
    dropTables();
    System.out.println(count + " programs recorded");
  }

  private void check(Path file, Path known) throws Exception {
    Map<String, String> exempt = exemptions(known);
    List<String[]> expected = new ArrayList<>();
    try (BufferedReader in =
        new BufferedReader(new InputStreamReader(new GZIPInputStream(Files.newInputStream(file)), StandardCharsets.UTF_8))) {
      in.lines().forEach(line -> expected.add(line.split("\t", -1)));
    }
    int count = 1 + Integer.parseInt(expected.get(expected.size() - 1)[0]);
    createTables(count);
    int different = 0;
    int at = 0;
    // To look into one of them: BASALT_PROGRAM=17.
    String only = System.getenv("BASALT_PROGRAM");
    ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
    List<Future<List<Step>>> runs = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      int program = number;
      boolean wanted = only == null || only.equals(Integer.toString(number));
      runs.add(threads.submit(() -> wanted ? run(program, false) : List.of()));
    }
    threads.shutdown();
    for (int number = 0; number < count; number++) {
      List<Step> steps = runs.get(number).get();
      boolean exemptNow = false;
      for (int step = 0; step < steps.size(); step++, at++) {
        exemptNow |= exempt.remove(number + "\t" + step) != null;
        if (!exemptNow && !same(expected.get(at), number, step, steps.get(step))) {
          different++;
          break;
        }
      }
      while (at < expected.size() && expected.get(at)[0].equals(Integer.toString(number))) {
        at++;
      }
    }
    dropTables();
    if (!exempt.isEmpty() && only == null) {
      throw new AssertionError("exemptions of no operation: " + exempt.keySet());
    }
    if (different > 0) {
      throw new AssertionError(different + " of " + count + " programs were answered otherwise than by HBase");
    }
    System.out.println(count + " programs were answered as by HBase");
  }

  private static boolean same(String[] expected, int number, int at, Step found) {
    String answer = String.join("\t", number + "", at + "", found.kind, found.answer);
    String wanted = String.join("\t", expected);
    if (answer.equals(wanted)) {
      return true;
    }
    System.err.printf("program %d, operation %d: %s%n  %s%n  HBase: %s%n  found: %s%n  last exception: %s%n", number, at, found.kind, found.what, wanted, answer, found.said);
    return false;
  }

  private static Map<String, String> exemptions(Path known) throws IOException {
    Map<String, String> exempt = new HashMap<>();
    if (known != null) {
      for (String line : Files.readAllLines(known)) {
        String[] parts = line.split("\t");
        if (!line.startsWith("#")) {
          exempt.put(parts[0] + "\t" + parts[1], parts[2]);
        }
      }
    }
    return exempt;
  }

  private List<Step> run(int number, boolean records) throws IOException {
    int table = number % TABLES;
    // A flush drops what no reader sees, and raw scans show what is stored: never both in one table.
    boolean flushes = table >= TABLES / 2;
    try (ProgramRun run = new ProgramRun(connection, name(table), number, prefix(number), flushes, records)) {
      for (int i = 0; i < OPERATIONS; i++) {
        run.step();
      }
      run.end();
      return run.steps();
    }
  }

  private static TableName name(int table) {
    return TableName.valueOf("programs" + table);
  }

  static String prefix(int number) {
    return String.format("p%03d/", number);
  }

  private void createTables(int count) throws IOException {
    dropTables();
    try (Admin admin = connection.getAdmin()) {
      for (int table = 0; table < TABLES; table++) {
        List<byte[]> splits = new ArrayList<>();
        for (int number = table; number < count; number += TABLES * SPLIT_EVERY) {
          splits.add(Bytes.toBytes(prefix(number) + "m"));
        }
        TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(name(table)).setCompactionEnabled(false);
        for (byte[] family : Draw.FAMILIES) {
          builder.setColumnFamily(family(ColumnFamilyDescriptorBuilder.newBuilder(family), table).build());
        }
        admin.createTable(builder.build(), splits.toArray(new byte[0][]));
      }
    }
  }

  /** Versions and deletes as tables differ in them. */
  private static ColumnFamilyDescriptorBuilder family(ColumnFamilyDescriptorBuilder family, int table) {
    switch (table) {
      case 0:
        return family;
      case 1:
        return family.setMaxVersions(3).setKeepDeletedCells(KeepDeletedCells.TRUE);
      case 2:
        return family.setMaxVersions(4).setDataBlockEncoding(DataBlockEncoding.FAST_DIFF).setBloomFilterType(BloomType.ROWCOL);
      default:
        // All of the programs' timestamps are older than that.
        return family.setMaxVersions(5).setMinVersions(2).setTimeToLive(20 * 365 * 86_400).setBlocksize(1024);
    }
  }

  private void dropTables() throws IOException {
    try (Admin admin = connection.getAdmin()) {
      for (int table = 0; table < TABLES; table++) {
        if (admin.tableExists(name(table))) {
          admin.disableTable(name(table));
          admin.deleteTable(name(table));
        }
      }
    }
  }
}
