/** Java's ThreadPoolExecutor over an ArrayBlockingQueue; see JobPool for what it does when full. */
public final class ThreadPool {
  public static void main(String[] values) throws Exception {
    Workload.run(JobPool::threadPool, values);
  }
}
