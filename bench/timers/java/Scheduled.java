import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The work of ../workload.hpp over a ScheduledThreadPoolExecutor that removes what is cancelled, after one pass to warm up. */
public final class Scheduled {
  private static Result armAndCancel(int workers, long[] delays) throws InterruptedException {
    ScheduledThreadPoolExecutor pool = new ScheduledThreadPoolExecutor(workers);
    pool.setRemoveOnCancelPolicy(true);
    pool.prestartAllCoreThreads();
    JobCounts fired = new JobCounts();
    List<ScheduledFuture<?>> timers = new ArrayList<>(delays.length);

    long began = System.nanoTime();
    for (long delay : delays) timers.add(pool.schedule(() -> fired.addJob(), delay, TimeUnit.MILLISECONDS));
    long armed = System.nanoTime();
    int cancelled = 0;
    for (ScheduledFuture<?> timer : timers) cancelled += timer.cancel(false) ? 1 : 0;
    long ended = System.nanoTime();

    int left = pool.getQueue().size();
    JobPool.finish(pool);
    if (cancelled != delays.length || left != 0 || fired.jobs() != 0) {
      throw new IllegalStateException("armed " + delays.length + " timers, cancelled " + cancelled
          + ", left " + left + ", fired " + fired.jobs());
    }
    return new Result()
        .add("timers", delays.length)
        .add("arm_ns", (double) (armed - began) / delays.length)
        .add("cancel_ns", (double) (ended - armed) / delays.length);
  }

  public static void main(String[] values) throws Exception {
    Arguments arguments = new Arguments(values);
    int workers = (int) arguments.number("workers", 2);
    long[] delays = new Random(42).longs(arguments.number("timers", 1_000_000), 60_000, 3_600_000).toArray();
    armAndCancel(workers, delays);
    armAndCancel(workers, delays).print();
  }
}
