"""gRPC through the gateway with a client and a server that know nothing of it: grpcio from PyPI.

usage: through_the_gateway.py FUSEBOARD

Starts a grpcio server and the given fuseboard in front of it, makes every kind of call, and says what it saw. Messages
are bytes, so nothing is generated. Ends with 1 and the line at fault when something is not as it must be.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent import futures

import grpc

LARGE = 10 * 1024 * 1024
MANY = 1000
OPTIONS = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
DEADLINE = 60


class Accounts(grpc.GenericRpcHandler):
    """Answers by the method's name, and fails with `self.fails` when it is set."""

    def __init__(self):
        self.fails = None
        self.cancelled = threading.Event()
        self.hanging = threading.Event()

    def service(self, call):
        method = call.method.rsplit("/", 1)[1]
        unary = {"Get": self.get, "Hang": self.hang}
        if method in unary:
            return grpc.unary_unary_rpc_method_handler(unary[method])
        if method == "List":
            return grpc.unary_stream_rpc_method_handler(lambda asked, _: (bytes([byte]) for byte in asked))
        if method == "Watch":
            return grpc.unary_stream_rpc_method_handler(self.watch)
        if method == "Sum":
            return grpc.stream_unary_rpc_method_handler(lambda asked, _: b"".join(asked))
        if method == "Chat":
            return grpc.stream_stream_rpc_method_handler(lambda asked, _: asked)
        return None

    def get(self, asked, context):
        if self.fails:
            context.abort(self.fails, "as told")
        metadata = dict(context.invocation_metadata())
        context.send_initial_metadata([(key, value) for key, value in metadata.items() if key.startswith("x-")])
        context.set_trailing_metadata([("sum-bin", bytes([0, 1, 254, 255])), ("left", str(context.time_remaining()))])
        return asked

    def hang(self, asked, context):
        self.hanging.set()
        context.add_callback(self.cancelled.set)
        self.cancelled.wait(DEADLINE)
        return asked

    def watch(self, asked, context):
        over = threading.Event()
        context.add_callback(over.set)
        yield asked
        over.wait(DEADLINE)


