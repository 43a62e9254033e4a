"""Runs the programs, all contenders by turns in every round, and collects what they print."""

import json
import shutil
import subprocess
import sys

from runner import contenders

TIME_LIMIT_SECONDS = 60  # Of one program. None takes a third of it unless it hangs.


class Progress:
    """One line on standard error that overwrites itself; nothing unless that is a terminal."""

    def __init__(self, steps):
        self.steps, self.done, self.shown = steps, 0, sys.stderr.isatty()

    def step(self, text):
        self.done += 1
        if self.shown:
            sys.stderr.write(f"\r\033[K[{self.done}/{self.steps}] {text}")
            sys.stderr.flush()

    def clear(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def _java_class(workload, name):
    """The main class of a contender that is Java, or None."""
    if name == "java":
        return workload.java_class
    return contenders.BY_NAME[name].java_class if name in contenders.BY_NAME else None


def _command(programs, workload, name):
    """The command that runs a contender, or None if it has not been built here."""
    java_class = _java_class(workload, name)
    if java_class:
        java, classes = shutil.which("java"), programs / workload.name / "java"
        is_built = java and (classes / f"{java_class}.class").is_file()
        return [java, "-cp", str(classes), java_class] if is_built else None
    program = programs / workload.name / name
    return [str(program)] if program.is_file() else None


def _run(command, arguments):
    """Returns the results that the program printed, and a message if it failed."""
    for name, value in arguments.items():
        command = command + [f"--{name}", str(value)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return [], f"did not end within {TIME_LIMIT_SECONDS} s"
    if ended.returncode != 0:
        return [], (ended.stderr.strip().splitlines() or [f"ended with code {ended.returncode}"])[0]
    try:
        return [json.loads(line) for line in ended.stdout.splitlines()], None
    except ValueError:
        return [], f"printed no JSON: {ended.stdout.strip()[:80]}"


class Results:
    """Every measurement of one workload, and what went wrong."""

    def __init__(self, workload):
        self.workload = workload
        self.measurements = []
        self.skipped = []   # Titles of contenders that are not built here.
        self.failures = []  # Messages.

    def add(self, shape, name, round_number, result):
        self.measurements.append(
            {**result, "shape": shape.name, "contender": name, "round": round_number})

    def of(self, name, shape, key):
        return [measurement[key] for measurement in self.measurements
                if measurement["contender"] == name and measurement["shape"] == shape and key in measurement]

    def fact(self, key, name=None):
        for measurement in self.measurements:
            if key in measurement and name in (None, measurement["contender"]):
                return measurement[key]
        return None


def _programs_of(workload, shape, options):
    """Pairs of a program's name and the contenders whose results it prints."""
    chosen = [name for name in workload.contenders if name in options.contender and shape.has(name)]
    if shape.shared_program:
        return [(shape.shared_program, chosen)] if chosen else []
    return [(name, [name]) for name in chosen]


def _steps(workload, options):
    """Every run of a workload in order: round by round, shape by shape, contender by contender."""
    for round_number in range(1, workload.rounds(options.rounds) + 1):
        for shape in workload.shapes:
            programs = _programs_of(workload, shape, options)
            first = round_number % len(programs) if programs else 0
            for program, names in programs[first:] + programs[:first]:  # Nobody always follows the same one.
                yield round_number, shape, program, names


def measure(options):
    """Returns the results of each workload."""
    progress = Progress(sum(1 for workload in options.workloads for _ in _steps(workload, options)))
    try:
        return [_measure_workload(workload, options, progress) for workload in options.workloads]
    finally:
        progress.clear()


def _measure_workload(workload, options, progress):
    results = Results(workload)
    arguments = workload.quick_arguments if options.quick else workload.arguments
    for round_number, shape, program, names in _steps(workload, options):
        title = contenders.BY_NAME[program].title if program in contenders.BY_NAME else program
        progress.step(f"{workload.name} {shape.name}, round {round_number}: {title}")
        command = _command(options.programs, workload, program)
        if command is None:
            if title not in results.skipped:
                results.skipped.append(title)
            continue
        printed, failure = _run(command, {**arguments, **shape.arguments})
        if failure:
            results.failures.append(f"{title}, {shape.name}, round {round_number}: {failure}")
        for result in printed:
            name = result.pop("contender", program)
            if name in names:
                results.add(shape, name, round_number, result)
    return results
