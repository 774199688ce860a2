#!/usr/bin/python3
"""verbs-lab - RDMA verbs without RDMA hardware: runs a command in an emulated machine with
soft-RoCE devices.

  verbs-lab [options] [COMMAND...]         default: the test suite verbs, built first

  --nodes N            that many devices rxe0, rxe1, ... on interfaces of one bridge (default 4)
  --loss PERCENT       of the packets get lost on the way
  --mtu BYTES          of the interfaces (default 4200, for an RDMA MTU of 4096; 1500 gives 1024)
  --cpus N             of the guest (default 1)
  --memory MIB         of the guest (default 1536)
  --timeout SECONDS    for boot and command together (default 600)
  --still SECONDS      how long no program of the guest may run before it is given up (default 120)
  --kernel PACKAGE     a Debian kernel package, or one that depends on it (default
                       linux-image-amd64)
  --out FOLDER         what the command writes to the folder $VERBS_LAB_OUT is found there
  --verbose            the guest's console and qemu's command line too

The guest runs the kernel of a Debian package under qemu's software emulation (no KVM needed), and
its root folder is this machine's: every file is there under its own path, and what the guest writes
is gone afterwards, except in $VERBS_LAB_OUT. COMMAND runs as root, in the folder from which
verbs-lab was called, without standard input and with none of the caller's variables (env VAR=VALUE
COMMAND...). Inside, tests/launch --shape lab:2x2 starts an MPI job over several nodes with a device
each.

Ordinary users may call it too. The kernel is fetched once into $VERBS_LAB_CACHE (default
~/.cache/collshim/verbs-lab, 400 MB unpacked) and nothing of it is installed; delete the folder to
have a newer one. Other packages that are missing are installed by scripts/deps verbs.

Exit code: COMMAND's; 124 when the time is up; 125 when the guest ended in another way, or stood
still (then its kernel is made to say where), after printing its console; 77 with one sentence where
there is no qemu or no kernel to be had; 2 for wrong arguments.
"""

import argparse
import contextlib
import ctypes
import fcntl
import glob
import lzma
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
TOP = os.path.dirname(HERE)
QEMU = "qemu-system-x86_64"
# Where init finds the root folder, and with it all else.
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
# no_timer_check: on a busy host the kernel's early look at the timer fails, and the boot hangs.
# panic=-1 with -no-reboot: qemu ends at a panic. unknown_nmi_panic: where the guest stands still,
# one NMI makes it say where. The rest spares the emulation work and a busy host false alarms.
KERNEL_WORDS = ("console=ttyS0 quiet panic=-1 unknown_nmi_panic no_timer_check tsc=reliable "
                "nowatchdog mitigations=off nokaslr "
                "rcupdate.rcu_cpu_stall_suppress=1 net.ifnames=0")
PATH = "/usr/sbin:/sbin"
GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # lab/guest
PR_SET_PDEATHSIG = 1


class Stopped(Exception):
    def __init__(self, number):
        self.number = number


def say(text):
    print("verbs-lab: " + text, file=sys.stderr, flush=True)


def fail(code, text):
    say(text)
    sys.exit(code)


def unable(text):
    fail(77, text + ": not run")


def parse(argv):
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False, allow_abbrev=False)
    parser.error = lambda message: fail(2, message + " (verbs-lab --help)")
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--mtu", type=int, default=4200)
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--memory", type=int, default=1536)
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--still", type=float, default=120)
    parser.add_argument("--kernel", default="linux-image-amd64")
    parser.add_argument("--out")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args(argv)
    if args.help:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)    # | head ends it quietly
        print(__doc__, end="")
        sys.exit(0)
    if args.command[:1] == ["--"]:
        del args.command[0]
    for name, low, high in (("nodes", 1, 100), ("loss", 0, 90), ("mtu", 400, 65535),
                            ("cpus", 1, 255), ("memory", 256, 1 << 20), ("timeout", 1, 1e6),
                            ("still", 1, 1e6)):
        if not low <= getattr(args, name) <= high:
            parser.error("--%s: from %d to %d" % (name, low, high))
    if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", args.kernel):
        parser.error("--kernel: a package's name")
    return args


