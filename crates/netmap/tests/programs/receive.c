/* NAME N: receives N numbered frames by poll, none lost, doubled, cut or out of order. */
#include "common.h"

int main(int argc, char **argv)
{
	CHECK(argc == 3);
	struct nmport_d *port = nmport_open(argv[1]);
	CHECK(port);
	struct netmap_ring *ring = NETMAP_RXRING(port->nifp, 0);
	ring->flags = NR_TIMESTAMP;
	puts("open");
	fflush(stdout);
	for (uint32_t i = 0, got, n = (uint32_t)atoi(argv[2]); i < n;) {
		CHECK(await(port->fd, POLLIN));
		for (uint32_t head = ring->head; head != ring->tail; i++) {
			memcpy(&got, NETMAP_BUF(ring, ring->slot[head].buf_idx) + 14, sizeof got);
			CHECK(got == i && ring->slot[head].len == 60 + i % 1400);
			ring->head = ring->cur = head = nm_ring_next(ring, head);
		}
	}
	CHECK(ring->ts.tv_sec > 1000000000 && ring->ts.tv_usec < 1000000);
	nmport_close(port);
	return 0;
}
