"""Clients that want a door's places: ADDRESS HOW BYTES COUNT ORIGINS.

ADDRESS is tcp:HOST:PORT, udp:HOST:PORT, unix:PATH (streams) or seq:PATH (messages). HOW is `silent`; `half`, which says BYTES
(hexadecimal) and stops amid what it has to say; or `dribble`, which says one of them at a time. Whoever is sent away comes again.
COUNT clients are of as many origins as are asked for: addresses of 127.0.0.0/8, or processes. "ready" is printed when all have
come once. It goes on until it is killed.
"""
import os, signal, socket, sys, time

address, how, words, count, origins = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
kind, place = address.split(':', 1)
place = (place.rsplit(':', 1)[0], int(place.rsplit(':', 1)[1])) if kind in ('tcp', 'udp') else place


def come(origin):
    family = socket.AF_INET if kind in ('tcp', 'udp') else socket.AF_UNIX
    type_ = {'tcp': socket.SOCK_STREAM, 'unix': socket.SOCK_STREAM, 'udp': socket.SOCK_DGRAM, 'seq': socket.SOCK_SEQPACKET}[kind]
    one = socket.socket(family, type_)
    try:
        if family == socket.AF_INET and place[0].startswith('127.'):
            one.bind(('127.9.0.%d' % (1 + origin), 0))
        one.settimeout(1)
        one.connect(place)
        one.setblocking(False)
        if how == 'half' or kind == 'udp':
            one.send(words)
        return one
    except OSError:
        one.close()


def flood(mine, origin, tell):
    """Keeps `mine` clients of an origin, or of all of them."""
    held, told, said, parent = [], False, 0, os.getppid()
    while os.getppid() == parent:
        while len(held) < mine:
            one = come(len(held) % origins if origin is None else origin)
            if one is None:
                time.sleep(0.005)
                if kind in ('unix', 'seq') and not told and len(held) > 0:
                    break  # The listener's queue is full: it is at its work.
                continue
            held.append(one)
        if not told:
            told = True
            os.write(tell, b'.')
        time.sleep(0.1)
        if kind == 'udp':
            # A datagram is all that there is of such a client.
            time.sleep(0.4)
            [one.close() for one in held]
            held = []
            continue
        if how == 'dribble' and said < len(words):
            for one in held:
                try:
                    one.send(words[said:said + 1])
                except OSError:
                    pass
            said += 1
        gone = []
        for one in held:
            try:
                if not one.recv(4096):
                    gone.append(one)
            except BlockingIOError:
                pass
            except OSError:
                gone.append(one)
        for one in gone[:10]:
            one.close()
            held.remove(one)


tells, tell = os.pipe()
processes = origins if kind in ('unix', 'seq') else 1
for n in range(processes):
    if os.fork() == 0:
        try:
            flood(count // processes, n if processes > 1 else None, tell)
        finally:
            os._exit(1)
for _ in range(processes):
    os.read(tells, 1)
print('ready', flush=True)
signal.pause()
