// SPDX-License-Identifier: Apache-2.0
package org.apache.hadoop.hbase;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.util.List;
import net.bytebuddy.ByteBuddy;
import net.bytebuddy.dynamic.ClassFileLocator;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.MethodDelegation;
import net.bytebuddy.implementation.bind.annotation.RuntimeType;
import net.bytebuddy.implementation.bind.annotation.This;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.SnapshotDescription;
import org.junit.AssumptionViolatedException;
import org.mockito.Mockito;

/**
 * HBase's tests start a cluster in their own process, by way of HBaseTestingUtility. Here that class is changed before it is loaded: "starting"
 * sets where a server runs that is there already, and a test that wants to look inside of the server's process is skipped.
 */
public final class ExternalCluster {
  private static String address;
  private static String quorum;

  private ExternalCluster() {}

  /** Must come before anything loads HBaseTestingUtility. */
  public static void install(String address, String quorum) throws Exception {
    ExternalCluster.address = address;
    ExternalCluster.quorum = quorum;
    TypePool types = TypePool.Default.ofSystemLoader();
    String name = "org.apache.hadoop.hbase.HBaseTestingUtility";
    new ByteBuddy()
        .redefine(types.describe(name).resolve(), ClassFileLocator.ForClassLoader.ofSystemLoader())
        .method(ElementMatchers.named("startMiniCluster"))
        .intercept(MethodDelegation.to(Start.class))
        .method(
            ElementMatchers.<net.bytebuddy.description.method.MethodDescription>named("shutdownMiniCluster")
                .or(ElementMatchers.named("waitUntilNoRegionsInTransition")))
        .intercept(MethodDelegation.to(Nothing.class))
        .method(ElementMatchers.named("flush"))
        .intercept(MethodDelegation.to(Flush.class))
        .method(ElementMatchers.named("getHBaseClusterInterface"))
        .intercept(MethodDelegation.to(Cluster.class))
        .method(
            ElementMatchers.<net.bytebuddy.description.method.MethodDescription>named("getHBaseCluster")
                .or(ElementMatchers.named("getMiniHBaseCluster"))
                .or(ElementMatchers.named("getRSForFirstRegionInTable"))
                .or(ElementMatchers.named("getDFSCluster"))
                .or(ElementMatchers.named("startMiniDFSCluster"))
                .or(ElementMatchers.named("startMiniHBaseCluster"))
                .or(ElementMatchers.named("restartHBaseCluster")))
        .intercept(MethodDelegation.to(Inside.class))
        .make()
        .load(ClassLoader.getSystemClassLoader(), ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()));
  }

  /** Where the server is, for every way in which a client may ask. */
  public static void configure(Configuration configuration) {
    String[] parts = quorum.split(":");
    configuration.set("hbase.zookeeper.quorum", parts[0]);
    configuration.set("hbase.zookeeper.property.clientPort", parts[1]);
    configuration.set("hbase.masters", address);
    configuration.set("hbase.client.bootstrap.servers", address);
    // Of many retries a test that fails takes minutes.
    configuration.setInt("hbase.client.retries.number", 5);
  }

  private static Connection connect() throws IOException {
    Configuration configuration = HBaseConfiguration.create();
    configure(configuration);
    return ConnectionFactory.createConnection(configuration);
  }

  /** A cluster that was just started has no tables. */
  private static void clear() throws IOException {
    try (Connection connection = connect();
        Admin admin = connection.getAdmin()) {
      for (TableName name : admin.listTableNames()) {
        if (!admin.isTableDisabled(name)) {
          admin.disableTable(name);
        }
        admin.deleteTable(name);
      }
      for (SnapshotDescription snapshot : admin.listSnapshots()) {
        admin.deleteSnapshot(snapshot.getName());
      }
      for (NamespaceDescriptor namespace : admin.listNamespaceDescriptors()) {
        if (!List.of("default", "hbase").contains(namespace.getName())) {
          admin.deleteNamespace(namespace.getName());
        }
      }
    }
  }

  /** In place of what starts a cluster. */
  public static final class Start {
    private Start() {}

    @RuntimeType
    public static Object start(@This HBaseCommonTestingUtility utility) throws IOException {
      configure(utility.getConfiguration());
      clear();
      return null;
    }
  }

  /** In place of what stops a cluster. */
  public static final class Nothing {
    private Nothing() {}

    public static void nothing() {}
  }

  /** In place of what flushes tables from inside. */
  public static final class Flush {
    private Flush() {}

    public static void flush() throws IOException {
      try (Connection connection = connect();
          Admin admin = connection.getAdmin()) {
        for (TableName name : admin.listTableNames()) {
          if (admin.isTableEnabled(name)) {
            admin.flush(name);
          }
        }
      }
    }
  }

  /** In place of what controls a cluster. */
  public static final class Cluster {
    private Cluster() {}

    @RuntimeType
    public static Object cluster() {
      HBaseCluster cluster = Mockito.mock(HBaseCluster.class);
      Mockito.when(cluster.isDistributedCluster()).thenReturn(true);
      return cluster;
    }
  }

  /** In place of what gives out parts of the server. */
  public static final class Inside {
    private Inside() {}

    @RuntimeType
    public static Object inside() {
      throw new AssumptionViolatedException("looks inside of the server's process");
    }
  }
}
