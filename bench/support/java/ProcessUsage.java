import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * What the whole process has cost so far: CPU time in clock ticks of 10 ms, and the context switches of each living
 * thread. A thread that ends takes its switches with it, so workers stay alive until the usage has been read.
 */
record ProcessUsage(double cpuSeconds, Map<String, Long> switchesByThread) {
  private static final double TICKS_PER_SECOND = 100;

  static ProcessUsage now() throws IOException {
    return new ProcessUsage(readCpuSeconds(), readSwitches());
  }

  double cpuSecondsSince(ProcessUsage earlier) {
    return cpuSeconds - earlier.cpuSeconds;
  }

  long contextSwitchesSince(ProcessUsage earlier) {
    long switches = 0;
    for (var thread : switchesByThread.entrySet()) {
      switches += thread.getValue() - earlier.switchesByThread.getOrDefault(thread.getKey(), 0L);
    }
    return switches;
  }

  private static double readCpuSeconds() throws IOException {
    String stat = Files.readString(Path.of("/proc/self/stat"));
    String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");  // From field 3, the state, on.
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) / TICKS_PER_SECOND;
  }

  private static Map<String, Long> readSwitches() throws IOException {
    Map<String, Long> switches = new HashMap<>();
    for (String thread : new File("/proc/self/task").list()) {
      Path status = Path.of("/proc/self/task", thread, "status");
      if (!Files.exists(status)) continue;  // Ended since it was listed.
      long sum = 0;
      for (String line : Files.readAllLines(status)) {
        if (line.contains("ctxt_switches")) sum += Long.parseLong(line.substring(line.indexOf(':') + 1).trim());
      }
      switches.put(thread, sum);
    }
    return switches;
  }
}
