"""A result as a branch of the user's repository, without touching its working tree or its index."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from autoreason.artifacts.artifact import changes_between
from autoreason.artifacts.measurement import Files
from autoreason.errors import InvalidInput

_FILE = "100644"


class Repository:
    """The repository that a folder belongs to."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise InvalidInput(f"there is no folder {folder}; check the name")
        self._folder = folder
        self._index = ""
        found = self._try("rev-parse", "--show-prefix")
        if found is None:
            raise InvalidInput(
                f"{folder.resolve()} is in no git repository; name the task's FOLDER"
            )
        self.prefix = found

    @classmethod
    def find(cls, folder: Path) -> Repository | None:
        """The repository of a folder; None where it is in none."""
        try:
            return cls(folder)
        except InvalidInput:
            return None

    def commit(self, branch: str, start: Files, result: Files, message: str) -> str:
        """A new branch with one commit on HEAD that leads from the start to the result; its name."""
        named = self._try("check-ref-format", "--branch", branch)
        if named != branch or branch == "@" or branch.startswith("refs/"):
            raise InvalidInput(f"{branch!r} cannot be the name of a branch; choose another")
        reference = f"refs/heads/{branch}"
        if self._try("rev-parse", "--quiet", "--verify", reference) is not None:
            raise InvalidInput(f"there is a branch {branch} already; choose another name")
        head = self._try("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        if head is None:
            raise InvalidInput("the repository has no commit yet; commit the start first")
        modes = self._check_start(start, result)
        if any(self._try("var", f"GIT_{who}_IDENT") is None for who in ("AUTHOR", "COMMITTER")):
            raise InvalidInput(
                "git does not know who commits; say it with `git config user.name NAME` and "
                "`git config user.email ADDRESS`"
            )
        with tempfile.TemporaryDirectory() as scratch:
            self._index = str(Path(scratch, "index"))
            self._git("read-tree", head)
            for path, text in changes_between(start, result).items():
                if text is None:
                    self._git("update-index", "--force-remove", "--", path)
                else:
                    blob = self._hash(path, text, "-w")
                    entry = f"{modes.get(path, _FILE)},{blob},{self.prefix}{path}"
                    self._git("update-index", "--add", "--cacheinfo", entry)
            tree = self._git("write-tree")
        commit = self._git("commit-tree", tree, "-p", head, "-m", message)
        # Only where it is still not there.
        self._git("update-ref", reference, commit, "0" * len(commit))
        return commit

    def _check_start(self, start: Files, result: Files) -> dict[str, str]:
        """The modes of the artifact's files at HEAD, which must be as they were at the start."""
        modes = {}
        for path in {**start, **result}:
            listed = self._git("ls-tree", "HEAD", "--", path).split()
            if path not in start:
                if listed:
                    raise InvalidInput(
                        f"{path} is new in the result but is there at HEAD; move to the commit that "
                        "the run started from"
                    )
                continue
            if not listed or listed[2] != self._hash(path, start[path]):
                what = "differs at HEAD from the start of the run" if listed else "is not at HEAD"
                raise InvalidInput(
                    f"{path} {what}; name the task's FOLDER where this is another, commit the start, "
                    "or move to the commit that has it"
                )
            modes[path] = listed[0]
        return modes

    def _hash(self, path: str, text: str, *more: str) -> str:
        """The name of a text as an object, after what the repository does to files of that path."""
        return self._git("hash-object", *more, f"--path={path}", "--stdin", text=text)

    def _try(self, *arguments: str) -> str | None:
        done = self._run(arguments, "")
        return done.stdout.decode().strip() if done.returncode == 0 else None

    def _git(self, *arguments: str, text: str = "") -> str:
        done = self._run(arguments, text)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
            raise InvalidInput(f"git {arguments[0]} failed: {lines[-1].removeprefix('fatal: ')}")
        return done.stdout.decode().strip()

    def _run(self, arguments: tuple[str, ...], text: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "LC_ALL": "C"}
        environment.pop("GIT_INDEX_FILE", None)
        if self._index:
            environment["GIT_INDEX_FILE"] = self._index
        try:
            return subprocess.run(
                ["git", *arguments],
                cwd=self._folder,
                env=environment,
                input=text.encode(),
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise InvalidInput("git is not installed; install it") from None
