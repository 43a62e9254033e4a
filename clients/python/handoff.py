"""Hands tasks to a Handoff server, and works on them. One file, standard library only, Python 3.9 or later.

    handoff = Handoff("http://127.0.0.1:8077")
    mail = handoff.enqueue("email", "welcome", {"to": "new@example.org"})
    handoff.result(mail.id, timeout="1m")

    worker = Worker(handoff, ["email"], concurrency=20)

    @worker.handler("welcome")
    def welcome(payload, task):
        smtp.send(payload["to"])
        return {"sent": True}               # kept as the result

    worker.run(signals=(signal.SIGTERM, signal.SIGINT))

What is answered is stored. Every call may be lost on its way, in either direction: then it is made again, for `retry_for` at most, with growing pauses, and as the
server's Retry-After asks. That makes no second task, because each has its id before it is sent.

Thread safety: any method of Handoff, any thread; Worker.stop() any thread, and from signal handlers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import email.utils
import http.client
import itertools
import json
import logging
import os
import random
import re
import signal as signals_of_python
import socket
import ssl
import threading
import time
import urllib.parse
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

__all__ = [
    "Attempt", "CancelledError", "Defer", "Enqueued", "Explanation", "Fail", "FullError", "Handoff", "HandoffError", "LogLine", "NewTask",
    "NotAllowedError", "Retry", "StaleLeaseError", "StartedWorkflow", "Step", "StoppingError", "Task", "TaskFailedError", "TimedOutError",
    "UnavailableError", "WaitTimeoutError", "Worker", "WorkerReport", "Workflow",
]

Duration = Union[str, int, float, datetime.timedelta]  # "250ms", "30s", "5m", "2h", "1d"; a number is in seconds.

_log = logging.getLogger("handoff")


# -- What can go wrong ---------------------------------------------------------------------------------


class HandoffError(Exception):
    """A refusal of the server, with the code, the message and the field that it named.

    Besides the codes of the server there are `unreachable` (no answer: nobody listens, the connection broke, or it took too long) and `timed_out` (of wait).
    """

    def __init__(self, code: str, message: str, *, status: int = 0, field: Optional[str] = None, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status  # Of HTTP; 0 if there was no answer.
        self.field = field  # What of the request is wrong: "priority", "[17].queue".
        self.retry_after = retry_after  # What the server asks for, in seconds.
        self.accepted: Optional[List[str]] = None  # enqueue_many(): the ids of those that were stored before this happened.


class FullError(HandoffError):
    """The queue has no room, and had none for as long as was allowed."""


class NotAllowedError(HandoffError):
    """No token, an unknown one, or one with another role."""


class UnavailableError(HandoffError):
    """The server cannot be reached, or cannot write now, and could not for as long as was allowed."""


class StaleLeaseError(HandoffError):
    """The task is somebody else's by now."""


class CancelledError(HandoffError):
    """Somebody has cancelled the task."""


class WaitTimeoutError(HandoffError):
    """wait() and result(): the time is up. The task goes on."""


class TaskFailedError(Exception):
    """result(): the task has ended, but not well."""

    def __init__(self, task: Task) -> None:
        why = task.reason or (task.errors[-1]["message"] if task.errors else "no reason was given")
        super().__init__(f"task {task.id} ({task.kind}) is {task.state}: {why}")
        self.task = task


class TimedOutError(Exception):
    """Why a handler is asked to stop: it takes longer than the task's timeout."""


class StoppingError(Exception):
    """Why a handler is asked to stop: the worker ends, and its grace is over."""


class Defer(Exception):
    """Raised by a handler: not now, but after `later`. Costs no attempt."""

    def __init__(self, later: Duration) -> None:
        super().__init__(f"deferred for {later}")
        self.later = later


class Retry(Exception):
    """Raised by a handler: failed; to be tried again after `after`, if attempts are left."""

    def __init__(self, after: Duration, message: str) -> None:
        super().__init__(message)
        self.after = after


class Fail(Exception):
    """Raised by a handler: failed for good. Dead at once, whatever attempts are left."""


_KINDS: Dict[str, Type[HandoffError]] = {
    "full": FullError, "unauthorized": NotAllowedError, "forbidden": NotAllowedError, "unavailable": UnavailableError, "unreachable": UnavailableError,
    "stale_lease": StaleLeaseError, "cancelled": CancelledError, "timed_out": WaitTimeoutError,
}


def _error(code: str, message: str, *, status: int = 0, field: Optional[str] = None, retry_after: Optional[float] = None) -> HandoffError:
    return _KINDS.get(code, HandoffError)(code, message, status=status, field=field, retry_after=retry_after)


def _may_pass(error: HandoffError) -> bool:
    """True if the same request may be answered otherwise a little later."""
    return error.code in ("full", "unavailable", "unreachable", "internal")


def _is_over(error: Optional[BaseException]) -> bool:
    """The server has said that the task is not this worker's any more."""
    return isinstance(error, HandoffError) and error.code in ("stale_lease", "cancelled", "not_found")


# -- What goes over the wire, by the names of docs/http-api.md -----------------------------------------


@dataclass
class NewTask:
    queue: str
    kind: str
    payload: Any = None
    delay: Optional[Duration] = None
    run_at: Union[str, datetime.datetime, None] = None
    priority: Optional[int] = None
    max_attempts: Optional[int] = None
    timeout: Optional[Duration] = None
    id: Optional[str] = None  # A UUID; made here otherwise.
    unique_key: Optional[str] = None
    unique_for: Optional[Duration] = None
    expires_in: Optional[Duration] = None
    group: Optional[str] = None
    after: Optional[Sequence[str]] = None
    notify: Optional[Mapping[str, str]] = None
    trace: Optional[str] = None


@dataclass(frozen=True)
class Enqueued:
    id: str
    state: str
    duplicate: bool  # There was one with that id or unique_key; the id is that one's.


