#!/usr/bin/env python3
"""The progress line appears on a terminal after a second of work, is wiped away, and appears nowhere else.

usage: progress.py TALLY
"""
import os
import pty
import subprocess
import sys
import time

TALLY = sys.argv[1]


def feed(pieces, pause, stderr):
    command = subprocess.Popen([TALLY, "reduce", "sum", "--raw", "--dtype", "u8"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=stderr)
    for _ in range(pieces):
        command.stdin.write(bytes(5_000_000))
        command.stdin.flush()
        time.sleep(pause)
    command.stdin.close()
    assert command.stdout.read() == b"0\n" and command.wait() == 0
    return command


def on_terminal(pieces, pause):
    terminal, other_end = pty.openpty()
    feed(pieces, pause, other_end)
    os.close(other_end)
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    return shown


slow = on_terminal(8, 0.3)
assert b"GB/s" in slow and slow.endswith(b"\r\x1b[K"), slow
quick = on_terminal(2, 0)
assert quick == b"", quick
piped = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
feed(8, 0.3, piped.stdin)
assert piped.communicate()[0] == b""
print("progress: ok")
