"""The questions: what is run for each, and which tables answer it."""

from dataclasses import dataclass, field

from runner import contenders


@dataclass(frozen=True)
class Shape:
    """One way to run a workload."""
    name: str
    arguments: dict = field(default_factory=dict)
    threads: str = ""
    # Set where one program runs all contenders by turns, because the differences are nanoseconds.
    shared_program: str = None


@dataclass(frozen=True)
class Column:
    title: str
    shape: str
    key: str  # In the program's result.


@dataclass(frozen=True)
class Table:
    title: str
    unit: str
    more_is_better: bool
    columns: list
    tie_below: float = 0.0  # Differences smaller than this, in the unit, are noise.


@dataclass(frozen=True)
class Workload:
    name: str
    question: str
    contenders: list
    shapes: list
    tables: list
    arguments: dict
    quick_arguments: dict
    setting: str  # For people; filled in with the arguments.
    java_class: str = None
    most_rounds: int = 1000
    turns_per_round: int = 1  # More and shorter turns, where conditions drift within seconds.

    def rounds(self, asked):
        return min(asked, self.most_rounds) * self.turns_per_round


def _queue_shape(producers, consumers):
    return Shape(f"{producers}P{consumers}C", {"producers": producers, "consumers": consumers},
                 threads=str(producers + consumers))


_QUEUE_SHAPES = [_queue_shape(*shape) for shape in ((1, 1), (2, 2), (4, 4), (8, 8), (64, 1), (1, 64))]


def _by_shape(key):
    return [Column(shape.name, shape.name, key) for shape in _QUEUE_SHAPES]


_LOCKS = ["mutex", "shared_mutex_write", "shared_mutex_read", "semaphore_last_permit",
          "semaphore_spare_permits"]

ALL = [
    Workload(
        name="queue_throughput",
        question="How many items a second does a bounded queue move, and at what cost?",
        contenders=contenders.QUEUES,
        shapes=_QUEUE_SHAPES,
        tables=[
            Table("Throughput", "million items/s", True, _by_shape("items_per_us")),
            Table("CPU time", "CPU seconds per million items", False,
                  _by_shape("cpu_seconds_per_million_items")),
            Table("Context switches", "per million items", False,
                  _by_shape("context_switches_per_million_items")),
        ],
        arguments={"items": 20_000_000, "milliseconds": 500, "capacity": 1024},
        quick_arguments={"items": 500_000, "milliseconds": 50, "capacity": 1024},
        setting="capacity {capacity}, 8-byte items, N = {items:,} items or as many as fit in {milliseconds} ms",
        java_class="QueueThroughput"),
    Workload(
        name="wake_latency",
        question="How long does a parked consumer need to run once an item is there?",
        contenders=contenders.QUEUES + ["raw_futex"] + contenders.ANTI_PATTERNS,
        shapes=[Shape("1P1C", threads="2")],
        tables=[Table("From the start of put to the consumer running", "us", False, [
            Column("p50", "1P1C", "latency_us_p50"), Column("p99", "1P1C", "latency_us_p99")])],
        arguments={"milliseconds": 300},
        quick_arguments={"milliseconds": 50},
        setting="an item every 0.3-1 ms (sleep-polling: 0.3-10 ms), N = as many as fit in {milliseconds} ms",
        java_class="WakeLatency",
        turns_per_round=3),
    Workload(
        name="idle_cpu",
        question="What do consumers cost that have nothing to do?",
        contenders=contenders.QUEUES + contenders.ANTI_PATTERNS,
        shapes=[Shape("idle", threads="64")],
        tables=[
            Table("CPU time of the process", "ms per second", False,
                  [Column("CPU ms/s", "idle", "cpu_ms_per_second")], tie_below=1.0),
            Table("Context switches of the process", "per second", False,
                  [Column("switches/s", "idle", "context_switches_per_second")], tie_below=5.0),
        ],
        arguments={"consumers": 64, "milliseconds": 5000},
        quick_arguments={"consumers": 64, "milliseconds": 1000},
        setting="N = {consumers} consumers waiting on an empty queue for {milliseconds} ms",
        java_class="IdleCpu",
        most_rounds=3),
    Workload(
        name="uncontended_locks",
        question="What does a lock cost that nobody else wants?",
        contenders=["handoff", "std", "posix"],
        shapes=[Shape(lock, threads="2, one of them asleep", shared_program=lock) for lock in _LOCKS],
        tables=[Table("Acquire and release", "ns", False, [
            Column(lock.replace("semaphore_", "sem_").replace("shared_mutex_", "shared_"), lock,
                   "pair_ns_p50") for lock in _LOCKS])],
        arguments={"milliseconds": 300},
        quick_arguments={"milliseconds": 30},
        setting="contenders by turns in one process, in slices of N = 1,000 pairs, for {milliseconds} ms"),
]
BY_NAME = {workload.name: workload for workload in ALL}
