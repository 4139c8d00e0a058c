# SPDX-License-Identifier: Apache-2.0
"""read_table.py HOST:PORT ROWS: Spark reads a table through HBase's TableInputFormat. SparkTable.java wrote it."""

import sys

from pyspark import SparkConf, SparkContext

FORMAT = "org.apache.hadoop.hbase.mapreduce.TableInputFormat"


def expect(what, expected, found):
    if expected != found:
        raise SystemExit(f"{what}: expected {expected}, found {found}")


def table(context, address, **more):
    """The rows as pairs of a key and a dictionary of columns."""
    conf = {
        "hbase.client.registry.impl": "org.apache.hadoop.hbase.client.RpcConnectionRegistry",
        "hbase.client.bootstrap.servers": address,
        "hbase.mapreduce.inputtable": "spark",
    }
    conf.update({"hbase.mapreduce.scan." + name.replace("_", "."): value for name, value in more.items()})
    return context.newAPIHadoopRDD(
        FORMAT,
        "org.apache.hadoop.hbase.io.ImmutableBytesWritable",
        "org.apache.hadoop.hbase.client.Result",
        keyConverter="basalt.SparkRow",
        valueConverter="basalt.SparkRow",
        conf=conf,
    )


def main():
    address, rows = sys.argv[1], int(sys.argv[2])
    conf = SparkConf().setMaster("local[2]").setAppName("basalt").set("spark.ui.enabled", "false")
    conf.set("spark.ui.showConsoleProgress", "false")
    context = SparkContext(conf=conf)
    context.setLogLevel("ERROR")
    whole = table(context, address)
    expect("partitions", 3, whole.getNumPartitions())
    expect("rows", rows, whole.count())
    expect("sum", rows * (rows - 1) // 2, whole.map(lambda row: int(row[1]["f:n"])).sum())
    parity = whole.map(lambda row: (row[1]["f:parity"], 1)).reduceByKey(lambda a, b: a + b).collectAsMap()
    expect("parity", {"even": (rows + 1) // 2, "odd": rows // 2}, parity)
    first, behind = rows // 3 - 5, rows // 3 + 5
    some = table(context, address, row_start=f"row{first:08}", row_stop=f"row{behind:08}", columns="f:n")
    expect("range", [(f"row{i:08}", {"f:n": str(i)}) for i in range(first, behind)], sorted(some.collect()))
    context.stop()
    print("all answers are right")


main()
