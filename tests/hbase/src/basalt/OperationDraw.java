// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Random;
import java.util.Set;
import org.apache.hbase.thirdparty.com.google.gson.Gson;
import org.apache.hbase.thirdparty.com.google.gson.GsonBuilder;
import org.apache.hbase.thirdparty.com.google.gson.JsonArray;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonNull;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/**
 * Draws the table and the operations of one sequence, as descriptions; the same ones for the same theme and number.
 *
 * <p>What expires is far from the moment of reading, on either side: timestamps are of the year 1970 or 2023, the server's clock, or of the year 2096, and times to
 * live are such that a year more or less changes nothing.
 */
final class OperationDraw {
  /** What a sequence asks about more than about other things. */
  enum Theme {
    TTL,
    REGIONS,
    CONDITIONS,
    PARTIAL_ROWS,
    FAMILIES,
    NEW_VERSION_BEHAVIOR
  }

  private static final long OLD = 1_000;
  private static final long RECENT = 1_700_000_000_000L;
  private static final long FAR = 4_000_000_000_000L;
  private static final int SECONDS_OF_ONE_YEAR = 365 * 86_400;
  private static final long MILLIS_OF_ONE_HOUR = 3_600_000;
  private static final long MILLIS_OF_FIFTY_YEARS = 50L * 365 * 86_400_000;
  private static final String[] ROWS = {"a", "a\0", "ab", "abc", "b", "b\u00ff", "m", "mm", "row1", "row10", "row2", "z"};
  private static final String[] QUALIFIERS = {"", "q", "q1", "q10", "q2", "x", "\u00ff"};
  private static final String[] COMPARISONS = {"LESS", "LESS_OR_EQUAL", "EQUAL", "NOT_EQUAL", "GREATER_OR_EQUAL", "GREATER"};
  private static final Gson GSON = new GsonBuilder().serializeNulls().create();

  final Theme theme;
  private final Random random;
  private final String[] families;

  OperationDraw(Theme theme, int number) {
    this.theme = theme;
    random = new Random(number * 7_919L + 2_027);
    families = theme == Theme.FAMILIES ? new String[] {"a", "b", "fam", "z"} : new String[] {"a", "fam"};
  }

  private boolean once(int times) {
    return random.nextInt(times) == 0;
  }

  @SafeVarargs
  private final <T> T of(T... choices) {
    return choices[random.nextInt(choices.length)];
  }

  static JsonObject object(Object... pairs) {
    JsonObject object = new JsonObject();
    for (int i = 0; i < pairs.length; i += 2) {
      object.add((String) pairs[i], json(pairs[i + 1]));
    }
    return object;
  }

  private static JsonArray list(Object... values) {
    JsonArray list = new JsonArray();
    for (Object value : values) {
      list.add(json(value));
    }
    return list;
  }

  private static JsonElement json(Object value) {
    return value == null ? JsonNull.INSTANCE : value instanceof JsonElement element ? element : GSON.toJsonTree(value);
  }

  /** One line of a recording. */
  static String line(JsonObject of) {
    return GSON.toJson(of);
  }

  private static String hex(String text) {
    return HexFormat.of().formatHex(text.getBytes(StandardCharsets.ISO_8859_1));
  }

  JsonObject table() {
    JsonArray described = new JsonArray();
    for (String family : families) {
      String keep = of("FALSE", "FALSE", "TRUE", "TTL");
      boolean expires = keep.equals("TTL") || theme == Theme.TTL || once(4);
      int versions = 1 + random.nextInt(4);
      int least = expires && !once(3) ? random.nextInt(versions) : 0;
      Integer seconds = expires ? of(SECONDS_OF_ONE_YEAR, 30 * SECONDS_OF_ONE_YEAR) : null;
      JsonObject one = object("name", family, "versions", versions, "min_versions", least, "keep_deleted_cells", keep, "ttl_seconds", seconds);
      one.addProperty("encoding", of("NONE", "PREFIX", "DIFF", "FAST_DIFF", "ROW_INDEX_V1"));
      one.addProperty("bloom", of("NONE", "ROW", "ROWCOL"));
      // One block a file: between blocks HBase may jump over a marker of the family.
      one.addProperty("block_size", 65_536);
      if (theme == Theme.NEW_VERSION_BEHAVIOR) {
        one.addProperty("new_version_behavior", true);
      }
      described.add(one);
    }
    return object("families", described);
  }

