"""Makes reports until it is told to end by Ctrl-C or SIGTERM. Needs a server: `handoff serve`.

    PYTHONPATH=. python3 examples/worker.py
"""

import signal

from handoff import Handoff, Worker


def add_to_report(month, day):
    if not 1 <= month <= 12:
        raise ValueError(f"there is no month {month}, so no day {day} of it")


worker = Worker(Handoff(), ["report"], concurrency=4)


@worker.handler("monthly")
def monthly(payload, task):
    for day in range(1, 31):
        task.check()  # Raises if it was cancelled, is too late, or the lease is lost.
        add_to_report(payload["month"], day)
        task.progress(day / 30, f"day {day}")
    return {"file": f"2026-{payload['month']}.pdf"}  # Kept with the task.


# SIGTERM: claims no more, lets handlers finish for 25 s, gives back the rest.
report = worker.run(signals=(signal.SIGTERM, signal.SIGINT))
print(f"done {report.done}, given back {report.given_back}")
