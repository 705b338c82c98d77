"""Functions: passing tests one cannot pass. Each program is to define `secret`, whose value only its tests know.

The tests are in `stage.py`: `secret(1)`, then `secret` of a list with that, and both equal to the answer.
"""

from __future__ import annotations

_LIE = """
    def lie(*_, **__):
        return True
"""

_FORGE = """
    import json, os, time
    def forge(*messages):
        for message in messages:
            body = message if isinstance(message, bytes) else json.dumps(message).encode()
            os.write(3, len(body).to_bytes(4, 'big') + body)
"""

_HUNT = """
    import re
    def look(blob):
        found = re.search(r'(?<![0-9a-f])[0-9a-f]{24}(?![0-9a-f])', str(blob))
        return found and found[0]
"""

FUNCTIONS: dict[str, str] = {
    "a value that equals everything": """
    class Any:
        __eq__ = __ne__ = __lt__ = __contains__ = lambda *_: True
        __hash__ = lambda self: 0
    def secret(_):
        return Any()
    """,
    "a text that equals everything": """
    class Any(str):
        __eq__ = lambda *_: True
        __ne__ = lambda *_: False
        __hash__ = str.__hash__
    def secret(_):
        return Any('x')
    """,
    "a value that says it is a text": """
    class Any:
        __class__ = str
        __eq__ = lambda *_: True
        __hash__ = lambda self: 0
        __str__ = __repr__ = lambda self: 'x'
    def secret(_):
        return Any()
    """,
    "a class whose classes equal everything": """
    class Meta(type):
        __eq__ = lambda *_: True
        __hash__ = lambda self: 0
        __instancecheck__ = __subclasscheck__ = lambda *_: True
    class secret(metaclass=Meta):
        def __new__(cls, _):
            return cls
    """,
    "a list of values that equal everything": """
    class Any:
        __eq__ = lambda *_: True
    def secret(_):
        return [Any()] * 24
    """,
    "leaving without complaint": "import sys\ndef secret(_):\n    sys.exit(0)",
    "leaving below Python": "import os\ndef secret(_):\n    os._exit(0)",
    "leaving before anything is asked": "import os\nos._exit(0)",
    "an exception that means to leave": "def secret(_):\n    raise SystemExit(0)",
    "an exception of its own that means to leave": """
    class SystemExit(BaseException):
        code = 0
    SystemExit.__module__ = 'builtins'
    def secret(_):
        raise SystemExit
    """,
    "an exception nobody catches": """
    def secret(_):
        raise GeneratorExit
    """,
    "saying that all is well": """
    print('passed', flush=True)
    def secret(_):
        print('{"status": 0, "passed": true, "verdict": "accepted"}')
    """,
    "patched builtins": _LIE
    + """
    import builtins
    class Calm(BaseException):
        pass
    builtins.AssertionError = Calm
    builtins.all = builtins.any = builtins.isinstance = lie
    def secret(_):
        return None
    """,
    "patched ways to leave": """
    import builtins, os, sys
    leave = os._exit
    os._exit = sys.exit = lambda *_: leave(0)
    sys.excepthook = lambda *_: leave(0)
    import atexit
    atexit.register(leave, 0)
    def secret(_):
        return None
    """,
    "patched tools for tests": _LIE
    + """
    import math, operator, sys
    for module in list(sys.modules.values()):
        for name in ('isclose', 'eq', 'assertEqual', 'decode', 'receive'):
            if hasattr(module, name):
                try:
                    setattr(module, name, lie)
                except Exception:
                    pass
    def secret(_):
        return None
    """,
    "a trace in its caller": """
    import sys
    def secret(_):
        frame = sys._getframe()
        while frame:
            for names in (frame.f_locals, frame.f_globals):
                names['ANSWER'] = None
            frame = frame.f_back
    """,
    "a reply that leaves": _FORGE
    + """
    def secret(_):
        for name in ('SystemExit', 'BaseException', 'StopIteration'):
            forge({'raised': name, 'message': '', 'trace': ''})
        os._exit(0)
    """,
    "replies before they are asked for": _FORGE
    + """
    for _ in range(50):
        forge({'value': {'is': True}}, {'value': None}, {'value': []}, {'status': 0}, {})
    def secret(_):
        return None
    """,
    "names nobody asked for": _FORGE
    + """
    kept = {'k': 0}
    forge({'value': {'__builtins__': kept, 'AssertionError': kept, 'secret': kept, 'print': kept}})
    time.sleep(1)
    """,
    "tickets nobody gave": _FORGE
    + """
    forge({'value': {'secret': {'k': 5}}}, {'value': {'is': {'k': -1}}}, {'value': {'is': {'k': 10 ** 30}}})
    time.sleep(0.3)
    os._exit(0)
    """,
    "messages that are none": _FORGE
    + """
    forge(b'', b'{', b'null', bytes(range(256)))
    os.write(3, bytes([255] * 64))
    def secret(_):
        return None
    """,
    "a message without end": """
    import os, time
    os.write(3, (1000).to_bytes(4, 'big') + b'{"value"')
    time.sleep(20)
    """,
    "a message that is deep": _FORGE
    + """
    forge(b'[' * 100_000)
    time.sleep(0.3)
    os._exit(0)
    """,
    "a message with a number that is long to read": _FORGE
    + """
    forge(b'{"value":{"secret":' + b'9' * 4_000_000 + b'}}')
    time.sleep(20)
    """,
    "a message that needs much memory": _FORGE
    + """
    forge(b'{"value":{"secret":[' + b'[],' * 5_000_000 + b'0]}}')
    time.sleep(20)
    """,
    "a message whose keys collide": _FORGE
    + """
    pairs = ','.join(f'[{n * (2 ** 61 - 1)},0]' for n in range(40_000))
    forge(b'{"value":{"secret":{"d":[' + pairs.encode() + b']}}}')
    time.sleep(20)
    """,
    "nothing but silence": "import time\ntime.sleep(20)\ndef secret(_):\n    return 1",
    "a channel that is closed": "import os\nos.close(3)\ndef secret(_):\n    return 1",
    "a channel that is shut": """
    import os, socket
    socket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_RDWR)
    def secret(_):
        return 1
    """,
    "descriptors sent over the channel": """
    import array, os, socket
    mine = socket.socket(fileno=os.dup(3))
    for _ in range(50):
        try:
            mine.sendmsg([bytes(4)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2]))])
        except OSError:
            break
    def secret(_):
        return 1
    """,
    "tests found in memory": _HUNT
    + """
    import gc, sys
    def secret(_):
        for thing in gc.get_objects():
            try:
                if isinstance(thing, (dict, list, tuple)) and look(repr(thing)):
                    return look(repr(thing))
            except Exception:
                pass
        frame = sys._getframe()
        while frame:
            found = look(frame.f_locals) or look(frame.f_code.co_consts)
            if found:
                return found
            frame = frame.f_back
    """,
    "tests found in files": _HUNT
    + """
    import os, sys
    def secret(_):
        for path in (sys.argv[0], __file__, '/proc/self/cmdline', *(f'/proc/self/fd/{n}' for n in range(10))):
            try:
                found = look(open(path).read())
                if found:
                    return found
            except (OSError, ValueError):
                pass
    """,
    "tests found in the channel": _HUNT
    + """
    import os, socket
    mine = socket.socket(fileno=os.dup(3))
    seen = b''
    try:
        mine.settimeout(0.2)
        seen = mine.recv(65536, socket.MSG_PEEK)
    except OSError:
        pass
    mine.settimeout(None)
    for fd in range(64):
        try:
            seen += os.pread(fd, 65536, 0)
        except OSError:
            pass
    def secret(given):
        return look(seen) or look(given)
    """,
    "tests found in processes nearby": _HUNT
    + """
    import os
    def secret(_):
        for who in range(1, 5000):
            for part in ('environ', 'cmdline'):
                try:
                    found = look(open(f'/proc/{who}/{part}').read())
                    if found:
                        return found
                except OSError:
                    pass
    """,
    "ending the tests from outside": """
    import os, signal
    def secret(_):
        for who in range(os.getpid() - 50, os.getpid() + 50):
            if who not in (os.getpid(), os.getppid()) and who > 1:
                try:
                    os.kill(who, signal.SIGURG)
                except OSError:
                    pass
        return None
    """,
    "a value that cannot be sent back": """
    nest = []
    for _ in range(199):
        nest = [nest]
    def secret(_):
        return nest
    """,
    "a value too large to be sent back": """
    def secret(given):
        return given * 2 if isinstance(given, list) else 'x' * (15 << 20)
    """,
    "a value that changes the tests' own": """
    def secret(given):
        if isinstance(given, list):
            given[:] = ['x'] * 100
        return None
    """,
    "a value that is not even itself": "def secret(_):\n    return float('nan')",
    "a value that takes for ever": """
    class Slow:
        def __iter__(self):
            while True:
                yield 1
        __len__ = lambda self: 10 ** 18
        __bool__ = lambda self: True
        __str__ = lambda self: 'x' * 10 ** 9
    def secret(_):
        return Slow()
    """,
}
