"""A command that does what it can to leave a descendant behind. Run as `hostile.py TOKEN COUNT`.

The descendants bear the token in their command line and nothing else of the attempt: no mark in the
environment, no descriptor, no session, no parent; and no signal that can be ignored ends them.
"""

import os
import signal
import sys

ESCAPED = """
import os, signal, sys, time
for number in range(1, 32):
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_IGN)
while True:
    time.sleep(60)
"""


def leave(token: str) -> None:
    if os.fork():
        os.wait()
        return
    os.setsid()
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_IGN)
    if os.fork():
        os._exit(0)
    os.setsid()
    os.closerange(0, 1024)
    os.execve(sys.executable, [sys.executable, "-c", ESCAPED, token], {})


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(int(sys.argv[2])):
        leave(sys.argv[1])
    os.write(1, b"ready\n")
    while True:
        signal.pause()