class Gateway:
    """The binary, with a store of its own and free ports."""

    def __init__(self, binary, folder, port):
        with open(os.path.join(folder, "fuseboard.toml"), "w") as config:
            config.write(
                f'[[upstream]]\nname = "accounts"\nurl = "http://127.0.0.1:{port}"\nprotocol = "grpc"\n'
                'services = ["accounts.v1.*"]\n'
            )
        serve = [binary, "serve", "--gateway", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        self.process = subprocess.Popen(serve, cwd=folder, stdout=subprocess.PIPE, text=True)
        said = {}
        while not {"gateway", "board"} <= said.keys():
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("fuseboard ended before it listened")
            if found := re.match(r"(gateway|board)\s+http://(\S+?)/?\s", line):
                said[found[1]] = found[2]
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.address, self.board = said["gateway"], said["board"]

    def api(self, method, path, body=None):
        request = urllib.request.Request(
            f"http://{self.board}/api/v1/{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
            return json.load(answer)

    def breaker(self):
        return self.api("GET", "breakers/accounts")


checks = []


def check(name):
    def keep(function):
        checks.append((name, function))
        return function

    return keep


def must(true, *seen):
    if not true:
        raise AssertionError(f"not as it must be: {seen}")


def failing(call):
    try:
        call()
    except grpc.RpcError as error:
        return error
    raise AssertionError("it was answered")


def path(method, service="accounts.v1.Accounts"):
    return f"/{service}/{method}"


@check("unary, server, client and bidirectional streaming")
def kinds(channel, gateway, accounts):
    must(channel.unary_unary(path("Get"))(b"hi", timeout=DEADLINE) == b"hi")
    must(list(channel.unary_stream(path("List"))(b"abc", timeout=DEADLINE)) == [b"a", b"b", b"c"])
    must(channel.stream_unary(path("Sum"))(iter([b"x", b"y"]), timeout=DEADLINE) == b"xy")
    # Each question waits for the answer to the one before.
    answered = threading.Semaphore(1)

    def ask():
        for number in range(50):
            answered.acquire()
            yield str(number).encode()

    heard = []
    for message in channel.stream_stream(path("Chat"))(ask(), timeout=DEADLINE):
        heard.append(message)
        answered.release()
    must(heard == [str(number).encode() for number in range(50)], heard)
    return f"{len(heard)} messages one by one"


@check("metadata, binary too, and the deadline as the server sees it")
def metadata(channel, gateway, accounts):
    sent = [("x-trace", "a=b; c"), ("x-key-bin", bytes([0, 1, 254, 255]))]
    answer, call = channel.unary_unary(path("Get")).with_call(b"hi", metadata=sent, timeout=30)
    seen, trailing = dict(call.initial_metadata()), dict(call.trailing_metadata())
    must(seen["x-trace"] == "a=b; c" and seen["x-key-bin"] == bytes([0, 1, 254, 255]), seen)
    must(trailing["sum-bin"] == bytes([0, 1, 254, 255]), trailing)
    # Timers are coarse: grpcio rounds it up a little.
    must(25 < float(trailing["left"]) < 31, trailing)
    return f"the server sees {float(trailing['left']):.1f} s"


@check("a message of 10 MB both ways")
def large(channel, gateway, accounts):
    message = os.urandom(LARGE)
    began = time.monotonic()
    must(channel.unary_unary(path("Get"))(message, timeout=DEADLINE) == message)
    return f"{time.monotonic() - began:.2f} s"


@check("1,000 streams open at once on one channel")
def many(channel, gateway, accounts):
    # The server gives each open stream a thread of its own.
    all_open, end = threading.Barrier(MANY + 1), threading.Event()

    def talk(number):
        def ask():
            yield str(number).encode()
            end.wait(DEADLINE)

        answers = channel.stream_stream(path("Chat"))(ask(), timeout=DEADLINE)
        first = next(answers)
        all_open.wait(DEADLINE)
        return first == str(number).encode() and list(answers) == []

    with futures.ThreadPoolExecutor(MANY) as pool:
        talks = [pool.submit(talk, number) for number in range(MANY)]
        all_open.wait(DEADLINE)
        in_flight = gateway.breaker()["in_flight"]
        end.set()
        must(all(one.result(DEADLINE) for one in talks))
    must(in_flight == MANY, in_flight)
    return f"in_flight {in_flight}"


@check("a deadline that passes")
def deadline(channel, gateway, accounts):
    accounts.cancelled.clear()
    began = time.monotonic()
    error = failing(lambda: channel.unary_unary(path("Hang"))(b"", timeout=0.3))
    took = time.monotonic() - began
    must(error.code() == grpc.StatusCode.DEADLINE_EXCEEDED and took < 5, error.code(), took)
    must(accounts.cancelled.wait(DEADLINE), "the server is told")
    wait_for(lambda: gateway.breaker()["in_flight"] == 0, "no permit out")
    must(gateway.breaker()["counts"]["failure"] == 1, gateway.breaker()["counts"])
    return f"{error.code().name} after {took:.2f} s, counted as a failure"


@check("a call that is cancelled")
def cancel(channel, gateway, accounts):
    accounts.cancelled.clear()
    accounts.hanging.clear()
    before = gateway.breaker()["counts"]
    call = channel.unary_unary(path("Hang")).future(b"")
    must(accounts.hanging.wait(DEADLINE), "it arrives")
    call.cancel()
    must(accounts.cancelled.wait(DEADLINE), "the server is told")
    wait_for(lambda: gateway.breaker()["in_flight"] == 0, "no permit out")
    after = gateway.breaker()["counts"]
    must(after["ignored"] == before["ignored"] + 1 and after["failure"] == before["failure"], before, after)
    return "ignored, and the server is told"


@check("a service nobody serves")
def unknown(channel, gateway, accounts):
    error = failing(lambda: channel.unary_unary(path("Get", "billing.v1.Invoices"))(b"", timeout=DEADLINE))
    must(error.code() == grpc.StatusCode.UNIMPLEMENTED, error.code())
    return f"{error.code().name}: {error.details()}"


@check("the refusal of an open breaker")
def refusal(channel, gateway, accounts):
    accounts.fails = grpc.StatusCode.UNAVAILABLE
    get = channel.unary_unary(path("Get"))
    failed = 0
    while gateway.breaker()["state"] == "closed" and failed < 20:
        error = failing(lambda: get(b"", timeout=DEADLINE))
        must(error.details() == "as told", error.details())
        failed += 1
    error = failing(lambda: get(b"", timeout=DEADLINE))
    trailing = dict(error.trailing_metadata())
    must(error.code() == grpc.StatusCode.UNAVAILABLE, error.code())
    must("accounts is open" in error.details() and "try again in" in error.details(), error.details())
    must(0 < int(trailing["grpc-retry-pushback-ms"]) <= 15_000, trailing)
    last = gateway.breaker()["last_transition"]["cause"]
    must(last["kind"] == "tripped" and last["code"] == "UNAVAILABLE", last)
    return f"after {failed} failures {error.code().name}: {error.details()} {trailing}"


@check("the refusal of one that is held open")
def held(channel, gateway, accounts):
    watching = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"serving", timeout=DEADLINE)
    must(next(watching) == b"serving", "an open breaker lets health checks pass")
    order = {"mode": "forced_open", "reason": "maintenance", "until": None}
    gateway.api("PUT", "breakers/accounts/override", order)
    ended = failing(lambda: next(watching))
    must(ended.code() == grpc.StatusCode.UNAVAILABLE and "accounts is held open" in ended.details(), ended)
    error = failing(lambda: channel.unary_unary(path("Get"))(b"", timeout=DEADLINE))
    trailing = dict(error.trailing_metadata())
    must(error.code() == grpc.StatusCode.UNAVAILABLE and trailing["grpc-retry-pushback-ms"] == "-1", trailing)
    health = failing(lambda: channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=DEADLINE))
    must(health.code() == grpc.StatusCode.UNAVAILABLE, health.code())
    return f"{error.code().name}: {error.details()} {trailing}; health likewise, and the watch that ran"


def wait_for(condition, what):
    until = time.monotonic() + DEADLINE
    while not condition():
        must(time.monotonic() < until, what)
        time.sleep(0.01)


def main():
    accounts = Accounts()
    server = grpc.server(futures.ThreadPoolExecutor(MANY + 50), handlers=[accounts], options=OPTIONS)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(os.path.abspath(sys.argv[1]), folder, port)
        try:
            with grpc.insecure_channel(gateway.address, options=OPTIONS) as channel:
                for name, run in checks:
                    try:
                        print(f"ok      {name}: {run(channel, gateway, accounts)}", flush=True)
                    except Exception as error:
                        print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
                        return 1
        finally:
            gateway.process.terminate()
            gateway.process.wait(DEADLINE)
            server.stop(None)
    print(f"{len(checks)} passed with grpcio {grpc.__version__}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main())
