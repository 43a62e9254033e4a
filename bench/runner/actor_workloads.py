"""The questions about actors."""

from runner import contenders
from runner.question import Column, Shape, Table, Workload, rate_tables

_THREADS = "2 workers"
_MEMORY_NOISE_MIB = 1.0  # The kernel counts each thread's pages in lots.
_CAPACITY = "mailboxes of 1,000 where there is a bound"


def _peak_memory(title, shape):
    return Table("Peak growth of resident memory", "MiB", False, [Column(title, shape, "peak_growth_mib")],
                 tie_below=_MEMORY_NOISE_MIB)


ALL = [
    Workload(
        name="actor_ping_pong",
        question="How many round trips a second do two actors make that answer each other?",
        contenders=contenders.ACTORS,
        shapes=[Shape("1 pair", {"pairs": 1}, threads=_THREADS), Shape("8 pairs", {"pairs": 8}, threads=_THREADS)],
        tables=rate_tables("round trips", [("1 pair", "1 pair"), ("8 pairs", "8 pairs")]),
        arguments={"workers": 2, "round_trips": 1_000_000},
        quick_arguments={"workers": 2, "round_trips": 20_000},
        setting="N = {round_trips:,} round trips, one message under way in each pair, " + _CAPACITY),
    Workload(
        name="actor_fan_in",
        question="How many messages a second does one actor take from many others, and what do those cost that wait?",
        contenders=contenders.ACTORS[:1] + ["handoff_unbounded"] + contenders.ACTORS[1:],
        shapes=[Shape("fan-in", threads=_THREADS)],
        tables=[*rate_tables("messages", [("fan-in", "fan-in")]), _peak_memory("fan-in", "fan-in")],
        arguments={"workers": 2, "senders": 100, "messages": 5_000_000},
        quick_arguments={"workers": 2, "senders": 100, "messages": 100_000},
        setting="{senders} senders, one receiver, N = {messages:,} messages of 8 bytes, " + _CAPACITY),
    Workload(
        name="actor_ring",
        question="How many hops a second does a message make around a ring of actors?",
        contenders=contenders.ACTORS,
        shapes=[Shape("1 token", {"tokens": 1}, threads=_THREADS), Shape("8 tokens", {"tokens": 8}, threads=_THREADS)],
        tables=rate_tables("hops", [("1 token", "1 token"), ("8 tokens", "8 tokens")]),
        arguments={"workers": 2, "actors": 1000, "hops": 2_000_000},
        quick_arguments={"workers": 2, "actors": 1000, "hops": 50_000},
        setting="{actors:,} actors, N = {hops:,} hops, " + _CAPACITY),
    Workload(
        name="actor_ask",
        question="How many questions a second does one actor ask another, each after the answer to the last?",
        contenders=[*contenders.ACTORS, "go_deadline"],
        shapes=[Shape("ask", threads=_THREADS)],
        tables=rate_tables("asks", [("ask", "ask")]),
        arguments={"workers": 2, "asks": 500_000},
        quick_arguments={"workers": 2, "asks": 10_000},
        setting="N = {asks:,} questions, " + _CAPACITY),
    Workload(
        name="actor_spawn",
        question="How long does it take to spawn a million actors, to send each a message, and to stop them all?",
        contenders=contenders.ACTORS,
        shapes=[Shape("flat", threads=_THREADS), Shape("skynet", {"skynet": 1}, threads=_THREADS)],
        tables=[
            Table("Time", "seconds", False,
                  [Column("spawn, send, stop", "flat", "seconds"), Column("skynet", "skynet", "seconds")]),
            Table("CPU time", "CPU seconds per million actors", False,
                  [Column("spawn, send, stop", "flat", "cpu_seconds_per_million_jobs"),
                   Column("skynet", "skynet", "cpu_seconds_per_million_jobs")]),
        ],
        arguments={"workers": 2, "actors": 1_000_000},
        quick_arguments={"workers": 2, "actors": 10_000},
        setting="N = {actors:,} actors; skynet: as many leaves of a tree in which each node has ten children and adds up "
                "what they send it",
        most_rounds=3),
    Workload(
        name="actor_memory",
        question="What does an actor cost in memory while it has nothing to do?",
        contenders=contenders.ACTORS,
        shapes=[Shape("new", threads=_THREADS), Shape("handled", {"handled": 1}, threads=_THREADS)],
        tables=[Table("Resident memory", "bytes per actor", False,
                      [Column("before a message", "new", "bytes_per_actor"),
                       Column("after a message", "handled", "bytes_per_actor")])],
        arguments={"workers": 2, "actors": 100_000},
        quick_arguments={"workers": 2, "actors": 5_000},
        setting="N = {actors:,} actors with 8 bytes of state that wait for their first message, or for their second",
        most_rounds=3),
    Workload(
        name="actor_overload",
        question="What does an actor cost in memory that is sent ten times what it can handle?",
        contenders=contenders.ACTORS,
        shapes=[Shape("overload", threads="2 workers, 1 outside")],
        tables=[_peak_memory("overload", "overload")],
        arguments={"workers": 2, "seconds": 10},
        quick_arguments={"workers": 2, "seconds": 1},
        setting="a message of 8 bytes each microsecond for {seconds} s, 10 us to handle one; handoff and Go refuse what does "
                "not fit into a mailbox of 1,000",
        most_rounds=1),
]
