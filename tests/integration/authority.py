"""A time stamp authority for tests: openssl's own, behind an HTTP server on the loopback."""

import http.server
import pathlib
import subprocess
import threading

CONFIG = """
[ca]
[req]
distinguished_name = name
prompt = no
[name]
CN = {name}
[root]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
[stamp]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = critical, timeStamping
[tsa]
default_tsa = own
[own]
dir = {folder}
serial = {folder}/serial
signer_cert = {folder}/tsa.pem
certs = {folder}/ca.pem
signer_key = {folder}/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256
accuracy = secs:1
tsa_name = yes
"""


class Authority:
    """Certificates below `folder`; `url` answers time stamp requests until `close()`."""

    def __init__(self, folder, name="Test Authority"):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.config = self.folder / "openssl.cnf"
        self.config.write_text(CONFIG.format(folder=self.folder, name=name))
        (self.folder / "serial").write_text("01\n")
        self.ca = self.folder / "ca.pem"
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-config",
                     self.config, "-extensions", "root", "-subj", f"/CN={name} root",
                     "-keyout", self.folder / "ca.key", "-out", self.ca)
        self.openssl("req", "-new", "-newkey", "rsa:2048", "-nodes", "-config", self.config,
                     "-subj", f"/CN={name}", "-keyout", self.folder / "tsa.key",
                     "-out", self.folder / "tsa.csr")
        self.openssl("x509", "-req", "-in", self.folder / "tsa.csr", "-CA", self.ca, "-CAkey",
                     self.folder / "ca.key", "-CAcreateserial", "-days", "30", "-extfile",
                     self.config, "-extensions", "stamp", "-out", self.folder / "tsa.pem")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def openssl(self, *words):
        done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {words[0]}: {done.stderr}")

    def stamp(self, query):
        (self.folder / "query").write_bytes(query)
        self.openssl("ts", "-reply", "-config", self.config, "-section", "own", "-queryfile",
                     self.folder / "query", "-out", self.folder / "reply")
        return (self.folder / "reply").read_bytes()

    def handler(authority):  # noqa: N805: the handler's own self comes below
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                query = self.rfile.read(int(self.headers["Content-Length"]))
                reply = authority.stamp(query)
                self.send_response(200)
                self.send_header("Content-Type", "application/timestamp-reply")
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass
        return Handler

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
