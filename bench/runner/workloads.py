"""The questions: what is run for each, and which tables answer it."""

from runner import actor_workloads, contenders, task_workloads
from runner.question import Column, Shape, Table, Workload, rate_tables


def _queue_shape(producers, consumers):
    return Shape(f"{producers}P{consumers}C", {"producers": producers, "consumers": consumers},
                 threads=str(producers + consumers))


_QUEUE_SHAPES = [_queue_shape(*shape) for shape in ((1, 1), (2, 2), (4, 4), (8, 8), (64, 1), (1, 64))]


def _by_shape(key):
    return [Column(shape.name, shape.name, key) for shape in _QUEUE_SHAPES]


_POOL_SETTING = ("capacity {capacity} where there is a bound, N = {jobs:,} empty jobs "
                 "or as many as fit in {milliseconds} ms")
_POOL_ARGUMENTS = {"workers": 2, "capacity": 1024, "jobs": 5_000_000, "milliseconds": 500}
_QUICK_POOL_ARGUMENTS = {"workers": 2, "capacity": 1024, "jobs": 100_000, "milliseconds": 50}

_CARRIERS = [("1 worker", {"workers": 1}, contenders.COROUTINE_CHANNELS),
             ("2 workers", {"workers": 2}, contenders.COROUTINE_CHANNELS),
             ("threads", {"workers": 2}, contenders.THREAD_CHANNELS)]
_CHANNEL_SETTING = "8-byte items, N = {items:,} items or as many as fit in {milliseconds} ms"
_CHANNEL_ARGUMENTS = {"items": 20_000_000, "milliseconds": 300}
_QUICK_CHANNEL_ARGUMENTS = {"items": 500_000, "milliseconds": 20}


def _channel_shapes(threads, *capacities):
    """By who carries the two sides and by capacity. A pair of a capacity's name and value; None is a rendezvous."""
    for carriers, arguments, only in _CARRIERS:
        for name, capacity in capacities:
            yield Shape(f"{name}, {carriers}" if name else carriers,
                        {**arguments, "capacity": capacity} if capacity else arguments,
                        threads={"1 worker": "1", "2 workers": "2"}.get(carriers, threads), only=only)


