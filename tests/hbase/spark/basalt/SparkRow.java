// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.api.python.Converter;

/** Keys and results of HBase's TableInputFormat as Python knows them: a text, and a dictionary of columns. */
public final class SparkRow implements Converter<Object, Object> {
  private static final long serialVersionUID = 1;

  @Override
  public Object convert(Object found) {
    if (found instanceof ImmutableBytesWritable key) {
      return Bytes.toStringBinary(key.get(), key.getOffset(), key.getLength());
    }
    Map<String, String> columns = new HashMap<>();
    for (Cell cell : ((Result) found).rawCells()) {
      String column = Bytes.toString(CellUtil.cloneFamily(cell)) + ":" + Bytes.toString(CellUtil.cloneQualifier(cell));
      columns.put(column, Bytes.toString(CellUtil.cloneValue(cell)));
    }
    return columns;
  }
}
