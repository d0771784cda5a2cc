"""One table for what was tampered with, what was said about it, and what should have been said."""


class TamperTable:
    """Rows (case, command, exit code, sentence, as expected or not); `str()` is the table."""

    def __init__(self):
        self.rows = []

    def judge(self, case, command, done, exit_code, words):
        """`done` is a finished command; every one of `words` must stand in what it printed."""
        said = done.stdout + done.stderr
        missing = [word for word in words if word not in said]
        good = done.returncode == exit_code and not missing
        sentence = (done.stderr.strip() or done.stdout.strip()).split("\n")[-1]
        if not good:
            sentence += f"  << exit {exit_code} and {words} were expected"
        self.rows.append((case, command, done.returncode, sentence, good))

    def wrong(self):
        return [row for row in self.rows if not row[4]]

    def __str__(self):
        width = max((len(row[0]) for row in self.rows), default=0)
        return "\n".join(
            f"{'ok   ' if good else 'WRONG'} {case:{width}} | {command:9} | exit {code} | {sentence}"
            for case, command, code, sentence, good in self.rows)
