/* A poll that sleeps on a port of a switch is told POLLERR when the switch ends; what had arrived is told before. */
#include "common.h"

int main(int argc, char **argv)
{
	char name[64];
	CHECK(argc == 2);
	snprintf(name, sizeof name, "vale%s:a", argv[1]);
	struct nmport_d *a = nmport_open(name);
	snprintf(name, sizeof name, "vale%s:b", argv[1]);
	struct nmport_d *b = nmport_open(name);
	CHECK(a && b);
	/* Until both are there. */
	do {
		struct netmap_ring *tx = NETMAP_TXRING(a->nifp, 0);
		if (!nm_ring_empty(tx)) {
			memset(NETMAP_BUF(tx, tx->slot[tx->head].buf_idx), 0xff, 6);
			memset(NETMAP_BUF(tx, tx->slot[tx->head].buf_idx) + 6, 'x', 54);
			tx->slot[tx->head].len = 60;
			tx->slot[tx->head].flags = 0;
			tx->head = tx->cur = nm_ring_next(tx, tx->head);
		}
		push(a->fd);
		usleep(1000);
		CHECK(ioctl(b->fd, NIOCRXSYNC, NULL) == 0);
	} while (nm_ring_empty(NETMAP_RXRING(b->nifp, 0)));
	CHECK(await(b->fd, POLLIN));
	NETMAP_RXRING(b->nifp, 0)->head = NETMAP_RXRING(b->nifp, 0)->cur = NETMAP_RXRING(b->nifp, 0)->tail;
	puts("end");
	fflush(stdout);
	struct pollfd fd = { .fd = b->fd, .events = POLLIN };
	CHECK(poll(&fd, 1, 30000) == 1 && fd.revents == POLLERR);
	/* The other port learns of it by itself, a moment later. */
	fd = (struct pollfd){ .fd = a->fd, .events = POLLOUT };
	for (int i = 0; i < 30000 && !(fd.revents & POLLERR); i++)
		CHECK(usleep(1000) == 0 && poll(&fd, 1, 30000) == 1);
	CHECK(fd.revents & POLLERR);
	return 0;
}
