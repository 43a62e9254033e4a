"""Handing in and looking, against the real server."""

from __future__ import annotations

import datetime
import json
import subprocess
import threading
import time
import unittest
from typing import Any, List

from support import BINARY, Running, ServerTest, eventually
from handoff import (FullError, Handoff, HandoffError, NewTask, NotAllowedError, Step, TaskFailedError, UnavailableError, WaitTimeoutError, Worker)

TO = {"to": "new@example.org"}


def email(**more: Any) -> NewTask:
    return NewTask("email", "welcome", **more)


class Client(ServerTest):
    def test_a_task_is_stored_with_what_it_was_given(self) -> None:
        mail = self.handoff.enqueue("email", "welcome", TO, priority=7, group="g", max_attempts=3, delay=datetime.timedelta(hours=1))
        self.assertEqual((mail.state, mail.duplicate), ("scheduled", False))
        task = self.handoff.get(mail.id)
        self.assertEqual((task.payload, task.priority, task.group, task.max_attempts, task.state), (TO, 7, "g", 3, "scheduled"))
        self.assertEqual(self.handoff.explain(mail.id).code, "future")
        self.assertEqual([each.id for each in self.handoff.list(queue="email", state="scheduled")[0]], [mail.id])
        at = datetime.datetime(2100, 1, 1, tzinfo=datetime.timezone.utc)
        self.assertEqual(self.handoff.get(self.handoff.enqueue("email", "welcome", run_at=at).id).run_at, "2100-01-01T00:00:00.000Z")

    def test_an_id_or_a_unique_key_that_is_there_already_makes_no_second_task_and_says_so(self) -> None:
        first = self.handoff.enqueue("email", "welcome", unique_key="ann")
        second = self.handoff.enqueue("email", "welcome", unique_key="ann")
        self.assertEqual((second.id, second.duplicate), (first.id, True))
        self.assertTrue(self.handoff.enqueue("email", "welcome", id=first.id).duplicate)

    def test_an_enqueue_whose_answer_is_lost_is_made_again_and_is_one_task(self) -> None:
        proxy = self.proxy()
        proxy.loses = lambda line: proxy.losses < 2
        mail = self.client(proxy.url).enqueue("email", "welcome")
        self.assertEqual((proxy.losses, mail.duplicate), (2, False))
        self.assertEqual([each.id for each in self.handoff.list(queue="email")[0]], [mail.id])

    def test_batches_workflows_and_changes_whose_answers_are_lost_are_made_again_and_happen_once(self) -> None:
        proxy = self.proxy()
        handoff = self.client(proxy.url)

        def lose_next() -> None:
            before = proxy.losses
            proxy.loses = lambda line: proxy.losses == before

        lose_next()
        ids = handoff.enqueue_many([email(), email(), email()])
        lose_next()
        started = handoff.start_workflow([Step("a", email())])
        lose_next()
        cancelled = handoff.cancel(ids[0], "no need")
        lose_next()
        again = handoff.retry(ids[0])
        self.assertEqual((proxy.losses, started.duplicate), (4, False))
        self.assertEqual((cancelled.state, cancelled.reason, again.state), ("cancelled", "no need", "ready"))
        self.assertEqual(len(handoff.list(queue="email")[0]), 4)

    def test_many_tasks_go_in_parts_and_come_back_in_order(self) -> None:
        ids = self.handoff.enqueue_many(email(payload=number) for number in range(10_002))
        self.assertEqual(len(set(ids)), 10_002)
        self.assertEqual(self.handoff.get(ids[10_001]).payload, 10_001)
        self.assertEqual(len(self.handoff.enqueue_many([email(payload="x" * 1_000_000)] * 12)), 12)

    def test_a_batch_that_is_refused_says_which_were_stored_and_where_it_is_wrong(self) -> None:
        tasks = [NewTask("e mail" if number == 10_003 else "email", "welcome") for number in range(10_005)]
        with self.assertRaises(HandoffError) as caught:
            self.handoff.enqueue_many(tasks)
        error = caught.exception
        self.assertEqual((error.code, error.field, len(error.accepted or [])), ("bad_request", "[10003].queue", 10_000))

    def test_a_full_queue_is_a_full_error_once_the_allowed_time_is_over_and_no_error_if_there_is_room_by_then(self) -> None:
        proxy = self.proxy()
        handoff = self.client(proxy.url)
        handoff.set_queue("email", capacity=1)
        first = handoff.enqueue("email", "welcome")
        with self.assertRaises(FullError) as caught:
            handoff.enqueue("email", "welcome", retry_for=0)
        self.assertEqual((caught.exception.code, caught.exception.status), ("full", 503))
        self.assertRegex(caught.exception.message, "holds 1 of 1")
        self.assertGreaterEqual(caught.exception.retry_after or 0, 1)

        before, answers = len(proxy.requests), proxy.answers
        second: List[str] = []
        thread = threading.Thread(target=lambda: second.append(handoff.enqueue("email", "welcome", retry_for=60).state))
        thread.start()
        eventually(lambda: proxy.answers > answers)  # It was refused.
        self.handoff.cancel(first.id)
        thread.join()
        self.assertEqual(second, ["ready"])
        times = [at for at, line in zip(proxy.times[before:], proxy.requests[before:]) if line.startswith("POST /v1/tasks HTTP")]
        self.assertGreaterEqual(times[1] - times[0], 0.99)  # Retry-After asks for a second or more.

    def test_what_is_wrong_has_its_code_message_and_field_and_is_not_tried_again(self) -> None:
        proxy = self.proxy()
        handoff = self.client(proxy.url)
        with self.assertRaises(HandoffError) as caught:
            handoff.enqueue("email", "welcome", priority=1000)
        error = caught.exception
        self.assertEqual((error.code, error.status, error.field), ("bad_request", 400, "priority"))
        self.assertRegex(error.message, "-100 to 100")
        self.assertEqual(len(proxy.requests), 1)
        with self.assertRaises(HandoffError) as caught:
            handoff.get("01a1e8d0-9b61-7000-9072-e55e3f0443e8")
        self.assertEqual(caught.exception.code, "not_found")

    def test_a_token_is_sent_and_a_wrong_one_is_not_allowed_for_a_worker_too(self) -> None:
        made = subprocess.run([BINARY, "token", "create", "--store", self.server.store, "--name", "shop", "--role", "produce", "--json"],
                              check=True, capture_output=True, text=True)
        nobody = self.client(self.server.url, token="wrong")

        def refusal() -> Any:
            try:
                nobody.enqueue("email", "welcome")
                return None
            except NotAllowedError as error:
                return error

        self.assertEqual(eventually(refusal).code, "unauthorized")
        shop = self.client(self.server.url, token=json.loads(made.stdout)["token"])
        self.assertEqual(shop.enqueue("email", "welcome").state, "ready")
        with self.assertRaises(NotAllowedError) as caught:
            Worker(shop, ["email"]).run()
        self.assertEqual(caught.exception.code, "forbidden")

    def test_a_server_that_is_away_is_unavailable_and_no_error_if_it_is_back_in_time(self) -> None:
        self.handoff.enqueue("email", "welcome")
        self.server.kill()
        with self.assertRaises(UnavailableError) as caught:
            self.handoff.enqueue("email", "welcome", retry_for="200ms")
        self.assertEqual((caught.exception.code, caught.exception.status), ("unreachable", 0))
        states: List[str] = []
        thread = threading.Thread(target=lambda: states.append(self.handoff.enqueue("email", "welcome", retry_for=60).state))
        thread.start()
        self.server.start()
        thread.join()
        self.assertEqual(states, ["ready"])

    def test_result_gives_what_the_handler_returned_waits_past_a_restart_and_raises_if_it_failed_for_good(self) -> None:
        handoff = self.client(self.server.url, retry_for=60)
        mail = handoff.enqueue("email", "welcome")
        with self.assertRaises(WaitTimeoutError):
            handoff.wait(mail.id, timeout="20ms")
        results: List[Any] = []
        thread = threading.Thread(target=lambda: results.append(handoff.result(mail.id, timeout="60s")))
        thread.start()
        self.server.kill()
        self.server.start()
        claimed = handoff.call("POST", "/v1/claim", {"queues": ["email"]})["tasks"][0]
        handoff.call("POST", f"/v1/tasks/{mail.id}/done", {"lease": claimed["lease"], "result": {"sent": True}})
        thread.join()
        self.assertEqual(results, [{"sent": True}])

        other = handoff.enqueue("email", "welcome")
        handoff.cancel(other.id, "no need")
        with self.assertRaisesRegex(TaskFailedError, "no need") as caught:
            handoff.result(other.id)
        self.assertEqual(caught.exception.task.state, "cancelled")

    def test_result_goes_on_if_the_connection_breaks_after_more_than_retry_for_each_time_and_a_server_that_does_not_come_back_is_unavailable(self) -> None:
        proxy = self.proxy()
        retry_for = 0.4
        patient = self.client(proxy.url, retry_for=retry_for)
        mail = self.handoff.enqueue("email", "welcome")
        outcomes: List[Any] = []

        def ask(id: str) -> threading.Thread:
            def look() -> None:
                try:
                    outcomes.append(patient.result(id))
                except Exception as error:
                    outcomes.append(error)

            thread = threading.Thread(target=look, daemon=True)
            thread.start()
            return thread

        def is_waited_for_too_long(start: int) -> int:
            asked = list(zip(proxy.requests, proxy.times))
            found = [at for at in range(start, len(asked)) if "?wait=" in asked[at][0] and time.monotonic() > asked[at][1] + retry_for + 0.001]
            return found[0] + 1 if found else 0

        thread = ask(mail.id)
        seen = 0
        for _ in range(2):
            seen = eventually(lambda: is_waited_for_too_long(seen), "a long wait")
            proxy.cut()
        claimed = self.handoff.call("POST", "/v1/claim", {"queues": ["email"]})["tasks"][0]
        self.handoff.call("POST", f"/v1/tasks/{mail.id}/done", {"lease": claimed["lease"], "result": {"sent": True}})
        thread.join(60)
        self.assertEqual(outcomes, [{"sent": True}])

        seen = len(proxy.requests)
        thread = ask(self.handoff.enqueue("email", "welcome").id)
        eventually(lambda: len(proxy.requests) > seen)
        self.server.kill()
        thread.join(60)
        self.assertIsInstance(outcomes[1], UnavailableError)

    def test_the_steps_of_a_workflow_get_the_results_of_those_before_them(self) -> None:
        worker = Worker(self.handoff, ["shop"])
        worker.handle("charge", lambda payload, task: {"receipt": 17})
        worker.handle("mail", lambda payload, task: f"receipt {task.inputs['charge']['receipt']}")
        running = Running(worker)
        started = self.handoff.start_workflow([Step("charge", NewTask("shop", "charge")), Step("mail", NewTask("shop", "mail"), ["charge"])], name="checkout")
        self.assertEqual(self.handoff.wait_for_workflow(started.id, timeout=60).state, "done")
        self.assertEqual(self.handoff.result(started.tasks["mail"]), "receipt 17")
        self.assertEqual(running.stop().done, 2)


if __name__ == "__main__":
    unittest.main()
