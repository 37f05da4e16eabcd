"""Linux kernels in two network namespaces, A and B, with a linerate program in a third one, M, between them: for the soak
scripts beside this file. All is undone at exit, and by the next run after a SIGKILL."""
import atexit, hashlib, os, re, signal, socket, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
A, B, M = os.environ["LRK"].split(",") if "LRK" in os.environ else (f"lrk{os.getpid()}{n}" for n in "abm")
ADDRESS = {A: "10.7.0.1", B: "10.7.0.2"}
KINDS = ["packet", "xdp", "tap", "tap,gso=on"]
LIMIT = 30
running = []


def run(*words, ns=None, check=True, timeout=LIMIT):
    words = (["ip", "netns", "exec", ns] if ns else []) + list(words)
    done = subprocess.run(words, capture_output=True, text=True, timeout=timeout)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def start(*words, ns, **more):
    process = subprocess.Popen(["ip", "netns", "exec", ns, *words], text=True, **more)
    running.append(process)
    return process


def clean():
    for process in running:
        if process.poll() is None:
            process.kill()
        process.wait()
    running.clear()
    for ns in (A, B, M):
        subprocess.run(["ip", "netns", "del", ns], capture_output=True)


def recover():
    """Namespaces of runs that were killed."""
    for line in run("ip", "netns", "list").split("\n"):
        found = re.match(r"lrk(\d+)[abm]\b", line)
        if found and not os.path.exists(f"/proc/{found[1]}"):
            subprocess.run(["ip", "netns", "del", found[0]], capture_output=True)


def me(*words, ns, **more):
    """Starts the calling script in a namespace, with a word for what to do."""
    return start(sys.executable, sys.argv[0], *words, ns=ns, env={**os.environ, "LRK": f"{A},{B},{M}"}, **more)


class Refused(Exception):
    """The program did not start, and said why."""


def attach(n, kind, ns):
    """The port of a kind whose other end is in a namespace, and that end's name."""
    kind, _, options = kind.partition(",")
    port = f"{kind}:m{n}" + (f",{options}" if options else "")
    if kind == "tap":
        return port, f"m{n}"
    run("ip", "-n", M, "link", "add", f"m{n}", "type", "veth", "peer", "name", f"e{n}", "netns", ns)
    run("ip", "-n", M, "link", "set", f"m{n}", "up")
    run("ip", "-n", ns, "link", "set", f"e{n}", "up")
    return port, f"e{n}"


def namespaces(*names):
    for ns in names:
        run("ip", "netns", "add", ns)
        run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", ns=ns)


def launch(linerate, commands, work):
    """Starts programs in M; returns them and their outputs once all have said that they run."""
    out = [open(os.path.join(work, f"program{n}"), "w+") for n in range(len(commands))]
    programs = [start(linerate, *c, ns=M, stdout=o, stderr=o) for c, o in zip(commands, out)]
    for process, o in zip(programs, out):
        if until(process, o.name, r"exchanging buffers|by copy|attach to it|link up: |LUN 0") is None:
            raise Refused(open(o.name).read().strip())
    return programs, out


def until(process, path, words):
    for _ in range(100):
        if re.search(words, open(path).read()):
            return True
        if process.poll() is not None:
            return None
        time.sleep(0.05)
    raise RuntimeError(f"the program said nothing like '{words}' in 5 s, but: {open(path).read().strip()[-200:]}")


def address(end, kind, ns, tx_off=False):
    """Gives a namespace's kernel its address on its end of a port."""
    if kind.startswith("tap"):
        run("ip", "-n", M, "link", "set", end, "netns", ns)
    run("ip", "-n", ns, "link", "set", "lo", "up")
    run("ip", "-n", ns, "addr", "add", ADDRESS[ns] + "/24", "dev", end)
    run("ip", "-n", ns, "link", "set", end, "up")
    if tx_off:
        run("ethtool", "-K", end, "tx", "off", ns=ns)


