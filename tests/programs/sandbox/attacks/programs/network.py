"""The network, of every family."""

from __future__ import annotations

from tests.programs.sandbox.attacks.attack import Attack, answers, attacks, listens, reached

NETWORK = (
    *attacks(
        reached,
        {
            "a connection over TCP": """
                import socket
                socket.create_connection(('127.0.0.1', int('@TCP@'))).sendall(b'@TOKEN@')
                """,
            "a connection over TCP and IPv6": """
                import socket
                socket.create_connection(('::1', int('@TCP6@'))).sendall(b'@TOKEN@')
                """,
            "a datagram over UDP": """
                import socket
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'@TOKEN@', ('127.0.0.1', int('@UDP@')))
                """,
            "a datagram over UDP and IPv6": """
                import socket
                socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'@TOKEN@', ('::1', int('@UDP6@')))
                """,
            "a Unix socket by its path": """
                import socket
                mine = socket.socket(socket.AF_UNIX)
                mine.connect('@FOLDER@/socket')
                mine.sendall(b'@TOKEN@')
                """,
            "a Unix socket without a path": r"""
                import socket
                mine = socket.socket(socket.AF_UNIX)
                mine.connect('\x00@TOKEN@')
                mine.sendall(b'@TOKEN@')
                """,
            "a datagram from one end of a pair": """
                import socket
                pairs = []
                for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                    try:
                        pairs.append(socket.socketpair(socket.AF_UNIX, kind))
                    except OSError as error:
                        print(error)
                for pair in pairs:
                    for one in pair:
                        for send in (lambda: one.sendto(b'@TOKEN@', '@FOLDER@/datagram'),
                                     lambda: one.sendmsg([b'@TOKEN@'], [], 0, '@FOLDER@/datagram'),
                                     lambda: (one.connect('@FOLDER@/datagram'), one.send(b'@TOKEN@')),
                                     lambda: (one.connect('@FOLDER@/socket'), one.send(b'@TOKEN@'))):
                            try:
                                send()
                            except OSError as error:
                                print(error)
                """,
            "a message over netlink": """
                import socket
                mine = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 2)
                mine.sendto(b'@TOKEN@' * 3, (int('@NETLINK@'), 0))
                """,
        },
    ),
    Attack(
        "a server over TCP",
        listens,
        """
        import socket, time
        mine = socket.socket()
        mine.bind(('127.0.0.1', int('@FREE@')))
        mine.listen()
        time.sleep(0.8)
        """,
    ),
    *attacks(
        answers,
        {
            "a server on no port of its choice": """
                import errno, socket
                mine = socket.socket()
                mine.listen()
                print('call', 'listen', 0)
                """,
            "sockets of every family and kind": """
                import ctypes, os, platform
                libc = ctypes.CDLL(None, use_errno=True)
                for family in range(1, 46):
                    for kind in (1, 2, 3, 5):
                        fd = libc.syscall(198 if platform.machine() == 'aarch64' else 41, family, kind, 0)
                        error = 0 if fd >= 0 else ctypes.get_errno()
                        # EAFNOSUPPORT, ESOCKTNOSUPPORT, EPROTONOSUPPORT: the kernel looked and has none.
                        print('call', f'socket({family},{kind})', error)
                """,
            "pairs of every family but Unix": """
                import ctypes, platform
                libc = ctypes.CDLL(None, use_errno=True)
                pair = (ctypes.c_int * 2)()
                for family in (2, 10, 16, 17, 30, 31, 38, 40, 44):
                    libc.syscall(199 if platform.machine() == 'aarch64' else 53, family, 1, 0, pair)
                    print('call', f'socketpair({family})', ctypes.get_errno())
                """,
        },
    ),
)
