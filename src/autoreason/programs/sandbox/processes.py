"""Waiting for a child process, also where the waiting task is cancelled."""

from __future__ import annotations

import asyncio
import subprocess

_PAUSE = 0.005


async def wait_or_kill(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a process to end; kill it if it takes longer, or if the waiting is cancelled.

    Not with asyncio's own subprocesses: one whose loop is closed while it starts can never be waited for.
    """
    try:
        for _ in range(int(seconds / _PAUSE)):
            if process.poll() is not None:
                break
            await asyncio.sleep(_PAUSE)
    finally:
        process.kill()
        process.wait()
