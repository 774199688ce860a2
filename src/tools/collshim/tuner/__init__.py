"""collshim-tune, room by room: arguments, tools (programs and library), shapes (of jobs),
candidates, questions, scores, state (the file of what was measured), sweep, rules (the tuning
file), app (a program's own calls), commands."""

from collshim.texts import speaker

say = speaker("collshim-tune")
