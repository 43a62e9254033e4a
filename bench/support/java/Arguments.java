import java.util.HashMap;
import java.util.Map;

/** The arguments of one measurement: "--name value" pairs, each with a default. */
final class Arguments {
  private final Map<String, Long> given = new HashMap<>();

  Arguments(String[] values) {
    for (int i = 0; i < values.length; i += 2) {
      if (!values[i].startsWith("--") || i + 1 == values.length) {
        throw new IllegalArgumentException("expected --name value, got " + values[i]);
      }
      given.put(values[i].substring(2), Long.parseLong(values[i + 1]));
    }
  }

  long number(String name, long otherwise) {
    return given.getOrDefault(name, otherwise);
  }
}
