"""Files: leaving them, changing them, and poisoning what others import."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import Attack, appears, carried, either, swells

_PLACES = "('.', '@FOLDER@', '/tmp', '/var/tmp', '/dev/shm')"

FILES = (
    Attack(
        "a file left behind",
        appears,
        f"""
        for place in {_PLACES}:
            try:
                open(place + '/@TOKEN@', 'w').write('here')
            except OSError as error:
                print(error)
        """,
    ),
    Attack(
        "a large file",
        either(appears, swells),
        f"""
        for place in {_PLACES}:
            try:
                with open(place + '/@TOKEN@', 'wb') as file:
                    for _ in range(300):
                        file.write(bytes(1 << 20))
            except OSError as error:
                print(error)
        """,
        alone=True,
        harmful=True,
    ),
    Attack(
        "thousands of files",
        appears,
        f"""
        for place in {_PLACES}:
            for number in range(400):
                try:
                    open(place + '/@TOKEN@' + str(number), 'w').close()
                except OSError as error:
                    print(error)
                    break
        """,
    ),
    Attack(
        "folders, pipes and links left behind",
        appears,
        """
        import os
        for make in (os.mkdir, os.mkfifo, os.mknod, lambda path: os.symlink('/', path)):
            try:
                make('@FOLDER@/@TOKEN@')
            except OSError as error:
                print(error)
        """,
    ),
    Attack("a file emptied", appears, "import os\nos.truncate('@FOLDER@/secret.txt', 0)"),
    Attack("a file overwritten", appears, "open('@FOLDER@/secret.txt', 'r+').write('mine')"),
    Attack("a file removed", appears, "import os\nos.unlink('@FOLDER@/secret.txt')"),
    Attack(
        "a file moved away",
        appears,
        "import os\nos.rename('@FOLDER@/secret.txt', '@FOLDER@/home/@TOKEN@')",
    ),
    Attack("another mode for a file", appears, "import os\nos.chmod('@FOLDER@/secret.txt', 0o600)"),
    Attack(
        "another date for a file", appears, "import os\nos.utime('@FOLDER@/secret.txt', (5, 5))"
    ),
    Attack("another owner for a file", appears, "import os\nos.chown('@FOLDER@/secret.txt', 1, 1)"),
    Attack(
        "a new attribute for a file",
        appears,
        "import os\nos.setxattr('@FOLDER@/secret.txt', 'user.mine', b'x')",
    ),
    Attack(
        "one more name for a file",
        appears,
        "import os\nos.link('@FOLDER@/secret.txt', '@FOLDER@/@TOKEN@')",
    ),
    Attack(
        "a module in the standard library",
        appears,
        """
        import os
        open(os.path.dirname(os.__file__) + '/@TOKEN@.py', 'w').write('')
        """,
        harmful=True,
    ),
    Attack(
        "a module among the sandbox's own",
        appears,
        "open('@SOURCES@/@TOKEN@.py', 'w').write('')",
        harmful=True,
    ),
    Attack(
        "a poisoned import for the next run",
        carried,
        """
        import sys
        word = sys.stdin.read()
        for place in ('.', '@FOLDER@', '/tmp'):
            try:
                if word:
                    open(place + '/poison_@TOKEN@.py', 'w').write('print(' + repr(word) + ')')
            except OSError as error:
                print(error)
        sys.path += ['.', '@FOLDER@']
        try:
            import poison_@TOKEN@
        except ImportError as error:
            print(error)
        """,
        again=True,
        harmful=True,
    ),
    Attack(
        "its own source rewritten for the next run",
        carried,
        """
        import sys
        word = sys.stdin.read()
        if word:
            open(__file__, 'w').write('print(' + repr(word) + ')')
        """,
        again=True,
    ),
)
