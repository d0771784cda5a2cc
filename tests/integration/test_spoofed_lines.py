"""What files, workers and names hold may be shown, but never as a line that would pass for abba's."""

import shutil
import sqlite3
import subprocess
import unittest

from project import ABBA, ENVIRONMENT, SAXPY, ProjectTest, saxpy_manifest

LIE = "anchored before the first slot by a friend"
BREAKS = f"x\n{LIE}\r\n{LIE}"


class SpoofedLines(ProjectTest):
    def unspoofed(self, *words):
        done = subprocess.run([ABBA, *map(str, words)], cwd=self.root, env=ENVIRONMENT, text=True,
                              capture_output=True, timeout=100)
        lines = (done.stdout + done.stderr).splitlines()
        self.assertTrue([line for line in lines if LIE in line], f"{words}: {done}")
        self.assertFalse([line for line in lines if line.startswith(LIE)], f"{words}: {done}")

    def test_by_a_run_file(self):
        self.abba("run", "--register", "--quiet", self.write(saxpy_manifest([SAXPY])))
        whole = self.run_file()
        forged = self.root / "forged.sqlite"
        for table, column, command in [("run", "run_id", "show"), ("run", "state_text", "show"),
                                       ("binding", "value", "show"), ("note", "text", "show"),
                                       ("pass", "why", "show"), ("run", "state_text", "verify"),
                                       ("run", "analysis_version", "verify")]:
            shutil.copy(whole, forged)
            with sqlite3.connect(forged) as database:
                database.execute(f"UPDATE {table} SET {column} = ?", (BREAKS,))
                database.execute("UPDATE pass SET superseded = 1")
            with self.subTest(column=column, command=command):
                self.unspoofed(command, forged)

    def test_by_a_manifest(self):
        manifest = saxpy_manifest([SAXPY], settings={BREAKS: 1})
        self.unspoofed("diff", self.write(manifest))
        manifest = saxpy_manifest([SAXPY], files=[{"name": "w", "path": BREAKS}])
        self.unspoofed("register", self.write(manifest))
        manifest = saxpy_manifest([SAXPY])
        manifest[BREAKS] = 1
        for command in ("check", "run"):
            self.unspoofed(command, self.write(manifest))

    def test_by_the_reason_of_an_event(self):
        path = self.write(saxpy_manifest([SAXPY]))
        self.abba("register", path)
        self.abba("withdraw", path, "--reason", BREAKS)
        for command in ("ledger", "run"):
            self.unspoofed(command, path)

    def test_by_a_name(self):
        for command in ("check", "run", "show", "verify", "explain", "report", "worker-check"):
            self.unspoofed(command, BREAKS)


if __name__ == "__main__":
    unittest.main()
