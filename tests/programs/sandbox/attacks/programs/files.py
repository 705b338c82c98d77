"""Files: leaving them, changing them, and poisoning what others import."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import Attack, appears, attacks, carried, either, swells

_PLACES = "('.', '@FOLDER@', '/tmp', '/var/tmp', '/dev/shm')"

FILES = (
    *attacks(
        appears,
        {
            "a file left behind": f"""
        for place in {_PLACES}:
            try:
                open(place + '/@TOKEN@', 'w').write('here')
            except OSError as error:
                print(error)
        """,
            "thousands of files": f"""
        for place in {_PLACES}:
            for number in range(400):
                try:
                    open(place + '/@TOKEN@' + str(number), 'w').close()
                except OSError as error:
                    print(error)
                    break
        """,
            "folders, pipes and links left behind": """
                import os
                for make in (os.mkdir, os.mkfifo, os.mknod, lambda path: os.symlink('/', path)):
                    try:
                        make('@FOLDER@/@TOKEN@')
                    except OSError as error:
                        print(error)
                """,
            "a file emptied": "import os\nos.truncate('@FOLDER@/secret.txt', 0)",
            "a file overwritten": "open('@FOLDER@/secret.txt', 'r+').write('mine')",
            "a file removed": "import os\nos.unlink('@FOLDER@/secret.txt')",
            "a file moved away": "import os\nos.rename('@FOLDER@/secret.txt', '@FOLDER@/home/@TOKEN@')",
            "another mode for a file": "import os\nos.chmod('@FOLDER@/secret.txt', 0o600)",
            "another date for a file": "import os\nos.utime('@FOLDER@/secret.txt', (5, 5))",
            "another owner for a file": "import os\nos.chown('@FOLDER@/secret.txt', 1, 1)",
            "a new attribute for a file": "import os\nos.setxattr('@FOLDER@/secret.txt', 'user.mine', b'x')",
            "one more name for a file": "import os\nos.link('@FOLDER@/secret.txt', '@FOLDER@/@TOKEN@')",
        },
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
    *attacks(
        appears,
        {
            "a module in the standard library": """
                import os
                open(os.path.dirname(os.__file__) + '/@TOKEN@.py', 'w').write('')
                """,
            "a module among the sandbox's own": "open('@SOURCES@/@TOKEN@.py', 'w').write('')",
        },
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
