import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveAction;

/** The work of ../workload.hpp over RecursiveAction.fork in a ForkJoinPool, after one pass to warm up. */
public final class ForkJoin {
  private static final class Spawning {
    final JobCounts ran = new JobCounts();
    final JobCounts spawned = new JobCounts();
    final long jobs;
    final long deadline;
    volatile boolean isOver;

    Spawning(long jobs, long millis) {
      this.jobs = jobs;
      deadline = System.nanoTime() + millis * 1_000_000;
    }

    void lookAtTheClock() {
      if (System.nanoTime() - deadline >= 0) isOver = true;
    }
  }

  private abstract static class Job extends RecursiveAction {
    private static final long serialVersionUID = 1;
    final transient Spawning spawning;

    Job(Spawning spawning) {
      this.spawning = spawning;
    }
  }

  private static final class EmptyJob extends Job {
    private static final long serialVersionUID = 1;

    EmptyJob(Spawning spawning) {
      super(spawning);
    }

    @Override protected void compute() {
      spawning.ran.addJob();
    }
  }

  private static final class SpawnAll extends Job {
    private static final long serialVersionUID = 1;

    SpawnAll(Spawning spawning) {
      super(spawning);
    }

    @Override protected void compute() {
      for (long job = 2; job <= spawning.jobs && !spawning.isOver; job++) {
        spawning.spawned.addJob();
        new EmptyJob(spawning).fork();
        if (job % JobStopwatch.JOBS_PER_LOOK_AT_THE_CLOCK == 0) spawning.lookAtTheClock();
      }
      spawning.ran.addJob();
    }
  }

  private static final class TreeJob extends Job {
    private static final long serialVersionUID = 1;
    private final long number;

    TreeJob(Spawning spawning, long number) {
      super(spawning);
      this.number = number;
    }

    @Override protected void compute() {
      if (number % JobStopwatch.JOBS_PER_LOOK_AT_THE_CLOCK == 0) spawning.lookAtTheClock();
      for (long child = 2 * number; child <= 2 * number + 1; child++) {
        if (child > spawning.jobs || spawning.isOver) break;
        spawning.spawned.addJob();
        new TreeJob(spawning, child).fork();
      }
      spawning.ran.addJob();
    }
  }

  private static Result spawnJobs(Arguments arguments) throws Exception {
    ForkJoinPool pool = new ForkJoinPool((int) arguments.number("workers", 2));
    JobStopwatch stopwatch = new JobStopwatch();
    Spawning spawning =
        new Spawning(arguments.number("jobs", 5_000_000), arguments.number("milliseconds", 500));
    pool.execute(arguments.number("tree", 0) != 0 ? new TreeJob(spawning, 1) : new SpawnAll(spawning));
    JobPool.finish(pool);
    Result result = stopwatch.stop(spawning.ran.jobs());
    spawning.ran.check(spawning.spawned.jobs() + 1, 0);
    if (!spawning.isOver) spawning.ran.check(spawning.jobs, 0);
    return result;
  }

  public static void main(String[] values) throws Exception {
    Arguments arguments = new Arguments(values);
    spawnJobs(arguments);
    spawnJobs(arguments).print();
  }
}
