// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;

/**
 * {@code ReadFiles [--record] DIR}: opens every {@code NAME.hfile} of the directory with HBase's reader, block checksums verified, and compares
 * its cells with {@code NAME.tsv}, byte for byte; then seeks as {@code NAME.seeks} and asks the bloom filters as {@code NAME.blooms} says. A file
 * without {@code .seeks} is probed around its own keys. {@code --record} writes the two where they are missing, with HBase's answers.
 *
 * <p>One line per file, then the totals; exit code 1 if any file failed.
 */
public final class ReadFiles {
  private static final int PROBES = 400;
  private final Configuration conf = StoreFile.configuration();
  private final boolean record;
  private int passed;
  private int failed;

  private ReadFiles(boolean record) {
    this.record = record;
  }

  public static void main(String[] args) throws IOException {
    boolean record = args.length == 2 && args[0].equals("--record");
    if (args.length != (record ? 2 : 1)) {
      System.err.println("usage: ReadFiles [--record] DIR");
      System.exit(2);
    }
    ReadFiles run = new ReadFiles(record);
    run.directory(Path.of(args[args.length - 1]));
    System.out.println(run.passed + " passed, " + run.failed + " failed");
    // No file at all is a mistake of the caller, not a success.
    System.exit(run.failed > 0 || run.passed == 0 ? 1 : 0);
  }

  private void directory(Path dir) throws IOException {
    List<Path> files;
    try (Stream<Path> list = Files.list(dir)) {
      files = list.filter(p -> p.toString().endsWith(".hfile")).sorted().toList();
    }
    for (Path path : files) {
      String name = path.getFileName().toString().replaceFirst("\\.hfile$", "");
      try {
        System.out.println("ok      " + name + ": " + file(path, dir.resolve(name)));
        passed++;
      } catch (Mismatch e) {
        System.out.println("FAILED  " + name + ": " + e.getMessage());
        failed++;
      } catch (IOException | RuntimeException | AssertionError e) {
        System.out.println("FAILED  " + name + ": HBase throws " + chain(e));
        failed++;
      }
    }
  }

  /** An exception with its causes and the place of the innermost, on one line. */
  private static String chain(Throwable e) {
    String own = e.toString();
    if (e.getCause() != null) return own + "; caused by " + chain(e.getCause());
    return e.getStackTrace().length == 0 ? own : own + " at " + e.getStackTrace()[0];
  }

  private String file(Path path, Path stem) throws IOException, Mismatch {
    List<String> cells = lines(stem, ".tsv", CellText.HEADER);
    StoreFile.checksumFailures();
    try (StoreFile file = StoreFile.open(conf, path)) {
      compare(file, cells);
      int seeks = seeks(file, cells, stem);
      String blooms = blooms(file, cells, stem);
      Mismatch.check("blocks with a wrong checksum", 0L, StoreFile.checksumFailures());
      return cells.size() + " cells, " + file.hfile.getTrailer().getNumDataIndexLevels() + " index levels, " + seeks + " seeks, " + blooms;
    }
  }

  /** The whole file, and what its trailer and file info say about it. */
  private void compare(StoreFile file, List<String> cells) throws IOException, Mismatch {
    Mismatch.check("cells by the trailer", (long) cells.size(), file.hfile.getEntries());
    for (boolean pread : new boolean[] {false, true}) {
      try (HFileScanner scanner = file.scanner(pread)) {
        int at = 0;
        if (scanner.seekTo()) {
          do {
            if (at == cells.size()) throw new Mismatch("HBase finds more than the " + at + " cells expected: " + CellText.write(scanner.getCell()));
            Mismatch.check("cell " + at, cells.get(at), CellText.write(scanner.getCell()));
            at++;
          } while (scanner.next());
        }
        Mismatch.check("number of cells", cells.size(), at);
      }
    }
    if (cells.isEmpty()) {
      Mismatch.check("first key of an empty file", false, file.hfile.getFirstKey().isPresent());
      return;
    }
    String[] first = cells.get(0).split("\t", -1), last = cells.get(cells.size() - 1).split("\t", -1);
    Mismatch.check("row of the last key in the file info", last[0], CellText.hex(CellUtil.cloneRow(file.hfile.getLastKey().orElseThrow())));
    Mismatch.check("row of the first key in the index", first[0], CellText.hex(CellUtil.cloneRow(file.hfile.getFirstKey().orElseThrow())));
    file.hfile.midKey().orElseThrow(() -> new Mismatch("there is no middle key"));
    fileInfo(file, cells);
  }

