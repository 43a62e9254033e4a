"""The questions about durable tasks. Everything is synced: what they print depends on the disk as much as on the program."""

from runner.question import Column, Shape, Table, Workload

_SETTING = "payloads of 100 bytes, each commit synced, "


def _rates(what, columns):
    return [Table("Throughput", f"{what}/s", True, [Column(title, title, "tasks_per_s") for title in columns]),
            Table("CPU time of the program, without that of a server", f"microseconds per {what.removesuffix('s')}", False,
                  [Column(title, title, "cpu_us_per_task") for title in columns])]


def _threads(count):
    return Shape(f"{count} thread{'s' if count > 1 else ''}", {"threads": count}, threads=str(count))


_CALLERS = [_threads(count) for count in (1, 8, 64)]
_BATCHES = [Shape(f"batches of {size}", {"batch": size}, threads="1") for size in (100, 1000)]


ALL = [
    Workload(
        name="tasks_enqueue",
        question="How many tasks a second do threads store one by one, and how long does a call take?",
        contenders=["handoff", "beanstalkd", "sqlite_single", "sqlite_group"],
        shapes=_CALLERS,
        tables=[*_rates("tasks", [shape.name for shape in _CALLERS]),
                Table("One call, p50", "ms", False, [Column(s.name, s.name, "call_ms_p50") for s in _CALLERS]),
                Table("One call, p99", "ms", False, [Column(s.name, s.name, "call_ms_p99") for s in _CALLERS])],
        arguments={"milliseconds": 1500},
        quick_arguments={"milliseconds": 100},
        setting=_SETTING + "as many calls as fit in {milliseconds} ms"),
    Workload(
        name="tasks_bulk",
        question="How many tasks a second does one thread store, many at a time?",
        contenders=["handoff", "sqlite_batched"],
        shapes=_BATCHES,
        tables=_rates("tasks", [shape.name for shape in _BATCHES]),
        arguments={"tasks": 200_000},
        quick_arguments={"tasks": 5_000},
        setting=_SETTING + "N = {tasks:,} tasks"),
    Workload(
        name="tasks_process",
        question="How many tasks a second are claimed and completed, of those that are in the queue already?",
        contenders=["handoff", "handoff_store", "beanstalkd", "sqlite_batched"],
        shapes=[Shape("process", {"batch": 100}, threads="1, and 2 for handlers")],
        tables=_rates("tasks", ["process"]),
        arguments={"tasks": 100_000},
        quick_arguments={"tasks": 3_000},
        setting=_SETTING + "batches of 100, N = {tasks:,} tasks, for beanstalkd a tenth"),
    Workload(
        name="tasks_steady",
        question="How many tasks a second go from end to end while others are enqueued?",
        contenders=["handoff", "beanstalkd", "sqlite_batched"],
        shapes=[Shape("steady", {"batch": 100}, threads="1 producer, 1 worker, and 2 for handlers")],
        tables=_rates("tasks", ["steady"]),
        arguments={"tasks": 100_000},
        quick_arguments={"tasks": 3_000},
        setting=_SETTING + "batches of 100 on both sides, N = {tasks:,} tasks, for beanstalkd a twentieth"),
    Workload(
        name="tasks_pickup",
        question="How long after it was enqueued does an idle worker begin with a task, and what does it cost while idle?",
        contenders=["handoff", "beanstalkd", "sqlite_two_commits"],
        shapes=[Shape("pickup", threads="1, and a worker"),
                Shape("idle", {"idle": 1}, threads="a worker", only=["handoff"])],
        tables=[Table("From enqueue to handler", "ms", False,
                      [Column("p50", "pickup", "pickup_ms_p50"), Column("p99", "pickup", "pickup_ms_p99")]),
                Table("A process with a store, a worker and nothing to do", "as said", False,
                      [Column("CPU ms/s", "idle", "idle_cpu_ms_per_s"),
                       Column("context switches/s", "idle", "idle_switches_per_s"),
                       Column("resident MiB", "idle", "idle_resident_mib")])],
        arguments={"tasks": 300},
        quick_arguments={"tasks": 20},
        setting=_SETTING + "N = {tasks:,} tasks, 2 to 4 ms apart"),
    Workload(
        name="tasks_depth",
        question="Does a claim take longer when there are many tasks in the file, or limits on the queue?",
        contenders=["handoff"],
        shapes=[Shape("depth", threads="1"), Shape("limits", {"limits": 1}, threads="1")],
        tables=[Table("A claim of 100, with its commit", "microseconds", False,
                      [Column("10,000 tasks", "depth", "depth_before_us"), Column("N tasks", "depth", "depth_after_us"),
                       Column("ratio", "depth", "depth_ratio"),
                       Column("no limits", "limits", "limits_before_us"),
                       Column("all limits", "limits", "limits_after_us"), Column("ratio", "limits", "limits_ratio")])],
        arguments={"tasks": 1_000_000, "claims": 200},
        quick_arguments={"tasks": 20_000, "claims": 5},
        setting=_SETTING + "N = {tasks:,} tasks, nine of ten finished; the limits are a rate, a concurrency and ten of each "
                "of 100 groups",
        most_rounds=1),
]
