// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.LocalHBaseCluster;
import org.apache.hadoop.hbase.zookeeper.MiniZooKeeperCluster;

/**
 * HBase itself, to be compared with: ZooKeeper, one master and one region server in this process, on the loopback interface and
 * the local file system. RealServer DIR READY_FILE; the file then holds the address of ZooKeeper.
 *
 * <p>The log is synced to the disk before a write is acknowledged. By default HBase would not do that here: it leaves it to HDFS.
 */
public final class RealServer {
  private RealServer() {}

  public static void main(String[] args) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    // Without Hadoop's own checksums, which keep syncs from reaching the disk.
    configuration.set("fs.file.impl", RawLocalFileSystem.class.getName());
    configuration.setBoolean("hbase.wal.hsync", true);
    start(configuration, Path.of(args[0]).toAbsolutePath());
    Files.writeString(Path.of(args[1]), "127.0.0.1:" + configuration.get("hbase.zookeeper.property.clientPort") + "\n");
    Thread.currentThread().join();
  }

  /** Starts all with its files in {@code dir}; {@code configuration} is one for clients afterwards. */
  static LocalHBaseCluster start(Configuration configuration, Path dir) throws Exception {
    configuration.set("hbase.rootdir", "file://" + dir.resolve("hbase"));
    configuration.set("hbase.tmp.dir", dir.resolve("tmp").toString());
    configuration.setBoolean("hbase.unsafe.stream.capability.enforce", false);
    configuration.set("hbase.zookeeper.quorum", "127.0.0.1");
    for (String role : new String[] {"hbase.master", "hbase.regionserver"}) {
      configuration.set(role + ".ipc.address", "127.0.0.1");
      configuration.set(role + ".hostname", "localhost");
      configuration.setInt(role + ".port", 0);
      configuration.setInt(role + ".info.port", -1);
    }
    configuration.set("hbase.unsafe.regionserver.hostname", "localhost");
    MiniZooKeeperCluster zooKeeper = new MiniZooKeeperCluster(configuration);
    int port = zooKeeper.startup(new File(dir.resolve("zookeeper").toString()));
    configuration.setInt("hbase.zookeeper.property.clientPort", port);
    LocalHBaseCluster cluster = new LocalHBaseCluster(configuration, 1, 1);
    cluster.startup();
    while (cluster.getActiveMaster() == null || !cluster.getActiveMaster().isInitialized()) {
      Thread.sleep(200);
    }
    return cluster;
  }
}