def join(linerate, forwarder, kinds, work, tx_off=False):
    """Builds the two hosts and what is between them."""
    namespaces(A, B, M)
    ports, ends = zip(*(attach(n, kind, ns) for n, (kind, ns) in enumerate(zip(kinds, (A, B)))))
    if forwarder == "switch":
        commands = [["switch", f"{A}", "--attach", ports[0], "--attach", ports[1]]]
    elif forwarder == "bridge":
        commands = [["bridge", "-i", ports[0], "-i", ports[1]]]
    else:
        x, y = (os.path.join(work, n) for n in "xy")
        commands = [["bridge", "-i", ports[0], "-i", f"unix:{x}:{y}"], ["bridge", "-i", ports[1], "-i", f"unix:{y}:{x}"]]
    programs, out = launch(linerate, commands, work)
    for end, kind, ns in zip(ends, kinds, (A, B)):
        address(end, kind, ns, tx_off)
    return programs, out, ends


def end(programs, out, ledger=False):
    """Ends programs by SIGINT; returns what is wrong with their ends. `ledger`: they print one."""
    wrong = []
    for process, o in zip(programs, out):
        process.send_signal(signal.SIGINT)
        process.wait(LIMIT)
        text = open(o.name).read()
        if process.returncode not in (0, 130):
            wrong.append(f"the program ended with {process.returncode}: {text.strip()[-200:]}")
        left = re.search(r"unexplained\s+(\d+)", text)
        if left and int(left[1]) or ledger and not left:
            wrong.append(left[0] if left else "no ledger")
    return wrong


def file_send(path):
    with socket.create_connection((ADDRESS[B], 7002), LIMIT) as s, open(path, "rb") as f:
        s.sendfile(f)
        s.shutdown(socket.SHUT_WR)
        s.settimeout(60)
        s.recv(1)


def file_receive():
    listener = socket.create_server(("", 7002))
    listener.settimeout(LIMIT)
    print("ready", flush=True)
    s, _ = listener.accept()
    s.settimeout(LIMIT)
    total = hashlib.sha256()
    while block := s.recv(1 << 20):
        total.update(block)
    print(total.hexdigest())


def carry(path):
    """Sends a file from A to B by TCP; returns the sha256 of what arrived."""
    receiver = me("file-receive", ns=B, stdout=subprocess.PIPE)
    receiver.stdout.readline()
    sender = me("file-send", path, ns=A, stderr=subprocess.DEVNULL)
    got = receiver.communicate(timeout=300)[0].strip()
    sender.wait(LIMIT)
    return got


def options(about, *known):
    """The binary and the options of the command line."""
    words = sys.argv[1:]
    if not words or len(words) % 2 == 0 or set(words[1::2]) - set(known):
        sys.exit(about)
    return os.path.realpath(words[0]), dict(zip(words[1::2], words[2::2]))


def cases(all, only, try_one):
    """Tries cases, each a name and its parameters; prints a line for each; returns the number that failed, or all if none was
    tried."""
    failed = tried = 0
    for name, parameters in all:
        if only not in name:
            continue
        tried += 1
        try:
            wrong, said = try_one(*parameters)
        except Refused as e:
            wrong, said = [f"refused: {e}"], []
        except (RuntimeError, subprocess.TimeoutExpired, ValueError, KeyError) as e:
            wrong, said = [str(e)], []
        clean()
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'passed'} {name}: {'; '.join(wrong + said)}", flush=True)
    print(f"{tried - failed} of {tried} cases passed")
    return failed or not tried


def script(main, roles):
    """Runs a soak script: `main` with a folder for its files, or, within a namespace, what its first word asks for."""
    if "LRK" in os.environ:
        return {**roles, "file-send": file_send, "file-receive": file_receive}[sys.argv[1]](*sys.argv[2:])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    atexit.register(clean)
    recover()
    with tempfile.TemporaryDirectory() as work:
        sys.exit(main(work))
