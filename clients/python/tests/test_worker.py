"""Working, against the real server."""

from __future__ import annotations

import logging
import pathlib
import signal
import socket
import ssl
import subprocess
import sys
import threading
import unittest
from typing import Any, Dict, List, Set

from support import Running, Server, ServerTest, eventually
from handoff import (Attempt, CancelledError, Defer, Fail, Handoff, NewTask, Retry, StaleLeaseError, StoppingError, TimedOutError, Worker, WorkerReport)

logging.getLogger("handoff").setLevel(logging.CRITICAL)


def email(kind: str = "welcome", **more: Any) -> NewTask:
    return NewTask("email", kind, **more)


class Working(ServerTest):
    def setUp(self) -> None:
        super().setUp()
        self.proxied = self.proxy()
        self.through_proxy = self.client(self.proxied.url)

    def worker(self, **options: Any) -> Worker:
        return Worker(self.through_proxy, ["email"], **options)

    def test_no_more_handlers_run_at_a_time_than_allowed_and_that_many_do(self) -> None:
        worker = self.worker(concurrency=3)
        running = threading.Semaphore(0)
        go = threading.Event()
        started: List[str] = []

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> None:
            started.append(task.id)
            running.release()
            go.wait(60)

        ids = self.handoff.enqueue_many([email()] * 30)
        ran = Running(worker)
        for _ in range(3):
            self.assertTrue(running.acquire(timeout=60))
        for _ in range(20):  # Time in which one that claims too much would have done so.
            self.handoff.get(ids[0])
        tasks = self.handoff.call("POST", "/v1/claim", {"queues": ["email"], "max": 30})["tasks"]
        self.assertEqual((len(started), len(tasks)), (3, 27))  # The others are there for others.
        for each in tasks:
            self.handoff.call("POST", f"/v1/tasks/{each['id']}/release", {"lease": each["lease"]})
        go.set()
        for id in ids:
            self.handoff.result(id, timeout=60)
        self.assertEqual(ran.stop().done, 30)

    def test_a_lease_is_kept_for_as_long_as_the_handler_works(self) -> None:
        worker = self.worker(lease_for=6)
        began, go = threading.Event(), threading.Event()

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> str:
            began.set()
            go.wait(60)
            return "kept"

        with self.running(worker):
            mail = self.handoff.enqueue("email", "welcome")
            self.assertTrue(began.wait(60))
            # Another one waits for it for two leases, and gets nothing.
            self.assertIsNone(self.handoff.call("POST", "/v1/claim", {"queues": ["email"], "wait": "12s"}, timeout=60))
            go.set()
            self.assertEqual(self.handoff.result(mail.id), "kept")
            self.assertEqual(self.handoff.get(mail.id).attempt, 1)

    def test_progress_and_lines_are_seen_while_the_handler_works(self) -> None:
        worker = self.worker()
        go = threading.Event()

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> None:
            for number in range(41):
                task.progress(number / 100, f"row {number}")
            for number in range(3):
                task.log(f"line {number}")
            go.wait(60)
            task.log("the end")

        with self.running(worker):
            mail = self.handoff.enqueue("email", "welcome")
            eventually(lambda: self.handoff.get(mail.id).progress.get("note") == "row 40")
            self.assertEqual(self.handoff.get(mail.id).progress["fraction"], 0.4)
            eventually(lambda: len(self.handoff.log(mail.id)) == 3)
            go.set()
            self.handoff.result(mail.id)
            self.assertEqual([each.line for each in self.handoff.log(mail.id)], ["line 0", "line 1", "line 2", "the end"])

    def test_a_thousand_lines_over_a_slow_connection_do_not_cost_the_lease_and_all_are_kept(self) -> None:
        self.proxied.delay = 0.04  # One line at a time would take 40 s.
        worker = self.worker(lease_for=15)

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> int:
            for number in range(1000):
                task.log(f"line {number} " + "x" * 3000)
            return task.attempt

        running = Running(worker)
        mail = self.handoff.enqueue("email", "welcome")
        self.assertEqual(self.handoff.result(mail.id, timeout=60), 1)
        self.assertEqual(running.stop(), WorkerReport(done=1))
        kept = [each.line for each in self.handoff.log(mail.id)]
        self.assertEqual((len(kept), kept[0][:7], kept[-1][:9]), (1000, "line 0 ", "line 999 "))

    def test_a_handler_that_logs_faster_than_it_can_be_told_is_stopped_when_its_time_is_over(self) -> None:
        self.proxied.delay = 0.01
        worker = self.worker(lease_for=3)
        enough = threading.Event()
        self.addCleanup(enough.set)

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> None:
            while not enough.is_set() and not task.stop.wait(0.001):
                task.log("another line")
            task.check()

        running = Running(worker)
        mail = self.handoff.enqueue("email", "welcome", timeout="100ms", max_attempts=1)
        self.assertEqual(self.handoff.wait(mail.id, timeout=30).reason, "it took longer than 100ms")
        self.assertEqual(running.stop(), WorkerReport(failed=1))

    def test_lines_that_do_not_get_through_are_given_up_rather_than_the_lease(self) -> None:
        self.proxied.loses = lambda line: "/log " in line or "/outcomes " in line
        worker = self.worker(lease_for=8)

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> int:
            task.log("a line")
            eventually(lambda: sum("/extend " in line for line in self.proxied.requests) >= 2)
            return task.attempt

        with self.assertLogs("handoff", logging.WARNING) as logged:
            running = Running(worker)
            mail = self.handoff.enqueue("email", "welcome")
            self.assertEqual(self.handoff.result(mail.id, timeout=60), 1)
            self.assertEqual(running.stop(), WorkerReport(done=1))
        self.assertEqual([each.getMessage() for each in logged.records], [f"task {mail.id}: 1 of its lines could not be kept"])

    def test_a_worker_that_ends_does_not_wait_for_its_lease_with_lines_that_do_not_get_through(self) -> None:
        self.proxied.loses = lambda line: "/outcomes " in line
        worker = self.worker(lease_for=600, grace=0)
        began, over = threading.Event(), threading.Event()
        self.addCleanup(over.set)

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> None:
            task.log("a line")
            began.set()
            over.wait(60)

        with self.assertLogs("handoff", logging.WARNING) as logged:
            running = Running(worker)
            mail = self.handoff.enqueue("email", "welcome")
            self.assertTrue(began.wait(60))
            self.assertEqual(running.stop().given_back, 1)
        self.assertEqual([each.getMessage() for each in logged.records], [f"task {mail.id}: 1 of its lines could not be kept"])

    def test_a_worker_ends_soon_though_the_server_says_nothing(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.settimeout(60)
            running = Running(Worker(self.client(f"http://127.0.0.1:{silent.getsockname()[1]}", retry_for=1), ["email"], wait="5m"))
            claim, _ = silent.accept()
            with claim:
                self.assertTrue(claim.recv(1))
                self.assertEqual(running.stop(), WorkerReport())

    def test_progress_that_the_server_does_not_take_costs_neither_lines_nor_the_lease(self) -> None:
        worker = self.worker()

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> None:
            task.progress(payload if payload else float("nan"))
            task.log("a line")

        with self.running(worker):
            for payload in (17, None):
                mail = self.handoff.enqueue("email", "welcome", payload)
                self.handoff.result(mail.id, timeout=60)
                self.assertEqual([each.line for each in self.handoff.log(mail.id)], ["a line"])

    def test_what_a_handler_raises_is_kept_and_it_is_tried_again_and_retry_defer_and_fail_say_how(self) -> None:
        self.handoff.set_queue("email", backoff={"kind": "fixed", "delay": "1ms"})
        worker = self.worker()
        deferrals: List[int] = []

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> str:
            if task.attempt == 1:
                raise LookupError("no such user \ud800" + "x" * 100_000)
            return f"attempt {task.attempt}"

        @worker.handler("throttled")
        def throttled(payload: Any, task: Attempt) -> str:
            if task.attempt == 1:
                raise Retry("1ms", "429")
            return "sent"

        @worker.handler("early")
        def early(payload: Any, task: Attempt) -> str:
            deferrals.append(1)
            if len(deferrals) < 3:
                raise Defer(0.001)
            return f"attempt {task.attempt}"

        @worker.handler("broken")
        def broken(payload: Any, task: Attempt) -> None:
            raise Fail("no such address")

        running = Running(worker)
        ids = self.handoff.enqueue_many(
            [email(kind, max_attempts=1 if kind == "unknown" else 5) for kind in ("welcome", "throttled", "early", "broken", "unknown")])
        tasks = [self.handoff.wait(id, timeout=60) for id in ids]
        self.assertEqual([each.result or each.reason for each in tasks], [
            "attempt 2", "sent", "attempt 1", "no such address",
            'LookupError: no handler for kind "unknown"; this worker knows welcome, throttled, early, broken'])
        self.assertRegex(tasks[0].errors[0]["message"], r"^LookupError: no such user \?x+")
        self.assertEqual(tasks[1].errors[0]["message"], "429")
        self.assertEqual([each.state for each in tasks], ["done", "done", "done", "dead", "dead"])
        self.assertEqual(running.stop(), WorkerReport(done=3, failed=4, deferred=2))

    def test_a_result_that_cannot_be_kept_fails_for_good_and_says_why(self) -> None:
        worker = self.worker()
        worker.handle("welcome", lambda payload, task: {"a set"} if payload == "no JSON" else "x" * (2 << 20))
        running = Running(worker)
        ids = self.handoff.enqueue_many([email(payload="no JSON"), email(payload="large")])
        odd, large = [self.handoff.wait(id, timeout=60) for id in ids]
        self.assertEqual((odd.state, large.state), ("dead", "dead"))
        self.assertRegex(odd.reason or "", "set is no JSON")
        self.assertRegex(large.reason or "", "1048576 bytes at most")
        self.assertEqual(running.stop().failed, 2)

    def test_a_handler_that_takes_longer_than_its_timeout_is_asked_to_stop_and_has_failed(self) -> None:
        worker = self.worker(lease_for=3)
        go = threading.Event()
        reasons: List[Any] = []

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> None:
            (task.stop if payload == "heeds" else go).wait(60)
            reasons.append(task.why)
            raise RuntimeError("interrupted")

        running = Running(worker)
        ids = self.handoff.enqueue_many([email(payload=payload, timeout="10ms", max_attempts=1) for payload in ("heeds", "does not")])
        tasks = [self.handoff.wait(id, timeout=60) for id in ids]
        self.assertEqual([each.reason for each in tasks], ["it took longer than 10ms: RuntimeError: interrupted", "it took longer than 10ms"])
        go.set()
        self.assertEqual(running.stop().failed, 2)
        self.assertEqual([type(each) for each in reasons], [TimedOutError, TimedOutError])

    def test_an_outcome_whose_answer_is_lost_is_said_again_and_recorded_once(self) -> None:
        worker = self.worker()
        lost: Set[str] = set()
        deferrals: List[int] = []

        def loses(line: str) -> bool:
            is_lost = any(verb in line for verb in ("/done", "/fail", "/defer")) and line not in lost
            if is_lost:
                lost.add(line)
            return is_lost

        self.proxied.loses = loses
        worker.handle("welcome", lambda payload, task: "sent")

        @worker.handler("early")
        def early(payload: Any, task: Attempt) -> str:
            deferrals.append(1)
            if len(deferrals) == 1:
                raise Defer("1ms")
            return "sent"

        @worker.handler("broken")
        def broken(payload: Any, task: Attempt) -> None:
            raise Fail("no such address")

        running = Running(worker)
        ids = self.handoff.enqueue_many([email("welcome"), email("early"), email("broken")])
        self.assertEqual([self.handoff.wait(id, timeout=60).state for id in ids], ["done", "done", "dead"])
        self.assertEqual(running.stop(), WorkerReport(done=2, failed=1, deferred=1))
        self.assertEqual(self.proxied.losses, 4)
        self.assertEqual([self.proxied.requests.count(line) for line in lost], [2, 2, 2, 2])

    def test_what_a_claim_has_got_whose_answer_is_lost_is_done_all_the_same_and_at_no_cost_if_the_server_knows_claims_by_their_ids(self) -> None:
        knows_ids = "/v1/claim/release" in self.handoff.call("GET", "/openapi.json")["paths"]
        self.handoff.set_queue("email", backoff={"kind": "fixed", "delay": "1ms"})
        mail = self.handoff.enqueue("email", "welcome")

        # Such servers refuse the first claim, which names an id, and are asked without.
        def loses(line: str) -> bool:
            return "/v1/claim " in line and sum("/v1/claim " in each for each in self.proxied.requests) == (1 if knows_ids else 2)

        self.proxied.loses = loses
        worker = self.worker(lease_for=30)
        worker.handle("welcome", lambda payload, task: task.attempt)
        running = Running(worker)
        self.handoff.result(mail.id, timeout=60)
        self.assertEqual(self.proxied.losses, 1)
        self.assertEqual(self.handoff.get(mail.id).crashes, 0 if knows_ids else 1)
        self.assertEqual(running.stop().done, 1)

    def test_a_handler_whose_lease_is_lost_is_told(self) -> None:
        worker = self.worker(lease_for=1)
        self.proxied.loses = lambda line: "/extend" in line
        reasons: List[Any] = []
        told = threading.Event()

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> None:
            task.stop.wait(60)
            reasons.append(task.why)
            self.proxied.loses = lambda line: False
            told.set()
            task.check()

        running = Running(worker)
        self.handoff.enqueue("email", "welcome")
        self.assertTrue(told.wait(60))
        self.assertIsInstance(reasons[0], StaleLeaseError)
        self.assertEqual(running.stop().stale, 1)

    def test_a_cancelled_task_tells_its_handler_and_its_result_counts_no_more(self) -> None:
        worker = self.worker(lease_for=3)
        began, told = threading.Event(), threading.Event()
        reasons: List[Any] = []

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> str:
            began.set()
            task.stop.wait(60)
            reasons.append(task.why)
            told.set()
            return "too late"

        running = Running(worker)
        mail = self.handoff.enqueue("email", "welcome")
        self.assertTrue(began.wait(60))
        self.handoff.cancel(mail.id, "no need")
        self.assertTrue(told.wait(60))
        self.assertIsInstance(reasons[0], CancelledError)
        self.assertEqual(running.stop(), WorkerReport(cancelled=1))
        task = self.handoff.get(mail.id)
        self.assertEqual((task.state, task.result), ("cancelled", None))

    def test_a_worker_that_stops_lets_its_handlers_finish_and_claims_no_more(self) -> None:
        worker = self.worker(concurrency=1)
        began = threading.Event()

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> str:
            began.set()
            task.stopping.wait(60)
            return "finished"

        first, second = self.handoff.enqueue_many([email(), email()])
        running = Running(worker)
        self.assertTrue(began.wait(60))
        self.assertEqual(running.stop(), WorkerReport(done=1))
        self.assertEqual(self.handoff.get(first).result, "finished")
        self.assertEqual(self.handoff.get(second).state, "ready")

    def names(self) -> List[str]:
        names = [each["name"] for each in self.handoff.call("GET", "/v1/workers")["workers"]]
        return [each for each in names if not each.startswith("push/")]  # The server's own.

    def test_a_worker_that_has_ended_is_not_seen_any_longer_and_two_of_one_process_are_two(self) -> None:
        first, second = Running(self.worker()), Running(self.worker())

        def two() -> List[str]:
            found = self.names()
            return found if len(found) == 2 else []

        both = eventually(two)
        first.stop()
        left = self.names()
        self.assertEqual(len(left), 1)
        self.assertIn(left[0], both)
        second.stop()
        self.assertEqual(self.names(), [])

    def test_a_worker_ends_although_nobody_answers_when_it_leaves(self) -> None:
        running = Running(self.worker())
        eventually(self.names)
        self.proxied.loses = lambda line: "/v1/workers/leave" in line
        self.assertEqual(running.stop(), WorkerReport())
        self.assertEqual(self.proxied.losses, 1)

    def test_what_is_not_finished_when_the_grace_is_over_goes_back_at_once_at_no_cost(self) -> None:
        worker = self.worker(grace=0)
        began = threading.Barrier(3)
        never = threading.Event()
        reasons: List[Any] = []

        @worker.handler("heeds")
        def heeds(payload: Any, task: Attempt) -> None:
            began.wait(60)
            task.stop.wait(60)
            reasons.append(task.why)
            task.check()

        @worker.handler("does-not")
        def does_not(payload: Any, task: Attempt) -> None:
            began.wait(60)
            never.wait(60)

        ids = self.handoff.enqueue_many([email("heeds"), email("does-not")])
        running = Running(worker)
        began.wait(60)
        self.assertEqual(running.stop(), WorkerReport(given_back=2))
        never.set()
        self.assertIsInstance(reasons[0], StoppingError)
        for id in ids:
            task = self.handoff.get(id)
            self.assertEqual((task.state, task.attempt), ("ready", 0))

    def test_a_claim_that_waits_ends_with_the_worker_and_loses_nothing_that_comes_with_it(self) -> None:
        self.stop_about_when_a_claim_is_answered(self.handoff)

    def test_the_same_over_tls(self) -> None:
        server = Server(tls=True)
        self.addCleanup(server.end)
        self.stop_about_when_a_claim_is_answered(self.client(server.url, context=ssl.create_default_context(cafile=server.certificate)))

    def stop_about_when_a_claim_is_answered(self, handoff: Handoff) -> None:
        for round in range(30):
            worker = Worker(handoff, ["email"])
            worker.handle("welcome", lambda payload, task: "done")
            running = Running(worker)
            eventually(lambda: handoff.call("GET", "/v1/workers")["workers"])
            enqueuer = threading.Thread(target=lambda: handoff.enqueue("email", "welcome"))
            enqueuer.start()
            if round % 2:
                enqueuer.join()
            self.assertEqual(running.stop().stale, 0)
            enqueuer.join()

        # Nobody holds any: each is done, or ready at once.
        def counts() -> Any:
            found = handoff.queue("email")["counts"]
            return found if found["running"] == 0 else None

        found = eventually(counts)
        self.assertEqual(found["ready"] + found["done"], 30)
        self.assertEqual([each.crashes for each in handoff.list(queue="email")[0] if each.crashes], [])

    def test_a_process_that_is_told_to_end_gives_its_tasks_back(self) -> None:
        mail = self.handoff.enqueue("email", "welcome")
        program = f"""
import signal, sys, threading
from handoff import Handoff, Worker
worker = Worker(Handoff({self.server.url!r}), ["email"], grace=0)
worker.handle("welcome", lambda payload, task: threading.Event().wait())
report = worker.run(signals=(signal.SIGTERM,))
sys.exit(17 if report.given_back == 1 else 1)"""
        child = subprocess.Popen([sys.executable, "-c", program], cwd=pathlib.Path(__file__).resolve().parent.parent)
        eventually(lambda: self.handoff.get(mail.id).state == "running")
        child.send_signal(signal.SIGTERM)
        self.assertEqual(child.wait(60), 17)
        task = self.handoff.get(mail.id)
        self.assertEqual((task.state, task.attempt, task.crashes), ("ready", 0, 0))

    def test_a_server_that_is_killed_again_and_again_loses_no_task_that_it_has_accepted(self) -> None:
        handoff = self.client(self.server.url, retry_for=60)
        worker = Worker(handoff, ["email"], concurrency=5, lease_for=5)
        lock = threading.Lock()
        ran: Dict[str, int] = {}
        accepted: Dict[str, int] = {}
        handed_in: List[int] = []
        is_over = threading.Event()

        @worker.handler("welcome")
        def welcome(payload: Any, task: Attempt) -> Any:
            with lock:
                ran[task.id] = ran.get(task.id, 0) + 1
            return payload

        def produce() -> None:
            while not is_over.is_set():
                with lock:
                    number = len(handed_in)
                    handed_in.append(number)
                id = handoff.enqueue("email", "welcome", number).id
                with lock:
                    accepted[id] = number

        running = Running(worker)
        producers = [threading.Thread(target=produce) for _ in range(3)]
        for each in producers:
            each.start()
        for _ in range(4):
            before, done = len(accepted), len(ran)
            eventually(lambda: len(accepted) > before + 20 and len(ran) > done + 5)
            self.server.kill()
            self.server.start()
        is_over.set()
        for each in producers:
            each.join()
        eventually(lambda: self.handoff.queue("email")["counts"]["done"] == len(accepted))
        running.stop()
        self.assertEqual(len(handed_in), len(accepted))
        self.assertEqual(set(ran), set(accepted))
        for id, number in list(accepted.items())[:50]:
            self.assertEqual(self.handoff.get(id).result, number)


if __name__ == "__main__":
    unittest.main()
