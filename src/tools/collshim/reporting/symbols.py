"""Return addresses of call sites as functions and lines: by addr2line, else by the symbols of the
ELF file."""

import bisect
import os
import shutil
import struct
import subprocess


class Elf:
    """Where a 64-bit ELF file's addresses begin, and its functions."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        if self.data[:5] != b"\x7fELF\x02":
            raise ValueError("no 64-bit ELF file")
        self.order = "<" if self.data[5] == 1 else ">"
        (self.kind, _, _, _, programs, sections, _, _, each, count, section, sections_count,
         _) = self.unpack("HHIQQQIHHHHHH", 16)
        heads = [self.unpack("IIQQQQQQ", programs + i * each) for i in range(count)]
        starts = [head[3] & ~0xfff for head in heads if head[0] == 1]  # PT_LOAD
        # A file that is not position independent has its addresses in it.
        self.base = min(starts, default=0) if self.kind == 2 else 0
        self.sections = [self.unpack("IIQQQQIIQQ", sections + i * section)
                         for i in range(sections_count)]

    def unpack(self, form, at):
        return struct.unpack_from(self.order + form, self.data, at)

    def functions(self):
        """(address, size, name), by address."""
        found = []
        for section in self.sections:
            if section[1] not in (2, 11):  # SHT_SYMTAB, SHT_DYNSYM
                continue
            names = self.sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                name, info, _, where, address, size = self.unpack("IBBHQQ", at)
                if info & 15 == 2 and where and size:  # STT_FUNC
                    end = self.data.index(b"\0", names + name)
                    text = self.data[names + name:end].decode("utf-8", "replace")
                    found.append((address, size, text))
        return sorted(found)


def by_addr2line(path, addresses):
    """{address: "function file:line"} of what it knows."""
    tool = shutil.which("addr2line")
    if not tool:
        return {}
    try:
        said = subprocess.run([tool, "-C", "-f", "-e", path], timeout=20, text=True,
                              input="".join("%#x\n" % address for address in addresses),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = said.split("\n")
    found = {}
    for i, address in enumerate(addresses):
        function, line = (lines[2 * i:2 * i + 2] + ["??", "??"])[:2]
        place = os.path.basename(line.split(" (")[0])
        if function != "??":
            found[address] = function if "?" in place else "%s %s" % (function, place)
    return found


def by_symbols(elf, addresses):
    functions, found = elf.functions(), {}
    starts = [function[0] for function in functions]
    for address in addresses:
        at = bisect.bisect_right(starts, address) - 1
        if at >= 0 and address < sum(functions[at][:2]):
            found[address] = functions[at][2]
    return found


def resolve(path, offsets):
    """{offset: text} for return addresses that lie so far behind the module's start; those that
    cannot be resolved are left out. The call is before its return address."""
    try:
        elf = Elf(path)
        calls = {offset: offset - 1 + elf.base for offset in offsets}
        found = by_addr2line(path, sorted(set(calls.values())))
        rest = set(calls.values()) - set(found)
        if rest:
            found = dict(by_symbols(elf, rest), **found)
    except (OSError, ValueError, IndexError, struct.error):
        return {}
    return {offset: found[call] for offset, call in calls.items() if call in found}


def name_sites(sites):
    """Sets "where" of each call site of a report."""
    by_module = {}
    for site in sites:
        if site.get("module"):
            by_module.setdefault(site["module"], set()).add(site["offset"])
    names = {module: resolve(module, offsets) for module, offsets in by_module.items()}
    for site in sites:
        module = site.get("module")
        plain = "%s+%#x" % (os.path.basename(module or "?"), site["offset"])
        if os.path.basename(module or "").startswith("collshim-"):
            plain = "called from Fortran"
            names[module] = {}
        site["where"] = names.get(module, {}).get(site["offset"], plain)
