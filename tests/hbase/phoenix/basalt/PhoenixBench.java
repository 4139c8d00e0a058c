// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.BufferedReader;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;

/**
 * Phoenix, to be compared with: PhoenixBench HOST:PORT TASKS. Each line of the file is a task, its parts separated by tabs, and what it took
 * comes as a line of JSON:
 *
 * <pre>
 * run     SQL                          a statement without an answer
 * load    TABLE FILE THREADS           UPSERTs of the lines of a file, fields end in '|', 1,000 a commit
 * store   TABLE ENCODING COMPRESSION   the family's settings, then flush and major compaction, and until that is over
 * ask     NAME RUNS SQL                once unmeasured, then RUNS times to the last value of the last row
 * </pre>
 */
public final class PhoenixBench {
  private static final int COMMIT_ROWS = 1000;
  private static final int ROWS_SHOWN = 20;

  private final String url;
  private final Configuration configuration = HBaseConfiguration.create();

  private PhoenixBench(String address) {
    url = "jdbc:phoenix:" + address + ":/hbase";
    String[] parts = address.split(":");
    configuration.set("hbase.zookeeper.quorum", parts[0]);
    configuration.set("hbase.zookeeper.property.clientPort", parts[1]);
  }

  public static void main(String[] args) throws Exception {
    PhoenixBench bench = new PhoenixBench(args[0]);
    try (Connection connection = DriverManager.getConnection(bench.url)) {
      connection.setAutoCommit(true);
      for (String line : Files.readAllLines(Path.of(args[1]))) {
        String[] task = line.split("\t");
        long start = System.nanoTime();
        String found =
            switch (task[0]) {
              case "run" -> run(connection, task[1]);
              case "load" -> bench.load(task[1], Path.of(task[2]), Integer.parseInt(task[3]));
              case "store" -> bench.store(task[1], task[2], task[3]);
              case "ask" -> ask(connection, Integer.parseInt(task[2]), task[3]);
              default -> throw new IllegalArgumentException("no task: " + line);
            };
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf("{\"task\": %s, \"subject\": %s, \"whole\": %.6f%s}%n", text(task[0]), text(task[1]), seconds, found);
      }
    }
    System.exit(0);
  }

  private static String run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
    return "";
  }

  private static String ask(Connection connection, int runs, String sql) throws SQLException {
    List<String> shown = new ArrayList<>();
    List<String> seconds = new ArrayList<>();
    long rows = 0;
    for (int run = 0; run <= runs; run++) {
      long start = System.nanoTime();
      rows = 0;
      try (Statement statement = connection.createStatement();
          ResultSet answer = statement.executeQuery(sql)) {
        int columns = answer.getMetaData().getColumnCount();
        while (answer.next()) {
          List<String> row = new ArrayList<>();
          for (int column = 1; column <= columns; column++) {
            Object value = answer.getObject(column);
            if (run == 0 && rows < ROWS_SHOWN) {
              row.add(value == null ? "null" : text(value instanceof BigDecimal number ? number.toPlainString() : value.toString()));
            }
          }
          if (run == 0 && rows < ROWS_SHOWN) {
            shown.add("[" + String.join(", ", row) + "]");
          }
          rows++;
        }
      }
      if (run > 0) {
        seconds.add(String.format("%.6f", (System.nanoTime() - start) / 1e9));
      }
    }
    return String.format(", \"rows\": %d, \"answer\": [%s], \"seconds\": [%s]", rows, String.join(", ", shown), String.join(", ", seconds));
  }

  private String load(String table, Path file, int threads) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    List<Future<Long>> parts = new ArrayList<>();
    try (BufferedReader lines = Files.newBufferedReader(file)) {
      for (int thread = 0; thread < threads; thread++) {
        parts.add(pool.submit(() -> upsert(table, lines)));
      }
      long rows = 0;
      for (Future<Long> part : parts) {
        rows += part.get();
      }
      return ", \"rows\": " + rows;
    } finally {
      pool.shutdown();
    }
  }

  private long upsert(String table, BufferedReader lines) throws SQLException, IOException {
    long rows = 0;
    try (Connection connection = DriverManager.getConnection(url)) {
      int[] types = types(connection, table);
      String places = "?" + ",?".repeat(types.length - 1);
      try (PreparedStatement upsert = connection.prepareStatement("UPSERT INTO " + table + " VALUES (" + places + ")")) {
        for (List<String> batch = next(lines); !batch.isEmpty(); batch = next(lines)) {
          for (String line : batch) {
            String[] fields = line.split("\\|", -1);
            for (int column = 0; column < types.length; column++) {
              upsert.setObject(column + 1, value(fields[column], types[column]));
            }
            upsert.executeUpdate();
          }
          connection.commit();
          rows += batch.size();
        }
      }
    }
    return rows;
  }

  private static List<String> next(BufferedReader lines) throws IOException {
    List<String> batch = new ArrayList<>(COMMIT_ROWS);
    synchronized (lines) {
      for (String line; batch.size() < COMMIT_ROWS && (line = lines.readLine()) != null; ) {
        batch.add(line);
      }
    }
    return batch;
  }

  private static int[] types(Connection connection, String table) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet none = statement.executeQuery("SELECT * FROM " + table + " LIMIT 0")) {
      int[] types = new int[none.getMetaData().getColumnCount()];
      for (int column = 0; column < types.length; column++) {
        types[column] = none.getMetaData().getColumnType(column + 1);
      }
      return types;
    }
  }

  private static Object value(String field, int type) {
    return switch (type) {
      case Types.INTEGER -> Integer.valueOf(field);
      case Types.BIGINT -> Long.valueOf(field);
      case Types.FLOAT -> Float.valueOf(field);
      case Types.DECIMAL -> new BigDecimal(field);
      case Types.DATE -> new Date(LocalDate.parse(field).toEpochDay() * 86_400_000L);
      default -> field;
    };
  }

  private String store(String table, String encoding, String compression) throws Exception {
    TableName name = TableName.valueOf(table);
    try (org.apache.hadoop.hbase.client.Connection connection = ConnectionFactory.createConnection(configuration);
        Admin admin = connection.getAdmin()) {
      for (ColumnFamilyDescriptor family : admin.getDescriptor(name).getColumnFamilies()) {
        ColumnFamilyDescriptorBuilder changed = ColumnFamilyDescriptorBuilder.newBuilder(family);
        changed.setDataBlockEncoding(DataBlockEncoding.valueOf(encoding));
        changed.setCompressionType(Compression.Algorithm.valueOf(compression));
        admin.modifyColumnFamily(name, changed.build());
      }
      admin.flush(name);
      long before = admin.getLastMajorCompactionTimestamp(name);
      admin.majorCompact(name);
      // What servers report is some seconds old; a compaction that is over shows by its time.
      while (admin.getLastMajorCompactionTimestamp(name) == before || admin.getCompactionState(name) != CompactionState.NONE) {
        Thread.sleep(200);
      }
    }
    return "";
  }

  private static String text(String value) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : value.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
