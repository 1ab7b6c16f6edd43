"""The command: python -m tally reduce sum numbers.txt. SPDX-License-Identifier: Apache-2.0"""
import os
import signal
import sys


def main():
    # Python ignores these two, and a program that it starts would, too: `tally ... | head` then ends in an error.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tally")
    os.execv(command, ["tally", *sys.argv[1:]])


if __name__ == "__main__":
    main()