def suite():
    """The command that runs the test suite, after a build."""
    build = subprocess.run([os.path.join(HERE, "build")], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, text=True)
    if build.returncode != 0:
        fail(1, "the build failed")
    return [os.path.join(TOP, "tests", "verbs", "cases"), build.stdout.splitlines()[-1]]


# --- what it takes: packages, kernel, initramfs ---------------------------------------------------

def need_tools():
    def missing():
        return [tool for tool in (QEMU, "modprobe", "depmod", "rdma", "ip", "tc")
                if not shutil.which(tool)]
    if missing():
        # Its words are for the person; the exit code would be the same for all its reasons.
        subprocess.run([os.path.join(HERE, "deps"), "verbs"], stdin=subprocess.DEVNULL,
                       stdout=sys.stderr)
    if missing():
        unable("no %s here (packages: scripts/deps verbs)" % ", ".join(missing()))


def cache_folder():
    folder = os.environ.get("VERBS_LAB_CACHE")
    if not folder:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        folder = os.path.join(home, "collshim", "verbs-lab")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        unable("no cache folder %s: %s (VERBS_LAB_CACHE names another)" % (folder, error.strerror))
    return os.path.realpath(folder)


def real_package(package):
    """linux-image-amd64 is empty, and depends on the newest kernel."""
    listed = subprocess.run(["apt-cache", "depends", "--important", package],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    match = re.search(r"Depends: (linux-image-\S+)", listed.stdout)
    return match[1] if match else package


def unpacked(package, cache, finish=lambda folder: None):
    """The folder with the files of a Debian package, fetched at the first call. Not installed."""
    folder = os.path.join(cache, package)
    with open(os.path.join(cache, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(folder):
            return folder
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache) as part:
            say("fetching package %s, once" % package)
            try:
                fetch = subprocess.run(["apt-get", "download", "-q", real_package(package)],
                                       cwd=part, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True)
            except FileNotFoundError:
                unable("no apt-get here to fetch package %s with" % package)
            files = glob.glob(os.path.join(part, "*.deb"))
            if fetch.returncode != 0 or not files:
                said = [line for line in fetch.stdout.splitlines() if line.startswith("E:")]
                unable("package %s cannot be fetched "
                       "(%s)" % (package, said[-1][2:].strip() if said else "no reason"))
            files_folder = os.path.join(part, "files")
            subprocess.run(["dpkg", "-x", files[0], files_folder], check=True)
            finish(files_folder)
            os.rename(files_folder, folder)
        say("package %s fetched" % os.path.basename(files[0]).split("_")[0])
    return folder


def kernel(package, cache):
    """(folder, version) of an unpacked kernel."""
    def version(folder):
        return os.listdir(os.path.join(folder, "lib", "modules"))[0]
    folder = unpacked(package, cache,
                      lambda new: subprocess.run(["depmod", "-b", new, version(new)], check=True))
    return folder, version(folder)


def busybox(cache):
    """A static one: it is all that the initramfs has."""
    here = shutil.which("busybox")
    if here and subprocess.run(["ldd", here], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL).returncode != 0:
        return here
    return os.path.join(unpacked("busybox-static", cache), "bin", "busybox")


def make_initramfs(folder, version, shell, path):
    with tempfile.TemporaryDirectory(prefix="initramfs-", dir=os.path.dirname(path)) as tree:
        for name in ("bin", "modules", "proc", "sys", "dev", "lower", "layer", "new"):
            os.mkdir(os.path.join(tree, name))
        shutil.copy(shell, os.path.join(tree, "bin", "busybox"))
        shutil.copy(os.path.join(HERE, "lab", "init"), os.path.join(tree, "init"))
        os.chmod(os.path.join(tree, "init"), 0o755)
        listed = subprocess.run(["modprobe", "-d", folder, "-S", version, "--show-depends", "-a",
                                 *MODULES], check=True,
                                stdout=subprocess.PIPE, text=True).stdout
        files = [line.split()[1] for line in listed.splitlines() if line.startswith("insmod ")]
        for number, file in enumerate(dict.fromkeys(files)):
            with open(file, "rb") as stream:
                content = stream.read()
            name = os.path.basename(file)
            if name.endswith(".xz"):
                name, content = name[:-len(".xz")], lzma.decompress(content)
            with open(os.path.join(tree, "modules", "%02d-%s" % (number, name)), "wb") as stream:
                stream.write(content)
        names = b"\n".join(os.path.relpath(os.path.join(at, name), tree).encode()
                           for at, folders, files in os.walk(tree) for name in folders + files)
        with open(path, "wb") as stream:
            subprocess.run([shell, "cpio", "-o", "-H", "newc"], cwd=tree, input=names,
                           stdout=stream, stderr=subprocess.DEVNULL, check=True)


# --- the guest ------------------------------------------------------------------------------------

def write(folder, name, text):
    with open(os.path.join(folder, name), "w") as file:
        file.write(text)


def is_one_stream():
    """Where both go to the same place, their order is to be kept."""
    return os.path.sameopenfile(1, 2)


def write_orders(share, args, modules, shell):
    settings = {"NODES": args.nodes, "MTU": args.mtu, "LOSS": "%g" % args.loss if args.loss else "",
                "MODULES": modules,
                "BUSYBOX": shell}
    # Not under its own path, which might have a blank: that is where the kernel's command line is
    # split.
    shutil.copy(os.path.join(HERE, "lab", "guest"), share)
    write(share, "settings",
          "".join("%s=%s\n" % (name, shlex.quote(str(value))) for name, value in settings.items()))
    streams = ">>stdout 2>&1" if is_one_stream() else ">>stdout 2>>stderr"
    write(share, "command", "cd /run/verbs-lab && exec </dev/null %s\ncd %s && exec %s\n" % (
        streams, shlex.quote(os.getcwd()), " ".join(map(shlex.quote, args.command))))


def qemu_command(args, folder, version, initramfs, share, console):
    return [QEMU, "-accel", "tcg,thread=multi", "-cpu", "max", "-M", "q35", "-smp", str(args.cpus),
            "-m", str(args.memory), "-nodefaults", "-no-user-config", "-display", "none",
            "-no-reboot",
            "-monitor", "stdio",
            "-chardev", "file,id=console,path=" + console.replace(",", ",,"), "-serial",
            "chardev:console",
            "-kernel", os.path.join(folder, "boot", "vmlinuz-" + version), "-initrd", initramfs,
            "-append", KERNEL_WORDS,
            "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            "-fsdev", "local,id=lab,path=%s,security_model=none" % share.replace(",", ",,"),
            "-device", "virtio-9p-pci,fsdev=lab,mount_tag=lab"]


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Follower:
    """Hands on what comes to stand in a file, as far as it has come."""

    def __init__(self, path, take):
        self.path, self.take, self.offset = path, take, 0

    def look(self):
        try:
            with open(self.path, "rb") as file:
                file.seek(self.offset)
                new = file.read()
        except FileNotFoundError:
            return
        if new:
            self.offset += len(new)
            self.take(new)


class Console:
    """The guest's console: progress lines are handed on, the rest is kept for the case that
    something goes wrong."""

    def __init__(self, is_verbose):
        self.text, self.shown, self.is_verbose, self.start = "", 0, is_verbose, time.monotonic()

    def take(self, new):
        self.text += new.decode(errors="replace").replace("\r", "")
        while (end := self.text.find("\n", self.shown)) >= 0:
            line, self.shown = self.text[self.shown:end], end + 1
            if line.startswith("verbs-lab: "):
                say("%s after %.0f s" % (line[len("verbs-lab: "):], time.monotonic() - self.start))
            elif self.is_verbose:
                say("console: " + line)

    def print(self):
        for line in self.text.splitlines()[-100:]:
            say("console: " + line)


def hand_on(fd):
    def take(new):
        while new:
            new = new[os.write(fd, new):]
    return take


class Pulse:
    """The guest touches a file every few seconds (lab/guest); there is none before it has come so
    far."""

    def __init__(self, path, limit):
        self.path, self.limit, self.last, self.since = path, limit, None, None

    def has_stopped(self):
        try:
            now = os.stat(self.path).st_mtime_ns
        except FileNotFoundError:
            return False
        if now != self.last:
            self.last, self.since = now, time.monotonic()
        return time.monotonic() > self.since + self.limit


def wait(qemu, args, followers, pulse):
    """Until qemu ends, and then None; or why it was not waited for any longer."""
    until = time.monotonic() + args.timeout
    while True:
        has_ended = qemu.poll() is not None
        for follower in followers:
            follower.look()
        if has_ended:
            return None
        if time.monotonic() > until:
            return "time"
        if pulse.has_stopped():
            return "still"
        with contextlib.suppress(subprocess.TimeoutExpired):
            qemu.wait(0.1)


def ask_where(qemu):
    """An NMI: the kernel panics, and its call trace is what the console says last."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        qemu.stdin.write(b"nmi\n")
        qemu.stdin.flush()
        qemu.wait(20)


def read_exit_code(share):
    try:
        with open(os.path.join(share, "exit-code")) as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def explain(qemu, console, given_up, args):
    """There is no exit code: why?"""
    if not args.verbose:
        console.print()
    if given_up == "time":
        say("time is up (%g s): %s" % (args.timeout, " ".join(args.command)))
        return 124
    panics = re.findall(r"Kernel panic[^\n]*", console.text)
    if given_up == "still":
        say("the guest stood still: no program of it ran for %g s" % args.still)
    elif panics:
        say("the guest's kernel gave up: " + panics[0])
    elif qemu.returncode != 0:
        say("qemu ended with %d" % qemu.returncode)
    else:
        say("the guest ended without an exit code")
    return 125


def run(args, temporary):
    cache = cache_folder()
    folder, version = kernel(args.kernel, cache)
    shell = busybox(cache)
    share, initramfs, log = (os.path.join(temporary, name)
                             for name in ("share", "initramfs", "console"))
    os.mkdir(share)
    os.mkdir(os.path.join(share, "out"))
    make_initramfs(folder, version, shell, initramfs)
    write_orders(share, args, os.path.join(folder, "lib", "modules"), shell)
    command = qemu_command(args, folder, version, initramfs, share, log)
    if args.verbose:
        say(shlex.join(command))
    console = Console(args.verbose)
    followers = [Follower(log, console.take), Follower(os.path.join(share, "stdout"), hand_on(1)),
                 Follower(os.path.join(share, "stderr"), hand_on(2))]
    # Its standard input and output are its monitor; what it has to say of itself it says on the
    # error output.
    qemu = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                            preexec_fn=die_with_parent)
    try:
        given_up = wait(qemu, args, followers, Pulse(os.path.join(share, "pulse"), args.still))
        if given_up == "still":
            ask_where(qemu)
            followers[0].look()
    finally:
        qemu.kill()
        qemu.wait()
    if args.out:
        shutil.copytree(os.path.join(share, "out"), args.out, dirs_exist_ok=True)
    code = read_exit_code(share)
    return explain(qemu, console, given_up, args) if code is None else code


def stop(number, frame):
    raise Stopped(number)


def main():
    os.environ["PATH"] = os.environ.get("PATH", os.defpath) + ":" + PATH
    args = parse(sys.argv[1:])
    need_tools()
    # The guest has this machine's files; so it is known here what it would not find.
    if args.command and not shutil.which(args.command[0], path=GUEST_PATH):
        fail(2, "no such command: " + args.command[0])
    args.command = args.command or suite()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:    # nohup's
            signal.signal(number, stop)
    temporary = tempfile.mkdtemp(prefix="verbs-lab-")
    try:
        code = run(args, temporary)
    except Stopped as stopped:
        say("stopped by signal %d" % stopped.number)
        code = 128 + stopped.number
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    sys.exit(code)


main()
