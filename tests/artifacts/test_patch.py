"""A patch leads git from one artifact to the other."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from autoreason.artifacts.artifact import make_patch
from autoreason.artifacts.measurement import Files

TEXTS = st.lists(
    st.sampled_from(["a\n", "b\n", "\n", "c", " d\r\n", "e\x0c\n", "\u2028f\n", "-- g\n", "@@\n"]),
    max_size=8,
).map("".join)
PATHS = st.sampled_from(["a.py", "b c.txt", "d/e f/g.md", 'q"r.txt', "ü.py", "- h.md"])
ARTIFACTS = st.dictionaries(PATHS, TEXTS, max_size=4)


def write(folder: Path, files: Files) -> None:
    """An artifact on disk."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def read(folder: Path) -> Files:
    """The artifact on disk."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in found}


@settings(max_examples=25)
@given(ARTIFACTS, ARTIFACTS)
def test_git_applies_every_patch(before: Files, after: Files) -> None:
    patch = make_patch(before, after)
    assert bool(patch) is (before != after)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, before)
        if patch:
            command = ["git", "apply", "--whitespace=nowarn"]
            done = subprocess.run(command, cwd=folder, input=patch.encode(), capture_output=True)
            assert done.returncode == 0, done.stderr.decode()
        assert read(folder) == after


def test_paths_are_those_of_the_repository() -> None:
    assert make_patch({}, {"x.py": "a\n"}, "sub/").splitlines() == [
        "diff --git a/sub/x.py b/sub/x.py",
        "new file mode 100644",
        "--- /dev/null",
        "+++ b/sub/x.py",
        "@@ -0,0 +1 @@",
        "+a",
    ]
