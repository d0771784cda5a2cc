"""Every run file that this project has published still checks out with today's abba."""
import unittest

from project import SOURCE, ProjectTest

RESULTS = SOURCE / "results"


class Published(ProjectTest):
    def test_every_run_file_checks_out(self):
        files = sorted(RESULTS.glob("*/*.sqlite.xz")) + sorted(RESULTS.glob("calibration/*/*/*/001.sqlite.xz"))
        self.assertGreater(len(files), 20, "the published run files are not where they are looked for")
        for file in files:
            with self.subTest(file=str(file.relative_to(RESULTS))):
                self.assertRegex(self.abba("verify", file).stdout,
                                 r"internally consistent, not anchored|anchored before the first slot")


if __name__ == "__main__":
    unittest.main()
