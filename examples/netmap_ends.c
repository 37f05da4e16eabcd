/* One frame from one end of a virtual cable to the other, by netmap's interface:
 *   cc -Icrates/netmap/include -o netmap_ends examples/netmap_ends.c
 *   linerate netmap run -- ./netmap_ends recv 'netmap:cable:x{1' &
 *   linerate netmap run -- ./netmap_ends send 'netmap:cable:x}1' */
#include <libnetmap.h>
#include <poll.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int sends = argc > 2 && !strcmp(argv[1], "send");
	struct nmport_d *port = argc > 2 ? nmport_open(argv[2]) : NULL;
	if (!port)
		return perror("nmport_open"), 1;
	struct pollfd fd = { .fd = port->fd, .events = sends ? POLLOUT : POLLIN };
	struct netmap_ring *ring = sends ? NETMAP_TXRING(port->nifp, 0) : NETMAP_RXRING(port->nifp, 0);
	if (poll(&fd, 1, 10000) != 1)
		return fprintf(stderr, "no frame in ten seconds\n"), 1;
	struct netmap_slot *slot = &ring->slot[ring->head];
	if (sends)
		slot->len = 60, memcpy(NETMAP_BUF(ring, slot->buf_idx), "\377\377\377\377\377\377\2\0\0\0\0\1\210\265hello", 19);
	else
		printf("%d bytes: %.5s\n", slot->len, NETMAP_BUF(ring, slot->buf_idx) + 14);
	ring->head = ring->cur = nm_ring_next(ring, ring->head);
	while (sends && nm_tx_pending(ring))
		ioctl(port->fd, NIOCTXSYNC, NULL);
	nmport_close(port);
	return 0;
}
