/** Java's ForkJoinPool, which has no bound. */
public final class ForkJoin {
  public static void main(String[] values) throws Exception {
    Workload.run(JobPool::forkJoin, values);
  }
}
