import os, random, sys  # a complete worker: z = 3x + y
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../harness/worker_kit"))
import abba_worker
class Saxpy(abba_worker.Worker):
    name, version, stages, factors = "saxpy-py", "1", ["z"], {"loop": ["plain", "zip"]}
    def prepare(self, workload):
        draw, n = random.Random(workload["seed"]), (workload["input"] or {}).get("n", 1000)
        self.x, self.y = [[draw.uniform(-1, 1) for _ in range(n)] for _ in range(2)]
    def request(self):
        x, y = self.x, self.y
        self.z = ([3 * a + b for a, b in zip(x, y)] if self.level["loop"] == "zip" else
                  [3 * x[i] + y[i] for i in range(len(x))])
    def outputs(self, stages, values):
        return [abba_worker.floats("z", self.z)]
abba_worker.run(Saxpy())
