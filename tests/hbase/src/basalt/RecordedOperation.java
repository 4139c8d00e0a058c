// SPDX-License-Identifier: Apache-2.0
package basalt;

import static basalt.RecordedFilter.filter;
import static basalt.RecordedFilter.hex;
import static basalt.RecordedFilter.text;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.client.Append;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Increment;
import org.apache.hadoop.hbase.client.Mutation;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Row;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** What HBase's client is asked, from nothing but the recorded description, so that the record is complete. */
final class RecordedOperation {
  private RecordedOperation() {}

  private static boolean given(JsonObject of, String key) {
    return of.has(key) && !of.get(key).isJsonNull();
  }

  /** Something for one row: a change, several, or a get. */
  static Row action(JsonObject of) throws IOException {
    byte[] row = hex(of.get("row"));
    switch (of.get("op").getAsString()) {
      case "put":
        return put(row, of);
      case "delete":
        return delete(row, of);
      case "increment":
        Increment increment = new Increment(row);
        timed(increment, of).setReturnResults(of.get("return_results").getAsBoolean());
        for (JsonArray cell : cells(of)) {
          increment.addColumn(text(cell.get(0)), hex(cell.get(1)), cell.get(2).getAsLong());
        }
        return increment;
      case "append":
        Append append = new Append(row);
        timed(append, of).setReturnResults(of.get("return_results").getAsBoolean());
        for (JsonArray cell : cells(of)) {
          append.addColumn(text(cell.get(0)), hex(cell.get(1)), hex(cell.get(2)));
        }
        return append;
      case "row_mutations":
        RowMutations mutations = new RowMutations(row);
        for (JsonElement one : of.getAsJsonArray("mutations")) {
          mutations.add((Mutation) action(one.getAsJsonObject()));
        }
        return mutations;
      case "get":
        return get(row, of);
      default:
        throw new AssertionError("not an action: " + of);
    }
  }

  private static List<JsonArray> cells(JsonObject of) {
    List<JsonArray> cells = new ArrayList<>();
    of.getAsJsonArray("cells").forEach(cell -> cells.add(cell.getAsJsonArray()));
    return cells;
  }

  private static <T extends Mutation> T timed(T mutation, JsonObject of) {
    if (given(of, "ts")) {
      mutation.setTimestamp(of.get("ts").getAsLong());
    }
    if (given(of, "ttl_ms")) {
      mutation.setTTL(of.get("ttl_ms").getAsLong());
    }
    return mutation;
  }

  private static Put put(byte[] row, JsonObject of) {
    Put put = timed(new Put(row), of);
    for (JsonArray cell : cells(of)) {
      if (cell.get(2).isJsonNull()) {
        put.addColumn(text(cell.get(0)), hex(cell.get(1)), hex(cell.get(3)));
      } else {
        put.addColumn(text(cell.get(0)), hex(cell.get(1)), cell.get(2).getAsLong(), hex(cell.get(3)));
      }
    }
    return put;
  }

  private static Delete delete(byte[] row, JsonObject of) {
    Delete delete = given(of, "ts") ? new Delete(row, of.get("ts").getAsLong()) : new Delete(row);
    for (JsonElement element : of.getAsJsonArray("parts")) {
      JsonObject part = element.getAsJsonObject();
      byte[] family = text(part.get("family"));
      byte[] qualifier = hex(part.get("qualifier"));
      boolean timed = given(part, "ts");
      long timestamp = timed ? part.get("ts").getAsLong() : 0;
      switch (part.get("kind").getAsString()) {
        case "column" -> {
          if (timed) {
            delete.addColumn(family, qualifier, timestamp);
          } else {
            delete.addColumn(family, qualifier);
          }
        }
        case "columns" -> {
          if (timed) {
            delete.addColumns(family, qualifier, timestamp);
          } else {
            delete.addColumns(family, qualifier);
          }
        }
        case "family" -> {
          if (timed) {
            delete.addFamily(family, timestamp);
          } else {
            delete.addFamily(family);
          }
        }
        default -> delete.addFamilyVersion(family, timestamp);
      }
    }
    return delete;
  }

