# SPDX-License-Identifier: Apache-2.0
"""What the figures were measured on, and which targets hold there."""

import os
import pathlib
import platform
import subprocess

AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}


def cpu_info():
    info = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        info.setdefault(name.strip(), value.strip())
    return info


def caches():
    found = {}
    for index in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind = (index / "type").read_text().strip()
        if kind != "Instruction":
            found[f"L{(index / 'level').read_text().strip()}"] = \
                (index / "size").read_text().strip()
    return found


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def describe():
    info = cpu_info()
    pages = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {"cpu": f"{info.get('model name', platform.machine())}, family "
                   f"{info.get('cpu family', '?')} model {info.get('model', '?')}",
            "cpus": len(os.sched_getaffinity(0)), "caches": caches(),
            "memory_mib": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
            "avx512": AVX512 <= set(info.get("flags", "").split()),
            "kernel": platform.release(),
            "huge_pages": pages.read_text().strip() if pages.exists() else "unknown",
            "load_at_start": round(os.getloadavg()[0], 2)}


def versions():
    return {"python": platform.python_version(), "gcc": first_line("gcc", "-dumpfullversion"),
            "system": platform.freedesktop_os_release().get("PRETTY_NAME", "unknown"),
            "commit": first_line("git", "-C", str(pathlib.Path(__file__).parent), "describe",
                                 "--always", "--dirty")}


def level(device):
    """Whose targets hold: those of the CPU level that Tally makes kernels for."""
    if device in ("cpu", "cpu:x86-64-v4"):
        return "avx512" if AVX512 <= set(cpu_info().get("flags", "").split()) else "avx2"
    return "avx2"
