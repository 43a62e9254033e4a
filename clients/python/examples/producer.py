"""Hands in a report and waits for it. Needs a server (`handoff serve`) and a worker (worker.py, or one in another language).

    PYTHONPATH=. python3 examples/producer.py 11
"""

import sys

from handoff import Handoff

month = int(sys.argv[1]) if len(sys.argv) > 1 else 11

handoff = Handoff()  # HANDOFF_URL, or http://127.0.0.1:8077; HANDOFF_TOKEN, if there are tokens
task = handoff.enqueue("report", "monthly", {"month": month})
print(f"handed in {task.id}")  # It is stored: neither side can lose it now.

report = handoff.result(task.id, timeout="5m")
print(f"done: {report['file']}")
