// SPDX-License-Identifier: Apache-2.0
package basalt;

import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** SparkTable rpc:HOST:PORT ROWS: the table that {@code read_table.py} reads, in three regions. */
public final class SparkTable {
  private SparkTable() {}

  public static void main(String[] args) throws Exception {
    int rows = Integer.parseInt(args[1]);
    TableName name = TableName.valueOf("spark");
    byte[] family = Bytes.toBytes("f");
    try (Connection connection = ConnectionFactory.createConnection(ClientCheck.configuration(args[0], java.util.List.of()))) {
      try (Admin admin = connection.getAdmin()) {
        byte[][] splits = {key(rows / 3), key(2 * rows / 3)};
        admin.createTable(
            TableDescriptorBuilder.newBuilder(name).setColumnFamily(ColumnFamilyDescriptorBuilder.of(family)).build(), splits);
      }
      try (BufferedMutator mutator = connection.getBufferedMutator(name)) {
        for (int i = 0; i < rows; i++) {
          mutator.mutate(
              new Put(key(i))
                  .addColumn(family, Bytes.toBytes("n"), Bytes.toBytes(Integer.toString(i)))
                  .addColumn(family, Bytes.toBytes("parity"), Bytes.toBytes(i % 2 == 0 ? "even" : "odd")));
        }
      }
    }
  }

  private static byte[] key(int i) {
    return Bytes.toBytes(String.format("row%08d", i));
  }
}
