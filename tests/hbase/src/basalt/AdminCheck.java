// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.ServerType;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.client.metrics.ScanMetrics;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What the commands of HBase's shell ask of Admin beyond {@link ClientCheck}: status, alter, describe, namespaces with properties, switches, logs,
 * upkeep of regions; and what scans measure. The first answer that is wrong ends it.
 *
 * <p>AdminCheck rpc:HOST:PORT|zk:HOST:PORT
 */
public final class AdminCheck {
  private static final byte[] F = Bytes.toBytes("f");
  private static final byte[] Q = Bytes.toBytes("q");
  private static final TableName NAME = TableName.valueOf("office", "papers");
  private static final int ROWS = 100;

  private AdminCheck() {}

  /** What may be refused. */
  private interface Call {
    void make() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    try (Connection connection = ConnectionFactory.createConnection(ClientCheck.configuration(args[0], List.of()));
        Admin admin = connection.getAdmin();
        Table table = connection.getTable(NAME)) {
      namespaces(admin);
      tables(admin, table);
      status(admin);
      switches(admin);
      upkeep(admin, table);
      logs(admin);
      measures(admin, table);
      refusals(admin);
      admin.disableTable(NAME);
      admin.deleteTable(NAME);
      admin.deleteNamespace("office");
    }
    System.out.println("all answers are right");
  }

  private static void namespaces(Admin admin) throws IOException {
    admin.createNamespace(NamespaceDescriptor.create("office").addConfiguration("owner", "eve").build());
    ClientCheck.same("property", "eve", admin.getNamespaceDescriptor("office").getConfigurationValue("owner"));
    admin.modifyNamespace(NamespaceDescriptor.create("office").addConfiguration("owner", "ann").build());
    ClientCheck.same("other property", "ann", admin.getNamespaceDescriptor("office").getConfigurationValue("owner"));
  }