def _channel_workload(name, question, threads, setting, *capacities, without=()):
    shapes = list(_channel_shapes(threads, *capacities))

    def columns(key):
        return [Column(shape.name, shape.name, key) for shape in shapes]
    return Workload(
        name=name, question=question,
        contenders=[contender for contender in contenders.CHANNELS if contender not in without],
        shapes=shapes,
        tables=[Table("Throughput", "million items/s", True, columns("items_per_us")),
                Table("CPU time", "CPU seconds per million items", False, columns("cpu_seconds_per_million_items"))],
        arguments=_CHANNEL_ARGUMENTS, quick_arguments=_QUICK_CHANNEL_ARGUMENTS, setting=setting)


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
    Workload(
        name="pool_outside",
        question="How many empty jobs a second does a pool run that one thread outside gives it?",
        contenders=contenders.POOLS[:1] + ["handoff_submit"] + contenders.POOLS[1:],
        shapes=[Shape("outside", threads="2 workers, 1 outside")],
        tables=rate_tables("jobs", [("from outside", "outside")]),
        arguments=_POOL_ARGUMENTS,
        quick_arguments=_QUICK_POOL_ARGUMENTS,
        setting=_POOL_SETTING),
    Workload(
        name="pool_inside",
        question="How many empty jobs a second does a pool run that its own jobs spawn?",
        contenders=["handoff", "tbb_task_group", "asio_pool", "java_fork_join", "goroutines"],
        shapes=[Shape("one_job", threads="2 workers"), Shape("tree", {"tree": 1}, threads="2 workers")],
        tables=rate_tables("jobs", [("one spawns all", "one_job"), ("each spawns two", "tree")]),
        arguments=_POOL_ARGUMENTS,
        quick_arguments=_QUICK_POOL_ARGUMENTS,
        setting=_POOL_SETTING),
    Workload(
        name="pool_fork_join",
        question="How many forks a second does a pool make and join, each with next to nothing to do?",
        contenders=["handoff", "tbb_task_group", "tbb_parallel_invoke", "java_fork_join", "goroutines"],
        shapes=[Shape("fib", threads="2 workers")],
        tables=rate_tables("forks", [("fib", "fib")]),
        arguments={"workers": 2, "n": 30},
        quick_arguments={"workers": 2, "n": 20},
        setting="fib({n}) with a fork for one of its two branches at every level, no cutoff"),
    Workload(
        name="pool_memory",
        question="What does a small job cost in memory while it waits for a worker?",
        contenders=contenders.POOLS,
        shapes=[Shape("memory", threads="2 workers, 1 outside")],
        tables=[
            Table("Memory while queued", "bytes per job", False,
                  [Column("bytes/job", "memory", "bytes_per_queued_job")]),
            Table("Allocations in a steady state", "per job", False,
                  [Column("allocations/job", "memory", "allocations_per_job")], tie_below=0.01),
        ],
        arguments={"workers": 2, "capacity": 1024, "jobs": 1_000_000, "steady_jobs": 100_000},
        quick_arguments={"workers": 2, "capacity": 1024, "jobs": 50_000, "steady_jobs": 10_000},
        setting="N = {jobs:,} jobs of 16 bytes behind a gate; then allocations of {steady_jobs:,} jobs "
                "after as many to warm up, capacity {capacity}",
        most_rounds=3),
    Workload(
        name="timers",
        question="What does it cost to arm a timer, and to cancel it before it fires?",
        contenders=["handoff", "asio_timer", "java_scheduled", "go_after_func", "mutex_multimap"],
        shapes=[Shape("timers", threads="2 workers, 1 outside")],
        tables=[Table("Each of many", "ns", False,
                      [Column("arm", "timers", "arm_ns"), Column("cancel", "timers", "cancel_ns")])],
        arguments={"workers": 2, "timers": 1_000_000},
        quick_arguments={"workers": 2, "timers": 20_000},
        setting="N = {timers:,} timers due at random within the hour, all armed, then all cancelled"),
    _channel_workload(
        "channel_rendezvous", "How many items a second pass between two who must meet for each of them?", "2",
        "one sender, one receiver, nothing buffered, " + _CHANNEL_SETTING, ("", None)),
    _channel_workload(
        "channel_buffered", "How many items a second does a channel move that buffers a few?", "2",
        "one sender, one receiver, 1 or 128 items buffered, " + _CHANNEL_SETTING, ("1", 1), ("128", 128)),
    _channel_workload(
        "channel_select", "How many items a second does one receiver take that selects among four channels?", "5",
        "four senders, 0 or 128 items buffered for each, " + _CHANNEL_SETTING, ("0", None), ("128", 128),
        without=["boost_fiber_channel"]),  # It has no select.
    Workload(
        name="spawn_join",
        question="How long does it take to spawn a million coroutines and to wait for all of them?",
        contenders=["handoff", "handoff_channels", "asio_awaitable", "boost_fibers", "goroutines"],
        shapes=[Shape("flat", threads="2 workers",
                      only=["handoff", "asio_awaitable", "boost_fibers", "goroutines"]),
                Shape("skynet", {"skynet": 1}, threads="2 workers",
                      only=["handoff", "handoff_channels", "asio_awaitable", "goroutines"])],
        tables=[
            Table("Throughput", "million coroutines/s", True,
                  [Column("one spawns all", "flat", "jobs_per_us"), Column("skynet", "skynet", "jobs_per_us")]),
            Table("Time", "seconds per million, skynet: seconds", False,
                  [Column("one spawns all", "flat", "seconds_per_million_jobs"),
                   Column("skynet", "skynet", "seconds")]),
            Table("CPU time", "CPU seconds per million", False,
                  [Column("one spawns all", "flat", "cpu_seconds_per_million_jobs"),
                   Column("skynet", "skynet", "cpu_seconds_per_million_jobs")]),
        ],
        arguments={"workers": 2, "coroutines": 1_000_000},
        quick_arguments={"workers": 2, "coroutines": 10_000},
        setting="N = {coroutines:,} coroutines that do nothing; skynet: as many leaves of a tree in which each node has ten "
                "children and adds up what they give it"),
    Workload(
        name="coroutine_memory",
        question="What does a coroutine cost in memory while it waits to receive?",
        contenders=["handoff", "asio_awaitable", "boost_fibers", "goroutines"],
        shapes=[Shape("channel", threads="2 workers"),
                Shape("queue", {"queue": 1}, threads="2 workers", only=["handoff"])],
        tables=[
            Table("Resident memory", "bytes per coroutine", False,
                  [Column("channel", "channel", "bytes_per_coroutine"),
                   Column("queue", "queue", "bytes_per_coroutine")]),
            Table("Beyond the smallest frame the compiler can make of it", "bytes per coroutine", False,
                  [Column("channel", "channel", "bytes_beyond_frame"),
                   Column("queue", "queue", "bytes_beyond_frame")]),
        ],
        arguments={"workers": 2, "coroutines": 100_000},
        quick_arguments={"workers": 2, "coroutines": 5_000},
        setting="N = {coroutines:,} coroutines that wait to receive from one channel, or to take from one queue",
        most_rounds=3),
    Workload(
        name="coroutine_switch",
        question="What does it cost to go from one coroutine to another, and to await one that does not wait?",
        contenders=["handoff", "asio_awaitable", "boost_fibers", "goroutines"],
        shapes=[Shape("switch", threads="1"),
                Shape("call", {"calls": 1}, threads="1", only=["handoff", "asio_awaitable"])],
        tables=[Table("Each of many", "ns", False,
                      [Column("switch", "switch", "ns_each"), Column("awaited call", "call", "ns_each")])],
        arguments={"switches": 2_000_000},
        quick_arguments={"switches": 50_000},
        setting="two coroutines that yield to each other on one thread, N = {switches:,} turns; "
                "N calls of a coroutine that returns a number"),
    *actor_workloads.ALL,
    *task_workloads.ALL,
]
BY_NAME = {workload.name: workload for workload in ALL}
