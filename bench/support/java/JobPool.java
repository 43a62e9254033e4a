import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The executors that take part, by how they are made. */
final class JobPool {
  interface Factory {
    ExecutorService make(int workers, int capacity);
  }

  /** Bounded. A full ThreadPoolExecutor refuses; here its handler puts the job into the queue, and so waits. */
  static ExecutorService threadPool(int workers, int capacity) {
    ThreadPoolExecutor pool = new ThreadPoolExecutor(workers, workers, 0, TimeUnit.SECONDS,
        new ArrayBlockingQueue<>(capacity), JobPool::putWhenFull);
    pool.prestartAllCoreThreads();
    return pool;
  }

  /** It has no bound. */
  static ExecutorService forkJoin(int workers, int capacity) {
    return new ForkJoinPool(workers);
  }

  /** Returns when all jobs have run. */
  static void finish(ExecutorService pool) throws InterruptedException {
    pool.shutdown();
    if (!pool.awaitTermination(60, TimeUnit.SECONDS)) throw new IllegalStateException("the pool did not end");
  }

  private static void putWhenFull(Runnable job, ThreadPoolExecutor pool) {
    try {
      pool.getQueue().put(job);
    } catch (InterruptedException error) {
      throw new IllegalStateException(error);
    }
  }

  private JobPool() {}
}