  private static void tables(Admin admin, Table table) throws IOException {
    TableDescriptorBuilder papers =
        TableDescriptorBuilder.newBuilder(NAME).setColumnFamily(ColumnFamilyDescriptorBuilder.of(F));
    admin.createTable(papers.build(), new byte[][] {Bytes.toBytes("r5")});
    TableDescriptor altered =
        TableDescriptorBuilder.newBuilder(admin.getDescriptor(NAME))
            .modifyColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(F).setMaxVersions(5).build())
            .setColumnFamily(ColumnFamilyDescriptorBuilder.of("g"))
            .setValue("about", "papers")
            .build();
    admin.modifyTable(altered);
    TableDescriptor found = admin.getDescriptor(NAME);
    ClientCheck.same("versions", 5, found.getColumnFamily(F).getMaxVersions());
    ClientCheck.same("families", 2, found.getColumnFamilyCount());
    ClientCheck.same("attribute", "papers", found.getValue("about"));
    // What the shell's alter waits for.
    ClusterMetrics counts = admin.getClusterMetrics(EnumSet.of(ClusterMetrics.Option.TABLE_TO_REGIONS_COUNT));
    ClientCheck.same("open regions", 2, counts.getTableRegionStatesCount().get(NAME).getOpenRegions());
    ClientCheck.same("regions to go", 0, counts.getTableRegionStatesCount().get(NAME).getRegionsInTransition());
    fill(table);
  }

  private static void fill(Table table) throws IOException {
    for (int i = 0; i < ROWS; i++) {
      table.put(new Put(Bytes.toBytes(String.format("r%02d", i))).addColumn(F, Q, new byte[1000]));
    }
  }

  private static void status(Admin admin) throws IOException {
    ClusterMetrics all = admin.getClusterMetrics();
    ClientCheck.same("servers", 1, all.getLiveServerMetrics().size());
    ClientCheck.same("dead servers", 0, all.getDeadServerNames().size());
    ServerName server = all.getServersName().get(0);
    ClientCheck.same("master", server, all.getMasterName());
    ClientCheck.same("requests", true, all.getLiveServerMetrics().get(server).getRequestCount() >= ROWS);
    ClientCheck.same("balancer", true, all.getBalancerOn());
    ClientCheck.same("regions of the table", 2, admin.getRegionMetrics(server, NAME).size());
    ClientCheck.same("unknown servers", List.of(), admin.listUnknownServers());
    ClientCheck.same("dead servers left", List.of(), admin.clearDeadServers(List.of(server)));
    ClientCheck.same("maintenance", false, admin.isMasterInMaintenanceMode());
    ClientCheck.same("peers", List.of(), admin.listReplicationPeers());
    admin.getProcedures();
    admin.getLocks();
    ClientCheck.same("a procedure that is over is not aborted", false, admin.abortProcedure(1, true));
  }

  private static void switches(Admin admin) throws IOException {
    ClientCheck.same("balancer was", true, admin.balancerSwitch(false, true));
    ClientCheck.same("balancer", false, admin.isBalancerEnabled());
    ClientCheck.same("balancer was off", false, admin.balancerSwitch(true, true));
    ClientCheck.same("normalizer was", true, admin.normalizerSwitch(true));
    ClientCheck.same("normalizer", true, admin.isNormalizerEnabled());
    ClientCheck.same("janitor was", true, admin.catalogJanitorSwitch(true));
    ClientCheck.same("cleaner was", true, admin.cleanerChoreSwitch(true));
    ClientCheck.same("splits were", true, admin.splitSwitch(true, false));
    ClientCheck.same("merges were", true, admin.mergeSwitch(true, false));
    ClientCheck.same("snapshots' clean-up was", true, admin.snapshotCleanupSwitch(true, false));
    ClientCheck.same("throttle", false, admin.isRpcThrottleEnabled());
    Map<ServerName, Boolean> were = admin.compactionSwitch(false, List.of());
    ClientCheck.same("compactions were", true, were.values().iterator().next());
    ClientCheck.same("compactions were off", false, admin.compactionSwitch(true, List.of()).values().iterator().next());
  }

  private static void upkeep(Admin admin, Table table) throws Exception {
    ClientCheck.same("no major compaction yet", 0L, admin.getLastMajorCompactionTimestamp(NAME));
    admin.flush(NAME);
    fill(table);
    admin.flush(NAME);
    admin.majorCompact(NAME);
    while (admin.getCompactionState(NAME) != CompactionState.NONE) {
      Thread.sleep(20);
    }
    ClientCheck.same("a major compaction", true, admin.getLastMajorCompactionTimestamp(NAME) > 0);
    List<RegionInfo> regions = admin.getRegions(NAME);
    byte[] second = regions.get(1).getRegionName();
    ClientCheck.same("of a region", true, admin.getLastMajorCompactionTimestampForRegion(second) > 0);
    ServerName server = admin.getClusterMetrics().getMasterName();
    for (RegionMetrics region : admin.getRegionMetrics(server, NAME)) {
      ClientCheck.same("in its metrics", true, region.getLastMajorCompactionTimestamp() > 0);
    }
    admin.truncateRegion(second);
    ClientCheck.same("a row of the truncated region", false, table.exists(new Get(Bytes.toBytes("r70"))));
    ClientCheck.same("a row of the other", true, table.exists(new Get(Bytes.toBytes("r20"))));
    fill(table);
    admin.clearCompactionQueues(server, Set.of("long", "short"));
    admin.rollWALWriter(server);
    admin.clearBlockCache(NAME);
    admin.flushMasterStore();
    admin.updateConfiguration();
  }

  private static void logs(Admin admin) throws IOException {
    Set<ServerName> servers = Set.of(admin.getClusterMetrics().getMasterName());
    for (String log : new String[] {"SLOW_LOG", "LARGE_LOG"}) {
      ClientCheck.same(log, List.of(), admin.getLogEntries(servers, log, ServerType.REGION_SERVER, 10, Map.of()));
    }
    for (String log : new String[] {"BALANCER_DECISION", "BALANCER_REJECTION"}) {
      ClientCheck.same(log, List.of(), admin.getLogEntries(servers, log, ServerType.MASTER, 10, Map.of()));
    }
    ClientCheck.same("cleared logs", List.of(false), admin.clearSlowLogResponses(servers));
  }

  /** Of a scan: what HBase's client can show of it. */
  private static void measures(Admin admin, Table table) throws IOException {
    admin.flush(NAME);
    try (ResultScanner scanner = table.getScanner(new Scan().setScanMetricsEnabled(true))) {
      int rows = 0;
      for (Result row = scanner.next(); row != null; row = scanner.next()) {
        rows++;
      }
      ScanMetrics metrics = scanner.getScanMetrics();
      ClientCheck.same("rows", ROWS, rows);
      ClientCheck.same("rows scanned", (long) ROWS, metrics.countOfRowsScanned.get());
      ClientCheck.same("rows filtered", 0L, metrics.countOfRowsFiltered.get());
      ClientCheck.same("bytes of blocks", true, metrics.countOfBlockBytesScanned.get() >= ROWS);
      ClientCheck.same("regions", 2L, metrics.countOfRegions.get());
    }
  }

  private static void refusals(Admin admin) throws Exception {
    ServerName server = admin.getClusterMetrics().getMasterName();
    byte[] region = admin.getRegions(NAME).get(0).getEncodedNameAsBytes();
    refused("moves of regions", () -> admin.move(region, server));
    refused("being stopped by a client", admin::shutdown);
    refused("being stopped by a client", admin::stopMaster);
    refused("being stopped by a client", () -> admin.stopRegionServer(server.getHostAndPort()));
    refused("quotas", () -> admin.switchRpcThrottle(true));
    refused("replication", () -> admin.removeReplicationPeer("1"));
    refused("store file trackers", () -> admin.modifyTableStoreFileTracker(NAME, "FILE"));
    NamespaceDescriptor limited =
        NamespaceDescriptor.create("small").addConfiguration("hbase.namespace.quota.maxtables", "1").build();
    refused("hbase.namespace.quota.maxtables", () -> admin.createNamespace(limited));
  }

  private static void refused(String why, Call call) {
    try {
      call.make();
    } catch (Exception refusal) {
      for (Throwable cause = refusal; cause != null; cause = cause.getCause()) {
        if (String.valueOf(cause.getMessage()).contains(why)) {
          return;
        }
      }
      throw new AssertionError("refused otherwise than with " + why, refusal);
    }
    throw new AssertionError("not refused: " + why);
  }
}
