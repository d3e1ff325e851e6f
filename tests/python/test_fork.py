# SPDX-License-Identifier: Apache-2.0
"""Children that are forked, whatever the parent is doing, compute."""
import multiprocessing
import os
import threading
import time
import warnings

import numpy as np
from conftest import tally

warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
X = np.ones((64, 1 << 16), "f4")


def child(_):
    return float(tally.cumsum(X, axis=1)[-1, -1]), float(tally.cumprod(np.full((3, 7), 2.0), axis=1)[0, -1])


def test_a_quiet_parent():
    tally.cumsum(X, axis=1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(child, range(4)) == [(1 << 16, 128.0)] * 4


def forked(body):
    """The exit status of a child, or 'hang'."""
    pid = os.fork()
    if pid == 0:
        try:
            body()
            os._exit(0)
        except BaseException as e:
            os.write(2, (repr(e) + "\n").encode())
            os._exit(7)
    end = time.time() + 30
    while time.time() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return "hang"


def test_a_parent_that_runs():
    """Runs of another thread are in flight, so that its locks may be held for ever in the child."""
    stop, runs = threading.Event(), [0]
    tally.cumsum(X, axis=1)

    def busy():
        while not stop.is_set():
            tally.cumsum(X, axis=1, threads=2)
            runs[0] += 1

    def known():
        assert tally.cumsum(X, axis=1)[-1, -1] == 1 << 16

    def new():
        assert tally.cumprod(np.full((3, os.getpid() % 50 + 3), 1.0), axis=1, reverse=True)[0, 0] == 1

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        results = [forked(known) for _ in range(15)] + [forked(new) for _ in range(5)]
    finally:
        stop.set()
        thread.join()
    assert results == [0] * 20 and runs[0] > 0
