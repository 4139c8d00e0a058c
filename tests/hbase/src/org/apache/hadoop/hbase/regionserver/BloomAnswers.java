// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase.regionserver;

import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.util.Bytes;

/** Asks a store file's bloom filters the questions that a region server asks. In this package because HBase keeps the entrance private to it. */
public final class BloomAnswers {
  private BloomAnswers() {}

  /** May the file hold the row? Uses the filter of any type but ROWCOL, as a Get of the whole row does. */
  public static boolean mayHoldRow(StoreFileReader reader, byte[] row) {
    return reader.passesBloomFilter(new Scan(new Get(row)), null);
  }

  /** May the file hold the column of the row, or a delete of the row's whole family? */
  public static boolean mayHoldColumn(StoreFileReader reader, byte[] row, byte[] qualifier) {
    SortedSet<byte[]> columns = new TreeSet<>(Bytes.BYTES_COMPARATOR);
    columns.add(qualifier);
    return reader.passesBloomFilter(new Scan(new Get(row)), columns);
  }

  /** May the file hold a delete of a whole family in this row? */
  public static boolean mayHoldFamilyDelete(StoreFileReader reader, byte[] row) {
    return reader.passesDeleteFamilyBloomFilter(row, 0, row.length);
  }
}
