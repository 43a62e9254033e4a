import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CountDownLatch;

/** The work of ../workload.hpp over an ArrayBlockingQueue, after one pass to warm up. It cannot be closed: it ends by sentinels. */
public final class QueueThroughput {
  private static final long END_OF_ITEMS = 0;
  private static final int ITEMS_PER_LOOK_AT_THE_CLOCK = 64;

  private static final class Moved {
    long items;
    long sum;
    long endedNanos = Long.MIN_VALUE;

    void add(Moved other) {
      items += other.items;
      sum += other.sum;
      endedNanos = Math.max(endedNanos, other.endedNanos);
    }
  }

  private record Shape(int producers, int consumers, long items, long millis, int capacity) {}

  private interface Work {
    Moved run() throws InterruptedException;
  }

  private static Moved produce(ArrayBlockingQueue<Long> queue, Shape shape, int producer) throws InterruptedException {
    long deadline = System.nanoTime() + shape.millis * 1_000_000;
    Moved sent = new Moved();
    for (long item = producer + 1; item <= shape.items; item += shape.producers) {
      queue.put(item);
      sent.items++;
      sent.sum += item;
      if (sent.items % ITEMS_PER_LOOK_AT_THE_CLOCK == 0 && System.nanoTime() - deadline >= 0) break;
    }
    return sent;
  }

  private static Moved consume(ArrayBlockingQueue<Long> queue) throws InterruptedException {
    Moved taken = new Moved();
    for (long item = queue.take(); item != END_OF_ITEMS; item = queue.take()) {
      taken.items++;
      taken.sum += item;
    }
    taken.endedNanos = System.nanoTime();
    return taken;
  }

  /** Threads that work behind one start line and stay alive until they are released. */
  private static final class Side {
    private final Moved total = new Moved();
    private final CountDownLatch done;

    Side(int threads) {
      done = new CountDownLatch(threads);
    }

    void start(Work work, CountDownLatch ready, CountDownLatch go, CountDownLatch measured) {
      Thread thread = new Thread(() -> {
        try {
          ready.countDown();
          go.await();
          Moved mine = work.run();
          synchronized (total) {
            total.add(mine);
          }
          done.countDown();
          measured.await();
        } catch (InterruptedException error) {
          throw new IllegalStateException(error);
        }
      });
      thread.setDaemon(true);
      thread.start();
    }

    Moved await() throws InterruptedException {
      done.await();
      return total;
    }
  }

  private static Result moveItems(Shape shape) throws Exception {
    ArrayBlockingQueue<Long> queue = new ArrayBlockingQueue<>(shape.capacity);
    CountDownLatch ready = new CountDownLatch(shape.producers + shape.consumers);
    CountDownLatch go = new CountDownLatch(1);
    CountDownLatch measured = new CountDownLatch(1);
    Side consumers = new Side(shape.consumers);
    Side producers = new Side(shape.producers);
    for (int i = 0; i < shape.consumers; i++) consumers.start(() -> consume(queue), ready, go, measured);
    for (int i = 0; i < shape.producers; i++) {
      int producer = i;
      producers.start(() -> produce(queue, shape, producer), ready, go, measured);
    }

    ready.await();
    ProcessUsage before = ProcessUsage.now();
    long began = System.nanoTime();
    go.countDown();
    Moved sent = producers.await();
    for (int i = 0; i < shape.consumers; i++) queue.put(END_OF_ITEMS);
    Moved taken = consumers.await();
    ProcessUsage after = ProcessUsage.now();
    measured.countDown();

    if (sent.items != taken.items || sent.sum != taken.sum) {
      throw new IllegalStateException("sent " + sent.items + " items with sum " + sent.sum
          + ", taken " + taken.items + " with sum " + taken.sum);
    }
    double seconds = (taken.endedNanos - began) * 1e-9;
    double millions = taken.items * 1e-6;
    return new Result()
        .add("items", taken.items)
        .add("seconds", seconds)
        .add("items_per_us", millions / seconds)
        .add("cpu_seconds_per_million_items", after.cpuSecondsSince(before) / millions)
        .add("context_switches_per_million_items", after.contextSwitchesSince(before) / millions);
  }

  public static void main(String[] values) throws Exception {
    Arguments arguments = new Arguments(values);
    Shape shape = new Shape(
        (int) arguments.number("producers", 1),
        (int) arguments.number("consumers", 1),
        arguments.number("items", 20_000_000),
        arguments.number("milliseconds", 500),
        (int) arguments.number("capacity", 1024));
    moveItems(shape);
    moveItems(shape).print();
  }
}
