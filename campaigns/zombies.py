"""A campaign: executions whose controllers are killed and stopped at random, and what comes of it.

    python campaigns/zombies.py [--executions 200] [--seconds 120] [--seed N]

Controllers (``authority.py``'s worth of work each: submit or pick up, dispatch, attend, wait) and
recoverers run as processes of their own on one SQLite ledger. For the given time one of them is
killed with SIGKILL, or stopped with SIGSTOP and woken again after its lease may have run out, every
few moments; then they are left in peace until all is over. At the end it is counted, at the
provider and in the ledger:

* every execution is concluded, with one outcome or an honest failure within its attempts;
* each attempt started its command at most once;
* no process carries a mark of this ledger, nothing is owed, the ledger is sound.

Everything happens in a temporary folder; only processes that this program started are signalled, by
their handle. It exits with 1 when a count is wrong, and prints the seed that repeats its choices.
"""

import argparse
import collections
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

import tenure
from tenure.machine.scan import processes_with_environment
from tenure.wire import attempt_folder

CONTROLLERS = 6
RECOVERERS = 2
ATTEMPTS_MAX = 3
PEACE_SECONDS = 240
STOP_SECONDS = 20.0
"""Longer than a lease: whoever wakes then has lost it."""


async def control(url: str, numbers: list[int], folder: Path) -> None:
    """Carry executions out: each is submitted, dispatched and attended, by whoever comes first."""
    async with tenure.open_ledger(url) as ledger:
        authority = tenure.open_authority(ledger)
        limiter = anyio.CapacityLimiter(10)

        async def carry_out(number: int) -> None:
            async with limiter:
                execution_id = f"e-{number}"
                try:
                    await authority.submit(
                        execution_id=execution_id, submission=submission(number, folder)
                    )
                    dispatch = await authority.dispatch(execution_id=execution_id)
                    if dispatch is not None:
                        await authority.attend(dispatch)
                    await authority.wait(execution_id=execution_id)
                except tenure.WorldError:
                    await anyio.sleep(1)  # another round of this program will look again

        async with anyio.create_task_group() as group:
            for number in numbers:
                group.start_soon(carry_out, number)


async def recover(url: str) -> None:
    """Work off what is owed and begin what is due, until killed."""
    async with tenure.open_ledger(url) as ledger:
        authority = tenure.open_authority(ledger)
        while True:
            try:
                await authority.controller.run_pass()
                for dispatch in await authority.retry_due():
                    await authority.hand_off(dispatch, reason="left to the next pass")
            except tenure.WorldError:
                pass
            await anyio.sleep(1)


def submission(number: int, folder: Path) -> tenure.ExecutionSubmission:
    """Ask for a short command that counts its runs; every seventh fails, every ninth lingers."""
    seconds = (number % 10) / 4
    end = 3 if number % 7 == 0 else 0
    linger = "(setsid sleep 600 &) ;" if number % 9 == 0 else ""
    script = (
        f"echo run >> {folder}/$TENURE_EXECUTION_ATTEMPT_ID; {linger} sleep {seconds}; exit {end}"
    )
    return tenure.ExecutionSubmission(
        workflow_id="campaign",
        instruction={"command": ["sh", "-c", script], "cwd": "/"},
        provider_ids=("detached",),
        attempts_max=ATTEMPTS_MAX,
        retry_failed=number % 14 == 0,
        retry_delay_ms=200,
    )


class Fleet:
    """The processes of this campaign."""

    def __init__(self, folder: Path, executions: int, chance: random.Random) -> None:
        """Start nothing yet."""
        self.folder = folder
        self.executions = executions
        self.chance = chance
        self.running: list[subprocess.Popen[bytes]] = []
        self.stopped: list[tuple[float, subprocess.Popen[bytes]]] = []
        self.kills = 0
        self.stops = 0

    def fill(self) -> None:
        """See that there are as many controllers and recoverers as there should be."""
        self.running = [process for process in self.running if process.poll() is None]
        while len(self.running) < CONTROLLERS + RECOVERERS:
            role = "recover" if self.chance.random() < RECOVERERS / CONTROLLERS else "control"
            log = (self.folder / "controllers.log").open("ab")
            self.running.append(
                subprocess.Popen(
                    [sys.executable, __file__, "--role", role, "--folder", str(self.folder),
                     "--executions", str(self.executions), "--seed", str(self.chance.random())],
                    env={**os.environ, "TENURE_STATE_DIR": str(self.folder / "state")},
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                )
            )  # fmt: skip
            log.close()

    def harm(self) -> None:
        """Kill one, or stop one for longer than a lease."""
        victim = self.chance.choice(self.running)
        if self.chance.random() < 0.6:
            victim.kill()
            self.kills += 1
            return
        self.running.remove(victim)
        victim.send_signal(signal.SIGSTOP)
        self.stopped.append((time.monotonic() + STOP_SECONDS, victim))
        self.stops += 1

    def wake(self, *, everybody: bool = False) -> None:
        """Wake who has been stopped for long enough."""
        now = time.monotonic()
        for entry in [e for e in self.stopped if everybody or e[0] <= now]:
            self.stopped.remove(entry)
            entry[1].send_signal(signal.SIGCONT)
            self.running.append(entry[1])

    def end(self) -> None:
        """End all of them."""
        self.wake(everybody=True)
        for process in self.running:
            process.kill()
            process.wait()


