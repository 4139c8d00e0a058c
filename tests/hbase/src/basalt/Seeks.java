// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.KeyValueUtil;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;

/**
 * Seeks: a key, and the first cell of the file at or after it.
 *
 * <p>A line of a {@code .seeks} file is {@code probe row qualifier timestamp type cell}, with tabs between: {@code probe} says how much of the
 * key is given ({@code row}; {@code column}: row and qualifier; {@code cell}: all), the parts not given are {@code -}, and
 * {@code cell} is the position of the found cell in the {@code .tsv} file, counted from 0, or {@code end}.
 */
final class Seeks {
  static final String HEADER = "probe\trow\tqualifier\ttimestamp\ttype\tcell";

  /** One probe. {@code cell} is the number of cells in the file if there is none at or after the key. */
  record Probe(String text, KeyValue key, int cell) {}

  private final StoreFile file;
  private final List<String> lines;
  private final List<KeyValue> keys = new ArrayList<>();
  private final CellComparator order = CellComparator.getInstance();

  /** @param lines the cells of the file, as text */
  Seeks(StoreFile file, List<String> lines) {
    this.file = file;
    this.lines = lines;
    for (String line : lines) keys.add(CellText.readKey(line));
  }

  Probe parse(String text) throws Mismatch {
    String[] f = text.split("\t", -1);
    if (f.length != 6) throw new Mismatch("seek '" + text + "' has not six fields");
    byte[] row = CellText.bytes(f[1]);
    byte[] family = keys.isEmpty() ? new byte[] {'f'} : CellUtil.cloneFamily(keys.get(0));
    KeyValue key = switch (f[0]) {
      case "row" -> KeyValueUtil.createFirstOnRow(row);
      case "column" -> KeyValueUtil.createFirstOnRow(row, family, CellText.bytes(f[2]));
      case "cell" -> new KeyValue(row, family, CellText.bytes(f[2]), Long.parseLong(f[3]), KeyValue.Type.valueOf(f[4]));
      default -> throw new Mismatch("seek '" + text + "' is of no known kind");
    };
    return new Probe(text, key, f[5].equals("end") ? keys.size() : Integer.parseInt(f[5]));
  }

  /** The first cell at or after the key by a search of the text, for probes that carry no expectation. */
  int find(KeyValue key) {
    int low = 0, high = keys.size();
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (PrivateCellUtil.compareKeyIgnoresMvcc(order, keys.get(middle), key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Every probe with a scanner of its own, both ways through the file, then all of them with one that only moves forward. */
  void check(List<Probe> probes) throws IOException, Mismatch {
    for (boolean pread : new boolean[] {false, true}) {
      for (Probe probe : probes) checkOne(probe, pread);
    }
    List<Probe> sorted = new ArrayList<>(probes);
    sorted.sort(Comparator.comparing(Probe::key, (a, b) -> PrivateCellUtil.compareKeyIgnoresMvcc(order, a, b)));
    checkForward(sorted);
  }

  private void checkOne(Probe probe, boolean pread) throws IOException, Mismatch {
    Mismatch.check("cell of seek '" + Mismatch.brief(probe.text) + "' by the order of the text", at(probe.cell), at(find(probe.key)));
    try (HFileScanner scanner = file.scanner(pread)) {
      boolean found = settle(scanner, scanner.seekTo(probe.key));
      Mismatch.check("seek '" + Mismatch.brief(probe.text) + "'", at(probe.cell), found ? CellText.write(scanner.getCell()) : "end");
      if (found) {
        Mismatch.check("next after seek '" + Mismatch.brief(probe.text) + "'", at(probe.cell + 1), scanner.next() ? CellText.write(scanner.getCell()) : "end");
      }
    }
    // Inside the first row of a ROW_INDEX_V1 block HBase's seekBefore does not move off the block's first cell
    // (RowIndexSeekerV1.binarySearch returns -1 there); it only ever asks for the last cell before a whole row.
    if (file.hfile.getDataBlockEncoding() == DataBlockEncoding.ROW_INDEX_V1 && !probe.text.startsWith("row")) return;
    try (HFileScanner scanner = file.scanner(pread)) {
      String before = probe.cell == 0 ? "end" : at(probe.cell - 1);
      String found = scanner.seekBefore(probe.key) ? CellText.write(scanner.getCell()) : "end";
      // Going back by one cell HBase forgets dictionary-coded tags, in files of its own too (BufferedDataBlockEncoder.moveToPrevious).
      boolean tags = !file.hfile.getFileContext().isCompressTags();
      Mismatch.check("cell before '" + Mismatch.brief(probe.text) + "'", tags ? before : untagged(before), tags ? found : untagged(found));
    }
  }

  private void checkForward(List<Probe> sorted) throws IOException, Mismatch {
    try (HFileScanner scanner = file.scanner(false)) {
      boolean first = true;
      for (Probe probe : sorted) {
        boolean found = first ? settle(scanner, scanner.seekTo(probe.key)) : scanner.reseekTo(probe.key) <= 0 || scanner.next();
        Mismatch.check("forward seek '" + Mismatch.brief(probe.text) + "'", at(probe.cell), found ? CellText.write(scanner.getCell()) : "end");
        if (!found) return;
        first = false;
      }
    }
  }

  /** HFileScanner stops at the last cell before a key that is not there; a store's scanner then takes one step. */
  private static boolean settle(HFileScanner scanner, int seek) throws IOException {
    if (seek < 0) return seek == HConstants.INDEX_KEY_MAGIC || scanner.seekTo();
    return seek == 0 || scanner.next();
  }

  private static String untagged(String cell) {
    return cell.replaceFirst("\t[0-9a-f]*$", "");
  }

  private String at(int cell) {
    return cell < lines.size() ? lines.get(cell) : "end";
  }

  /** Probes for a file that came without any: about {@code wanted}, around its own keys, with the expectation taken from its text. */
  List<Probe> invent(int wanted) throws Mismatch {
    List<Probe> out = new ArrayList<>();
    int step = Math.max(1, keys.size() * 6 / wanted);
    for (int i = 0; i < keys.size(); i += step) {
      String[] f = lines.get(i).split("\t", -1);
      long timestamp = Long.parseLong(f[3]);
      add(out, "row", f[0], "-", "-", "-");
      add(out, "row", f[0] + "00", "-", "-", "-");
      add(out, "column", f[0], f[2], "-", "-");
      add(out, "column", f[0], f[2] + "00", "-", "-");
      add(out, "cell", f[0], f[2], Long.toString(timestamp), f[4]);
      add(out, "cell", f[0], f[2], Long.toString(Math.max(0, timestamp - 1)), "Put");
    }
    add(out, "row", "00", "-", "-", "-");
    add(out, "row", "ff".repeat(40), "-", "-", "-");
    return out;
  }

  private void add(List<Probe> out, String... parts) throws Mismatch {
    Probe probe = parse(String.join("\t", parts) + "\tend");
    int cell = find(probe.key);
    String text = String.join("\t", parts) + "\t" + (cell == keys.size() ? "end" : Integer.toString(cell));
    out.add(new Probe(text, probe.key, cell));
  }
}