  JsonObject next() {
    int kind = random.nextInt(100);
    switch (theme) {
      case CONDITIONS:
        return kind < 45 ? check() : other(random.nextInt(100));
      case PARTIAL_ROWS:
        return kind < 45 ? scan() : other(random.nextInt(100));
      case REGIONS:
        return kind < 6 ? object("op", "split", "row", row()) : kind < 10 ? object("op", "merge") : other(random.nextInt(100));
      default:
        return other(kind);
    }
  }

  private JsonObject other(int kind) {
    if (kind < 28) {
      return put(row());
    }
    if (kind < 36) {
      return delete(row());
    }
    if (kind < 46) {
      return counter(row());
    }
    if (kind < 51) {
      return mutations(row());
    }
    if (kind < 56) {
      return check();
    }
    if (kind < 61) {
      return batch();
    }
    if (kind < 66) {
      return object("op", "flush");
    }
    if (kind < 69) {
      return object("op", "major_compact");
    }
    return kind < 80 ? get(row()) : scan();
  }

  private String row() {
    return hex(of(ROWS));
  }

  private String qualifier() {
    // With NEW_VERSION_BEHAVIOR HBase goes round in circles at markers of a family before the empty qualifier.
    String qualifier = of(QUALIFIERS);
    return hex(qualifier.isEmpty() && theme == Theme.NEW_VERSION_BEHAVIOR ? "q" : qualifier);
  }

  /** Null: the server's clock. */
  private Long timestamp() {
    int kind = random.nextInt(20);
    return kind < 3 ? null : kind == 3 ? Long.valueOf(FAR + random.nextInt(3)) : kind < 8 ? OLD + random.nextInt(6) : RECENT + random.nextInt(8);
  }

  private String value() {
    switch (random.nextInt(5)) {
      case 0:
        return "";
      case 1:
      case 2:
        return String.format("%016x", (long) (random.nextInt(9) - 4));
      default:
        return hex(of("red", "green", "blue", "redder", "r", "v" + random.nextInt(9)));
    }
  }

  /** Gives a change a time to live of its own, now and then. */
  private JsonObject mayExpire(JsonObject change) {
    boolean often = theme == Theme.TTL;
    if (once(often ? 2 : 12)) {
      change.addProperty("ttl_ms", of(MILLIS_OF_ONE_HOUR, MILLIS_OF_FIFTY_YEARS));
    }
    return change;
  }

  private JsonObject put(String row) {
    JsonArray cells = new JsonArray();
    Set<String> columns = new HashSet<>();
    for (int left = 1 + random.nextInt(theme == Theme.PARTIAL_ROWS ? 6 : 3); left > 0; left--) {
      String family = of(families);
      String qualifier = qualifier();
      Long timestamp = timestamp();
      if (columns.add(family + qualifier + timestamp)) {
        cells.add(list(family, qualifier, timestamp, value()));
      }
    }
    return mayExpire(object("op", "put", "row", row, "cells", cells));
  }

  /** With NEW_VERSION_BEHAVIOR the second marker of one change takes effect from the first in HBase, so that deleted cells show. */
  private boolean manyMarkers() {
    return theme != Theme.NEW_VERSION_BEHAVIOR;
  }

  private JsonObject delete(String row) {
    JsonArray parts = new JsonArray();
    if (once(8)) {
      return object("op", "delete", "row", row, "ts", timestamp(), "parts", parts);
    }
    for (int left = manyMarkers() && once(3) ? 2 : 1; left > 0; left--) {
      String kind = of("column", "column", "columns", "columns", "family", "family_version");
      Long timestamp = timestamp();
      if (kind.equals("family_version") && timestamp == null) {
        timestamp = RECENT + random.nextInt(8);
      }
      parts.add(object("kind", kind, "family", of(families), "qualifier", kind.startsWith("column") ? qualifier() : null, "ts", timestamp));
    }
    return object("op", "delete", "row", row, "ts", null, "parts", parts);
  }

