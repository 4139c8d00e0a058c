// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.fs.HFileSystem;
import org.apache.hadoop.hbase.io.hfile.BloomFilterMetrics;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileInfo;
import org.apache.hadoop.hbase.regionserver.StoreFileReader;

/**
 * One store file, opened the way a region server opens it: file info, bloom filters and time range included.
 *
 * <p>Two things are easy to get wrong here. HBase verifies its block checksums only on a file system of its own class, HFileSystem;
 * on any other it reads without a look at them. And when a checksum does not match, it reads the block again without
 * verification, for in a cluster HDFS would then deliver another replica; so the damage shows in a counter alone, which
 * {@link #checksumFailures} returns.
 */
final class StoreFile implements Closeable {
  final StoreFileReader store;
  final HFile.Reader hfile;
  final HStoreFile file;
  private final Path link;

  private StoreFile(Configuration conf, CacheConfig cache, Path path) throws IOException {
    // A store file's name has to be hexadecimal digits.
    link = Files.createTempDirectory("basalt-hbase").resolve(UUID.randomUUID().toString().replace("-", ""));
    Files.createSymbolicLink(link, path.toAbsolutePath());
    FileSystem fs = new HFileSystem(conf, true);
    StoreFileInfo info = StoreFileInfo.createStoreFileInfoForHFile(conf, fs, new org.apache.hadoop.fs.Path(link.toUri()), true);
    // Any type but NONE makes the reader load whichever filter the file has.
    file = new HStoreFile(info, BloomType.ROW, cache, new BloomFilterMetrics());
    try {
      file.initReader();
    } catch (IOException | RuntimeException e) {
      removeLink();
      throw e;
    }
    store = file.getReader();
    hfile = store.getHFileReader();
  }

  /** The settings of conf/hbase-site.xml: local files, the codecs written in Java, block checksums verified. */
  static Configuration configuration() {
    return HBaseConfiguration.create();
  }

  /** Opens a file whose blocks are read anew each time. */
  static StoreFile open(Configuration conf, Path path) throws IOException {
    return new StoreFile(conf, CacheConfig.DISABLED, path);
  }

  /** Opens a file whose blocks go through {@code cache}. */
  static StoreFile open(Configuration conf, CacheConfig cache, Path path) throws IOException {
    return new StoreFile(conf, cache, path);
  }

  /** A scanner that leaves the block cache alone; with {@code pread} it reads block by block, else ahead as a stream. */
  @SuppressWarnings("deprecation") // meant for region servers, where scanners have to be counted
  HFileScanner scanner(boolean pread) {
    return store.getScanner(false, pread, false);
  }

  /** Number of blocks, since the last call, whose checksum did not match. */
  static long checksumFailures() {
    return HFile.getAndResetChecksumFailuresCount();
  }

  @Override
  public void close() throws IOException {
    file.closeStoreFile(true);
    removeLink();
  }

  private void removeLink() throws IOException {
    Files.deleteIfExists(link);
    Files.deleteIfExists(link.getParent());
  }
}
