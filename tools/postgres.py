"""A PostgreSQL server of one's own in a folder, for tests and benchmarks; as root, it is run as another user."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import quote

_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
}
_CLUSTER = ("--no-sync", "--auth=trust", "--username=tests", "--no-locale", "--encoding=UTF8")
_QUICKLY = {
    "autovacuum": "off",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
}
_names = count(1)


@dataclass(frozen=True)
class Server:
    """A cluster in a folder, reached by a socket in it; anyone who can reach it is its administrator."""

    folder: Path

    @property
    def data(self) -> Path:
        """Its files."""
        return self.folder / "data"

    def url(self, database: str, user: str = "tests", password: str = "") -> str:
        """The URL of a database."""
        login = f"{user}:{password}@" if password else f"{user}@"
        return f"postgresql://{login}/{database}?host={quote(str(self.folder), safe='')}"

    def create(self, name: str = "") -> str:
        """A new database; returns its URL."""
        name = name or f"test_{os.getpid()}_{next(_names)}"
        self.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def execute(self, *statements: str, database: str = "postgres") -> None:
        """Statements of an administrator."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def begin(self, *, durable: bool = False) -> None:
        """Create the cluster where there is none, and start it."""
        if not self.data.exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.geteuid() == 0:
                os.chown(self.folder, _user().pw_uid, _user().pw_gid)
            _call("initdb", *_CLUSTER, "-D", str(self.data))
            rules = self.data / "pg_hba.conf"
            rules.write_text("local all known scram-sha-256\n" + rules.read_text())
        settings = {**_SETTINGS, **({} if durable else _QUICKLY)}
        settings["unix_socket_directories"] = str(self.folder)
        chosen = " ".join(f"-c {name}='{value}'" for name, value in settings.items())
        self._control("start", "-l", str(self.folder / "log"), "-o", chosen)

    def stop(self, how: str = "fast") -> None:
        """End it, and every connection to it."""
        self._control("stop", "-m", how)

    def restart(self) -> None:
        """End every connection to it, and start it again."""
        self._control("restart", "-m", "fast")

    def remove(self) -> None:
        """Stop it if it runs, and leave nothing behind."""
        if (self.data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
        Path(f"{self.folder}.lock").unlink(missing_ok=True)

    def _control(self, *arguments: str) -> None:
        _call("pg_ctl", "-D", str(self.data), "-w", *arguments)


def _user() -> pwd.struct_passwd:
    """Whom a server is run as: it refuses to be root's."""
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _call(command: str, *arguments: str) -> None:
    program = find_program(command)
    assert program
    who = _user() if os.geteuid() == 0 else None
    completed = subprocess.run(
        [program, *arguments],
        stdin=subprocess.DEVNULL,
        # The server would inherit a pipe, and its reader wait for ever.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if command == "initdb" else subprocess.DEVNULL,
        cwd="/",
        user=who.pw_uid if who else None,
        group=who.pw_gid if who else None,
        extra_groups=[] if who else None,
        check=False,
    )
    if completed.returncode:
        raise RuntimeError(f"{command} {' '.join(arguments)} failed: {completed.stderr!r}")


def find_program(name: str) -> str | None:
    """One of the server's programs; Debian has those of each version in a folder of its own."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    folders = os.pathsep.join([os.environ.get("PATH", ""), *map(str, reversed(versions))])
    return shutil.which(name, path=folders)