async def is_over(url: str, executions: int) -> bool:
    """Tell whether everything is concluded and nothing is owed."""
    async with tenure.open_ledger(url) as ledger:
        concluded = [await ledger.get_execution(execution_id=f"e-{n}") for n in range(executions)]
        if any(execution is None or execution.conclusion is None for execution in concluded):
            return False
        return not await ledger.list_open(limit=1)


async def audit(url: str, folder: Path, executions: int) -> list[str]:
    """Count what came of it; one line for each count that is wrong."""
    wrong: list[str] = []
    ends: collections.Counter[str] = collections.Counter()
    async with tenure.open_ledger(url) as ledger:
        for number in range(executions):
            execution = await ledger.get_execution(execution_id=f"e-{number}")
            if execution is None or execution.conclusion is None:
                wrong.append(f"e-{number} is not concluded")
                continue
            ends[execution.conclusion] += 1
            if execution.attempt_count > ATTEMPTS_MAX:
                wrong.append(f"e-{number} had {execution.attempt_count} attempts")
        wrong += [f"still owed: {work}" for work in await ledger.list_open(limit=10)]
        wrong += [f"ledger check: {problem}" for problem in await ledger.check()]
    runs = {path.name: path.read_text().count("run") for path in (folder / "runs").iterdir()}
    wrong += [f"attempt {name} ran {count} times" for name, count in runs.items() if count > 1]
    attempts = folder / "state" / "attempts"
    for mark in attempts.iterdir() if attempts.is_dir() else ():
        scan = processes_with_environment(attempt_folder.MARK_VARIABLE, mark.name)
        wrong += [f"process {process.pid} is left of {mark.name}" for process in scan.found]
    print(f"conclusions: {dict(ends)}; attempts that ran: {len(runs)}")
    return wrong


def campaign(executions: int, seconds: float, seed: int) -> int:
    """Run the whole campaign; 0 when every count is right."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-zombies-"))
    (folder / "runs").mkdir()
    url = f"sqlite:///{folder}/ledger.sqlite"
    fleet = Fleet(folder, executions, random.Random(seed))
    print(f"seed {seed}, {executions} executions, {seconds:g} s of harm, in {folder}")
    try:
        end_of_harm = time.monotonic() + seconds
        while time.monotonic() < end_of_harm:
            fleet.fill()
            fleet.wake()
            time.sleep(fleet.chance.uniform(0.2, 1.5))
            fleet.harm()
        fleet.wake(everybody=True)
        print(f"{fleet.kills} killed, {fleet.stops} stopped; now in peace")
        end_of_peace = time.monotonic() + PEACE_SECONDS
        while not anyio.run(is_over, url, executions) and time.monotonic() < end_of_peace:
            fleet.fill()
            time.sleep(2)
    finally:
        fleet.end()
    wrong = anyio.run(audit, url, folder, executions)
    for line in wrong:
        print(f"WRONG: {line}")
    print(f"{len(wrong)} counts are wrong" if wrong else "every count is right")
    if not wrong:
        shutil.rmtree(folder)
    return 1 if wrong else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--executions", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--seed", type=float, default=time.time_ns() % 100_000)
    parser.add_argument("--role", choices=["control", "recover"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role is None:
        return campaign(options.executions, options.seconds, int(options.seed))
    url = f"sqlite:///{options.folder}/ledger.sqlite"
    if options.role == "recover":
        anyio.run(recover, url)
    else:
        numbers = list(range(options.executions))
        random.Random(options.seed).shuffle(numbers)
        anyio.run(control, url, numbers, options.folder / "runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
