import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;

/** The work of ../workload.hpp over RecursiveTask in a ForkJoinPool, after five passes to warm up. */
public final class ForkJoin {
  private static final int WARM_UP_PASSES = 5;

  private static final class Fib extends RecursiveTask<Long> {
    private static final long serialVersionUID = 1;
    private final int n;

    Fib(int n) {
      this.n = n;
    }

    @Override protected Long compute() {
      if (n < 2) return (long) n;
      Fib forked = new Fib(n - 1);
      forked.fork();
      long kept = new Fib(n - 2).compute();
      return forked.join() + kept;
    }
  }

  private record Expected(long result, long forks) {
    static Expected of(int n) {
      Expected atN = new Expected(0, 0);
      Expected next = new Expected(1, 0);
      for (int i = 0; i < n; i++) {
        Expected after = new Expected(atN.result + next.result, atN.forks + next.forks + 1);
        atN = next;
        next = after;
      }
      return atN;
    }
  }

  private static Result compute(ForkJoinPool pool, int n) throws Exception {
    Expected expected = Expected.of(n);
    JobStopwatch stopwatch = new JobStopwatch();
    long result = pool.invoke(new Fib(n));
    Result rate = stopwatch.stop(expected.forks);
    if (result != expected.result) {
      throw new IllegalStateException("fib(" + n + ") is " + expected.result + ", computed " + result);
    }
    return rate;
  }

  public static void main(String[] values) throws Exception {
    Arguments arguments = new Arguments(values);
    int n = (int) arguments.number("n", 30);
    ForkJoinPool pool = new ForkJoinPool((int) arguments.number("workers", 2));
    for (int pass = 0; pass < WARM_UP_PASSES; pass++) compute(pool, n);
    compute(pool, n).print();
  }
}
