"""Hosts in network namespaces that send and receive TCP: kernels with CUBIC and equal buffers, or our stack in their place."""
import json, os, pathlib, signal, socket, subprocess, sys, threading, time

BUFFERS = {"net.ipv4.tcp_rmem": "4096 262144 8388608", "net.ipv4.tcp_wmem": "4096 262144 8388608"}


def run(*words, ns=None, check=True):
    inside = ["ip", "netns", "exec", ns] if ns else []
    return subprocess.run([*inside, *words], check=check, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout


def start(*words, ns=None, **more):
    inside = ["ip", "netns", "exec", ns] if ns else []
    return subprocess.Popen([*inside, *map(str, words)], text=True, **more)


# ---- what runs inside of the namespaces: `tcp_hosts.py NAME …` ----

def cubic(socket_):
    socket_.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    return socket_


def source(port):
    """Sends to all who connect, until they leave."""
    listener = cubic(socket.create_server(("", port)))
    print("ready", flush=True)
    while True:
        threading.Thread(target=fill, args=(listener.accept()[0],), daemon=True).start()


def fill(stream):
    try:
        while True:
            stream.sendall(bytes(65536))
    except OSError:
        stream.close()


def sink(port):
    """Reads what comes, from one after the other."""
    listener = socket.create_server(("", port))
    print("ready", flush=True)
    while True:
        stream, _ = listener.accept()
        while stream.recv(1 << 20):
            pass
        stream.close()


def get(host, port, seconds):
    """Bytes a second that come from a source."""
    with socket.create_connection((host, port), 10) as stream:
        stream.settimeout(10)
        begin, count = time.monotonic(), 0
        while (now := time.monotonic()) < begin + seconds:
            count += len(stream.recv(1 << 20))
    print(json.dumps(count / (now - begin)))


def put(host, port, seconds):
    """Bytes a second that a sink has taken: all that were written, to the end of the stream."""
    with socket.create_connection((host, port), 10) as stream:
        cubic(stream).settimeout(30)
        begin, count = time.monotonic(), 0
        while time.monotonic() < begin + seconds:
            count += stream.send(bytes(65536))
        stream.shutdown(socket.SHUT_WR)
        while stream.recv(4096):
            pass
        print(json.dumps(count / (time.monotonic() - begin)))


def role(name, *rest):
    if name in ("source", "sink"):
        {"source": source, "sink": sink}[name](int(rest[0]))
    else:
        {"get": get, "put": put}[name](rest[0], int(rest[1]), float(rest[2]))


# ---- the hosts ----

class Hosts:
    """Namespaces, each with an interface whose other end is in the namespace of the caller; and programs, ended together."""

    def __init__(self, linerate):
        self.linerate, self.programs, self.namespaces, self.ports = linerate, [], [], []

    def add(self, ns, near, far, address):
        self.namespaces.append(ns)
        self.ports.append(far)
        run("ip", "netns", "add", ns)
        run("ip", "-n", ns, "link", "set", "lo", "up")
        run("ip", "link", "add", far, "type", "veth", "peer", "name", near, "netns", ns)
        run("ip", "link", "set", far, "up")
        run("ip", "-n", ns, "link", "set", near, "up")
        run("ip", "-n", ns, "addr", "add", f"{address}/24", "dev", near)
        run("ethtool", "-K", near, "tso", "off", "gso", "off", "gro", "off", "tx", "off", ns=ns)
        for name, value in BUFFERS.items():
            run("sysctl", "-qw", f"{name}={value}", ns=ns)

    def begin(self, *words, ns=None, ready=None):
        program = start(*words, ns=ns, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.programs.append(program)
        while ready and ready not in (line := program.stdout.readline()):
            if not line:
                sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(map(str, words))} has ended")
        return program

    def role(self, ns, *words, ready=None):
        return self.begin(sys.executable, __file__, *words, ns=ns, ready=ready)

    def ours(self, ns, near, address, services):
        """Our stack in place of the namespace's kernel."""
        run("ip", "-n", ns, "addr", "flush", "dev", near)
        run("sysctl", "-qw", f"net.ipv6.conf.{near}.disable_ipv6=1", ns=ns, check=False)
        self.begin(self.linerate, "stack", "up", "-i", f"packet:{near},slots=8192", "--addr", f"{address}/24", "--services", services,
                   "--no-offload", ns=ns, ready="link up")

    def end(self):
        for program in self.programs:
            program.send_signal(signal.SIGINT) if program.poll() is None else None
        for program in self.programs:
            try:
                program.wait(5)
            except subprocess.TimeoutExpired:
                program.kill()
        for ns in self.namespaces:
            run("ip", "netns", "del", ns, check=False)
        for port in self.ports:
            run("ip", "link", "del", port, check=False)


def rate(program):
    """What a program of `get` or `put` has measured, bytes a second."""
    return float(program.communicate(timeout=180)[0].strip().splitlines()[-1])


if __name__ == "__main__":
    role(*sys.argv[1:])
