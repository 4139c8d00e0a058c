// SPDX-License-Identifier: Apache-2.0
package basalt;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.ExtendedCell;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.KeyValueUtil;
import org.apache.hadoop.hbase.io.hfile.BlockCache;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.io.hfile.LruBlockCache;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;

/**
 * {@code ScanBench [--rounds N] [--seeks N] [--write-cells N] FILE...}: what HBase's reader and writer do with each file on one thread, one line of
 * JSON a file.
 *
 * <ul>
 *   <li>scan: every cell of the file as an object; of each go into a sum its timestamp, the length of its value, and the last bytes of
 *       row, qualifier and value, as in Basalt's scan_bench. Blocks are read from the operating system's cache and verified each time; the
 *       thread's processor time per round, and the whole process's, after as many rounds of warming up;
 *   <li>seek: a random row of the file sought and the value of its first cell read, all blocks in HBase's block cache (decompressed, as
 *       its scanners keep them); percentiles over the seeks;
 *   <li>write: the file's first cells, taken from memory, written to a new file with the same encoding, codec, block size and a ROW filter.
 * </ul>
 */
public final class ScanBench {
  private static final long CACHE_BYTES = 600L << 20;
  private final Configuration conf = StoreFile.configuration();
  private int rounds = 5;
  private int seeks = 100_000;
  private int writeCells = 1_000_000;
  /** Keeps the measured loops from being optimised away. */
  private long sink;
  /** Where a scanned cell goes: its reader has it as an object, so the loop must not do without one. */
  private Cell scanned;
  /** The sum over all cells of the last scan. */
  private long scannedSum;
  /** Seconds of the whole process per round of the last scan: with the collector of what the scan leaves behind. */
  private final List<Double> processTimes = new ArrayList<>();

  public static void main(String[] args) throws IOException {
    ScanBench bench = new ScanBench();
    int at = 0;
    for (; at < args.length && args[at].startsWith("--"); at += 2) {
      int number = Integer.parseInt(args[at + 1]);
      switch (args[at]) {
        case "--rounds" -> bench.rounds = number;
        case "--seeks" -> bench.seeks = number;
        case "--write-cells" -> bench.writeCells = number;
        default -> throw new IllegalArgumentException(args[at] + " is no option of ScanBench");
      }
    }
    for (; at < args.length; at++) System.out.println(bench.file(Path.of(args[at])));
    if (bench.sink == 42 && bench.scanned == null) System.err.println();
    // The block cache's threads are no daemons.
    System.exit(0);
  }

  private String file(Path path) throws IOException {
    StringBuilder json = new StringBuilder();
    json.append("{\"by\":\"hbase\",\"file\":\"").append(path.getFileName().toString().replaceFirst("\\.hfile$", "")).append('"');
    try (StoreFile file = StoreFile.open(conf, path)) {
      json.append(",\"size_bytes\":").append(Files.size(path)).append(",\"cells\":").append(file.hfile.getEntries());
      json.append(",\"scan_s\":").append(scan(file)).append(",\"sum\":").append(scannedSum);
      json.append(",\"scan_process_s\":").append(processTimes);
      if (writeCells > 0) json.append(",\"write_cells\":").append(Math.min(writeCells, file.hfile.getEntries())).append(",\"write_s\":").append(write(file));
    }
    if (seeks > 0) json.append(",\"seek_ns\":").append(seek(path));
    return json.append('}').toString();
  }