  /** What a region server goes by when it decides whether to read the file at all. */
  private static void fileInfo(StoreFile file, List<String> cells) throws Mismatch {
    long first = Long.MAX_VALUE, last = Long.MIN_VALUE, maxSequence = 0, familyDeletes = 0;
    for (String cell : cells) {
      String[] f = cell.split("\t", -1);
      long timestamp = Long.parseLong(f[3]);
      last = Math.max(last, timestamp);
      // A marker that deletes everything up to its timestamp counts as timestamp 0 too.
      boolean reachesBack = f[4].equals("DeleteColumn") || f[4].equals("DeleteFamily");
      first = Math.min(first, reachesBack ? 0 : timestamp);
      maxSequence = Math.max(maxSequence, Long.parseLong(f[6]));
      if (f[4].startsWith("DeleteFamily")) familyDeletes++;
    }
    Mismatch.check("lower end of the time range", OptionalLong.of(first), file.file.getMinimumTimestamp());
    Mismatch.check("upper end of the time range", OptionalLong.of(last), file.file.getMaximumTimestamp());
    Mismatch.check("family deletes counted in the file info", familyDeletes, file.store.getDeleteFamilyCnt());
    boolean numbered = file.hfile.getFileContext().isIncludesMvcc();
    Mismatch.check("largest sequence id in the file info", numbered ? maxSequence : -1, file.file.getMaxMemStoreTS());
  }

  private int seeks(StoreFile file, List<String> cells, Path stem) throws IOException, Mismatch {
    Seeks seeks = new Seeks(file, cells);
    Path path = suffixed(stem, ".seeks");
    List<Seeks.Probe> probes = new ArrayList<>();
    if (Files.exists(path)) {
      for (String line : lines(stem, ".seeks", Seeks.HEADER)) probes.add(seeks.parse(line));
    } else {
      probes = seeks.invent(PROBES);
    }
    seeks.check(probes);
    if (record && !Files.exists(path)) write(path, Seeks.HEADER, probes.stream().map(Seeks.Probe::text).toList());
    return probes.size();
  }

  private String blooms(StoreFile file, List<String> cells, Path stem) throws IOException, Mismatch {
    Path path = suffixed(stem, ".blooms");
    if (record && !Files.exists(path)) write(path, Blooms.HEADER, Blooms.record(file, cells, PROBES));
    if (!Files.exists(path)) return "no bloom probes";
    List<String> lines = lines(stem, ".blooms", Blooms.HEADER);
    int absent = Blooms.check(file, lines);
    return lines.size() + " bloom probes (" + absent + " absent)";
  }

  private static Path suffixed(Path stem, String suffix) {
    return stem.resolveSibling(stem.getFileName() + suffix);
  }

  private static List<String> lines(Path stem, String suffix, String header) throws IOException, Mismatch {
    List<String> lines = Files.readAllLines(suffixed(stem, suffix), StandardCharsets.US_ASCII);
    if (lines.isEmpty() || !lines.get(0).equals(header)) throw new Mismatch("the first line of " + stem.getFileName() + suffix + " is not '" + header + "'");
    return lines.subList(1, lines.size());
  }

  private static void write(Path path, String header, List<String> lines) throws IOException {
    List<String> all = new ArrayList<>();
    all.add(header);
    all.addAll(lines);
    Files.write(path, all, StandardCharsets.US_ASCII);
  }
}
