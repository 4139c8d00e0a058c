// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.filter.BinaryComparator;
import org.apache.hadoop.hbase.filter.BinaryPrefixComparator;
import org.apache.hadoop.hbase.filter.ByteArrayComparable;
import org.apache.hadoop.hbase.filter.ColumnCountGetFilter;
import org.apache.hadoop.hbase.filter.ColumnPaginationFilter;
import org.apache.hadoop.hbase.filter.ColumnPrefixFilter;
import org.apache.hadoop.hbase.filter.ColumnRangeFilter;
import org.apache.hadoop.hbase.filter.ColumnValueFilter;
import org.apache.hadoop.hbase.filter.DependentColumnFilter;
import org.apache.hadoop.hbase.filter.FamilyFilter;
import org.apache.hadoop.hbase.filter.Filter;
import org.apache.hadoop.hbase.filter.FilterList;
import org.apache.hadoop.hbase.filter.FirstKeyOnlyFilter;
import org.apache.hadoop.hbase.filter.InclusiveStopFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.filter.LongComparator;
import org.apache.hadoop.hbase.filter.NullComparator;
import org.apache.hadoop.hbase.filter.PageFilter;
import org.apache.hadoop.hbase.filter.PrefixFilter;
import org.apache.hadoop.hbase.filter.QualifierFilter;
import org.apache.hadoop.hbase.filter.RegexStringComparator;
import org.apache.hadoop.hbase.filter.RowFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueExcludeFilter;
import org.apache.hadoop.hbase.filter.SingleColumnValueFilter;
import org.apache.hadoop.hbase.filter.SkipFilter;
import org.apache.hadoop.hbase.filter.SubstringComparator;
import org.apache.hadoop.hbase.filter.TimestampsFilter;
import org.apache.hadoop.hbase.filter.ValueFilter;
import org.apache.hadoop.hbase.filter.WhileMatchFilter;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hbase.thirdparty.com.google.gson.JsonElement;
import org.apache.hbase.thirdparty.com.google.gson.JsonObject;

/** Filters and comparators from their recorded descriptions. */
final class RecordedFilter {
  private RecordedFilter() {}

  /** Bytes in hexadecimal; null if there are none. */
  static byte[] hex(JsonElement text) {
    return text == null || text.isJsonNull() ? null : HexFormat.of().parseHex(text.getAsString());
  }

  static byte[] text(JsonElement text) {
    return text == null || text.isJsonNull() ? null : Bytes.toBytes(text.getAsString());
  }

  static CompareOperator operator(JsonObject of) {
    return of.has("cmp") ? CompareOperator.valueOf(of.get("cmp").getAsString()) : null;
  }

  static ByteArrayComparable comparator(JsonObject of) {
    switch (of.get("kind").getAsString()) {
      case "binary_prefix":
        return new BinaryPrefixComparator(hex(of.get("value")));
      case "substring":
        return new SubstringComparator(of.get("text").getAsString());
      case "regex":
        return new RegexStringComparator(of.get("text").getAsString());
      case "long":
        return new LongComparator(of.get("number").getAsLong());
      case "null":
        return new NullComparator();
      default:
        return new BinaryComparator(hex(of.get("value")));
    }
  }

  static Filter filter(JsonObject of) {
    String type = of.get("type").getAsString();
    switch (type) {
      case "Row":
        return new RowFilter(operator(of), comparator(of.getAsJsonObject("comparator")));
      case "Family":
        return new FamilyFilter(operator(of), comparator(of.getAsJsonObject("comparator")));
      case "Qualifier":
        return new QualifierFilter(operator(of), comparator(of.getAsJsonObject("comparator")));
      case "Value":
        return new ValueFilter(operator(of), comparator(of.getAsJsonObject("comparator")));
      case "SingleColumnValue":
      case "SingleColumnValueExclude":
      case "ColumnValue":
      case "DependentColumn":
        return ofColumn(type, of);
      case "Skip":
        return new SkipFilter(filter(of.getAsJsonObject("filter")));
      case "WhileMatch":
        return new WhileMatchFilter(filter(of.getAsJsonObject("filter")));
      case "FilterList":
        List<Filter> filters = new ArrayList<>();
        of.getAsJsonArray("filters").forEach(one -> filters.add(filter(one.getAsJsonObject())));
        return new FilterList(FilterList.Operator.valueOf(of.get("operator").getAsString()), filters);
      default:
        return simple(type, of);
    }
  }

  private static Filter simple(String type, JsonObject of) {
    switch (type) {
      case "Prefix":
        return new PrefixFilter(hex(of.get("prefix")));
      case "Page":
        return new PageFilter(of.get("size").getAsLong());
      case "ColumnPrefix":
        return new ColumnPrefixFilter(hex(of.get("prefix")));
      case "ColumnRange":
        return new ColumnRangeFilter(
            hex(of.get("min")), of.get("min_inclusive").getAsBoolean(), hex(of.get("max")), of.get("max_inclusive").getAsBoolean());
      case "ColumnPagination":
        return new ColumnPaginationFilter(of.get("limit").getAsInt(), of.get("offset").getAsInt());
      case "ColumnCountGet":
        return new ColumnCountGetFilter(of.get("limit").getAsInt());
      case "FirstKeyOnly":
        return new FirstKeyOnlyFilter();
      case "KeyOnly":
        return new KeyOnlyFilter(of.get("len_as_value").getAsBoolean());
      case "InclusiveStop":
        return new InclusiveStopFilter(hex(of.get("row")));
      case "Timestamps":
        List<Long> timestamps = new ArrayList<>();
        of.getAsJsonArray("timestamps").forEach(one -> timestamps.add(one.getAsLong()));
        return new TimestampsFilter(timestamps);
      default:
        throw new AssertionError("not a filter: " + type);
    }
  }

  private static Filter ofColumn(String type, JsonObject of) {
    byte[] family = text(of.get("family"));
    byte[] qualifier = hex(of.get("qualifier"));
    if (type.equals("DependentColumn")) {
      return new DependentColumnFilter(family, qualifier, of.get("drop").getAsBoolean());
    }
    CompareOperator operator = operator(of);
    ByteArrayComparable comparator = comparator(of.getAsJsonObject("comparator"));
    if (type.equals("ColumnValue")) {
      return new ColumnValueFilter(family, qualifier, operator, comparator);
    }
    SingleColumnValueFilter filter =
        type.equals("SingleColumnValue")
            ? new SingleColumnValueFilter(family, qualifier, operator, comparator)
            : new SingleColumnValueExcludeFilter(family, qualifier, operator, comparator);
    filter.setFilterIfMissing(of.get("filter_if_missing").getAsBoolean());
    filter.setLatestVersionOnly(of.get("latest_version_only").getAsBoolean());
    return filter;
  }
}