@dataclass(frozen=True)
class Task:
    id: str
    queue: str
    kind: str
    state: str  # scheduled, waiting, ready, running, done, dead, cancelled
    payload: Any = None
    priority: int = 0
    attempt: int = 0
    max_attempts: int = 0
    crashes: int = 0
    timeout: Optional[str] = None
    created_at: str = ""
    run_at: str = ""
    started_at: Optional[str] = None
    finished_at: Optional[str] = None
    progress: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # fraction, note
    result: Any = None
    reason: Optional[str] = None  # Why it is dead or cancelled.
    errors: Sequence[Mapping[str, Any]] = ()  # attempt, at, message
    worker: Optional[str] = None
    group: Optional[str] = None
    unique_key: Optional[str] = None
    trace: Optional[str] = None
    after: Sequence[str] = ()
    workflow: Optional[str] = None
    step: Optional[str] = None
    notify: Optional[Mapping[str, str]] = None


@dataclass(frozen=True)
class Explanation:
    id: str
    code: str
    message: str
    position: Optional[int] = None


@dataclass(frozen=True)
class LogLine:
    number: int
    at: str
    line: str


@dataclass
class Step:
    name: str
    task: NewTask
    after: Sequence[str] = ()


@dataclass(frozen=True)
class StartedWorkflow:
    id: str
    tasks: Mapping[str, str]  # Step -> id of its task.
    duplicate: bool


@dataclass(frozen=True)
class Workflow:
    id: str
    name: str
    state: str
    created_at: str = ""
    finished_at: Optional[str] = None
    unfinished: int = 0
    steps: Sequence[Mapping[str, Any]] = ()  # name, task, queue, kind, state, progress, result, reason, after


_T = TypeVar("_T")


def _read(kind: Type[_T], answer: Mapping[str, Any]) -> _T:
    """What a newer server says besides is left out."""
    names = {each.name for each in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in answer.items() if name in names})


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _seconds(duration: Duration) -> float:
    if isinstance(duration, datetime.timedelta):
        return duration.total_seconds()
    if isinstance(duration, (int, float)):
        if duration >= 0:
            return float(duration)
    elif re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h|d))+", duration):
        return sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", duration))
    raise ValueError(f'a duration is like "250ms", "30s" or "5m", or a number of seconds, got {duration!r}')


def _millis(seconds: float) -> str:
    return f"{max(0, round(seconds * 1000))}ms"


def _wire(value: Any) -> Any:
    """For json.dumps: what it does not know by itself."""
    if isinstance(value, datetime.timedelta):
        return _millis(value.total_seconds())
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise TypeError("a time needs a timezone, such as datetime.timezone.utc")
        return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    raise TypeError(f"{type(value).__name__} is no JSON")


def _dumps(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_wire).encode()


def _task_body(task: NewTask) -> Dict[str, Any]:
    body = {each.name: getattr(task, each.name) for each in dataclasses.fields(task)}
    return {name: value for name, value in body.items() if value is not None}


def _new_id() -> str:
    """A UUID of version 7: ids that are made later sort later, which is kind to the store."""
    number = (int(time.time() * 1000) << 80) | int.from_bytes(os.urandom(10), "big")
    number = (number & ~(0xF << 76)) | (0x7 << 76)
    number = (number & ~(0x3 << 62)) | (0x2 << 62)
    text = f"{number:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def _backoff(number: int, longest: float = 5.0) -> float:
    """How long to wait before try `number` (from 1): doubled each time, half of it by chance, so that many clients do not come back together."""
    most = min(longest, 0.1 * (1 << min(number - 1, 16)))
    return most / 2 + random.random() * most / 2


def _delay_before(number: int, error: HandoffError) -> float:
    """Before it is tried again; no shorter than the server asks for."""
    return max(_backoff(number), (error.retry_after or 0) * (1 + random.random() / 4))


# -- One request, one answer ---------------------------------------------------------------------------


