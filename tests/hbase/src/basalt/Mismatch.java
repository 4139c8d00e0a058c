// SPDX-License-Identifier: Apache-2.0
package basalt;

/** HBase's answer is not the expected one; the message says which and where. */
final class Mismatch extends Exception {
  private static final long serialVersionUID = 1;

  Mismatch(String message) {
    super(message);
  }

  static void check(String what, Object expected, Object found) throws Mismatch {
    if (!expected.equals(found)) throw new Mismatch(what + ": expected " + brief(expected) + ", HBase says " + brief(found));
  }

  /** Long row keys and values are cut in the middle. */
  static String brief(Object value) {
    return value.toString().replaceAll("([0-9a-f]{24})[0-9a-f]{24,}([0-9a-f]{24})", "$1..$2").replace('\t', ' ');
  }
}
