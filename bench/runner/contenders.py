"""Who takes part. A contender's name is that of its file in each workload's folder."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Contender:
    name: str
    title: str
    short: str  # For the narrow columns of a table.
    kind: str  # ours | peer | floor (what the machine allows) | anti-pattern
    java_class: str = None  # Where several contenders are Java: its main class in the workload's folder java/.


ALL = [
    Contender("handoff", "handoff", "handoff", "ours"),
    Contender("handoff_stop_deadline", "handoff (stop+deadline)", "handoff", "ours"),
    Contender("tbb", "oneTBB concurrent_bounded_queue", "oneTBB", "peer"),
    Contender("moodycamel", "moodycamel, bounded", "moodycamel", "peer"),
    Contender("boost_sync", "Boost sync_bounded_queue", "Boost sync", "peer"),
    Contender("boost_fiber", "Boost.Fiber buffered_channel", "Boost.Fiber", "peer"),
    Contender("mutex_two_cv", "mutex + 2 condition variables", "mutex+2cv", "peer"),
    Contender("go", "Go channel", "Go", "peer"),
    Contender("go_deadline", "Go channel, with a deadline", "Go deadline", "peer"),
    Contender("java", "Java ArrayBlockingQueue", "Java", "peer"),
    Contender("std", "std", "std", "peer"),
    Contender("posix", "POSIX sem_t", "POSIX", "peer"),
    Contender("handoff_submit", "handoff (submit)", "handoff", "ours"),
    Contender("tbb_task_group", "oneTBB task_group", "oneTBB", "peer"),
    Contender("tbb_parallel_invoke", "oneTBB parallel_invoke", "oneTBB invoke", "peer"),
    Contender("asio_pool", "Boost.Asio thread_pool", "Asio", "peer"),
    Contender("java_thread_pool", "Java ThreadPoolExecutor, bounded", "Java TPE", "peer", java_class="ThreadPool"),
    Contender("java_fork_join", "Java ForkJoinPool, unbounded", "Java FJP", "peer", java_class="ForkJoin"),
    Contender("go_channel_pool", "Go, goroutines on a channel", "Go channel", "peer"),
    Contender("goroutines", "Go, a goroutine each, unbounded", "goroutines", "peer"),
    Contender("handoff_threads", "handoff (threads)", "handoff", "ours"),
    Contender("handoff_channels", "handoff (channels)", "handoff", "ours"),
    Contender("asio_channel", "Boost.Asio experimental channel", "Asio", "peer"),
    Contender("asio_awaitable", "Boost.Asio awaitable", "Asio", "peer"),
    Contender("boost_fiber_channel", "Boost.Fiber channel", "Boost.Fiber", "peer"),
    Contender("boost_fibers", "Boost.Fiber", "Boost.Fiber", "peer"),
    Contender("go_threads", "Go channel, locked to threads", "Go threads", "peer"),
    Contender("handoff_unbounded", "handoff (mailbox never full)", "handoff", "ours"),
    Contender("caf", "CAF", "CAF", "peer"),
    Contender("erlang", "Erlang", "Erlang", "peer"),
    Contender("asio_timer", "Boost.Asio steady_timer", "Asio", "peer"),
    Contender("java_scheduled", "Java ScheduledThreadPoolExecutor", "Java", "peer", java_class="Scheduled"),
    Contender("go_after_func", "Go time.AfterFunc", "Go", "peer"),
    Contender("mutex_multimap", "mutex + std::multimap", "multimap", "floor"),
    Contender("handoff_store", "handoff (store only)", "handoff", "ours"),
    Contender("beanstalkd", "beanstalkd, binlog synced", "beanstalkd", "peer"),
    Contender("sqlite_single", "SQLite, a row per transaction", "SQLite", "floor"),
    Contender("sqlite_group", "SQLite, group commit by hand", "SQLite group", "floor"),
    Contender("sqlite_batched", "SQLite, batches by hand", "SQLite batches", "floor"),
    Contender("sqlite_two_commits", "SQLite, two commits", "SQLite", "floor"),
    Contender("raw_futex", "raw futex", "futex", "floor"),
    Contender("busy_wait", "busy-waiting", "busy", "anti-pattern"),
    Contender("sleep_poll", "sleep-polling, 10 ms", "sleep", "anti-pattern"),
]
BY_NAME = {contender.name: contender for contender in ALL}

QUEUES = ["handoff", "handoff_stop_deadline", "tbb", "moodycamel", "boost_sync", "boost_fiber",
          "mutex_two_cv", "go", "java"]
POOLS = ["handoff", "tbb_task_group", "asio_pool", "java_thread_pool", "java_fork_join", "go_channel_pool",
         "goroutines"]
COROUTINE_CHANNELS = ["handoff", "asio_channel", "boost_fiber_channel", "go"]
THREAD_CHANNELS = ["handoff_threads", "boost_fiber_channel", "go_threads"]
CHANNELS = ["handoff", "handoff_threads", "asio_channel", "boost_fiber_channel", "go", "go_threads"]
ACTORS = ["handoff", "caf", "erlang", "go"]
ANTI_PATTERNS = ["busy_wait", "sleep_poll"]
