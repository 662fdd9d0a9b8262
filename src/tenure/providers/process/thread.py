"""A thread that lives as long as its process, to be the parent of what ends with the process.

The kernel tells a child of its parent's end when the *thread* that made it ends. Worker threads
come and go; this one stays, also when whoever made it is no longer used.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class KeptThread:
    """Runs calls one after the other in one thread, which starts with the first and never ends.

    After a fork the new process has a thread of its own.
    """

    def __init__(self) -> None:
        """Start nothing yet."""
        self._guard = threading.Lock()
        self._calls: SimpleQueue[Callable[[], None]] | None = None
        self._pid = 0

    def run(self, call: Callable[[], T]) -> T:
        """Make a call in the thread, and wait for what it gives or raises."""
        future: Future[T] = Future()

        def answer() -> None:
            try:
                future.set_result(call())
            except BaseException as exc:  # noqa: BLE001  (raised where it was asked for)
                future.set_exception(exc)

        self._queue().put(answer)
        return future.result()

    def _queue(self) -> SimpleQueue[Callable[[], None]]:
        with self._guard:
            if self._calls is None or self._pid != os.getpid():
                self._calls, self._pid = SimpleQueue(), os.getpid()
                name = "tenure-provisioner"
                threading.Thread(target=_serve, args=(self._calls,), name=name, daemon=True).start()
            return self._calls


def _serve(calls: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        calls.get()()
