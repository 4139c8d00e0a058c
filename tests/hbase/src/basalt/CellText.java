// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.util.HexFormat;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.ExtendedCell;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.PrivateCellUtil;

/** A cell as a line of text: row, family, qualifier, timestamp, type, value, sequence id, tags; bytes in hexadecimal, tabs between. */
final class CellText {
  static final String HEADER = "row\tfamily\tqualifier\ttimestamp\ttype\tvalue\tseqid\ttags";
  private static final HexFormat HEX = HexFormat.of();

  private CellText() {}

  static String write(Cell cell) {
    ExtendedCell c = (ExtendedCell) cell;
    byte[] tags = c.getTagsLength() > 0 ? PrivateCellUtil.cloneTags(c) : new byte[0];
    return String.join("\t", hex(CellUtil.cloneRow(c)), hex(CellUtil.cloneFamily(c)), hex(CellUtil.cloneQualifier(c)), Long.toString(c.getTimestamp()),
        KeyValue.Type.codeToType(c.getTypeByte()).name(), hex(CellUtil.cloneValue(c)), Long.toString(c.getSequenceId()), hex(tags));
  }

  /** The cell of a line, without its value and tags: all that a comparison looks at. */
  static KeyValue readKey(String line) {
    String[] f = line.split("\t", -1);
    KeyValue key = new KeyValue(bytes(f[0]), bytes(f[1]), bytes(f[2]), Long.parseLong(f[3]), KeyValue.Type.valueOf(f[4]));
    key.setSequenceId(Long.parseLong(f[6]));
    return key;
  }

  static String hex(byte[] bytes) {
    return HEX.formatHex(bytes);
  }

  static byte[] bytes(String hex) {
    return HEX.parseHex(hex);
  }
}
