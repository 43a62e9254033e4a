/** How many jobs have run and what they carried, counted by each thread in a cache line of its own. */
final class JobCounts {
  private static final int CELLS = 512;  // Should two threads ever share one, counts get lost and the check fails.
  private static final int LONGS_PER_CELL = 16;
  private final long[] cells = new long[CELLS * LONGS_PER_CELL];

  void addJob() {
    cells[mine()]++;
  }

  void addJob(long carried) {
    int mine = mine();
    cells[mine]++;
    cells[mine + 1] += carried;
  }

  /** Exact once the pool has terminated. */
  long jobs() {
    return total(0);
  }

  long sum() {
    return total(1);
  }

  void check(long given, long givenSum) {
    if (jobs() != given || sum() != givenSum) {
      throw new IllegalStateException("given " + given + " jobs with sum " + givenSum
          + ", run " + jobs() + " with sum " + sum());
    }
  }

  private static int mine() {
    return (int) (Thread.currentThread().getId() % CELLS) * LONGS_PER_CELL;
  }

  private long total(int offset) {
    long total = 0;
    for (int cell = 0; cell < CELLS; cell++) total += cells[cell * LONGS_PER_CELL + offset];
    return total;
  }
}
