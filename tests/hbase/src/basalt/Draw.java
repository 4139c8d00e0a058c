// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.hbase.CompareOperator;
import org.apache.hadoop.hbase.filter.BinaryComparator;
import org.apache.hadoop.hbase.filter.BinaryPrefixComparator;
import org.apache.hadoop.hbase.filter.BitComparator;
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
import org.apache.hadoop.hbase.filter.FuzzyRowFilter;
import org.apache.hadoop.hbase.filter.InclusiveStopFilter;
import org.apache.hadoop.hbase.filter.KeyOnlyFilter;
import org.apache.hadoop.hbase.filter.LongComparator;
import org.apache.hadoop.hbase.filter.MultiRowRangeFilter;
import org.apache.hadoop.hbase.filter.MultipleColumnPrefixFilter;
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
import org.apache.hadoop.hbase.util.Pair;

/** Names, values, comparators and filters of a random program; the same ones for the same seed. */
final class Draw {
  static final byte[][] FAMILIES = {Bytes.toBytes("a"), Bytes.toBytes("fam")};
  private static final String[] QUALIFIERS = {"", "q", "q1", "q10", "q2", "x", "\u00ff"};
  private static final String[] ROWS = {"", "a", "a\0", "ab", "abc", "b", "b\u00ff", "m", "mm", "row1", "row10", "row2", "z"};
  private static final CompareOperator[] OPERATORS = {
    CompareOperator.LESS,
    CompareOperator.LESS_OR_EQUAL,
    CompareOperator.EQUAL,
    CompareOperator.NOT_EQUAL,
    CompareOperator.GREATER_OR_EQUAL,
    CompareOperator.GREATER,
  };

  private final Random random;
  private final String prefix;

  /** All rows begin with {@code prefix}. */
  Draw(long seed, String prefix) {
    this.random = new Random(seed * 7919 + 17);
    this.prefix = prefix;
  }

  /** True once in so many times. */
  boolean once(int times) {
    return random.nextInt(times) == 0;
  }

  int below(int bound) {
    return random.nextInt(bound);
  }

  @SafeVarargs
  final <T> T of(T... choices) {
    return choices[random.nextInt(choices.length)];
  }

  byte[] row() {
    return bytes(prefix + of(ROWS));
  }

  byte[] family() {
    // One that does not exist is part of the programs.
    return once(60) ? Bytes.toBytes("none") : of(FAMILIES);
  }

  byte[] qualifier() {
    return bytes(of(QUALIFIERS));
  }

  long timestamp() {
    return 1 + random.nextInt(12);
  }

  byte[] value() {
    switch (random.nextInt(6)) {
      case 0:
        return Bytes.toBytes((long) random.nextInt(5) - 2);
      case 1:
        return new byte[0];
      case 2:
        return bytes(of("a", "ab", "b", "\u00ff\0"));
      default:
        return bytes("v" + random.nextInt(20));
    }
  }

  CompareOperator operator() {
    return of(OPERATORS);
  }

  ByteArrayComparable comparator() {
    switch (random.nextInt(7)) {
      case 0:
        return new BinaryPrefixComparator(bytes(of("v", "v1", "q", "a")));
      case 1:
        return new SubstringComparator(of("1", "V", "q", "row"));
      case 2:
        return new RegexStringComparator(of("1$", "^v", "[ab]+", "q.?", "(?i)V1.*"));
      case 3:
        return new NullComparator();
      case 4:
        return new BitComparator(bytes(of("v1", "q", "\u00ff")), of(BitComparator.BitwiseOp.AND, BitComparator.BitwiseOp.OR, BitComparator.BitwiseOp.XOR));
      default:
        return new BinaryComparator(once(2) ? value() : qualifier());
    }
  }

  /** A filter; {@code depth} lists may lie in each other. */
  Filter filter(int depth) {
    if (depth > 0 && once(3)) {
      return combined(depth);
    }
    switch (random.nextInt(22)) {
      case 0:
        return new PrefixFilter(row());
      case 1:
        return new RowFilter(operator(), new BinaryComparator(row()));
      case 2:
        return new QualifierFilter(operator(), comparator());
      case 3:
        return new FamilyFilter(operator(), new BinaryComparator(of(FAMILIES)));
      case 4:
        return new ValueFilter(operator(), once(4) ? new LongComparator(random.nextInt(3)) : comparator());
      case 5:
      case 6:
        return ofColumn(new SingleColumnValueFilter(of(FAMILIES), qualifier(), operator(), comparator()));
      case 7:
        return ofColumn(new SingleColumnValueExcludeFilter(of(FAMILIES), qualifier(), operator(), comparator()));
      case 8:
        return new ColumnPrefixFilter(bytes(of("q", "q1", "x", "zz")));
      case 9:
        return new MultipleColumnPrefixFilter(new byte[][] {bytes(of("q1", "x")), bytes(of("q2", "\u00ff"))});
      case 10:
        return new ColumnRangeFilter(qualifier(), once(2), once(4) ? null : qualifier(), once(2));
      case 11:
        return new ColumnCountGetFilter(1 + random.nextInt(4));
      case 12:
        return new ColumnPaginationFilter(1 + random.nextInt(3), random.nextInt(3));
      case 13:
        return new FirstKeyOnlyFilter();
      case 14:
        return new KeyOnlyFilter(once(2));
      case 15:
        return new PageFilter(1 + random.nextInt(4));
      case 16:
        return new InclusiveStopFilter(row());
      case 17:
        return fuzzy();
      case 18:
        return ranges();
      case 19:
        return new TimestampsFilter(Arrays.asList(timestamp(), timestamp(), timestamp()), once(2));
      case 20:
        return new DependentColumnFilter(of(FAMILIES), qualifier(), once(2), operator(), comparator());
      default:
        return new ColumnValueFilter(of(FAMILIES), qualifier(), operator(), comparator());
    }
  }

  private Filter combined(int depth) {
    switch (random.nextInt(6)) {
      case 0:
        return new SkipFilter(filter(depth - 1));
      case 1:
        return new WhileMatchFilter(filter(depth - 1));
      default:
        List<Filter> filters = new ArrayList<>();
        for (int i = 1 + random.nextInt(3); i > 0; i--) {
          filters.add(filter(depth - 1));
        }
        return new FilterList(once(2) ? FilterList.Operator.MUST_PASS_ALL : FilterList.Operator.MUST_PASS_ONE, filters);
    }
  }

  private Filter ofColumn(SingleColumnValueFilter filter) {
    filter.setFilterIfMissing(once(2));
    filter.setLatestVersionOnly(once(2));
    return filter;
  }

  private Filter fuzzy() {
    byte[] key = row();
    byte[] mask = new byte[key.length];
    for (int i = prefix.length(); i < mask.length; i++) {
      mask[i] = (byte) random.nextInt(2);
    }
    return new FuzzyRowFilter(List.of(new Pair<>(key, mask)));
  }

  private Filter ranges() {
    byte[] low = row();
    byte[] high = row();
    boolean swap = Bytes.compareTo(low, high) > 0;
    List<MultiRowRangeFilter.RowRange> ranges = new ArrayList<>();
    ranges.add(new MultiRowRangeFilter.RowRange(swap ? high : low, once(2), swap ? low : high, true));
    return new MultiRowRangeFilter(ranges);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
  }
}
