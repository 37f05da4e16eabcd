/* NAME N close|exit: commits N numbered frames, and ends without a sync, by closing its descriptor or by ending itself. */
#include "common.h"

int main(int argc, char **argv)
{
	CHECK(argc == 4);
	struct nmport_d *port = nmport_open(argv[1]);
	CHECK(port);
	struct netmap_ring *ring = NETMAP_TXRING(port->nifp, 0);
	for (uint32_t i = 0, n = (uint32_t)atoi(argv[2]); i < n; i++) {
		char *bytes = NETMAP_BUF(ring, ring->slot[ring->head].buf_idx);
		memcpy(bytes + 14, &i, sizeof i);
		ring->slot[ring->head].len = (uint16_t)(60 + i % 1400);
		ring->head = ring->cur = nm_ring_next(ring, ring->head);
	}
	if (!strcmp(argv[3], "exit"))
		exit(0);
	CHECK(close(port->fd) == 0);
	_exit(0);
}
