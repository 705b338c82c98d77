"""The end of a child process, whatever becomes of the task that waits for it."""

from __future__ import annotations

import asyncio
import subprocess

_PAUSE = 0.005


async def see_off(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a process to end; one that takes longer is killed, and so it is where the waiting is cancelled.

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