  static CheckAndMutate check(JsonObject of) throws IOException {
    JsonObject condition = of.getAsJsonObject("condition");
    CheckAndMutate.Builder builder = CheckAndMutate.newBuilder(hex(of.get("row")));
    byte[] family = text(condition.get("family"));
    byte[] qualifier = hex(condition.get("qualifier"));
    switch (condition.get("kind").getAsString()) {
      case "not_exists" -> builder.ifNotExists(family, qualifier);
      case "equals" -> builder.ifEquals(family, qualifier, hex(condition.get("value")));
      case "matches" -> builder.ifMatches(family, qualifier, RecordedFilter.operator(condition), hex(condition.get("value")));
      default -> builder.ifMatches(filter(condition.getAsJsonObject("filter")));
    }
    if (given(condition, "time_range")) {
      JsonArray range = condition.getAsJsonArray("time_range");
      builder.timeRange(org.apache.hadoop.hbase.io.TimeRange.between(range.get(0).getAsLong(), range.get(1).getAsLong()));
    }
    Row change = action(of.getAsJsonObject("mutation"));
    if (change instanceof Put put) {
      return builder.build(put);
    }
    if (change instanceof Delete delete) {
      return builder.build(delete);
    }
    if (change instanceof Increment increment) {
      return builder.build(increment);
    }
    return change instanceof Append append ? builder.build(append) : builder.build((RowMutations) change);
  }

  private static Get get(byte[] row, JsonObject of) throws IOException {
    Get get = new Get(row);
    if (given(of, "versions")) {
      get.readVersions(of.get("versions").getAsInt());
    }
    if (given(of, "time_range")) {
      JsonArray range = of.getAsJsonArray("time_range");
      get.setTimeRange(range.get(0).getAsLong(), range.get(1).getAsLong());
    }
    for (JsonElement element : given(of, "columns") ? of.getAsJsonArray("columns") : new JsonArray()) {
      JsonArray column = element.getAsJsonArray();
      if (column.get(1).isJsonNull()) {
        get.addFamily(text(column.get(0)));
      } else {
        get.addColumn(text(column.get(0)), hex(column.get(1)));
      }
    }
    if (given(of, "max_results_per_family")) {
      get.setMaxResultsPerColumnFamily(of.get("max_results_per_family").getAsInt());
    }
    if (given(of, "row_offset_per_family")) {
      get.setRowOffsetPerColumnFamily(of.get("row_offset_per_family").getAsInt());
    }
    if (given(of, "filter")) {
      get.setFilter(filter(of.getAsJsonObject("filter")));
    }
    return get;
  }

  static Scan scan(JsonObject of) throws IOException {
    // A get says the same of columns, times and versions.
    Scan scan = new Scan(get(new byte[] {0}, of)).withStartRow(new byte[0]).withStopRow(new byte[0]);
    scan.setReversed(given(of, "reversed"));
    scan.setRaw(given(of, "raw"));
    if (given(of, "load_families_on_demand")) {
      scan.setLoadColumnFamiliesOnDemand(of.get("load_families_on_demand").getAsBoolean());
    }
    if (given(of, "start")) {
      scan.withStartRow(hex(of.getAsJsonArray("start").get(0)), of.getAsJsonArray("start").get(1).getAsBoolean());
    }
    if (given(of, "stop")) {
      scan.withStopRow(hex(of.getAsJsonArray("stop").get(0)), of.getAsJsonArray("stop").get(1).getAsBoolean());
    }
    if (given(of, "limit")) {
      scan.setLimit(of.get("limit").getAsInt());
    }
    if (given(of, "caching")) {
      scan.setCaching(of.get("caching").getAsInt());
    }
    if (given(of, "max_result_bytes")) {
      scan.setMaxResultSize(of.get("max_result_bytes").getAsLong());
    }
    if (given(of, "batch")) {
      scan.setBatch(of.get("batch").getAsInt());
    }
    return scan;
  }
}