  private List<Double> scan(StoreFile file) throws IOException {
    List<Double> times = new ArrayList<>();
    processTimes.clear();
    for (int round = -rounds; round < rounds; round++) {
      double start = cpuSeconds(), processStart = processSeconds();
      long cells = 0, sum = 0;
      try (HFileScanner scanner = file.scanner(false)) {
        for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
          Cell cell = scanner.getCell();
          scanned = cell;
          sum += (cell.getValueLength() ^ cell.getTimestamp())
              + last(cell.getRowArray(), cell.getRowOffset(), cell.getRowLength())
              + last(cell.getQualifierArray(), cell.getQualifierOffset(), cell.getQualifierLength())
              + last(cell.getValueArray(), cell.getValueOffset(), cell.getValueLength());
          cells++;
        }
      }
      if (cells != file.hfile.getEntries()) throw new IOException("scanned " + cells + " cells of " + file.hfile.getEntries());
      if (round >= 0) {
        times.add(cpuSeconds() - start);
        processTimes.add(processSeconds() - processStart);
      }
      scannedSum = sum;
    }
    return times;
  }

  private static int last(byte[] array, int offset, int length) {
    return length == 0 ? 0 : array[offset + length - 1] & 0xff;
  }

  /** Seconds of this thread on a processor: it stands still while other programs, or the JVM's own threads, have it. */
  private static double cpuSeconds() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e9;
  }

  /** Seconds of all threads of the process on processors. */
  private static double processSeconds() {
    return ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getProcessCpuTime() / 1e9;
  }

  private String seek(Path path) throws IOException {
    BlockCache blocks = new LruBlockCache(CACHE_BYTES, 64 << 10, true, conf);
    CacheConfig cache = new CacheConfig(conf, null, blocks, org.apache.hadoop.hbase.io.ByteBuffAllocator.HEAP);
    try (StoreFile file = StoreFile.open(conf, cache, path)) {
      List<byte[]> rows = new ArrayList<>();
      try (HFileScanner scanner = scanner(file)) {
        int cell = 0;
        for (boolean more = scanner.seekTo(); more; more = scanner.next()) {
          if (cell++ % 64 == 0) rows.add(CellUtil.cloneRow(scanner.getCell()));
        }
      }
      Random random = new Random(1);
      long[] nanos = new long[seeks];
      try (HFileScanner scanner = scanner(file)) {
        for (int i = -seeks; i < seeks; i++) {
          KeyValue key = KeyValueUtil.createFirstOnRow(rows.get(random.nextInt(rows.size())));
          long start = System.nanoTime();
          int found = scanner.seekTo(key);
          if (found >= 0 ? found == 0 || scanner.next() : scanner.isSeeked() || scanner.seekTo()) {
            Cell cell = scanner.getCell();
            sink += cell.getValueArray()[cell.getValueOffset()];
          }
          if (i >= 0) nanos[i] = System.nanoTime() - start;
        }
      }
      Arrays.sort(nanos);
      return "{\"p50\":" + nanos[seeks / 2] + ",\"p90\":" + nanos[seeks / 10 * 9] + ",\"p99\":" + nanos[seeks / 100 * 99] + "}";
    } finally {
      blocks.shutdown();
    }
  }

  @SuppressWarnings("deprecation")
  private static HFileScanner scanner(StoreFile file) {
    return file.store.getScanner(true, true, false);
  }

  private List<Double> write(StoreFile file) throws IOException {
    List<ExtendedCell> cells = new ArrayList<>();
    try (HFileScanner scanner = file.scanner(false)) {
      for (boolean more = scanner.seekTo(); more && cells.size() < writeCells; more = scanner.next()) {
        cells.add(KeyValueUtil.copyToNewKeyValue(scanner.getCell()));
      }
    }
    HFileContext like = file.hfile.getFileContext();
    HFileContext context = new HFileContextBuilder().withBlockSize(64 << 10).withCompression(like.getCompression())
        .withDataBlockEncoding(file.hfile.getDataBlockEncoding()).withIncludesMvcc(true).withIncludesTags(false).withHBaseCheckSum(true)
        .withChecksumType(like.getChecksumType()).withBytesPerCheckSum(16 << 10).withCellComparator(CellComparator.getInstance()).build();
    FileSystem fs = FileSystem.getLocal(conf).getRawFileSystem();
    List<Double> times = new ArrayList<>();
    for (int round = -rounds; round < rounds; round++) {
      java.nio.file.Path target = Files.createTempFile("basalt-hbase", ".hfile");
      Files.delete(target);
      double start = cpuSeconds();
      StoreFileWriter writer = new StoreFileWriter.Builder(conf, CacheConfig.DISABLED, fs).withFilePath(new org.apache.hadoop.fs.Path(target.toUri()))
          .withBloomType(file.store.getBloomFilterType()).withMaxKeyCount(cells.size()).withFileContext(context).build();
      for (ExtendedCell cell : cells) writer.append(cell);
      writer.appendMetadata(1, true);
      writer.close();
      if (round >= 0) times.add(cpuSeconds() - start);
      Files.delete(target);
    }
    return times;
  }
}
