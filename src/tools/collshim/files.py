"""Files as the library writes them (base/file.c), and JSON."""

import contextlib
import json
import os
import re
import stat
import tempfile

from collshim.failure import Failure


def read_json(path):
    """None where there is no file, or another one."""
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def is_open_file(path):
    """/dev/stdout leads there."""
    return bool(re.fullmatch(r"/proc/(self|\d+)/fd/\d+", path))


def followed(path):
    """Where a link leads that is ours or root's; another user's is taken for a file."""
    for _ in range(40):
        with contextlib.suppress(FileNotFoundError):
            link = os.lstat(path)
            if (stat.S_ISLNK(link.st_mode) and link.st_uid in (0, os.geteuid()) and
                    link.st_nlink == 1 and not is_open_file(path)):
                path = os.path.join(os.path.dirname(path), os.readlink(path))
                continue
        break
    return os.path.abspath(path)


def write_whole(path, text):
    """All of it or nothing, for its owner alone unless the old file was for more. What is
    unfinished has a name that nobody can have guessed and put something else under."""
    try:
        write_target(followed(path), text)
    except OSError as error:
        raise Failure(1, "%s cannot be written: %s" % (path, error.strerror))


def write_target(target, text):
    mode = os.lstat(target).st_mode if os.path.lexists(target) else None
    if is_open_file(target) or (mode and not stat.S_ISREG(mode) and not stat.S_ISLNK(mode)):
        with open(target, "a") as file:
            file.write(text)
        return
    handle, unfinished = tempfile.mkstemp(prefix="." + os.path.basename(target) + ".",
                                          dir=os.path.dirname(target))
    try:
        with open(handle, "w") as file:
            file.write(text)
            if mode and stat.S_ISREG(mode) and os.lstat(target).st_uid == os.geteuid():
                os.fchmod(handle, mode & 0o777)
        os.replace(unfinished, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
