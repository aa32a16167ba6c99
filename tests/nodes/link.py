#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tunnel to a server of this machine (TUTTI_NODES, tunnel=/PROGRAM), as fast as a given link.

usage: link.py HOST PORT        HOST is not looked at
    TUTTI_TEST_LINK: seconds that everything takes one way, and bytes per second; else as fast as can be
"""

import collections
import os
import socket
import sys
import threading
import time

BLOCK = 65536
MOST_BLOCKS = 64  # under way


def write_all(file, block):
    while block:
        block = block[os.write(file, block):]


def pass_on(source, target, delay, rate):
    """What is read from one file is written to the other, each byte at its time."""
    blocks, changed, room = collections.deque(), threading.Condition(), threading.Semaphore(MOST_BLOCKS)

    def write():
        while True:
            with changed:
                changed.wait_for(lambda: blocks)
                at, block = blocks.popleft()
            time.sleep(max(0.0, at - time.monotonic()))
            if not block:
                os._exit(0)  # as a tunnel does, whichever end has gone
            write_all(target, block)
            room.release()

    threading.Thread(target=write, daemon=True).start()
    free = 0.0
    while True:
        block = os.read(source, BLOCK)
        free = max(free, time.monotonic()) + len(block) / rate
        room.acquire()
        with changed:
            blocks.append((free + delay, block))
            changed.notify()
        if not block:
            return


def main():
    delay, rate = (float(word) for word in os.environ.get("TUTTI_TEST_LINK", "0 inf").split())
    server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    ways = [threading.Thread(target=pass_on, args=(source, target, delay, rate))
            for source, target in ((0, server.fileno()), (server.fileno(), 1))]
    for way in ways:
        way.start()
    for way in ways:
        way.join()


if __name__ == "__main__":
    main()
