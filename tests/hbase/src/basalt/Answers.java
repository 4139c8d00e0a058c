// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.RetriesExhaustedException;
import org.apache.hadoop.hbase.client.RetriesExhaustedWithDetailsException;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.ipc.RemoteException;

/** Answers as text. Of an exception the class counts, not the words; of a server's own time only that it is one. */
final class Answers {
  /** Programs use smaller ones. */
  private static final long CLOCK_MIN = 1_000_000_000_000L;

  /** The words of the last exception, for who looks for its cause. */
  static final ThreadLocal<String> SAID = ThreadLocal.withInitial(() -> "");

  private Answers() {}

  /** What an operation gives. */
  interface Ask {
    String ask() throws IOException;
  }

  static String of(Ask ask) {
    try {
      return ask.ask();
    } catch (IOException | RuntimeException failure) {
      return "throws " + name(failure);
    }
  }

  /** Class of an exception, as the program would see it, and of what the server said. */
  static String name(Throwable failure) {
    if (failure instanceof RetriesExhaustedWithDetailsException details) {
      TreeSet<String> causes = new TreeSet<>();
      details.getCauses().forEach(cause -> causes.add(name(cause)));
      return failure.getClass().getSimpleName() + causes;
    }
    SAID.set(String.valueOf(failure.getMessage()));
    if (failure instanceof RemoteException remote) {
      String name = remote.getClassName();
      return name.substring(name.lastIndexOf('.') + 1);
    }
    if (failure instanceof RetriesExhaustedException && failure.getCause() != null) {
      return failure.getClass().getSimpleName() + "[" + name(failure.getCause()) + "]";
    }
    return failure.getClass().getSimpleName();
  }

  /** {@code skipped}: bytes at the front of all rows. */
  static String text(Result result, int skipped) {
    if (result == null) {
      return "null";
    }
    String exists = result.getExists() == null ? "" : "exists " + result.getExists();
    if (result.isEmpty()) {
      return exists.isEmpty() ? "empty" : exists;
    }
    return exists.isEmpty() ? cells(result, skipped) : exists + " " + cells(result, skipped);
  }

  private static String cells(Result result, int skipped) {
    StringBuilder text = new StringBuilder(escape(result.getRow(), skipped)).append('{');
    for (Cell cell : result.rawCells()) {
      if (text.charAt(text.length() - 1) != '{') {
        text.append(' ');
      }
      text.append(escape(CellUtil.cloneFamily(cell), 0)).append(':').append(escape(CellUtil.cloneQualifier(cell), 0));
      text.append('@').append(cell.getTimestamp() < CLOCK_MIN ? Long.toString(cell.getTimestamp()) : "now");
      text.append(cell.getType() == Cell.Type.Put ? "" : "!" + cell.getType());
      text.append('=').append(escape(CellUtil.cloneValue(cell), 0));
    }
    return text.append('}').toString();
  }

  static String text(Object[] results, int skipped) {
    List<String> texts = new ArrayList<>();
    for (Object result : results) {
      texts.add(
          result instanceof Throwable failure ? "throws " + name(failure) : result instanceof Result found ? text(found, skipped) : String.valueOf(result));
    }
    return String.join(" ", texts);
  }

  static String escape(byte[] bytes, int skipped) {
    return Bytes.toStringBinary(bytes, Math.min(skipped, bytes.length), bytes.length - Math.min(skipped, bytes.length)).replace(" ", "\\x20");
  }
}
