# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the command shows: a bar and lines on standard error, or with --json an object a line on standard output."""
import json
import shutil
import sys
import time

BAR = 30
SLOW = 10  # seconds between two lines of progress where there is no terminal


def clock(seconds):
    seconds = int(seconds + 0.5)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


class Show:
    def __init__(self, as_json):
        self.as_json = as_json
        self.terminal = not as_json and sys.stderr.isatty()
        self.start = self.last = time.monotonic()
        self.shown = 0

    def _print(self, text):
        if self.terminal and self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            self.shown = 0
        print(text, file=sys.stderr, flush=True)

    def tell(self, event, text, **values):
        """Something happened: `text` for people, the values for programs."""
        if self.as_json:
            print(json.dumps({"event": event, "seconds": round(time.monotonic() - self.start, 3), **values}), flush=True)
        elif text:
            self._print(f"cj2k-farm: {text}")

    def progress(self, done, total, rate, workers):
        """Frames done; frames/s in all, and of each worker."""
        now = time.monotonic()
        if now - self.last < (0.2 if self.terminal else 1 if self.as_json else SLOW):
            return
        self.last = now
        left = (total - done) / rate if rate else None
        if self.as_json:
            self.tell("progress", None, frames=done, total=total, frames_per_second=round(rate, 2),
                      seconds_left=left and round(left, 1), workers=workers)
            return
        filled = BAR * done // total
        text = f"[{'#' * filled}{'.' * (BAR - filled)}] {done}/{total} frames, {rate:.1f} frames/s, {len(workers)} at work"
        if left is not None:
            text += f", {clock(left)} left"
        if self.terminal:
            text = text[:shutil.get_terminal_size().columns - 1]
            sys.stderr.write("\r" + text + " " * max(0, self.shown - len(text)))
            sys.stderr.flush()
            self.shown = len(text)
        else:
            self._print(text)

    def table(self, heading, rows):
        """Rows of text, for people only."""
        if not self.as_json and rows:
            self._print("\n".join([heading, *("  " + row for row in rows)]))
