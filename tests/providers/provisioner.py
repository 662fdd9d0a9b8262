"""A provisioner in a process of its own: starts attempts, says what came of it, waits to be killed.

Its input is one line of JSON: `folder`, `isolation`, `agentCommand`, `marks`, `command`, and `act`:
`wait` for the end of the input; have a `fork` that waits as well; provision the last mark
`in-fork`, whose number it prints with the answers; provision in a `thread` that has ended before it
waits; or `announce` with an empty line that it is about to call. Then it prints the answers as one
line of JSON, but for `announce`.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
from tests.providers.conftest import World

from tenure.ports.provider import ConfirmedAbsent


async def provision(world: World, marks: Sequence[str], command: list[str]) -> list[object]:
    answers: list[object] = []

    async def call(mark: str) -> None:
        answer = await world.provider.provision(await world.request(command, mark=mark))
        if isinstance(answer, ConfirmedAbsent):
            answers.append({"mark": mark, "absent": answer.evidence.summary})
        else:
            answers.append({"mark": mark, "data": answer.allocation_ref.provider_data})

    async with anyio.create_task_group() as tasks:
        for mark in marks:
            tasks.start_soon(call, mark)
    return answers


def main() -> None:
    order = json.loads(sys.stdin.readline())
    act, marks, command = order["act"], order["marks"], order["command"]
    world = World(
        Path(order["folder"]), isolation=order["isolation"], agent_command=order["agentCommand"]
    )
    answers: list[object] = []

    def start(*some: str) -> None:
        answers.extend(anyio.run(provision, world, some, command))

    if act == "announce":
        say("")
        start(*marks)
    elif act == "thread":
        thread = threading.Thread(target=start, args=marks)
        thread.start()
        thread.join()
    elif act == "in-fork":
        start(*marks[:-1])
        wait_for(lambda: start(marks[-1]), answers)
    else:
        start(*marks)
        if act == "fork":
            wait_for(lambda: None, answers)
    if act not in ("in-fork", "announce"):
        say(json.dumps(answers))
    sys.stdin.read()


def wait_for(call: Callable[[], None], answers: list[object]) -> None:
    """Fork a child that makes a call, says the answers if there are new ones, and waits."""
    if os.fork():
        return
    count = len(answers)
    call()
    if len(answers) > count:
        say(json.dumps([*answers, {"fork": os.getpid()}]))
    signal.pause()


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
