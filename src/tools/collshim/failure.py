"""How a program of ours ends early."""


class Failure(Exception):
    """With the exit code of the program, and the line that it says."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
