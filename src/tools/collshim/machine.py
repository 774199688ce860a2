"""The machine that a program measures on, and whether it has other work."""

import os
import platform
import re
import time

BUSY = 0.5    # of a core: what a daemon or two do is less


def cpu_name():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def core_count():
    """Cores that this process may use; hardware threads of one core count once."""
    cores = set()
    for thread in os.sched_getaffinity(0):
        path = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % thread
        try:
            with open(path) as file:
                cores.add(file.read())
        except OSError:
            cores.add(thread)
    return len(cores)


def spent_ticks(path="/proc/stat"):
    """{processor: (ticks at all, idle ones)} of those that this process may use."""
    found, mine = {}, os.sched_getaffinity(0)
    try:
        with open(path) as file:
            for match in re.finditer(r"^cpu(\d+) (.*)", file.read(), re.M):
                ticks = [int(word) for word in match[2].split()[:8]]    # user to steal
                if int(match[1]) in mine:
                    # Idle, and waiting for a disk.
                    found[int(match[1])] = sum(ticks), ticks[3] + ticks[4]
    except (OSError, IndexError):
        pass
    return found


def busy_text(before=None, after=None):
    """A line where others keep processors busy, else nothing. Asked while nothing of ours runs."""
    if before is None:
        before = spent_ticks()
        time.sleep(0.25)
        after = spent_ticks()
    pairs = [(after[cpu][0] - before[cpu][0], after[cpu][1] - before[cpu][1])
             for cpu in before if cpu in after]
    busy = sum(1 - idle / ticks for ticks, idle in pairs if ticks > 0)
    if busy < BUSY:
        return ""
    return "%.1f of %d cores are busy with other work (load %.1f): times will be noise" % (
        busy, len(before), os.getloadavg()[0])
