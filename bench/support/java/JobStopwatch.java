import java.io.IOException;

/** Times a piece of work that runs many jobs. */
final class JobStopwatch {
  static final int JOBS_PER_LOOK_AT_THE_CLOCK = 64;

  private final ProcessUsage before = ProcessUsage.now();
  private final long began = System.nanoTime();

  JobStopwatch() throws IOException {}

  /** The result of the jobs that have run since this stopwatch was made. */
  Result stop(long jobs) throws IOException {
    double seconds = (System.nanoTime() - began) * 1e-9;
    double cpuSeconds = ProcessUsage.now().cpuSecondsSince(before);
    double millions = jobs * 1e-6;
    return new Result()
        .add("jobs", jobs)
        .add("seconds", seconds)
        .add("jobs_per_us", millions / seconds)
        .add("cpu_seconds_per_million_jobs", cpuSeconds / millions);
  }
}
