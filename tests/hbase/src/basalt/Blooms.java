// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.regionserver.BloomAnswers;

/**
 * Bloom filter answers. A line of a {@code .blooms} file is {@code probe row qualifier answer}, with tabs between: {@code probe} is {@code row},
 * {@code column} or {@code family-delete}, the qualifier of the others is {@code -}, the answer is {@code maybe} or {@code absent}.
 */
final class Blooms {
  static final String HEADER = "probe\trow\tqualifier\tanswer";

  private Blooms() {}

  /** HBase's answer to one probe. */
  static String ask(StoreFile file, String probe, String row, String qualifier) throws Mismatch {
    byte[] key = CellText.bytes(row);
    boolean maybe = switch (probe) {
      case "row" -> BloomAnswers.mayHoldRow(file.store, key);
      case "column" -> BloomAnswers.mayHoldColumn(file.store, key, CellText.bytes(qualifier));
      case "family-delete" -> BloomAnswers.mayHoldFamilyDelete(file.store, key);
      default -> throw new Mismatch("bloom probe '" + probe + "' is of no known kind");
    };
    return maybe ? "maybe" : "absent";
  }

  /** Checks every line; returns how many of them say {@code absent}. */
  static int check(StoreFile file, List<String> lines) throws Mismatch {
    int absent = 0;
    for (String line : lines) {
      String[] f = line.split("\t", -1);
      if (f.length != 4) throw new Mismatch("bloom probe '" + line + "' has not four fields");
      Mismatch.check("bloom probe '" + line + "'", f[3], ask(file, f[0], f[1], f[2]));
      if (f[3].equals("absent")) absent++;
    }
    return absent;
  }

  /** HBase's answers for a file that came without any: its own rows and columns, and as many that it does not have. */
  static List<String> record(StoreFile file, List<String> cells, int wanted) throws Mismatch {
    List<String> out = new ArrayList<>();
    int step = Math.max(1, cells.size() * 6 / wanted);
    for (int i = 0; i < cells.size(); i += step) {
      String[] f = cells.get(i).split("\t", -1);
      for (String row : new String[] {f[0], f[0] + "00", "00" + f[0]}) {
        out.add(recordOne(file, "row", row, "-"));
        out.add(recordOne(file, "column", row, f[2]));
        out.add(recordOne(file, "family-delete", row, "-"));
      }
      out.add(recordOne(file, "column", f[0], f[2] + "2e"));
    }
    return out;
  }

  private static String recordOne(StoreFile file, String probe, String row, String qualifier) throws Mismatch {
    return String.join("\t", probe, row, qualifier, ask(file, probe, row, qualifier));
  }
}
