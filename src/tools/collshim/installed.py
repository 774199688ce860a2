"""The programs and the library: given, in a build folder, or installed beside a program of ours."""

import glob
import os
import re

from collshim.failure import Failure


class Places:
    """build: a build folder, or None. here: the folder of the program that asks."""

    def __init__(self, build, here):
        self.build, self.here = build, here

    def patterns(self, name, folder):
        if self.build:
            return [os.path.join(os.path.abspath(self.build), folder, name)]
        installed = os.path.join(self.here, name)
        return [installed] if glob.glob(installed) else [os.path.join(self.here, "..", "..",
                                                                      "build", folder, name)]

    def library(self, given):
        built = self.patterns("libcollshim.so", "src")
        installed = [os.path.join(self.here, "..", "lib*", "libcollshim.so"),
                     os.path.join(self.here, "..", "lib", "*", "libcollshim.so")]
        path = self.find("libcollshim.so", given, built if self.build else installed + built)
        if re.search(r"[\s:]", path):
            raise Failure(2, "%s: a path with blanks or colons cannot be preloaded" % path)
        return path

    @staticmethod
    def find(name, given, patterns):
        found = [given] if given else [path for pattern in patterns
                                       for path in sorted(glob.glob(pattern))]
        if not found or not os.path.isfile(found[0]):
            raise Failure(2, "%s: no such file" % given if given else
                          "%s was not found: --build DIR says where collshim was built" % name)
        return os.path.abspath(found[0])
