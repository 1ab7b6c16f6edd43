"""The command: python -m tally reduce sum numbers.txt. SPDX-License-Identifier: Apache-2.0"""
import os
import shutil
import signal
import sys


def main():
    # Python ignores these two, and a program that it starts would, too: `tally ... | head` then ends in an error.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tally")
    # A distribution's package has no copy of the command: it is installed apart.
    command = command if os.path.exists(command) else shutil.which("tally")
    if command is None:
        sys.exit("python -m tally: the command tally is not installed")
    os.execv(command, ["tally", *sys.argv[1:]])


if __name__ == "__main__":
    main()
