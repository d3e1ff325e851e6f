# SPDX-License-Identifier: Apache-2.0
"""The clock of a GPU while something is measured: asked every 50 ms of nvidia-smi, or of the files in
which the kernel's drivers of AMD's and Intel's GPUs tell it. None where neither says."""

import pathlib
import re
import shutil
import statistics
import subprocess
import threading
import time

EVERY = 0.05  # seconds
# What a measurement ends with: less than half a second of turns, counted or not, it never has.
LAST = 0.4


class Clock:
    """Listens from its making on, until it is closed."""

    def __init__(self, drm="/sys/class/drm"):
        self.seen, self.process, self.open = [], None, True  # (time, GPU, MHz)
        self.files = [*pathlib.Path(drm).glob("card*/device/pp_dpm_sclk"),
                      *pathlib.Path(drm).glob("card*/gt_act_freq_mhz")]
        self.source = "not told here"
        if shutil.which("nvidia-smi"):
            self.source = "clocks.sm of nvidia-smi"
            self.process = subprocess.Popen(
                ["nvidia-smi", "--query-gpu=index,clocks.sm", "--format=csv,noheader,nounits",
                 "-lms", str(int(EVERY * 1000))],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            self.listen(self.ask)
        elif self.files:
            self.source = str(self.files[0])
            self.listen(self.read)

    def listen(self, body):
        threading.Thread(target=body, daemon=True).start()

    def ask(self):
        for line in self.process.stdout:
            match = re.fullmatch(r"(\d+), *(\d+)\s*", line)
            if match:
                self.seen.append((time.monotonic(), match[1], int(match[2])))

    def read(self):
        while self.open:
            for file in self.files:
                try:
                    # One number; or a line a level, the one with a star is on.
                    match = re.search(r"(\d+)Mhz \*|^(\d+)$", file.read_text().strip())
                except OSError:
                    continue
                if match:
                    self.seen.append((time.monotonic(), file, int(match[1] or match[2])))
            time.sleep(EVERY)

    def now(self):
        """MHz: the median of what was seen in the last moments, of several GPUs the fastest's, which is
        the one at work; None if nothing was."""
        since, of_gpu = time.monotonic() - LAST, {}
        for when, gpu, mhz in self.seen[-1000:]:
            if when >= since:
                of_gpu.setdefault(gpu, []).append(mhz)
        return max((round(statistics.median(each)) for each in of_gpu.values()), default=None)

    def close(self):
        self.open = False
        if self.process:
            self.process.terminate()
            self.process.wait()
