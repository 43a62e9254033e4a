"""What the tests need: the real server as a process, a proxy that loses answers, and eventually()."""

from __future__ import annotations

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Callable, Iterator, List, Optional, TypeVar

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from handoff import Handoff, Worker, WorkerReport  # noqa: E402

BINARY = os.environ.get("HANDOFF_BINARY", "handoff")
T = TypeVar("T")


def eventually(fact: Callable[[], T], what: str = "it") -> T:
    """Polls until it is true, or gives up."""
    ends = time.monotonic() + 60
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > ends:
            raise AssertionError(f"{what} never came true")
        time.sleep(0.005)


class Server:
    def __init__(self, *, tls: bool = False) -> None:
        self.folder = tempfile.mkdtemp(prefix="handoff-python-")
        self._options: List[str] = []
        self.certificate = f"{self.folder}/cert.pem"
        if tls:
            self._make_certificate()
        self.store = f"sqlite:{self.folder}/handoff.db"
        self.url = ""
        self.start()

    def _make_certificate(self) -> None:
        key = f"{self.folder}/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", self.certificate, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, stderr=subprocess.DEVNULL)
        self._options = ["--tls-cert", self.certificate, "--tls-key", key]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def start(self) -> None:
        """The second time on the same port and store."""
        listen = f"127.0.0.1:{self.port if self.url else 0}"
        log = pathlib.Path(self.folder, "log")
        with log.open("wb") as file:
            self._process = subprocess.Popen(
                [BINARY, "serve", "--listen", listen, "--store", self.store, *self._options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file)

        def url() -> Optional[str]:
            found = re.search(r'"url":"([^"]+)"', log.read_text())
            if not found and self._process.poll() is not None:
                raise AssertionError(f"the server did not start: {log.read_text()}")
            return found[1] if found else None

        self.url = eventually(url) or ""

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def end(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Proxy:
    """Passes bytes on to the server, late if it is to. An answer to a request that `loses` names is lost: the server has given it, and the connection is cut."""

    def __init__(self, port: int) -> None:
        self.loses: Callable[[str], bool] = lambda line: False
        self.delay = 0.0  # Of each request.
        self.requests: List[str] = []  # First lines.
        self.times: List[float] = []  # When they came.
        self.losses = 0
        self.answers = 0  # Parts of answers that were passed on.
        self._port = port
        self._sockets: List[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    upstream = socket.create_connection(("127.0.0.1", self._port))
                except OSError:
                    client.close()
                    continue
                self._sockets += [client, upstream]
                state = {"losing": False}
                threading.Thread(target=self._to_server, args=(client, upstream, state), daemon=True).start()
                threading.Thread(target=self._to_client, args=(client, upstream, state), daemon=True).start()

    def _to_server(self, client: socket.socket, upstream: socket.socket, state: Any) -> None:
        with contextlib.suppress(OSError):
            while data := client.recv(65536):
                line = data.split(b"\r\n", 1)[0].decode("latin1")
                if line.endswith("HTTP/1.1"):
                    self.times.append(time.monotonic())
                    self.requests.append(line)
                    state["losing"] = self.loses(line)
                    time.sleep(self.delay)
                upstream.sendall(data)
            upstream.shutdown(socket.SHUT_WR)

    def _to_client(self, client: socket.socket, upstream: socket.socket, state: Any) -> None:
        with contextlib.suppress(OSError):
            while data := upstream.recv(65536):
                if state["losing"]:
                    self.losses += 1
                    break
                self.answers += 1
                client.sendall(data)
        for each in (client, upstream):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut(self) -> None:
        """All connections, in both directions."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class Running:
    """A worker on a thread of its own."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.report: Optional[WorkerReport] = None
        self.error: Optional[BaseException] = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.report = self.worker.run()
        except BaseException as error:
            self.error = error

    def join(self) -> WorkerReport:
        self._thread.join(60)
        if self.error:
            raise self.error
        if self.report is None:
            raise AssertionError("the worker did not end")
        return self.report

    def stop(self) -> WorkerReport:
        self.worker.stop()
        return self.join()


class ServerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = Server()
        self.addCleanup(self.server.end)
        self.handoff = Handoff(self.server.url)
        self.addCleanup(self.handoff.close)

    def proxy(self) -> Proxy:
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.end)
        return proxy

    def client(self, url: str, **options: Any) -> Handoff:
        handoff = Handoff(url, **options)
        self.addCleanup(handoff.close)
        return handoff

    @contextlib.contextmanager
    def running(self, worker: Worker) -> Iterator[Running]:
        running = Running(worker)
        try:
            yield running
        finally:
            running.stop()
