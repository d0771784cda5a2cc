"""abba power on stored A/A runs of this machine, without any, and on bad input."""
import json

from project import SAXPY, ProjectTest, saxpy_manifest, unittest


def equal_arms(**changes):
    return saxpy_manifest([SAXPY], id="equal", independent_variable="none", arms={"A": {}, "B": {}},
                          success={"claim": "equivalent", "harm_limit": 0.5}, **changes)


class Power(ProjectTest):
    def test_without_an_a_a_run_the_unit_is_the_pass_sd(self):
        said = self.abba("power").stdout
        self.assertIn("so the noise of its passes is not known", said)
        self.assertIn("12 passes find a difference of", said)
        self.assertEqual(json.loads(self.abba("power", "--json").stdout)["workloads"], [])

    def test_a_stored_a_a_run_tells_what_a_plan_can_see(self):
        path = self.write(equal_arms())
        self.abba("register", path)
        self.abba("run", path, "--quiet")
        other = self.write(saxpy_manifest([SAXPY], id="changed"))  # a difference is no noise
        self.abba("register", other)
        self.abba("run", other, "--quiet")
        found = json.loads(self.abba("power", path, "--json").stdout)
        self.assertEqual(len(found["a_a_runs"]), 1)
        self.assertIn("results/equal/", found["a_a_runs"][0])
        rows = {row["workload"]: row for row in found["workloads"]}
        self.assertEqual(set(rows), {"small", "large"})
        for row in rows.values():
            self.assertEqual((row["runs"], row["passes"], row["manifests"]), (1, 6, ["equal"]))
            self.assertGreater(row["pass_sd"], 0)
            self.assertGreater(row["detectable"]["difference_90"], row["detectable"]["difference_80"])
            self.assertEqual(len(row["passes_needed"]), 5)
        asked = self.abba("power", path, "--effect", "3").stdout
        self.assertIn("machine class " + found["machine_class"], asked)
        self.assertEqual(asked.count("for    3.00 %"), 2, asked)
        elsewhere = self.abba("power", path, "--class", "nvidia-h200").stdout
        self.assertIn("No A/A run of this machine class (nvidia-h200)", elsewhere)

    def test_bad_input_is_one_sentence(self):
        for words, said in ((("--effect", "0"), "--effect"),
                            (("--effect", "much"), "--effect"),
                            (("--class", "../secrets"), "is no machine class"),
                            (("--class", "NVIDIA H200"), "is no machine class"),
                            (("absent.json",), "absent.json"),
                            (("one.json", "two.json"), "two.json")):
            self.assertIn(said, self.abba("power", *words, exit_code=2).stderr)
        broken = self.root / "manifests/broken.json"
        broken.write_text("{")
        self.assertIn("broken.json", self.abba("power", broken, exit_code=2).stderr)
        damaged = self.root / "results/equal"
        damaged.mkdir(parents=True)
        (damaged / "20260101T000000Z-00000000.sqlite").write_bytes(b"no run")
        self.assertIn("is passed over", self.abba("power").stderr)


if __name__ == "__main__":
    unittest.main()
