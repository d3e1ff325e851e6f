# SPDX-License-Identifier: Apache-2.0
"""The command: python -m tally, and the script tally. A wheel has it in this folder; else it is where commands are."""
import os
import sys


def main():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tally")
    command = beside if os.path.exists(beside) else "tally"
    try:
        os.execvp(command, [command, *sys.argv[1:]])
    except FileNotFoundError:
        sys.exit(f"tally: there is no command at {beside}, and none in PATH")


if __name__ == "__main__":
    main()