  /** An increment or an append. */
  private JsonObject counter(String row) {
    boolean counts = once(2);
    JsonArray cells = new JsonArray();
    Set<String> columns = new HashSet<>();
    for (int left = once(3) ? 2 : 1; left > 0; left--) {
      String family = of(families);
      String qualifier = counts && !once(4) ? hex("q1") : qualifier();
      if (columns.add(family + qualifier)) {
        cells.add(list(family, qualifier, counts ? (Object) (long) (random.nextInt(21) - 10) : value()));
      }
    }
    Long timestamp = once(2) ? null : Long.valueOf(RECENT + random.nextInt(8));
    JsonObject change = object("op", counts ? "increment" : "append", "row", row, "ts", timestamp, "cells", cells);
    change.addProperty("return_results", !once(5));
    return mayExpire(change);
  }

  private JsonObject mutations(String row) {
    JsonArray mutations = new JsonArray();
    for (int left = 2 + random.nextInt(3); left > 0; left--) {
      mutations.add(manyMarkers() && once(2) ? delete(row) : put(row));
    }
    return object("op", "row_mutations", "row", row, "mutations", mutations);
  }

  private JsonObject check() {
    String row = row();
    JsonObject condition = object("kind", of("not_exists", "equals", "matches", "filter", "filter"));
    switch (condition.get("kind").getAsString()) {
      case "filter" -> condition.add("filter", once(2) ? filter(1) : ofColumn("SingleColumnValue"));
      default -> {
        condition.addProperty("family", of(families));
        condition.addProperty("qualifier", qualifier());
      }
    }
    if (condition.get("kind").getAsString().equals("matches")) {
      condition.addProperty("cmp", of(COMPARISONS));
    }
    if (!condition.get("kind").getAsString().equals("not_exists") && !condition.has("filter")) {
      condition.addProperty("value", value());
    }
    if (once(4)) {
      condition.add("time_range", range());
    }
    JsonObject change = of(put(row), put(row), delete(row), counter(row), mutations(row));
    return object("op", "check_and_mutate", "row", row, "condition", condition, "mutation", change);
  }

  private JsonObject batch() {
    JsonArray actions = new JsonArray();
    Set<String> rows = new HashSet<>();
    for (int left = 2 + random.nextInt(4); left > 0; left--) {
      String row = row();
      // What comes first of two actions on one row is nowhere said.
      if (rows.add(row)) {
        actions.add(of(put(row), put(row), delete(row), counter(row), mutations(row), get(row)));
      }
    }
    return object("op", "batch", "actions", actions);
  }

  private JsonArray range() {
    long from = of(0L, OLD + random.nextInt(6), RECENT + random.nextInt(8));
    return list(from, once(3) ? Long.MAX_VALUE : Math.max(from + 1 + random.nextInt(6), of(0L, RECENT + random.nextInt(8))));
  }

  private JsonObject read(JsonObject of) {
    if (!once(3)) {
      of.addProperty("versions", once(2) ? Integer.MAX_VALUE : 1 + random.nextInt(4));
    }
    if (once(5)) {
      of.add("time_range", range());
    }
    if (once(3)) {
      JsonArray columns = new JsonArray();
      for (int left = 1 + random.nextInt(3); left > 0; left--) {
        columns.add(list(of(families), once(4) ? null : qualifier()));
      }
      of.add("columns", columns);
    }
    if (once(10)) {
      of.addProperty("max_results_per_family", 1 + random.nextInt(3));
    }
    if (once(10)) {
      of.addProperty("row_offset_per_family", 1 + random.nextInt(2));
    }
    if (once(2)) {
      of.add("filter", filter(2));
    }
    return of;
  }

  private JsonObject get(String row) {
    return read(object("op", "get", "row", row));
  }

  private JsonObject scan() {
    JsonObject scan = object("op", "scan");
    boolean reversed = once(3);
    if (reversed) {
      // HBase refuses to scan backwards where a filter could leave families for later.
      scan.addProperty("reversed", true);
      scan.addProperty("load_families_on_demand", false);
    }
    String first = once(2) ? row() : null;
    String last = once(2) ? row() : null;
    if (first != null && last != null && (first.compareTo(last) > 0) != reversed) {
      String swapped = first;
      first = last;
      last = swapped;
    }
    if (first != null) {
      scan.add("start", list(first, !once(3)));
    }
    if (last != null) {
      scan.add("stop", list(last, once(3)));
    }
    if (once(9) && theme != Theme.NEW_VERSION_BEHAVIOR) {
      scan.addProperty("raw", true);
      scan.addProperty("versions", Integer.MAX_VALUE);
      return scan;
    }
    cut(scan);
    return read(scan);
  }

