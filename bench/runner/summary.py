"""Turns measurements into medians, and medians into who is ahead."""

import statistics

from runner import contenders

TIE_RATIO = 0.02  # Closer than this is called a tie.


def median(results, name, column):
    values = results.of(name, column.shape, column.key)
    return statistics.median(values) if values else None


def _best_peer(table, rows, index):
    """The best peer's row in a column, or None."""
    peers = [row for row in rows if row["kind"] == "peer" and row["medians"][index] is not None]
    pick = max if table.more_is_better else min
    return pick(peers, key=lambda row: row["medians"][index]) if peers else None


def _verdict(table, ours, best):
    if abs(ours - best) < table.tie_below:
        return "tie"
    if best == 0:
        return "lose"
    ratio = ours / best
    if abs(ratio - 1) <= TIE_RATIO:
        return "tie"
    return "win" if (ratio > 1) == table.more_is_better else "lose"


def _compare(table, row, other, index):
    """How our row stands to another one in a column, or None if one of them is missing."""
    if other is None or row["medians"][index] is None or other["medians"][index] is None:
        return None
    ours, theirs = row["medians"][index], other["medians"][index]
    return {"against": other["contender"], "against_title": other["title"],
            "against_short": contenders.BY_NAME[other["contender"]].short,
            "ratio": round(ours / theirs, 4) if theirs else None, "verdict": _verdict(table, ours, theirs)}


def _comparisons(table, rows):
    indexes = range(len(table.columns))
    ours = [row for row in rows if row["kind"] == "ours"]
    floors = [row for row in rows if row["kind"] == "floor"]
    for row in ours:
        yield {"contender": row["contender"], "title": f"{row['title']} / best peer", "is_to_peer": True,
               "columns": [_compare(table, row, _best_peer(table, rows, index), index) for index in indexes]}
        for floor in floors:
            yield {"contender": row["contender"], "title": f"{row['title']} / {floor['title']}", "is_to_peer": False,
                   "columns": [_compare(table, row, floor, index) for index in indexes]}


def summarize(table, results):
    """The table's rows and comparisons, ready to be printed or written as JSON."""
    rows = []
    for name in results.workload.contenders:
        medians = [median(results, name, column) for column in table.columns]
        if any(value is not None for value in medians):
            contender = contenders.BY_NAME[name]
            rows.append({"contender": name, "title": contender.title, "kind": contender.kind,
                         "version": results.fact("version", name), "medians": medians})
    comparisons = [comparison for comparison in _comparisons(table, rows) if any(comparison["columns"])]
    return {"title": table.title, "unit": table.unit, "more_is_better": table.more_is_better,
            "columns": [column.title for column in table.columns], "rows": rows, "comparisons": comparisons}
