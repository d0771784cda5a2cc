"""`abba laya serve` as its clients see it: the original's paths, statuses and JSON; limits; drain."""

import http.client
import json
import pathlib
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from laya_project import LAYA, QUESTIONS, STATE, LayaTest



class OriginalClient:
    """What a program written against the original does: its paths, its payload, its errors."""

    def __init__(self, base_url, api_key=None):
        self.url, self.key = base_url + "/v1/systemone", api_key

    def system_one(self, state, questions, model="laya-latest"):
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        payload = {"model": model, "state": state, "questions": questions}
        request = urllib.request.Request(self.url, json.dumps(payload).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)


class Server:
    def __init__(self, test, *words):
        self.log = []
        self.process = subprocess.Popen(
            [LAYA, "serve", str(test.checkpoint), "--port", "0", *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        test.addCleanup(self.kill)
        first = self.process.stderr.readline()
        self.ready = json.loads(first)
        self.url = self.ready["url"]
        self.port = int(self.url.rsplit(":", 1)[1])
        self.reader = threading.Thread(target=self.read_log, daemon=True)
        self.reader.start()

    def read_log(self):
        for line in self.process.stderr:
            self.log.append(line)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()

    def stop(self, test, exit_code=0):
        self.process.send_signal(signal.SIGTERM)
        test.assertEqual(self.process.wait(timeout=110), exit_code)
        self.reader.join()
        return [json.loads(line) for line in self.log]

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))

    def ask(self, body, path="/v1/systemone", method="POST", headers=None):
        """(status, headers, body bytes) over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, data, headers or {})
            reply = connection.getresponse()
            return reply.status, reply.headers, reply.read()
        finally:
            connection.close()

    def raw(self, data):
        sender = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        sender.sendall(data)
        return sender


def request_of(number):
    """Requests that differ in state, questions and length."""
    ids = list(QUESTIONS)[: 1 + number % 3]
    return {"state": f"Order {number}: {STATE} " * (1 + number % 5),
            "questions": {i: QUESTIONS[i] for i in ids}}


def read_reply(sender):
    data = b""
    try:
        while part := sender.recv(65536):
            data += part
    except ConnectionResetError:
        pass
    sender.close()
    return data


class Serve(LayaTest):
    def test_a_client_of_the_original_works_unchanged(self):
        server = Server(self)
        result = OriginalClient(server.url).system_one(STATE, QUESTIONS)
        direct = json.loads(self.laya("decide", self.checkpoint, STATE, "--questions",
                                      "questions.json").stdout)
        self.assertEqual(result["answers"], direct["answers"])
        self.assertEqual(result["usage"], direct["usage"])
        self.assertEqual(result["model"], "laya-rl-agent")
        self.assertEqual(set(result["routing"]),
                         {"model", "repo", "reason", "detection", "workflow"})
        team = result["answers"]["team"]
        self.assertEqual(list(team), ["type", "choice", "probabilities", "confidence",
                                      "answer_confidence", "action"])
        self.assertEqual(team["choice"], max(team["probabilities"], key=team["probabilities"].get))
        empty = OriginalClient(server.url).system_one([], {})
        self.assertEqual((empty["answers"], empty["usage"]),
                         ({}, {"input_tokens": 0, "output_tokens": 0}))
        with self.assertRaises(urllib.error.HTTPError) as caught:
            OriginalClient(server.url).system_one(STATE, {"q": {"type": "choice",
                                                               "instructions": "?"}})
        self.assertEqual(caught.exception.code, 422)
        self.assertIn("q", json.load(caught.exception)["detail"])
        status, headers, body = server.ask(None, "/health", "GET")
        self.assertEqual((status, json.loads(body)["status"]), (200, "ok"))
        self.assertEqual(json.loads(body)["loaded"], ["tiny"])
        status, headers, body = server.ask({"state": STATE, "questions": QUESTIONS})
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertRegex(headers["Server-Timing"], r"^inference;dur=\d+\.\d\d, queue;dur=\d+\.\d\d$")
        self.assertIn(f"inference;dur={headers['X-Inference-Time-Ms']},", headers["Server-Timing"])

    def test_statuses_of_bad_requests(self):
        server = Server(self)
        good = {"state": "s", "questions": {}}
        for body, expected in [
            (b"", 400), (b"{", 400), (b"\xff", 400), (b"[" * 100_000, 400), ([], 400),
            ({"questions": {}}, 400), ({"state": None, "questions": {}}, 400),
            ({"state": "s"}, 400), ({"state": "s", "questions": []}, 400),
            (dict(good, max_len=0), 422), (dict(good, max_len=True), 422),
            (dict(good, questions={"q": 5}), 422), (dict(good, model="multilingual"), 422),
            (dict(good, model="a/b"), 422), (dict(good, lang=True), 422),
            (dict(good, min_confidence=0.5), 422), (dict(good, state="\ud800"), 400),
            (dict(good, state="x" * 50_001), 413), (b" " * (3 << 20), 413),
            (dict(good, questions={f"q{i}": {} for i in range(65)}), 413), (good, 200),
        ]:
            with self.subTest(body=repr(body)[:60]):
                status, headers, reply = server.ask(body)
                self.assertEqual(status, expected, reply)
                if status != 200:
                    self.assertEqual(list(json.loads(reply)), ["detail"])
        for method, path, expected in [("GET", "/v1/systemone", 405), ("POST", "/health", 405),
                                       ("PUT", "/v1/systemone", 405), ("GET", "/", 404),
                                       ("POST", "/v1/systemone/", 404), ("HEAD", "/health", 405),
                                       ("POST", "/v1/systemone?x=1", 200)]:
            with self.subTest(method=method, path=path):
                self.assertEqual(server.ask(good if method == "POST" else None, path, method)[0],
                                 expected)
        self.assertIn(b" 400 ", read_reply(server.raw(b"no HTTP at all\r\n\r\n")))
        self.assertIn(b" 431 ", read_reply(server.raw(
            b"GET /health HTTP/1.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n")))
        chunked = server.raw(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n")
        body = json.dumps(good).encode()
        chunked.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        self.assertIn(b" 200 ", read_reply(chunked))
        invited = server.raw(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                             b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body))
        self.assertIn(b" 100 ", invited.recv(200))
        invited.sendall(body)
        self.assertIn(b" 200 ", read_reply(invited))
        self.assertEqual(server.ask(None, "/health", "GET")[0], 200)

    def test_a_key_is_asked_for_and_an_open_door_refused(self):
        (self.root / "key").write_text("sesame\n")
        (self.root / "empty").write_text("\n")
        server = Server(self, "--key-file", self.root / "key")
        body = {"state": STATE, "questions": QUESTIONS}
        for key in (None, "wrong", "sesam", "sesame2", "s\xe9same"):
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            status, headers, reply = server.ask(body, headers=headers)
            self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"))
        self.assertEqual(server.ask(b"x" * (3 << 20))[0], 401)
        self.assertEqual(server.ask(None, "/health", "GET")[2], b'{"status":"ok"}')
        known = server.ask(None, "/health", "GET", {"Authorization": "Bearer sesame"})[2]
        self.assertEqual(json.loads(known)["loaded"], ["tiny"])
        answers = OriginalClient(server.url, "sesame").system_one(STATE, QUESTIONS)["answers"]
        self.assertEqual(list(answers), list(QUESTIONS))
        self.assertNotIn("sesame", "".join(server.log))
        for words, expected in [
            (("--host", "0.0.0.0"), "--key-file"),
            (("--host", "elsewhere", "--open"), "no IP address"),
            (("--key-file", "empty"), "holds no key"),
            (("--key-file", "none"), "none"),
            (("--port", "65536"), "port"),
            (("--timeout", "0"), "timeout"),
        ]:
            with self.subTest(words=words):
                self.refused("serve", self.checkpoint, *words, expected=expected)
        self.refused("serve", self.checkpoint, "--port", server.port, exit_code=4,
                     expected="cannot be listened at")
        self.refused("serve", self.root / "nowhere", expected="nowhere")

    def test_the_queue_is_bounded(self):
        server = Server(self, "--max-in-flight", 1)
        heavy = {"state": STATE * 30,
                 "questions": {f"q{i}": QUESTIONS["team"] for i in range(24)}}
        statuses = []

        def ask():
            statuses.append(server.ask(heavy)[0])

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(set(statuses), {200, 503})
        self.assertEqual(server.ask(request_of(1))[0], 200)

    def test_sigterm_lets_a_running_request_end(self):
        server = Server(self, "--drain", 100)
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        heavy = {"state": STATE * 30,
                 "questions": {f"q{i}": QUESTIONS["team"] for i in range(16)}}
        result = {}

        def ask():
            result["status"], result["headers"], _ = server.ask(heavy)

        thread = threading.Thread(target=ask)
        thread.start()
        deadline = time.monotonic() + 20
        while json.loads(server.ask(None, "/health", "GET")[2])["in_flight"] == 0:
            self.assertLess(time.monotonic(), deadline)
        log = server.stop(self)
        thread.join()
        self.assertEqual((result["status"], result["headers"]["Connection"]), (200, "close"))
        self.assertEqual(idle.recv(10), b"")
        idle.close()
        self.assertEqual(log[-1]["event"], "stopped")
        self.assertTrue(log[-1]["drained"])
        answered = [line for line in log if line.get("target") == "/v1/systemone"]
        self.assertEqual([line["status"] for line in answered], [200])
        self.assertGreater(answered[0]["inference_ms"], 0)
        self.assertGreaterEqual(answered[0]["total_ms"], answered[0]["inference_ms"])
        self.assertEqual(answered[0]["rows"], 16)

    def disturb(self, server, stop, seen):
        """Slow senders, half bodies and 3 MB bodies, over and over."""
        head = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n"
        while not stop.is_set():
            half = server.raw(head + b'{"state": ')
            half.close()
            slow = server.raw(head[:20])
            seen["large"].append(server.ask(b"x" * (3 << 20))[0])
            for byte in head[20:60]:
                if stop.wait(0.05):
                    break
                try:
                    slow.sendall(bytes([byte]))
                except OSError:
                    break
            seen["slow"].append(read_reply(slow)[:12])

    def many_clients(self, seconds, clients=64):
        server = Server(self, "--max-in-flight", clients + 4, "--timeout", 2, "--max-wait", 100,
                        "--keep-alive", 100)
        requests = [json.dumps(request_of(i)).encode() for i in range(24)]
        serial = [server.ask(body) for body in requests]
        self.assertEqual({status for status, _, _ in serial}, {200})
        expected = [body for _, _, body in serial]
        stop, seen = threading.Event(), {"large": [], "slow": []}
        wrong, count = [], [0] * clients

        def client(index):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            try:
                while not stop.is_set():
                    which = (index * 7 + count[index]) % len(requests)
                    connection.request("POST", "/v1/systemone", requests[which])
                    reply = connection.getresponse()
                    body = reply.read()
                    if (reply.status, body) != (200, expected[which]):
                        wrong.append((reply.status, which, body[:200]))
                    count[index] += 1
            except Exception as error:  # noqa: BLE001 -- counted as a failed request
                wrong.append(repr(error))
            finally:
                connection.close()

        threads = [threading.Thread(target=client, args=(i,)) for i in range(clients)]
        threads.append(threading.Thread(target=self.disturb, args=(server, stop, seen)))
        for thread in threads:
            thread.start()
        time.sleep(seconds / 2)
        middle = server.rss_kib()
        time.sleep(seconds / 2)
        end = server.rss_kib()
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong[:3], [])
        self.assertTrue(all(count), count)
        self.assertEqual(set(seen["large"]), {413})
        self.assertTrue(set(seen["slow"]) <= {b"HTTP/1.1 408", b""}, seen["slow"])
        self.assertLess(end, middle + 8192, "resident memory grows")
        print(f"{sum(count)} requests of {clients} clients in {seconds} s, "
              f"{middle} KiB in the middle, {end} KiB at the end")
        self.assertEqual(server.stop(self)[-1]["event"], "stopped")

    def test_64_clients_get_the_bytes_of_serial_answers(self):
        self.many_clients(5)

    def test_64_clients_for_a_minute(self):
        self.many_clients(60)

    def test_slow_senders_are_cut_off_in_time(self):
        server = Server(self, "--timeout", 0.6)
        head = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n"
        for part in (head[:10], head + b"{"):
            begun = time.monotonic()
            reply = read_reply(server.raw(part))
            self.assertIn(b" 408 ", reply)
            self.assertLess(time.monotonic() - begun, 10)

    def test_idle_connections_are_let_go(self):
        server = Server(self, "--keep-alive", 2, "--timeout", 60)
        fresh = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        used = server.raw(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        begun = time.monotonic()
        self.assertIn(b"HTTP/1.1 200", read_reply(used))  # until the server closes
        self.assertEqual(read_reply(fresh), b"")
        self.assertLess(time.monotonic() - begun, 10)
        steady = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        ports = set()
        for _ in range(6):  # longer than the limit in all, and never idle so long
            steady.request("GET", "/health")
            ports.add(steady.sock.getsockname()[1])
            self.assertEqual(steady.getresponse().read()[:15], b'{"status":"ok",')
            time.sleep(0.5)
        steady.close()
        self.assertEqual(len(ports), 1)

    def test_a_drip_of_bytes_does_not_keep_a_header_open(self):
        server = Server(self, "--timeout", 60, "--keep-alive", 60)
        slow = server.raw(b"POST /v1/systemone HTTP/1.1\r\n")
        begun, reply = time.monotonic(), b""
        slow.settimeout(0.2)
        while not reply and time.monotonic() - begun < 30:
            try:
                slow.sendall(b"X: y\r\n")
                reply = slow.recv(4096)
            except TimeoutError:
                pass
        slow.close()
        self.assertIn(b" 408 ", reply)
        self.assertLess(time.monotonic() - begun, 15)

    def test_slow_senders_on_every_connection_are_outlived(self):
        server = Server(self, "--max-connections", 4, "--timeout", 4)
        head = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{"
        slow = [server.raw(head) for _ in range(4)]
        self.assertEqual(server.ask(request_of(0))[0], 503)
        for sender in slow:
            self.assertIn(b" 408 ", read_reply(sender))
        self.assertEqual(server.ask(request_of(0))[0], 200)

    def test_canary_a_changed_byte_of_an_answer_is_seen(self):
        server = Server(self)
        first = server.ask(request_of(1))[2]
        self.assertEqual(server.ask(request_of(1))[2], first)
        self.assertNotEqual(server.ask(request_of(2))[2], first)


if __name__ == "__main__":
    unittest.main()
