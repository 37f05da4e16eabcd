/* NAME N: sends N numbered frames by poll, and ends when all were sent. */
#include "common.h"

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	struct nmport_d *port = nmport_open(argv[1]);
	CHECK(port);
	struct netmap_ring *ring = NETMAP_TXRING(port->nifp, 0);
	for (uint32_t i = 0, n = (uint32_t)atoi(argv[2]); i < n;) {
		CHECK(await(port->fd, POLLOUT));
		for (uint32_t head = ring->head; head != ring->tail && i < n; i++) {
			char *bytes = NETMAP_BUF(ring, ring->slot[head].buf_idx);
			memset(bytes, 0xff, 60);
			memcpy(bytes + 14, &i, sizeof i);
			ring->slot[head].len = (uint16_t)(60 + i % 1400);
			ring->head = ring->cur = head = nm_ring_next(ring, head);
		}
	}
	while (nm_tx_pending(ring)) {
		usleep(100);
		push(port->fd);
	}
	nmport_close(port);
	return 0;
}
