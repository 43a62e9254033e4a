import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/** The work of ../workload.hpp over an ArrayBlockingQueue, after many hand-overs at full speed to warm up. */
public final class WakeLatency {
  private static final long END_OF_ITEMS = 0;
  private static final int SHORTEST_PAUSE_NANOS = 300_000;
  private static final int LONGEST_PAUSE_NANOS = 1_000_000;
  private static final int WARM_UP_ITEMS = 200_000;

  private final ArrayBlockingQueue<Long> queue = new ArrayBlockingQueue<>(1024);
  private final AtomicInteger received = new AtomicInteger();
  private final long[] latencies;

  private WakeLatency(int samples) {
    latencies = new long[samples];
  }

  private void consume() {
    try {
      for (long putBegan = queue.take(); putBegan != END_OF_ITEMS; putBegan = queue.take()) {
        int index = received.get();
        latencies[index] = System.nanoTime() - putBegan;
        received.set(index + 1);
      }
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  private void sendPaced(long millis) throws InterruptedException {
    Random random = new Random(1);
    long deadline = System.nanoTime() + millis * 1_000_000;
    for (int sent = 0; ; sent++) {
      do {
        LockSupport.parkNanos(SHORTEST_PAUSE_NANOS + random.nextInt(LONGEST_PAUSE_NANOS - SHORTEST_PAUSE_NANOS));
      } while (received.get() != sent);
      if (System.nanoTime() - deadline >= 0 || sent == latencies.length) return;
      queue.put(System.nanoTime());
    }
  }

  private void sendAtFullSpeed() throws InterruptedException {
    for (int i = 0; i < latencies.length; i++) queue.put(System.nanoTime());
  }

  private interface Send {
    void run() throws InterruptedException;
  }

  /** Returns the latencies, sorted. */
  private long[] measure(Send send) throws InterruptedException {
    Thread consumer = new Thread(this::consume);
    consumer.start();
    send.run();
    queue.put(END_OF_ITEMS);
    consumer.join();
    long[] measured = Arrays.copyOf(latencies, received.get());
    Arrays.sort(measured);
    return measured;
  }

  private static double percentile(long[] sorted, int percent) {
    return sorted[(sorted.length * percent + 99) / 100 - 1] * 1e-3;
  }

  public static void main(String[] values) throws InterruptedException {
    long millis = new Arguments(values).number("milliseconds", 1000);
    WakeLatency warmUp = new WakeLatency(WARM_UP_ITEMS);
    warmUp.measure(warmUp::sendAtFullSpeed);

    WakeLatency wakes = new WakeLatency((int) (millis * 1_000_000 / SHORTEST_PAUSE_NANOS) + 1);
    long[] sorted = wakes.measure(() -> wakes.sendPaced(millis));
    if (sorted.length == 0) throw new IllegalStateException("no item was sent in the given time");
    new Result()
        .add("items", sorted.length)
        .add("latency_us_p50", percentile(sorted, 50))
        .add("latency_us_p99", percentile(sorted, 99))
        .print();
  }
}
