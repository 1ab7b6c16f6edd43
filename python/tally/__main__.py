"""The command: python -m tally reduce sum numbers.txt. SPDX-License-Identifier: Apache-2.0"""
import os
import sys


def main():
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tally")
    os.execv(command, ["tally", *sys.argv[1:]])


if __name__ == "__main__":
    main()
