"""A job under a launcher: it is started, waited for, and ended with all that it has started."""

import contextlib
import ctypes
import glob
import math
import os
import signal
import subprocess
import tempfile
import time

from collshim.files import read_json
from collshim.said import last_words
from collshim.texts import minutes_text


class Done:
    """How a job ended: exit code (None: stopped by us, after `reason`), stderr, its JSON or
    None."""

    def __init__(self, code, said, result, seconds, reason=""):
        self.code, self.said, self.result = code, said, result
        self.seconds, self.reason = seconds, reason

    def words(self):
        if self.reason:
            return self.reason
        return "exit code %d: %s" % (self.code, last_words(self.said))


def follow_us():
    """In the launcher: it ends when we are killed, so that no job runs beside those of whoever goes
    on with our work."""
    libc_prctl(1, signal.SIGTERM)    # PR_SET_PDEATHSIG


try:
    libc_prctl = ctypes.CDLL(None).prctl
except (OSError, AttributeError):
    follow_us = None


def stop_job(child):
    """A launcher ends its ranks when it is asked to end; one that does not listen is killed."""
    for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            return
        try:
            child.wait(patience)
            return
        except subprocess.TimeoutExpired:
            pass


def stamp_of(path):
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


def wait_for(child, path, seconds, patience):
    """Why not to wait any longer for a job that writes the file after each case, or nothing: it has
    ended."""
    started = written = time.monotonic()
    stamp = None
    while True:
        now = time.monotonic()
        if stamp_of(path) != stamp:
            stamp, written = stamp_of(path), now
        left, quiet = started + seconds - now, written + patience - now
        if left <= 0:
            return "not done after " + minutes_text(seconds)
        if quiet <= 0:
            return "no further case done in %s (--patience)" % minutes_text(patience)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(min(left, quiet / 2 + 0.05))
            return ""


def remove_with_unfinished(path):
    """A file that a job writes, and what it may have left of it when it was killed
    (base/file.c)."""
    unfinished = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".")
    for name in [path] + glob.glob(glob.escape(unfinished) + "*"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def run_job(command, path, environment, seconds, patience=math.inf):
    """Starts the command, which writes JSON into `path`, and waits for it, at most so many seconds
    in all and so many for each case. The file is read and removed."""
    started, child, reason = time.monotonic(), None, ""
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        try:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=said, start_new_session=True, preexec_fn=follow_us,
                                     env=environment)
            reason = wait_for(child, path, seconds, patience)
        finally:
            if child and child.returncode is None:
                stop_job(child)
            result = read_json(path)
            remove_with_unfinished(path)
        said.seek(0)
        return Done(None if reason else child.returncode, said.read(), result,
                    time.monotonic() - started, reason)
