import java.util.Locale;

/** One result, printed as one line of JSON for bench/run. */
final class Result {
  private final StringBuilder text = new StringBuilder();

  Result() {
    text.append("{\"version\": \"").append(System.getProperty("java.version")).append('"');
  }

  Result add(String key, double value) {
    text.append(String.format(Locale.ROOT, ", \"%s\": %.9g", key, value));
    return this;
  }

  void print() {
    System.out.println(text.append('}'));
  }
}
