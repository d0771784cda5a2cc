"""Commands of abba-laya other than decide and serve."""

import json
import unittest

from laya_project import LayaTest


class Commands(LayaTest):
    def test_doctor_tells_people_and_programs_the_same(self):
        found = json.loads(self.laya("doctor", "--json").stdout)
        self.assertEqual(list(found), ["schema", "cpu", "cuda"])
        self.assertEqual(found["schema"], "abba-laya.doctor/1")
        cpu, cuda = found["cpu"], found["cuda"]
        self.assertEqual(list(cpu), ["available", "isa", "library", "product"])
        self.assertIs(cpu["available"], True)
        first, second = self.laya("doctor").stdout.splitlines()
        self.assertEqual(first, f"cpu:  {cpu['isa']}, {cpu['library']}, product {cpu['product']}")
        if cuda["available"]:
            self.assertIn(f"{cuda['name']} {cuda['uuid']} at {cuda['pci']}, "
                          f"sm_{cuda['compute_capability']}, {cuda['sm_count']} SMs", second)
            self.assertLess(0, cuda["memory_used_bytes"])
            self.assertLess(cuda["memory_used_bytes"], cuda["memory_bytes"])
        else:
            self.assertEqual(list(cuda), ["available", "reason"])
            self.assertEqual(second, f"cuda: unavailable: {cuda['reason']}")
        named = self.laya("doctor", "--help").stdout
        for key in [*found, *cpu, *cuda]:
            self.assertIn(key, named)

    def test_doctor_with_a_checkpoint_says_the_memory_or_why_it_cannot(self):
        words = ("doctor", "--json", "--checkpoint", self.checkpoint, "--shape", "1x48")
        if json.loads(self.laya("doctor", "--json").stdout)["cuda"]["available"]:
            memory = json.loads(self.laya(*words).stdout)["memory"]
            self.assertLess(0, memory["weight_bytes"])
            self.assertLess(memory["weight_bytes"], memory["device_used_bytes"])
            self.assertLessEqual({"arena_bytes", "scratch_bytes"}, set(memory))
        else:
            self.refused(*words, expected="cuda", exit_code=4)


if __name__ == "__main__":
    unittest.main()
