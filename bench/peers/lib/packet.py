"""Packet generators of the kernel's world on a veth pair, and the price of one datagram."""
import struct, time
from registry import Result, option, peer, pps, switch
from run import NICE, Fail, built, output, received

SIZE = option("--size", 60, "frame size in bytes, without FCS")


def counted(r, load):
    """Frames a second that v1 received while a load ran: after a start of 1.5 s, over the seconds asked for."""
    time.sleep(1.5)
    r.alive(load)
    n0, t0 = received(load, "v1")
    time.sleep(r.seconds)
    n1, t1 = received(load, "v1")
    r.alive(load)
    return pps((n1 - n0) / (t1 - t0))


def frame(size):
    """An UDP broadcast frame of that size."""
    if not 60 <= size <= 1514:
        raise Fail("--size is 60 to 1514")
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, size - 14, 1, 0, 64, 17, 0, bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2]))
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", 0xffff ^ total) + ip[12:]
    udp = struct.pack(">HHHH", 1234, 1234, size - 34, 0)
    return b"\xff" * 6 + b"\x02\0\0\0\0\x01\x08\0" + ip + udp + b"U" * (size - 42)


@peer("trafgen", "netsniff-ng's trafgen over AF_PACKET into a veth pair, counted at the receiver",
      SIZE, option("--cpus", 1, "sending processes"), switch("--qdisc", "send through the queueing discipline"))
def trafgen(r, o):
    space, _ = r.veth()
    config = r.dir / "trafgen.cfg"
    config.write_text("{ " + ", ".join(f"0x{b:02x}" for b in frame(o.size)) + " }\n")
    through = ["--qdisc-path", "--no-sock-mem"] if o.qdisc else []
    load = r.start(["ip", "netns", "exec", space, *NICE, "trafgen", "--dev", "v0", "--conf", config, "--cpus", o.cpus,
                    *through])
    return counted(r, load)


@peer("tcpreplay", "tcpreplay from a cached capture into a veth pair, counted at the receiver",
      SIZE, option("--packets", 1000, "packets in the capture"))
def tcpreplay(r, o):
    space, _ = r.veth()
    data, capture = frame(o.size), r.dir / "one.pcap"
    with open(capture, "wb") as f:
        f.write(struct.pack("<IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i in range(o.packets):
            f.write(struct.pack("<IIII", i // 1000, i % 1000, len(data), len(data)) + data)
    load = r.start(["ip", "netns", "exec", space, *NICE, "tcpreplay", "-K", "-t", "--loop", 0, "-i", "v0", capture])
    return counted(r, load)


@peer("udp-send", "what one datagram costs its sender, into an ifb, which drops it at once; one core",
      option("--how", "sendto", "the call", choices=["sendto", "send", "sendmmsg", "gso", "packet", "getppid"]),
      option("--payload", 22, "UDP payload in bytes (22 makes a 64-byte frame)"),
      option("--batch", 32, "datagrams a call, for sendmmsg and gso"),
      two_cores=False)
def udp_send(r, o):
    space = r.namespace("a")
    output(["ip", "-n", space, "link", "add", "v0", "type", "ifb"])
    output(["ip", "-n", space, "link", "set", "v0", "up"])
    output(["ip", "-n", space, "addr", "add", "10.77.0.1/24", "dev", "v0"])
    ns, rate, failed = map(float, r.run(
        ["ip", "netns", "exec", space, *NICE, built("udp-send"), o.how, "10.77.0.2", o.payload, o.batch, o.seconds,
         r.cores[0], "v0"]).split())
    return Result("ns_per_packet", ns, "ns", variant="-" + o.how, valid=failed == 0, packets_per_second=rate,
                  failed_calls=int(failed))
