# SPDX-License-Identifier: Apache-2.0
"""Lets threadpoolctl limit Tally's threads: importing this module registers a controller.

    import tally.threadpool, threadpoolctl
    with threadpoolctl.threadpool_limits(1): ...
"""
import threadpoolctl

from . import __version__, get_threads, set_threads


class Controller(threadpoolctl.LibController):
    """Of the pool that all callers of the process share."""

    user_api = "tally"
    internal_api = "tally"
    filename_prefixes = ("libtally.",)

    def get_num_threads(self):
        return get_threads()

    def set_num_threads(self, num_threads):
        set_threads(num_threads)

    def get_version(self):
        return __version__


threadpoolctl.register(Controller)
