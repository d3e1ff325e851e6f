# SPDX-License-Identifier: Apache-2.0
"""Threads: how many runs take, that one pool serves all, and that the interpreter goes on meanwhile."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import tally


def threads_now():
    return len(os.listdir("/proc/self/task"))


def in_process(code, **variables):
    env = {k: v for k, v in os.environ.items() if k not in ("TALLY_THREADS", "OMP_NUM_THREADS")}
    done = subprocess.run([sys.executable, "-c", code], env={**env, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_how_many():
    code = "import tally; print(tally.get_threads())"
    cpus = str(len(os.sched_getaffinity(0)))
    for variables, wanted in (({}, cpus), ({"TALLY_THREADS": "3"}, "3"), ({"OMP_NUM_THREADS": "5"}, "5"),
                              ({"OMP_NUM_THREADS": "4,2"}, "4"), ({"OMP_NUM_THREADS": "no"}, cpus),
                              ({"TALLY_THREADS": "3", "OMP_NUM_THREADS": "5"}, "3"),
                              ({"TALLY_THREADS": "", "OMP_NUM_THREADS": "5"}, "5")):
        assert in_process(code, **variables) == [wanted], variables


def test_set_threads():
    before = tally.get_threads()
    tally.set_threads(1)
    assert tally.get_threads() == 1
    tally.set_threads(0)
    assert tally.get_threads() == before
    for wrong, shown in ((-1, -1), (-10**20, -1), (10**6, 10**6), (10**20, 2**31 - 1)):
        with pytest.raises(tally.Error, match=f"threads is {shown}, not 0 to 1024"):
            tally.set_threads(wrong)
    with pytest.raises(TypeError):
        tally.set_threads("2")


def test_the_number_changes_no_bit():
    x = np.random.default_rng(3).random((50, 40000)).astype("f4")
    one = tally.cumsum(x, axis=1, threads=1)
    assert (tally.cumsum(x, axis=1, threads=2) == one).all() and (tally.cumsum(x, axis=1) == one).all()


def test_one_pool():
    """16 callers at once need few threads beside their own."""
    x = np.ones((64, 1 << 16), "f4")
    tally.cumsum(x, axis=1)
    before, peak, stop = threads_now(), [0], threading.Event()

    def watch():
        while not stop.is_set():
            peak[0] = max(peak[0], threads_now())

    def work():
        for _ in range(5):
            assert tally.cumsum(x, axis=1)[-1, -1] == 1 << 16

    watcher = threading.Thread(target=watch)
    workers = [threading.Thread(target=work) for _ in range(16)]
    for thread in (watcher, *workers):
        thread.start()
    for thread in workers:
        thread.join()
    stop.set()
    watcher.join()
    assert peak[0] <= before + 17 + 2 * os.cpu_count()


def test_large_runs_give_up_the_lock():
    x, count, stop = np.ones((256, 1 << 16), "f4"), [0], threading.Event()
    out = np.empty_like(x)

    def counting():
        while not stop.is_set():
            count[0] += 1

    counter = threading.Thread(target=counting)
    counter.start()
    before = count[0]
    for _ in range(5):
        tally.cumsum(x, axis=1, out=out, threads=1)
    during = count[0] - before
    stop.set()
    counter.join()
    assert during > 1000


def test_many_shapes_in_many_threads():
    failures = []

    def work(seed):
        for i in range(60):
            x = np.full((5, (i * seed) % 61 + 1), 1.0)
            if not (tally.cumsum(x, axis=1)[:, -1] == x.shape[1]).all():
                failures.append(x.shape)

    workers = [threading.Thread(target=work, args=(i + 1,)) for i in range(8)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert failures == []


def test_threadpoolctl():
    threadpoolctl = pytest.importorskip("threadpoolctl", reason="skipped: threadpoolctl")
    import tally.threadpool  # noqa: F401

    before = tally.get_threads()
    mine = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "tally"]
    assert len(mine) == 1 and mine[0]["num_threads"] == before and mine[0]["version"] == tally.__version__
    with threadpoolctl.threadpool_limits(1):
        assert tally.get_threads() == 1
    with threadpoolctl.threadpool_limits(1, user_api="tally"):
        assert tally.get_threads() == 1
    assert tally.get_threads() == before
