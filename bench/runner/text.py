"""Prints summaries for people."""

import os
import sys

BUSY_LOAD = 0.5  # Above this load average the machine was not ours alone.


class Paint:
    """Colours on a terminal, nothing elsewhere."""

    CODES = {"bold": "1", "dim": "2", "win": "32", "lose": "31", "tie": "33"}

    def __init__(self, stream=sys.stdout):
        self.on = stream.isatty() and "NO_COLOR" not in os.environ

    def __call__(self, style, text):
        return f"\033[{self.CODES[style]}m{text}\033[0m" if self.on and style else text


def _number(value):
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _ratio(comparison):
    if comparison is None or comparison["ratio"] is None:
        return "-"
    ratio = comparison["ratio"]
    return f"{ratio:.0f}x" if ratio >= 100 else f"{ratio:.2f}x" if ratio >= 0.1 else f"{ratio:.3f}x"


def _style_of_row(row):
    return {"ours": "bold", "peer": None}.get(row["kind"], "dim")


def _lines(summary):
    """The table's lines: texts of the cells, and a style for each."""
    for row in summary["rows"]:
        style = _style_of_row(row)
        yield [row["title"], row["version"] or ""] + [_number(value) for value in row["medians"]], \
            [style] * (len(row["medians"]) + 2)
    for comparison in summary["comparisons"]:
        cells = comparison["columns"]
        yield [comparison["title"], ""] + [_ratio(cell) for cell in cells], \
            ["bold", None] + [cell["verdict"] if cell and comparison["is_to_peer"] else None for cell in cells]
    to_peer = [comparison for comparison in summary["comparisons"] if comparison["is_to_peer"]]
    if to_peer:
        cells = [next(filter(None, column), None) for column in zip(*(each["columns"] for each in to_peer))]
        yield ["best peer", ""] + [cell["against_short"] if cell else "-" for cell in cells], \
            ["dim"] * (len(summary["columns"]) + 2)


def _print_table(summary, paint):
    lines = [(["", "version"] + summary["columns"], ["dim"] * (len(summary["columns"]) + 2)), *_lines(summary)]
    widths = [max(len(cells[index]) for cells, _ in lines) for index in range(len(lines[0][0]))]
    for cells, styles in lines:
        padded = [cell.ljust(width) if index < 2 else cell.rjust(width)
                  for index, (cell, width) in enumerate(zip(cells, widths))]
        print("  " + "  ".join(paint(style, cell) for style, cell in zip(styles, padded)).rstrip())


def _print_verdicts(summary, paint):
    for comparison in summary["comparisons"]:
        if not comparison["is_to_peer"]:
            continue
        places = {"win": [], "tie": [], "lose": []}
        for title, cell in zip(summary["columns"], comparison["columns"]):
            if cell:
                places[cell["verdict"]].append(f"{title} ({cell['against_short']}, {_ratio(cell)})")
        name = comparison["title"].removesuffix(" / best peer")
        if not places["lose"]:
            print("  " + paint("win", f"{name} loses nowhere in this table"))
        for verdict, verb in (("lose", "loses"), ("tie", "ties")):
            if places[verdict]:
                print("  " + paint(verdict, f"{name} {verb}: {', '.join(places[verdict])}"))


def print_machine(machine, options):
    print(f"machine   {machine['cpu']}, {machine['cores']} cores; {machine['kernel']}; "
          f"load before {machine['load_average_before']}")
    print(f"build     {machine['compiler']}; commit {machine['commit']}")
    print(f"medians   of {options.rounds} round{'s' if options.rounds > 1 else ''}, contenders by turns")
    if machine["load_average_before"] > BUSY_LOAD:
        print("          WARNING: other programs were running; trust the ratios, and those with care")
    if options.quick:
        print("          --quick shows only that everything runs; its numbers mean nothing")
    if not machine["optimized"]:
        print("          WARNING: built without optimization; the numbers mean nothing")


def print_workload(results, summaries, arguments, rounds):
    paint = Paint()
    workload = results.workload
    threads = "; ".join(dict.fromkeys(shape.threads for shape in workload.shapes))
    print(f"\n{paint('bold', workload.name)}: {workload.question}")
    print(f"  {workload.setting.format(**arguments)}")
    print(f"  threads: {threads}; rounds: {rounds}")
    for summary in summaries:
        better = "more is better" if summary["more_is_better"] else "less is better"
        print(f"\n  {paint('bold', summary['title'])}, {summary['unit']} ({better})")
        _print_table(summary, paint)
        _print_verdicts(summary, paint)
    for title in results.skipped:
        print(f"  skipped: {title}, which is not built here (see `tools/deps bench`)")
    for failure in results.failures:
        print("  " + paint("lose", f"FAILED: {failure}"))
