"""What a question is made of: ways to run its programs, and tables of what these print."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Shape:
    """One way to run a workload."""
    name: str
    arguments: dict = field(default_factory=dict)
    threads: str = ""
    # Set where one program runs all contenders by turns, because the differences are nanoseconds.
    shared_program: str = None
    only: list = None  # The contenders that can be run this way, if not all can.

    def has(self, contender):
        return self.only is None or contender in self.only


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
    java_class: str = None  # Of the contender "java"; others name their own.
    most_rounds: int = 1000
    turns_per_round: int = 1  # More and shorter turns, where conditions drift within seconds.

    def rounds(self, asked):
        return min(asked, self.most_rounds) * self.turns_per_round


def rate_tables(what, columns):
    """Rate and price; `columns` are pairs of a title and a shape."""
    return [
        Table("Throughput", f"million {what}/s", True,
              [Column(title, shape, "jobs_per_us") for title, shape in columns]),
        Table("CPU time", f"CPU seconds per million {what}", False,
              [Column(title, shape, "cpu_seconds_per_million_jobs") for title, shape in columns]),
    ]
