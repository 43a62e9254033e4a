import java.util.concurrent.ArrayBlockingQueue;

/** The work of ../workload.hpp over an ArrayBlockingQueue. Includes what the virtual machine itself does when idle. */
public final class IdleCpu {
  private static final long TIME_TO_SETTLE_MILLIS = 1000;  // Longer than the others': start-up work goes on in the background.

  public static void main(String[] values) throws Exception {
    Arguments arguments = new Arguments(values);
    long consumers = arguments.number("consumers", 64);
    long millis = arguments.number("milliseconds", 5000);
    ArrayBlockingQueue<Long> queue = new ArrayBlockingQueue<>(1024);
    for (long i = 0; i < consumers; i++) {
      Thread consumer = new Thread(() -> {
        try {
          while (queue.take() != null) { }
        } catch (InterruptedException error) {
          throw new IllegalStateException(error);
        }
      });
      consumer.setDaemon(true);
      consumer.start();
    }
    ProcessUsage.now();  // Loads what the measurement below needs.
    Thread.sleep(TIME_TO_SETTLE_MILLIS);

    ProcessUsage before = ProcessUsage.now();
    Thread.sleep(millis);
    ProcessUsage after = ProcessUsage.now();
    double seconds = millis * 1e-3;
    new Result()
        .add("seconds", seconds)
        .add("cpu_ms_per_second", after.cpuSecondsSince(before) * 1e3 / seconds)
        .add("context_switches_per_second", after.contextSwitchesSince(before) / seconds)
        .print();
  }
}
