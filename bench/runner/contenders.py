"""Who takes part. A contender's name is that of its file in each workload's folder."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    short: str  # For the narrow columns of a table.
    kind: str  # ours | peer | floor (what the machine allows) | anti-pattern


ALL = [
    Contender("handoff", "handoff", "handoff", "ours"),
    Contender("handoff_stop_deadline", "handoff (stop+deadline)", "handoff", "ours"),
    Contender("tbb", "oneTBB concurrent_bounded_queue", "oneTBB", "peer"),
    Contender("moodycamel", "moodycamel, bounded", "moodycamel", "peer"),
    Contender("boost_sync", "Boost sync_bounded_queue", "Boost sync", "peer"),
    Contender("boost_fiber", "Boost.Fiber buffered_channel", "Boost.Fiber", "peer"),
    Contender("mutex_two_cv", "mutex + 2 condition variables", "mutex+2cv", "peer"),
    Contender("go", "Go channel", "Go", "peer"),
    Contender("java", "Java ArrayBlockingQueue", "Java", "peer"),
    Contender("std", "std", "std", "peer"),
    Contender("posix", "POSIX sem_t", "POSIX", "peer"),
    Contender("raw_futex", "raw futex", "futex", "floor"),
    Contender("busy_wait", "busy-waiting", "busy", "anti-pattern"),
    Contender("sleep_poll", "sleep-polling, 10 ms", "sleep", "anti-pattern"),
]
BY_NAME = {contender.name: contender for contender in ALL}

QUEUES = ["handoff", "handoff_stop_deadline", "tbb", "moodycamel", "boost_sync", "boost_fiber",
          "mutex_two_cv", "go", "java"]
ANTI_PATTERNS = ["busy_wait", "sleep_poll"]
