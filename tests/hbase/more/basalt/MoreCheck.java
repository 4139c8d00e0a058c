// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.client.coprocessor.AggregationClient;
import org.apache.hadoop.hbase.client.coprocessor.LongColumnInterpreter;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.mapreduce.HFileOutputFormat2;
import org.apache.hadoop.hbase.mapreduce.RowCounter;
import org.apache.hadoop.hbase.mapreduce.TableMapReduceUtil;
import org.apache.hadoop.hbase.mapreduce.TableMapper;
import org.apache.hadoop.hbase.mapreduce.TableOutputFormat;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

/**
 * HBase's endpoints, its MapReduce in local mode and its bulk load against a server; the first answer that is wrong ends it.
 *
 * <p>MoreCheck rpc:HOST:PORT|zk:HOST:PORT
 */
public final class MoreCheck {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final TableName NAME = TableName.valueOf("more");
  private static final TableName COPY = TableName.valueOf("more_copy");
  private static final TableName LOADED = TableName.valueOf("more_loaded");
  private static final int ROWS = 3_000;

  private MoreCheck() {}

  public static void main(String[] args) throws Throwable {
    Configuration configuration = ClientCheck.configuration(args[0], List.of());
    configuration.set("mapreduce.framework.name", "local");
    try (Connection connection = ConnectionFactory.createConnection(configuration);
        Admin admin = connection.getAdmin()) {
      byte[][] splits = {Bytes.toBytes("row1000"), Bytes.toBytes("row2000")};
      create(admin, NAME, splits);
      create(admin, COPY, splits);
      create(admin, LOADED, splits);
      load(connection);
      aggregation(configuration);
      counting(configuration);
      copying(configuration, connection);
      bulkLoading(configuration, connection, Files.createTempDirectory("more"));
      for (TableName name : new TableName[] {NAME, COPY, LOADED}) {
        admin.disableTable(name);
        admin.deleteTable(name);
      }
    }
    System.out.println("all answers are right");
  }

  private static void create(Admin admin, TableName name, byte[][] splits) throws IOException {
    // Programs that work with HBase load the endpoint into their tables.
    TableDescriptorBuilder table =
        TableDescriptorBuilder.newBuilder(name)
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of(F))
            .setCoprocessor("org.apache.hadoop.hbase.coprocessor.AggregateImplementation");
    admin.createTable(table.build(), splits);
  }

  private static void load(Connection connection) throws IOException {
    try (Table table = connection.getTable(NAME)) {
      List<Put> puts = new ArrayList<>();
      for (int i = 0; i < ROWS; i++) {
        puts.add(new Put(key(i)).addColumn(F, Q, Bytes.toBytes((long) i - 1000)));
      }
      table.put(puts);
    }
  }

  private static void aggregation(Configuration configuration) throws Throwable {
    LongColumnInterpreter longs = new LongColumnInterpreter();
    try (AggregationClient client = new AggregationClient(configuration)) {
      Scan all = new Scan().addColumn(F, Q);
      ClientCheck.same("row count", (long) ROWS, client.rowCount(NAME, longs, all));
      Scan some = new Scan().addColumn(F, Q).withStartRow(key(900)).withStopRow(key(2100));
      ClientCheck.same("row count of a range", 1200L, client.rowCount(NAME, longs, some));
      ClientCheck.same("max", 1999L, client.max(NAME, longs, all));
      ClientCheck.same("min", -1000L, client.min(NAME, longs, all));
      ClientCheck.same("sum", 1_498_500L, client.sum(NAME, longs, all));
      ClientCheck.same("sum of a range", 599_400L, client.sum(NAME, longs, some));
      ClientCheck.same("avg", 499.5, client.avg(NAME, longs, all));
      long std = Math.round(client.std(NAME, longs, all));
      ClientCheck.same("std", 866L, std);
    }
  }

  /** HBase's own job, over TableInputFormat. */
  @SuppressWarnings("deprecation")
  private static void counting(Configuration configuration) throws Exception {
    Job job = RowCounter.createSubmittableJob(new Configuration(configuration), new String[] {NAME.getNameAsString()});
    job.setJarByClass(MoreCheck.class);
    ClientCheck.same("the job of counting", true, job.waitForCompletion(false));
    long rows =
        job.getCounters().findCounter("org.apache.hadoop.hbase.mapreduce.RowCounter$RowCounterMapper$Counters", "ROWS").getValue();
    ClientCheck.same("rows counted by MapReduce", (long) ROWS, rows);
  }

  /** A job of one's own: reads a table and writes another. */
  private static void copying(Configuration configuration, Connection connection) throws Exception {
    Job job = Job.getInstance(new Configuration(configuration), "copy");
    job.setJarByClass(MoreCheck.class);
    TableMapReduceUtil.initTableMapperJob(
        NAME.getNameAsString(), new Scan().setCaching(100), Copy.class, ImmutableBytesWritable.class, Put.class, job, false);
    job.getConfiguration().set(TableOutputFormat.OUTPUT_TABLE, COPY.getNameAsString());
    job.setOutputFormatClass(TableOutputFormat.class);
    job.setNumReduceTasks(0);
    ClientCheck.same("the job of copying", true, job.waitForCompletion(false));
    sameRows(connection, COPY);
  }

  /** A job that writes store files, and HBase's tool that hands them to the regions. */
  private static void bulkLoading(Configuration configuration, Connection connection, java.nio.file.Path folder)
      throws Exception {
    Path files = new Path(folder.resolve("files").toUri());
    Configuration own = new Configuration(configuration);
    own.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
    own.set("hbase.fs.tmp.dir", folder.resolve("staging").toString());
    Job job = Job.getInstance(own, "files");
    job.setJarByClass(MoreCheck.class);
    TableMapReduceUtil.initTableMapperJob(
        NAME.getNameAsString(), new Scan(), Copy.class, ImmutableBytesWritable.class, Put.class, job, false);
    try (Table table = connection.getTable(LOADED); RegionLocator regions = connection.getRegionLocator(LOADED)) {
      HFileOutputFormat2.configureIncrementalLoad(job, table.getDescriptor(), regions);
    }
    FileOutputFormat.setOutputPath(job, files);
    ClientCheck.same("the job of writing files", true, job.waitForCompletion(false));
    BulkLoadHFiles.create(own).bulkLoad(LOADED, files);
    sameRows(connection, LOADED);
  }

  private static void sameRows(Connection connection, TableName name) throws IOException {
    long rows = 0;
    try (Table table = connection.getTable(name)) {
      for (Result result : table.getScanner(new Scan())) {
        ClientCheck.same("a copied value", rows - 1000, Bytes.toLong(result.getValue(F, Q)));
        rows++;
      }
    }
    ClientCheck.same("copied rows", (long) ROWS, rows);
  }

  /** Each row as it is. */
  public static final class Copy extends TableMapper<ImmutableBytesWritable, Put> {
    @Override
    protected void map(ImmutableBytesWritable row, Result result, Context context)
        throws IOException, InterruptedException {
      context.write(row, new Put(result.getRow()).addColumn(F, Q, result.getValue(F, Q)));
    }
  }

  private static byte[] key(int i) {
    return Bytes.toBytes(String.format("row%04d", i));
  }
}