  /** Rows in parts, fewer of them at a time. */
  private void cut(JsonObject scan) {
    int often = theme == Theme.PARTIAL_ROWS ? 2 : 6;
    if (once(often)) {
      scan.addProperty("caching", 1 + random.nextInt(4));
    }
    if (once(often)) {
      scan.addProperty("max_result_bytes", of(1, 100, 400));
    }
    boolean batch = once(often);
    if (batch) {
      scan.addProperty("batch", 1 + random.nextInt(3));
    }
    // How HBase's client counts parts of rows towards a limit depends on where its answers end.
    boolean counted = !batch || (theme != Theme.REGIONS && !scan.has("max_result_bytes"));
    if (counted && once(often + 1)) {
      scan.addProperty("limit", 1 + random.nextInt(5));
    }
  }

  private JsonObject comparator(String value) {
    switch (random.nextInt(6)) {
      case 0:
        return object("kind", "binary_prefix", "value", value.substring(0, Math.min(2, value.length())));
      case 1:
        return object("kind", "substring", "text", of("r", "1", "ED", "q", "e"));
      case 2:
        return object("kind", "regex", "text", of("^r.*", "[0-9]+", "ab?", "e.?n$"));
      case 3:
        return object("kind", "null");
      default:
        return object("kind", "binary", "value", value);
    }
  }

  private JsonObject comparing(String type, String value) {
    JsonObject comparator = comparator(value);
    boolean text = Set.of("substring", "regex").contains(comparator.get("kind").getAsString());
    return object("type", type, "cmp", text ? of("EQUAL", "NOT_EQUAL") : of(COMPARISONS), "comparator", comparator);
  }

  private JsonObject ofColumn(String type) {
    JsonObject filter = comparing(type, value());
    filter.addProperty("family", of(families));
    filter.addProperty("qualifier", qualifier());
    if (type.startsWith("SingleColumnValue")) {
      filter.addProperty("filter_if_missing", once(2));
      filter.addProperty("latest_version_only", !once(3));
    }
    return filter;
  }

  private JsonObject filter(int depth) {
    if (depth > 0 && once(4)) {
      JsonArray filters = new JsonArray();
      for (int left = 2 + random.nextInt(2); left > 0; left--) {
        filters.add(filter(depth - 1));
      }
      return object("type", "FilterList", "operator", of("MUST_PASS_ALL", "MUST_PASS_ONE"), "filters", filters);
    }
    switch (random.nextInt(18)) {
      case 0:
        return object("type", "Prefix", "prefix", hex(of("a", "ab", "b", "row", "row1")));
      case 1:
        // A page is counted for each region.
        return theme == Theme.REGIONS ? object("type", "FirstKeyOnly") : object("type", "Page", "size", 1 + random.nextInt(4));
      case 2:
      case 3:
        return ofColumn("SingleColumnValue");
      case 4:
        return ofColumn("SingleColumnValueExclude");
      case 5:
        return ofColumn("ColumnValue");
      case 6:
        return comparing("Value", value());
      case 7:
        return comparing("Qualifier", qualifier());
      case 8:
        return object("type", "Family", "cmp", of(COMPARISONS), "comparator", object("kind", "binary", "value", hex(of(families))));
      case 9:
        return comparing("Row", row());
      case 10:
        return object("type", "ColumnPrefix", "prefix", hex(of("q", "q1", "x")));
      case 11:
        return object("type", "ColumnRange", "min", once(4) ? null : hex(of("", "q", "q1")), "min_inclusive", once(2), "max", once(4) ? null : hex(of("q1", "q2", "x")), "max_inclusive", once(2));
      case 12:
        return object("type", "ColumnPagination", "limit", 1 + random.nextInt(3), "offset", random.nextInt(3));
      case 13:
        return of(object("type", "FirstKeyOnly"), object("type", "KeyOnly", "len_as_value", once(2)));
      case 14:
        return object("type", "Timestamps", "timestamps", list(RECENT + random.nextInt(8), RECENT + random.nextInt(8), OLD + random.nextInt(6)));
      case 15:
        return of(object("type", "InclusiveStop", "row", row()), object("type", "ColumnCountGet", "limit", 1 + random.nextInt(4)));
      case 16:
        return object("type", "DependentColumn", "family", of(families), "qualifier", qualifier(), "drop", once(2));
      default:
        return object("type", of("Skip", "WhileMatch"), "filter", filter(0));
    }
  }
}
