# SPDX-License-Identifier: Apache-2.0
"""How far a long run is: one line that is written over and over on a terminal; nothing elsewhere."""

import shutil
import sys


class Progress:
    def __init__(self, total, stream=None):
        self.total, self.stream = total, stream or sys.stderr
        self.count, self.outcomes = 0, {}

    def step(self, text, outcome=None):
        """`text`: what is under way, or was done; outcomes other than None are counted."""
        self.count += 1
        if outcome is not None:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        counts = "".join(f", {count} {name}" for name, count in self.outcomes.items())
        line = f"{self.count}/{self.total}{counts}  {text}"
        self._show(line[:shutil.get_terminal_size().columns - 1])

    def done(self):
        self._show("")

    def _show(self, line):
        if self.stream.isatty():
            self.stream.write(f"\r\x1b[K{line}")
            self.stream.flush()
