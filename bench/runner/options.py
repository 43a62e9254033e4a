"""The command line of bench/run."""

import argparse
import pathlib

from runner import contenders, workloads

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEFAULT_ROUNDS = 5

EXAMPLES = """\
examples:
  bench/run                                          everything; takes about half an hour
  bench/run --quick                                  a smoke test: small N, one round, no meaningful numbers
  bench/run --only queue_throughput --rounds 9       one question, more carefully
  bench/run --only wake_latency --contender handoff --contender go
  bench/run --json results.json                      the tables, and every measurement in a file
  bench/run --json - | jq .machine                   only JSON, on standard output

Build first: make bench does so, or cmake --preset bench && cmake --build --preset bench
"""


def _positive(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def _one_of(allowed):
    def check(text):
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"there is no {text!r}; choose from: {', '.join(allowed)}")
        return text
    return check


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="bench/run", allow_abbrev=False, epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs handoff and its peers by turns and prints the medians, one table a question.")
    parser.add_argument("--rounds", type=_positive, metavar="N",
                        help=f"rounds of which the median is shown (default {DEFAULT_ROUNDS}; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="small N, one round: shows only that everything runs")
    parser.add_argument("--only", action="append", type=_one_of(workloads.BY_NAME), metavar="WORKLOAD",
                        help="only this question; may be repeated: " + ", ".join(workloads.BY_NAME))
    parser.add_argument("--contender", action="append", type=_one_of(contenders.BY_NAME), metavar="NAME",
                        help="only this contender; may be repeated: " + ", ".join(contenders.BY_NAME))
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "build" / "bench", metavar="DIR",
                        help="the CMake build folder (default build/bench)")
    parser.add_argument("--json", metavar="FILE", help="write every number to FILE as JSON; - for standard output")
    options = parser.parse_args(arguments)

    options.rounds = options.rounds or (1 if options.quick else DEFAULT_ROUNDS)
    options.programs = options.build_dir / "bench"
    if not options.programs.is_dir():
        parser.error(f"--build-dir {options.build_dir} holds no benchmarks; build them with `make bench`")
    options.contender = options.contender or list(contenders.BY_NAME)
    asked = [workload for workload in workloads.ALL if not options.only or workload.name in options.only]
    options.workloads = [workload for workload in asked if set(options.contender) & set(workload.contenders)]
    if not options.workloads:
        allowed = "; ".join(f"{workload.name} has {', '.join(workload.contenders)}" for workload in asked)
        parser.error(f"no such contender there: {', '.join(options.contender)}; {allowed}")
    if options.json not in (None, "-"):
        try:
            open(options.json, "a", encoding="utf-8").close()  # Rather now than at the end.
        except OSError as error:
            parser.error(f"--json {options.json}: {error.strerror}")
    return options
