# SPDX-License-Identifier: Apache-2.0
"""The command: python -m tally, and the script tally. It lies in this folder."""
import os
import sys


def main():
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tally")
    if not os.path.exists(command):
        sys.exit(f"tally: there is no command at {command}")
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
