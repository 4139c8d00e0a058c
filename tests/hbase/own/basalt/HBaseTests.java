// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.hbase.ExternalCluster;
import org.junit.runner.Description;
import org.junit.runner.JUnitCore;
import org.junit.runner.notification.Failure;
import org.junit.runner.notification.RunListener;

/**
 * A class of HBase's own tests against a server that runs already. HBaseTests HOST:PORT ZOOKEEPER_HOST:PORT SECONDS CLASS.
 *
 * <p>One line per test: class, test, what became of it (passed, failed, skipped, ignored, unfinished), why; between tabs.
 */
public final class HBaseTests {
  private static String begun;

  private HBaseTests() {}

  public static void main(String[] args) throws Exception {
    ExternalCluster.install(args[0], args[1]);
    Class<?> tests = Class.forName(args[3].contains(".") ? args[3] : "org.apache.hadoop.hbase.client." + args[3]);
    Thread late = new Thread(() -> endAfter(Duration.ofSeconds(Long.parseLong(args[2]))));
    late.setDaemon(true);
    late.start();
    JUnitCore junit = new JUnitCore();
    junit.addListener(new Lines());
    junit.run(tests);
    Runtime.getRuntime().halt(0);
  }

  private static void endAfter(Duration time) {
    try {
      Thread.sleep(time.toMillis());
    } catch (InterruptedException ended) {
      return;
    }
    for (StackTraceElement[] stack : Thread.getAllStackTraces().values()) {
      for (StackTraceElement frame : stack) {
        if (begun != null && begun.contains(frame.getMethodName() + "\t")) {
          System.err.println("stands in " + frame);
        }
      }
    }
    say(begun == null ? "-\t-\t" : begun, "unfinished", "not done after " + time.toSeconds() + " s");
    Runtime.getRuntime().halt(1);
  }

  private static synchronized void say(String test, String outcome, String why) {
    System.out.println(test + outcome + "\t" + why);
    System.out.flush();
  }

  private static final class Lines extends RunListener {
    private final List<Description> told = new ArrayList<>();

    private static String name(Description test) {
      return test.getTestClass().getSimpleName() + "\t" + (test.getMethodName() == null ? "-" : test.getMethodName()) + "\t";
    }

    private static String why(Failure failure) {
      String message = failure.getException().toString().replaceAll("\\s+", " ");
      for (StackTraceElement frame : failure.getException().getStackTrace()) {
        if (frame.getClassName().startsWith("org.apache.hadoop.hbase.") && frame.getClassName().contains("Test")) {
          message = message.substring(0, Math.min(message.length(), 240)) + " @" + frame.getFileName() + ":" + frame.getLineNumber();
          break;
        }
      }
      return message;
    }

    @Override
    public void testStarted(Description test) {
      begun = name(test);
    }

    @Override
    public void testFailure(Failure failure) {
      told.add(failure.getDescription());
      say(name(failure.getDescription()), "failed", why(failure));
    }

    @Override
    public void testAssumptionFailure(Failure failure) {
      told.add(failure.getDescription());
      say(name(failure.getDescription()), "skipped", why(failure));
    }

    @Override
    public void testIgnored(Description test) {
      say(name(test), "ignored", "by HBase");
    }

    @Override
    public void testFinished(Description test) {
      if (!told.contains(test)) {
        say(name(test), "passed", "");
      }
    }
  }
}