class _Hurry:
    """Ends the wait of a request without losing what the server may just have put into its answer: only our side of the connection is ended; the server answers
    early, and that answer is read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: Optional[socket.socket] = None
        self.is_hurried = False

    def attach(self, connected: Optional[socket.socket]) -> bool:
        """False if there is no time to ask any more."""
        with self._lock:
            self._socket = connected
            return not self.is_hurried

    def hurry(self) -> None:
        with self._lock:
            self.is_hurried = True
            if self._socket is None:
                return
            try:
                self._socket.settimeout(5)  # For what is asked from now on.
                socket.socket.shutdown(self._socket, socket.SHUT_WR)  # Not ssl's own, which would stop reading, too.
            except OSError:
                return  # It is gone already.
            giving_up = threading.Timer(5, self._give_up, (self._socket,))  # A read that has begun keeps its timeout.
            giving_up.daemon = True
            giving_up.start()

    def _give_up(self, connected: socket.socket) -> None:
        with self._lock, contextlib.suppress(OSError):
            if self._socket is connected:
                socket.socket.shutdown(connected, socket.SHUT_RDWR)


class _Transport:
    """Tries nothing twice."""

    def __init__(self, url: str, token: Optional[str], context: Optional[ssl.SSLContext]) -> None:
        parsed = urllib.parse.urlsplit(url)
        if parsed.scheme not in ("http", "https") or not parsed.hostname:
            raise ValueError(f"the URL of the server begins with http:// or https://, got {url}")
        self._url = url.rstrip("/")
        self._is_tls = parsed.scheme == "https"
        self._host = parsed.hostname
        self._port = parsed.port
        self._prefix = parsed.path.rstrip("/")
        self._context = context
        self._headers = {"Accept": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._lock = threading.Lock()
        self._idle: List[Tuple[float, http.client.HTTPConnection]] = []  # Since when; the last used at the end.

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
            connection.close()

    def send(self, method: str, path: str, body: Optional[bytes], content_type: str, timeout: float, hurry: Optional[_Hurry]) -> Any:
        connection = self._take()
        is_kept = False
        try:
            connection.timeout = timeout
            if connection.sock is None:
                connection.connect()
            assert connection.sock is not None
            connection.sock.settimeout(timeout)
            if hurry and not hurry.attach(connection.sock):
                raise _error("unreachable", "there is no time to ask")
            headers = dict(self._headers)
            if body is not None:
                headers["Content-Type"] = content_type
            connection.request(method, self._prefix + path, body=body, headers=headers)
            response = connection.getresponse()
            data = response.read()
            is_kept = not response.will_close
        except (OSError, http.client.HTTPException) as error:
            self.close()  # The others are probably dead, too.
            raise _error("unreachable", f"{self._url}: {error or type(error).__name__}") from error
        finally:
            if hurry:
                hurry.attach(None)
            if is_kept and not (hurry and hurry.is_hurried):
                with self._lock:
                    self._idle.append((time.monotonic(), connection))
            else:
                connection.close()
        return _answer(response, data)

    def _take(self) -> http.client.HTTPConnection:
        with self._lock:
            while self._idle:
                since, connection = self._idle.pop()
                if time.monotonic() - since < 30:  # The server ends those that are idle for a minute.
                    return connection
                connection.close()
        if self._is_tls:
            return http.client.HTTPSConnection(self._host, self._port, context=self._context or ssl.create_default_context())
        return http.client.HTTPConnection(self._host, self._port)


def _answer(response: http.client.HTTPResponse, data: bytes) -> Any:
    body = None
    try:
        body = json.loads(data) if data else None
    except ValueError as error:
        if response.status < 400:
            raise _error("unreachable", "the answer is no JSON: is that a Handoff server?", status=response.status) from error
    if 200 <= response.status < 400:
        return body
    # Also of somebody in between, who does not know our shape.
    told = body.get("error") if isinstance(body, dict) else None
    retry_after = _retry_after(response.headers.get("Retry-After"))
    if isinstance(told, dict) and isinstance(told.get("code"), str):
        raise _error(told["code"], str(told.get("message")), status=response.status, field=told.get("field"), retry_after=retry_after)
    raise _error(_code_of(response.status), f"HTTP {response.status}", status=response.status, retry_after=retry_after)


def _code_of(status: int) -> str:
    if status in (408, 429, 502, 503, 504):
        return "unavailable"
    return {401: "unauthorized", 403: "forbidden", 404: "not_found", 413: "too_large"}.get(status, "internal" if status >= 500 else "bad_request")


def _retry_after(text: Optional[str]) -> Optional[float]:
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


# -- Handing in, and looking ---------------------------------------------------------------------------


class Handoff:
    """A server. Keeps connections open between calls.

    url:        otherwise HANDOFF_URL, or http://127.0.0.1:8077
    token:      otherwise HANDOFF_TOKEN, or none
    retry_for:  how long a call is tried again while the server is away, or the queue is full; a wait, from when the server went away; a call may say otherwise, 0 is once
    timeout:    for one try
    context:    for https, if the server's certificate is one of your own
    """

    _LONGEST_WAIT = 60.0  # Of one request.
    _MOST_IN_BATCH = 10_000
    _LARGEST_BATCH = 4 << 20  # Bytes; the server takes 8 MiB.

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None, retry_for: Duration = 10, timeout: Duration = 30,
                 context: Optional[ssl.SSLContext] = None) -> None:
        url = url or os.environ.get("HANDOFF_URL") or "http://127.0.0.1:8077"
        self._transport = _Transport(url, token or os.environ.get("HANDOFF_TOKEN"), context)
        self.retry_for = _seconds(retry_for)
        self._timeout = _seconds(timeout)

    def close(self) -> None:
        """Closes the connections that are kept open."""
        self._transport.close()

    def __enter__(self) -> Handoff:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def enqueue(self, queue: str, kind: str, payload: Any = None, *, delay: Optional[Duration] = None, run_at: Union[str, datetime.datetime, None] = None,
                priority: Optional[int] = None, max_attempts: Optional[int] = None, timeout: Optional[Duration] = None, id: Optional[str] = None,
                unique_key: Optional[str] = None, unique_for: Optional[Duration] = None, expires_in: Optional[Duration] = None, group: Optional[str] = None,
                after: Optional[Sequence[str]] = None, notify: Optional[Mapping[str, str]] = None, trace: Optional[str] = None,
                retry_for: Optional[Duration] = None) -> Enqueued:
        """Returns when it is stored. Raises a FullError if there was no room for all of retry_for."""
        own_id = id or _new_id()
        task = NewTask(queue, kind, payload, delay, run_at, priority, max_attempts, timeout, own_id, unique_key, unique_for, expires_in, group, after, notify, trace)
        answer = self.call("POST", "/v1/tasks", _task_body(task), retry_for=retry_for)
        # An id that was made here is known only by an earlier try of this call, whose answer was lost.
        is_ours = id is None and answer["id"] == own_id
        return Enqueued(answer["id"], answer["state"], answer["duplicate"] and not is_ours)

    def enqueue_many(self, tasks: Iterable[NewTask], *, retry_for: Optional[Duration] = None) -> List[str]:
        """Any number, in requests of at most 10,000 tasks and some MiB: their ids, in order.

        Each request is stored as a whole or not at all; if one is refused, the error's `accepted` has the ids of those before it, and its `field` the index among all: "[10017].queue".
        """
        ids: List[str] = []
        lines: List[bytes] = []
        size = 0
        for task in tasks:
            line = _dumps({**_task_body(task), "id": task.id or _new_id()})
            if len(lines) == self._MOST_IN_BATCH or (lines and size + len(line) >= self._LARGEST_BATCH):
                self._send_batch(lines, ids, retry_for)
                lines, size = [], 0
            lines.append(line)
            size += len(line) + 1
        if lines:
            self._send_batch(lines, ids, retry_for)
        return ids

    def _send_batch(self, lines: List[bytes], ids: List[str], retry_for: Optional[Duration]) -> None:
        try:
            ids += self.call("POST", "/v1/tasks/batch", data=b"\n".join(lines), content_type="application/x-ndjson", retry_for=retry_for)["ids"]
        except HandoffError as error:
            # A server may be set to take less at a time. That it is one task which is too large has a field.
            if error.code == "too_large" and error.field is None and len(lines) > 1:
                half = len(lines) // 2
                self._send_batch(lines[:half], ids, retry_for)
                return self._send_batch(lines[half:], ids, retry_for)
            if error.accepted is None:
                if error.field:
                    error.field = re.sub(r"^\[(\d+)\]", lambda index: f"[{int(index[1]) + len(ids)}]", error.field)
                error.accepted = list(ids)
            raise

    def get(self, id: str) -> Task:
        return _read(Task, self.call("GET", f"/v1/tasks/{_quoted(id)}"))

    def wait(self, id: str, *, timeout: Optional[Duration] = None) -> Task:
        """The task, when it has finished. Raises a WaitTimeoutError if it has not by then."""
        return _read(Task, self._wait_for(f"/v1/tasks/{_quoted(id)}", f"task {id}", lambda look: look["state"] in ("done", "dead", "cancelled"), timeout))

    def result(self, id: str, *, timeout: Optional[Duration] = None) -> Any:
        """What its handler has returned. Raises a TaskFailedError if it is dead or cancelled."""
        task = self.wait(id, timeout=timeout)
        if task.state != "done":
            raise TaskFailedError(task)
        return task.result

    def list(self, *, queue: Optional[str] = None, kind: Optional[str] = None, state: Optional[str] = None, group: Optional[str] = None,
             limit: Optional[int] = None, cursor: Optional[str] = None) -> Tuple[List[Task], Optional[str]]:
        """A page, newest first, and the cursor of the next one."""
        given = {"queue": queue, "kind": kind, "state": state, "group": group, "limit": limit, "cursor": cursor}
        page = self.call("GET", "/v1/tasks?" + urllib.parse.urlencode({name: value for name, value in given.items() if value is not None}))
        return [_read(Task, each) for each in page["tasks"]], page.get("next_cursor")

    def explain(self, id: str) -> Explanation:
        """Why it is not running."""
        return _read(Explanation, self.call("GET", f"/v1/tasks/{_quoted(id)}/explain"))

    def log(self, id: str) -> List[LogLine]:
        """What its handlers have said."""
        return [_read(LogLine, each) for each in self.call("GET", f"/v1/tasks/{_quoted(id)}/log")["lines"]]

    def cancel(self, id: str, reason: str = "") -> Task:
        return self._change(id, "cancel", {"reason": reason} if reason else {})

    def retry(self, id: str) -> Task:
        """Runs a finished one again."""
        return self._change(id, "retry", None)

    def _change(self, id: str, verb: str, body: Any) -> Task:
        losses: List[HandoffError] = []
        try:
            return _read(Task, self.call("POST", f"/v1/tasks/{_quoted(id)}/{verb}", body, on_loss=losses.append))
        except HandoffError as error:
            # It was done, and only the answer was lost: then the second try finds nothing to do.
            if losses and error.code == "conflict":
                return self.get(id)
            raise

    def set_queue(self, name: str, **settings: Any) -> Dict[str, Any]:
        """Sets what is named, and leaves the rest: docs/http-api.md has the names."""
        answer: Dict[str, Any] = self.call("PUT", f"/v1/queues/{_quoted(name)}", settings)
        return answer

    def queue(self, name: str) -> Dict[str, Any]:
        answer: Dict[str, Any] = self.call("GET", f"/v1/queues/{_quoted(name)}")
        return answer

    def start_workflow(self, steps: Iterable[Step], *, name: Optional[str] = None, id: Optional[str] = None, retry_for: Optional[Duration] = None) -> StartedWorkflow:
        """Stores all steps, or none."""
        body: Dict[str, Any] = {"id": id or _new_id(), "steps": [{"name": each.name, "after": list(each.after), "task": _task_body(each.task)} for each in steps]}
        if name is not None:
            body["name"] = name
        answer = self.call("POST", "/v1/workflows", body, retry_for=retry_for)
        return StartedWorkflow(answer["id"], answer["tasks"], answer["duplicate"] and id is not None)

    def workflow(self, id: str) -> Workflow:
        return _read(Workflow, self.call("GET", f"/v1/workflows/{_quoted(id)}"))

    def wait_for_workflow(self, id: str, *, timeout: Optional[Duration] = None) -> Workflow:
        """The workflow, when all of its steps have ended."""
        return _read(Workflow, self._wait_for(f"/v1/workflows/{_quoted(id)}", f"workflow {id}", lambda look: "finished_at" in look, timeout))

    def cancel_workflow(self, id: str) -> Workflow:
        return _read(Workflow, self.call("POST", f"/v1/workflows/{_quoted(id)}/cancel"))

    def retry_workflow(self, id: str) -> Workflow:
        """Its steps that are dead or cancelled."""
        return _read(Workflow, self.call("POST", f"/v1/workflows/{_quoted(id)}/retry"))

    # -- How it is asked -------------------------------------------------------------------------------

    def _wait_for(self, path: str, what: str, is_over: Callable[[Dict[str, Any]], bool], timeout: Optional[Duration]) -> Dict[str, Any]:
        deadline = float("inf") if timeout is None else time.monotonic() + _seconds(timeout)
        while True:
            began = time.monotonic()
            wait = min(self._LONGEST_WAIT, max(0.0, deadline - began))
            try:
                look: Dict[str, Any] = self.call("GET", f"{path}?wait={_millis(wait)}", timeout=wait + self._timeout, retry_for=0)
            except HandoffError as error:
                look = self._look_again(path, error, deadline)
            if is_over(look):
                return look
            if time.monotonic() >= deadline:
                raise WaitTimeoutError("timed_out", f"{what} has not finished within {timeout}")
            if time.monotonic() - began < wait / 2:  # A server that ends answers early.
                time.sleep(_backoff(1))

    def _look_again(self, path: str, error: HandoffError, deadline: float) -> Dict[str, Any]:
        """The server has all of retry_for to come back, from when it went away, however long it was waited for before. Whether it is back is asked without waiting."""
        now = time.monotonic()
        ends = min(deadline, now + self.retry_for)
        delay = _delay_before(1, error)
        if not _may_pass(error) or now + delay > ends:
            raise error
        time.sleep(delay)
        look: Dict[str, Any] = self.call("GET", path, timeout=min(self._timeout, max(1.0, deadline - time.monotonic())), until=ends)
        return look

    def call(self, method: str, path: str, body: Any = None, *, data: Optional[bytes] = None, content_type: str = "application/json",
             retry_for: Optional[Duration] = None, timeout: Optional[float] = None, until: Optional[float] = None, hurry: Optional[_Hurry] = None,
             on_loss: Callable[[HandoffError], object] = lambda _: None) -> Any:
        """One call, made again while that may help, and not past `until` on the monotonic clock: the JSON of its answer. For what this class has no method for."""
        if body is not None:
            data = _dumps(body)
        if until is None:
            until = time.monotonic() + (self.retry_for if retry_for is None else _seconds(retry_for))
        number = 0
        while True:
            try:
                return self._transport.send(method, path, data, content_type, timeout or self._timeout, hurry)
            except HandoffError as error:
                if not _may_pass(error):
                    raise
                if error.status == 0:
                    on_loss(error)
                number += 1
                delay = _delay_before(number, error)
                if time.monotonic() + delay > until:
                    raise
            time.sleep(delay)


def _quoted(part: str) -> str:
    return urllib.parse.quote(part, safe="")


# -- Working -------------------------------------------------------------------------------------------

_LONGEST_ERROR = 16_384
_MOST_LINES = 1000  # The server keeps as many.
_LONGEST_LINE = 4096  # As the server cuts them.
_LINES_AT_ONCE = 1 << 20  # Bytes of them in one request; the server takes 8 MiB.
_BETWEEN_BEATS = 0.2  # A handler may say more: of its progress the last counts, and lines go together.
_ENDS_SOON = 1.0
_ENDS_WITHIN = 5.0
_LEAVE_FOR = 1.0


@dataclass
class WorkerReport:
    done: int = 0
    failed: int = 0
    deferred: int = 0
    cancelled: int = 0  # By somebody, while they ran.
    given_back: int = 0  # Unfinished when it stopped.
    stale: int = 0  # Their lease was lost, or what became of them could not be told: others try them again.


class Attempt:
    """What a handler knows of its task, and can say about it. Any thread, while the handler runs."""

    def __init__(self, claimed: Mapping[str, Any], stopping: threading.Event, bell: threading.Condition) -> None:
        self.id: str = claimed["id"]
        self.queue: str = claimed["queue"]
        self.kind: str = claimed["kind"]
        self.payload: Any = claimed["payload"]
        self.attempt: int = claimed["attempt"]  # From 1.
        self.max_attempts: int = claimed["max_attempts"]
        self.group: Optional[str] = claimed.get("group")
        self.trace: Optional[str] = claimed.get("trace")
        self.inputs: Mapping[str, Any] = claimed.get("inputs", {})  # Results of the steps before it, in a workflow.
        self.stop = threading.Event()  # Set: stop. `why` says why.
        self.why: Optional[Exception] = None
        self.stopping = stopping  # Set: the worker ends, but the handler may go on for the grace.
        self._bell = bell
        self._progress: Optional[Dict[str, Any]] = None  # Guarded by _bell, as are all of these.
        self._lines: List[str] = []
        self._is_over = False  # Nothing more is told.

    def check(self) -> None:
        """Raises why it is asked to stop, if it is."""
        if self.stop.is_set() and self.why is not None:
            raise self.why

    def progress(self, fraction: float, note: Optional[str] = None) -> None:
        """Told soon; the last counts."""
        with self._bell:
            self._progress = {"fraction": fraction} if note is None else {"fraction": fraction, "note": _well_formed(note)}
            self._bell.notify_all()

    def log(self, line: str) -> None:
        """Kept with the task: handoff.log(id)."""
        line = _well_formed(line[:_LONGEST_LINE])
        with self._bell:
            if self._is_over:
                return
            self._lines.append(line)
            del self._lines[:-_MOST_LINES]
            self._bell.notify_all()


Handler = Callable[[Any, Attempt], Any]
_H = TypeVar("_H", bound=Handler)


class Worker:
    """Works on tasks: handlers by kind, so many at a time, each on a thread of its own.

    queues:       looked at in this order
    concurrency:  handlers at a time
    lease_for:    after so long without a sign of life a task is given to somebody else
    grace:        how long handlers may go on after stop()
    name:         how the server calls it; otherwise host and process, and from the second of a process on a number
    wait:         of one claim

    A handler that returns is done; one that raises has failed, and is tried again as its queue says. It may raise a Defer, a Retry or a Fail instead. While it runs, its lease is extended.
    It is asked to stop by `task.stop`: the task was cancelled, its lease is lost, it takes longer than its timeout, or the worker ends and its grace is over. Then what it does no longer
    counts, except for the last two: who raises because the worker ends gives the task back, and who returns is done.

    The end, in steps:
      1. stop(), or a signal. Nothing is claimed any more; the claim that waits is ended, and what came with it goes back.
      2. Handlers may go on for `grace`. task.stopping tells those who want to know.
      3. task.stop is set. Who does not end soon is given back all the same, and its thread is left behind: a process that exits now loses nothing.
      4. The server is told that the worker leaves, so that it is not seen any longer.
    """

    def __init__(self, handoff: Handoff, queues: Sequence[str], *, concurrency: int = 10, lease_for: Duration = 30, grace: Duration = 25,
                 name: Optional[str] = None, wait: Duration = 30) -> None:
        if isinstance(queues, str) or not queues:
            raise ValueError("a worker needs a list of queues")
        if concurrency < 1:
            raise ValueError(f"concurrency is a whole number from 1, got {concurrency}")
        self._handoff = handoff
        self._queues = list(queues)
        self._concurrency = concurrency
        self._lease_for = _seconds(lease_for)
        self._grace = _seconds(grace)
        self._wait = _seconds(wait)
        self._name = name or _own_name()
        if self._lease_for < 1:
            raise ValueError("lease_for is 1s at least")
        self._handlers: Dict[str, Handler] = {}
        self._any_handler: Optional[Handler] = None
        self._bell_in, self._bell_out = socket.socketpair()  # So that stop() takes no locks: it may come from a signal handler.
        self._claiming = _Hurry()
        self._stopping = threading.Event()  # Step 1.
        self._lock = threading.Condition()
        self._running: Dict[_Run, None] = {}  # Guarded by _lock.
        self._report = WorkerReport()  # Guarded by _lock.
        self._uses_claim_ids = True  # As far as is known: servers of before do not take them.
        self._lost_claim: Optional[str] = None  # Its answer did not come, and may have held tasks.
        self._has_run = False

    def handle(self, kind: str, handler: Handler) -> None:
        if kind in self._handlers:
            raise ValueError(f'kind "{kind}" has a handler already')
        self._handlers[kind] = handler

    def handler(self, kind: str) -> Callable[[_H], _H]:
        """The same as a decorator."""
        def decorate(function: _H) -> _H:
            self.handle(kind, function)
            return function
        return decorate

    def handle_any(self, handler: Handler) -> None:
        """For tasks of all kinds that have no handler of their own; task.kind says which."""
        self._any_handler = handler

    def stop(self) -> None:
        """Any number of times, from any thread and from signal handlers; run() returns when all handlers have ended."""
        try:
            self._bell_in.send(b"x")
        except OSError:
            pass  # It has ended.

    def run(self, *, signals: Sequence[int] = ()) -> WorkerReport:
        """Works until it is stopped. Survives a server that is away; raises if the server does not let it in, or does not understand it, after all handlers have ended.

        With `signals` the first of them is as stop(), and a second one does what it did before. That takes the main thread. Once for each worker.
        """
        if self._has_run:
            raise RuntimeError("a worker runs once")
        self._has_run = True
        before = {each: signals_of_python.getsignal(each) for each in signals}

        def restore() -> None:
            for each in before:
                signals_of_python.signal(each, before[each])

        def on_signal(*_: object) -> None:
            restore()
            self.stop()

        for each in signals:
            signals_of_python.signal(each, on_signal)
        watcher = threading.Thread(target=self._watch_bell, name="handoff-stop", daemon=True)
        watcher.start()
        try:
            self._claim_and_start()
        finally:
            self.stop()
            watcher.join()
            self._finish()
            with contextlib.suppress(HandoffError):
                self._release_lost_claim()
            self._leave()
            if signals:
                restore()
            self._bell_in.close()
            self._bell_out.close()
        return dataclasses.replace(self._report)

    def _watch_bell(self) -> None:
        self._bell_out.recv(1)
        self._stopping.set()
        self._claiming.hurry()
        with self._lock:
            self._lock.notify_all()

    # -- Claiming --------------------------------------------------------------------------------------

    def _claim_and_start(self) -> None:
        failures = 0
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._stopping.is_set() or len(self._running) < self._concurrency)
                room = min(self._concurrency - len(self._running), 1000)
            if self._stopping.is_set():
                return
            try:
                claimed = self._claim(room)
                if failures > 0:
                    _log.warning("the server is back")
                failures = 0
                for each in claimed:
                    self._take(each)
            except HandoffError as error:
                if not _may_pass(error):
                    raise
                failures += 1
                if failures == 1 and not self._stopping.is_set():
                    _log.warning("cannot claim tasks, and tries again: %s", error)
                self._stopping.wait(max(_backoff(failures), error.retry_after or 0))

    def _claim(self, most: int) -> List[Dict[str, Any]]:
        self._release_lost_claim(retry_for=0)
        body: Dict[str, Any] = {"queues": self._queues, "max": most, "wait": _millis(self._wait), "lease_for": _millis(self._lease_for), "worker": self._name}
        id = _new_id() if self._uses_claim_ids else None
        if id:
            body["claim_id"] = id
        try:
            answer = self._handoff.call("POST", "/v1/claim", body, retry_for=0, timeout=self._wait + 30, hurry=self._claiming)
        except HandoffError as error:
            if error.status == 0:
                self._lost_claim = id
            if id is None or error.code != "bad_request" or error.field != "claim_id":
                raise
            self._uses_claim_ids = False
            return []
        tasks: List[Dict[str, Any]] = answer["tasks"] if answer else []
        return tasks

    def _release_lost_claim(self, retry_for: Optional[Duration] = None) -> None:
        """Otherwise what it has got would wait until its leases end."""
        if self._lost_claim is None:
            return
        try:
            self._handoff.call("POST", "/v1/claim/release", {"claim_id": self._lost_claim}, retry_for=retry_for, timeout=5)
        except HandoffError as error:
            if _may_pass(error):
                raise
        self._lost_claim = None

    def _take(self, claimed: Dict[str, Any]) -> None:
        run = _Run(self, claimed)
        with self._lock:
            self._running[run] = None
        try:
            threading.Thread(target=self._supervise, args=(run,), name=f"handoff-{run.attempt.id}", daemon=True).start()
        except RuntimeError:  # No more threads: then here, and nothing is lost.
            run.is_refused = True
            self._supervise(run)

    def _supervise(self, run: _Run) -> None:
        try:
            run.supervise()
        except Exception:
            _log.exception("task %s", run.attempt.id)
        finally:
            with self._lock:
                del self._running[run]
                self._lock.notify_all()

    def _handler_of(self, kind: str) -> Handler:
        handler = self._handlers.get(kind) or self._any_handler
        if handler is None:
            raise LookupError(f'no handler for kind "{kind}"; this worker knows {", ".join(self._handlers) or "none"}')
        return handler

    def _count(self, what: str) -> None:
        with self._lock:
            setattr(self._report, what, getattr(self._report, what) + 1)

    # -- The end ---------------------------------------------------------------------------------------

    def _finish(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: not self._running, timeout=self._grace)
            runs = list(self._running)
        for each in runs:
            each.ask_to_stop(StoppingError("the worker ends, and its grace is over"))
        with self._lock:
            self._lock.wait_for(lambda: not self._running)


    def _leave(self) -> None:
        """Otherwise it would be seen for two minutes more. That is all, so it is said once."""
        with contextlib.suppress(HandoffError):
            self._handoff.call("POST", "/v1/workers/leave", {"worker": self._name}, retry_for=0, timeout=_LEAVE_FOR)


_workers = itertools.count(1)  # Of this process, without names of their own.


def _own_name() -> str:
    name = f"{socket.gethostname()}/{os.getpid()}"
    number = next(_workers)
    return name if number == 1 else f"{name}/{number}"


class _Run:
    """One attempt. A thread of its own looks after the lease, and tells the server what the handler says; the handler has another.

    A lease that the server does not confirm in time is lost, whatever the reason: from then on somebody else may have the task. So lines wait, or are given up, rather than the lease.
    """

    def __init__(self, worker: Worker, claimed: Dict[str, Any]) -> None:
        self._worker = worker
        self._handoff = worker._handoff
        self._lease: str = claimed["lease"]
        self._timeout = _seconds(claimed["timeout"]) if "timeout" in claimed else float("inf")
        self._timeout_text: str = claimed.get("timeout", "")
        self._bell = threading.Condition()
        self.attempt = Attempt(claimed, worker._stopping, self._bell)
        self.is_refused = False
        now = time.monotonic()
        self._until = now + worker._lease_for  # As far as is known here.
        self._next_beat = now + worker._lease_for / 3
        self._last_beat = 0.0
        self._failures = 0
        self._at_once = _LINES_AT_ONCE  # Bytes of lines; fewer while that goes wrong.
        self._refused_lines = 0
        self._is_lost = False  # The lease.
        self._has_ended = False  # The handler; guarded by _bell, as are all of these.
        self._result: Any = None
        self._error: Optional[BaseException] = None
        self._asked_at = float("inf")  # When it was asked to stop.
        self._is_hurried = False  # The worker ends,
        self._drains_until = float("inf")  # and waits no longer for lines to get through.

    def ask_to_stop(self, why: Exception) -> None:
        with self._bell:
            if isinstance(why, StoppingError):
                self._is_hurried = True
                self._drains_until = time.monotonic() + _ENDS_WITHIN
            if self.attempt.why is None:  # The first reason counts.
                self.attempt.why = why
                self._asked_at = time.monotonic()
                self.attempt.stop.set()
            self._bell.notify_all()

    def supervise(self) -> None:
        if self.is_refused or self._worker._stopping.is_set():
            return self._conclude("release", {}, "given_back")
        timeout_at = time.monotonic() + self._timeout
        try:
            threading.Thread(target=self._call, name=f"handler-{self.attempt.id}", daemon=True).start()
        except RuntimeError:  # No more threads.
            return self._conclude("release", {}, "given_back")
        while not self._is_to_end(timeout_at):
            self._beat(self._patience())
        self._drain()
        with self._bell:
            error = self._error if self._has_ended else self.attempt.why
            result = self._result
        self._tell(error, result)
        with self._bell:  # It takes up its place until it ends, or the worker does.
            self._bell.wait_for(lambda: self._has_ended or self._is_hurried)

    def _call(self) -> None:
        error: Optional[BaseException] = None
        result: Any = None
        try:
            result = self._worker._handler_of(self.attempt.kind)(self.attempt.payload, self.attempt)
        except BaseException as raised:  # Whatever it is, the task is not lost.
            error = raised
        with self._bell:
            self._result, self._error, self._has_ended = result, error, True
            self._bell.notify_all()

    def _is_to_end(self, timeout_at: float) -> bool:
        """Waits until there is something to do. True: the handler has ended, or was asked to stop and has had a moment for it."""
        with self._bell:
            while not self._has_ended:
                now = time.monotonic()
                if now >= timeout_at and self.attempt.why is None:
                    self.ask_to_stop(TimedOutError(f"it took longer than {self._timeout_text}"))
                patience = self._worker._lease_for / 3 if isinstance(self.attempt.why, TimedOutError) else _ENDS_SOON
                if now >= self._asked_at + patience:
                    return True
                due = self._beat_at()
                if now >= due:
                    return False
                wakes = min(due, self._asked_at + patience, timeout_at if self.attempt.why is None else float("inf"))
                self._bell.wait(min(wakes - now, threading.TIMEOUT_MAX))
            return True

    # -- The lease -------------------------------------------------------------------------------------

    def _spare(self) -> float:
        """How long there is for lines: the last third of the lease is for what became of the task."""
        return min(self._until - self._worker._lease_for / 3, self._drains_until) - time.monotonic()

    def _beat_at(self) -> float:
        if self._is_lost:
            return float("inf")
        if self._failures > 0 or (self.attempt._progress is None and not self.attempt._lines):
            return self._next_beat
        return min(self._next_beat, self._last_beat + _BETWEEN_BEATS)

    def _drain(self) -> None:
        """The handler says nothing more. What it has logged is still told, and the lease is kept meanwhile; but lines are given up before the lease is in danger."""
        with self._bell:
            self.attempt._is_over = True
        while self.attempt._lines and not self._is_lost and self._spare() > 0:
            self._beat(max(0.001, min(self._spare(), self._patience())))
            if self._failures > 0:
                time.sleep(max(0, min(self._next_beat - time.monotonic(), self._spare())))
        given_up = self._refused_lines + len(self.attempt._lines)
        if given_up > 0 and not self._is_lost:  # Who has lost the task has no say.
            _log.warning("task %s: %d of its lines could not be kept", self.attempt.id, given_up)

    def _beat(self, timeout: float) -> None:
        """Extends the lease, and tells what the handler says, in one request."""
        lease_for = self._worker._lease_for
        self._last_beat = began = time.monotonic()
        with self._bell:
            progress, self.attempt._progress = self.attempt._progress, None
            # If it was of no use with lines, then without: they can wait, the lease cannot.
            is_urgent = not self.attempt._is_over and self._failures > 0 and self._until - began < lease_for / 2
            lines = [] if is_urgent else self._next_lines()
        try:
            self._extend(progress, lines, timeout)
            self._until = began + lease_for
            self._next_beat = began + lease_for / 3
            self._failures = 0
            self._at_once = min(_LINES_AT_ONCE, self._at_once * 2)
        except (HandoffError, TypeError, ValueError) as error:
            self._on_failure(error, progress, lines)

    def _extend(self, progress: Optional[Dict[str, Any]], lines: List[str], timeout: float) -> None:
        """The lines go with it: all are kept, and the lease is extended, or neither."""
        extend: Dict[str, Any] = {"for": _millis(self._worker._lease_for)}
        if progress:
            extend["progress"] = progress
        if not lines:
            return self._post("extend", extend, until=0, timeout=timeout)
        body = [{"id": self.attempt.id, "lease": self._lease, "extend": extend, "log": lines}]
        try:
            answer = self._handoff.call("POST", "/v1/outcomes", body, until=0, timeout=timeout)
        except HandoffError as error:
            if error.code == "not_found":  # That there is no such route says nothing of the task.
                raise _error("bad_request", error.message, status=error.status) from error
            raise
        refusal = answer["results"][0].get("error")
        if refusal:
            raise _error(refusal["code"], refusal["message"], status=409)

    def _on_failure(self, error: Exception, progress: Optional[Dict[str, Any]], lines: List[str]) -> None:
        if _is_over(error):
            return self._lose(error)
        with self._bell:
            if self.attempt._progress is None:
                self.attempt._progress = progress
            self.attempt._lines[:0] = lines
            del self.attempt._lines[:-_MOST_LINES]
            if lines:
                self._at_once = min(self._at_once, _size_of(lines) // 2)
            if not isinstance(error, HandoffError) or error.code in ("bad_request", "too_large", "method_not_allowed"):
                self._give_way(error, progress, lines)
        self._failures += 1
        self._next_beat = time.monotonic() + _backoff(self._failures, self._worker._lease_for / 6)
        if self._next_beat >= self._until and not self.attempt._is_over:
            lost = StaleLeaseError("stale_lease", "the lease could not be extended in time")
            lost.__cause__ = error
            self._lose(lost)

    def _give_way(self, error: Exception, progress: Optional[Dict[str, Any]], lines: List[str]) -> None:
        """What the server does not take must not cost the lease."""
        if isinstance(error, HandoffError) and error.code == "too_large" and len(lines) > 1:
            return  # Fewer at a time may do.
        if progress:
            if self.attempt._progress is progress:
                self.attempt._progress = None
            return
        self._refused_lines += len(lines)
        del self.attempt._lines[:len(lines)]

    def _next_lines(self) -> List[str]:
        waiting = self.attempt._lines
        count, size = 0, 0
        while count < len(waiting):
            size += _size_of(waiting[count:count + 1])
            if count > 0 and size > self._at_once:
                break
            count += 1
        lines, waiting[:count] = waiting[:count], []
        return lines

    def _lose(self, why: Exception) -> None:
        self._is_lost = True
        self.ask_to_stop(why)

    def _patience(self) -> float:
        """Of one try."""
        return max(1.0, self._worker._lease_for / 3)

    def _post(self, verb: str, body: Dict[str, Any], until: float, on_loss: Callable[[HandoffError], object] = lambda _: None,
              timeout: Optional[float] = None) -> None:
        timeout = timeout or self._patience()
        self._handoff.call("POST", f"/v1/tasks/{self.attempt.id}/{verb}", {"lease": self._lease, **body}, timeout=timeout, until=until, on_loss=on_loss)

    # -- What became of it -----------------------------------------------------------------------------

    def _tell(self, error: Optional[BaseException], result: Any) -> None:
        why = self.attempt.why
        if isinstance(why, CancelledError):
            return self._worker._count("cancelled")
        if _is_over(why) and why is not None and why.__cause__ is None:  # The server has said so.
            return self._worker._count("stale")
        if error is None:
            try:
                _dumps(result)
            except (TypeError, ValueError, RecursionError) as problem:
                return self._refuse(problem, is_for_good=True)
            return self._conclude("done", {"result": result}, "done")
        if isinstance(error, Defer):
            return self._conclude("defer", {"for": error.later}, "deferred")
        if isinstance(error, Fail):
            return self._conclude("fail", {"error": _well_formed(str(error)), "dead": True}, "failed")
        if isinstance(error, Retry):
            return self._conclude("fail", {"error": _well_formed(str(error)), "retry_in": error.after}, "failed")
        if isinstance(why, StoppingError):
            return self._conclude("release", {}, "given_back")
        if _is_over(why):  # Unconfirmed for a whole lease, and not finished: others try it again.
            return self._worker._count("stale")
        text = _text_of(error)
        if isinstance(why, TimedOutError):
            text = str(why) if error is why else _well_formed(f"{why}: {text}")
        self._conclude("fail", {"error": text}, "failed")

    def _conclude(self, verb: str, body: Dict[str, Any], count: str) -> None:
        """Said again until it is answered, or the lease has ended. Who gives it back is about to end, and cannot wait for long."""
        losses: List[HandoffError] = []
        now = time.monotonic()
        soon = now + self._handoff.retry_for
        try:
            self._post(verb, body, min(soon, now + _ENDS_WITHIN) if verb == "release" else max(self._until, soon), losses.append)
        except (HandoffError, TypeError, ValueError) as error:
            if isinstance(error, CancelledError):
                return self._worker._count("cancelled")
            is_refused = not isinstance(error, HandoffError) or error.code in ("bad_request", "too_large")
            if is_refused and set(body) - {"error"}:
                return self._refuse(error, is_for_good=verb == "done")
            # It was heard the first time, and only the answer was lost: that ended the lease. "done" is answered each time.
            if not (losses and verb != "done" and isinstance(error, StaleLeaseError)):
                _log.error('task %s: could not say "%s", so that it is tried again when its lease ends: %s', self.attempt.id, verb, error)
                return self._worker._count("stale")
        self._worker._count(count)

    def _refuse(self, problem: BaseException, *, is_for_good: bool) -> None:
        """What a handler has returned or raised cannot be sent. A result will be no better next time."""
        text = _well_formed(f"what the handler says cannot be kept: {_text_of(problem)}")
        if not is_for_good:
            return self._conclude("fail", {"error": text}, "failed")
        try:
            self._post("fail", {"error": text, "dead": True}, max(self._until, time.monotonic() + self._handoff.retry_for))
            self._worker._count("failed")
        except HandoffError:
            self._worker._count("stale")


def _well_formed(text: str) -> str:
    """Halves of characters are no UTF-8."""
    return text[:_LONGEST_ERROR].encode("utf-8", "replace").decode()


def _size_of(lines: List[str]) -> int:
    return sum(len(each.encode()) for each in lines)


def _text_of(error: BaseException) -> str:
    try:
        return _well_formed(f"{type(error).__name__}: {error}")
    except Exception:
        return f"{type(error).__name__}, which cannot be shown"
