import java.util.concurrent.ExecutorService;

/** The work of ../workload.hpp over an executor, after one pass to warm up. */
final class Workload {
  private static Result postJobs(JobPool.Factory factory, Arguments arguments) throws Exception {
    long jobs = arguments.number("jobs", 5_000_000);
    ExecutorService pool = factory.make(
        (int) arguments.number("workers", 2), (int) arguments.number("capacity", 1024));
    JobCounts counts = new JobCounts();

    JobStopwatch stopwatch = new JobStopwatch();
    long deadline = System.nanoTime() + arguments.number("milliseconds", 500) * 1_000_000;
    long posted = 0;
    while (posted < jobs) {
      pool.execute(() -> counts.addJob());
      posted++;
      if (posted % JobStopwatch.JOBS_PER_LOOK_AT_THE_CLOCK == 0 && System.nanoTime() - deadline >= 0) break;
    }
    JobPool.finish(pool);
    Result result = stopwatch.stop(posted);
    counts.check(posted, 0);
    return result;
  }

  static void run(JobPool.Factory factory, String[] values) throws Exception {
    Arguments arguments = new Arguments(values);
    postJobs(factory, arguments);
    postJobs(factory, arguments).print();
  }

  private Workload() {}
}
