"""All of the client in one program: what docs/guide/python.md shows. Needs a server: `handoff serve`.

    PYTHONPATH=. python3 examples/tour.py
"""

import os
import threading

from handoff import Defer, Fail, FullError, Handoff, NewTask, Retry, Step, TaskFailedError, Worker

handoff = Handoff(os.environ.get("HANDOFF_URL"), retry_for="10s")

# -- Handing in -----------------------------------------------------------------------------------

mail = handoff.enqueue("email", "welcome", {"to": "new@example.org"}, max_attempts=8)

users = ["ann@example.org", "bob@example.org", "throttled@example.org", "nobody"]
ids = handoff.enqueue_many(NewTask("email", "welcome", {"to": to}) for to in users)

handoff.set_queue("tiny", capacity=1)
handoff.enqueue("tiny", "click")
try:
    handoff.enqueue("tiny", "click", retry_for="100ms")
except FullError as error:
    print(error.message)  # queue "tiny" holds 1 of 1 tasks

# -- Working --------------------------------------------------------------------------------------

worker = Worker(handoff, ["email", "shop"], concurrency=20, grace="10s")
throttled = threading.Event()


@worker.handler("welcome")
def welcome(payload, task):
    to = payload["to"]
    if "@" not in to:
        raise Fail(f"{to} is no address")  # dead now: it will be no better next time
    if to.startswith("throttled") and not throttled.is_set():
        throttled.set()
        raise Defer("10ms")  # not now; costs no attempt
    if task.attempt == 1 and to.startswith("bob"):
        raise Retry("10ms", "451")  # failed; tried again in 10 ms
    task.log(f"sending to {to}")  # kept with the task
    return {"sent": to}  # its result


worker.handle("charge", lambda payload, task: {"receipt": 17})
worker.handle("receipt", lambda payload, task: f"receipt {task.inputs['charge']['receipt']}")

reports = []
thread = threading.Thread(target=lambda: reports.append(worker.run()))  # or worker.run(signals=(SIGTERM, SIGINT)) in the main thread
thread.start()

# -- Looking --------------------------------------------------------------------------------------

print(handoff.result(mail.id, timeout="1m"))  # {'sent': 'new@example.org'}
for each in ids[:3]:
    handoff.result(each, timeout="1m")
try:
    handoff.result(ids[3], timeout="1m")
except TaskFailedError as error:
    print(error.task.state, error.task.reason)  # dead nobody is no address
for each in handoff.log(ids[0]):
    print(each.line)  # sending to ann@example.org

later = handoff.enqueue("email", "welcome", {"to": "a@b.c"}, delay="1h")
print(handoff.explain(later.id).code)  # future
handoff.cancel(later.id, "changed my mind")

checkout = handoff.start_workflow(name="checkout-17", steps=[
    Step("charge", NewTask("shop", "charge")),
    Step("receipt", NewTask("shop", "receipt"), after=["charge"]),
])
print(handoff.result(checkout.tasks["receipt"], timeout="1m"))  # receipt 17

worker.stop()
thread.join()
print(reports[0])  # WorkerReport(done=6, failed=2, deferred=1, cancelled=0, given_back=0, stale=0)
