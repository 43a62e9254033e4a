import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;

/** The first half of the work of ../workload.hpp: heap in use after a collection, after one pass to warm up. */
final class Workload {
  private static long usedBytes() {
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    return runtime.totalMemory() - runtime.freeMemory();
  }

  private static void block(ExecutorService pool, int workers, CountDownLatch gate) throws InterruptedException {
    CountDownLatch blocked = new CountDownLatch(workers);
    for (int i = 0; i < workers; i++) {
      pool.execute(() -> {
        blocked.countDown();
        try {
          gate.await();
        } catch (InterruptedException error) {
          throw new IllegalStateException(error);
        }
      });
    }
    blocked.await();
  }

  private static double bytesPerQueuedJob(JobPool.Factory factory, int workers, long jobs) throws Exception {
    JobCounts counts = new JobCounts();
    CountDownLatch gate = new CountDownLatch(1);
    long before = usedBytes();
    ExecutorService pool = factory.make(workers, (int) jobs);
    block(pool, workers, gate);
    for (long i = 1; i <= jobs; i++) {
      long number = i;
      long twice = 2 * i;
      pool.execute(() -> counts.addJob(number + twice));
    }
    long after = usedBytes();
    gate.countDown();
    JobPool.finish(pool);
    counts.check(jobs, 3 * (jobs * (jobs + 1) / 2));
    return (double) (after - before) / jobs;
  }

  static void run(JobPool.Factory factory, String[] values) throws Exception {
    Arguments arguments = new Arguments(values);
    long jobs = arguments.number("jobs", 1_000_000);
    int workers = (int) arguments.number("workers", 2);
    bytesPerQueuedJob(factory, workers, jobs);
    new Result()
        .add("jobs", jobs)
        .add("bytes_per_queued_job", bytesPerQueuedJob(factory, workers, jobs))
        .print();
  }

  private Workload() {}
}
