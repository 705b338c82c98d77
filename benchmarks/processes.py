"""Processor time and memory of processes, as Linux reports them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

_EVERY = 0.5
"""Seconds between two measurements of memory."""
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class MemoryWatch:
    """Looks at the memory of processes now and then."""

    def __init__(self, processes: Sequence[int]) -> None:
        self.samples: dict[int, list[float]] = {process: [] for process in processes}

    async def look(self) -> None:
        """Note the memory of every process, again and again."""
        while True:
            for process, samples in self.samples.items():
                samples.append(_memory(process))
            await asyncio.sleep(_EVERY)

    def quarters(self, process: int) -> tuple[float, float]:
        """Megabytes on average in the second and in the last quarter."""
        samples = self.samples[process]
        quarter = max(1, len(samples) // 4)
        return fmean(samples[quarter : 2 * quarter] or samples), fmean(samples[-quarter:])


def _memory(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE / 1e6


def _stat(process: int) -> list[str]:
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def cpu_time(process: int) -> float:
    """Processor time of one process."""
    return sum(map(int, _stat(process)[11:13])) / _TICKS


def total_cpu_time() -> float:
    """Processor time that all cores were busy, with whatever."""
    user, nice, system, _, _, hardware, software, *_ = map(
        int, Path("/proc/stat").read_text().partition("\n")[0].split()[1:]
    )
    return (user + nice + system + hardware + software) / _TICKS


def cpu_time_below(process: int) -> float:
    """Processor time of everything a process started, and of everything that these started and waited for."""
    return sum(
        sum(map(int, _stat(child)[11:15])) / _TICKS + cpu_time_below(child)
        for child in children_of(process)
    )


def children_of(process: int) -> list[int]:
    """The processes that a process started and that live."""
    threads = Path(f"/proc/{process}/task").iterdir()
    return [int(child) for each in threads for child in (each / "children").read_text().split()]
