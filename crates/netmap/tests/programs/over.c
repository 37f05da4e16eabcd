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
		if (!nm_ring_empty(NETMAP_TXRING(a->nifp, 0)))
			put(NETMAP_TXRING(a->nifp, 0), 'x', 60, 0);
		push(a->fd);
		usleep(1000);
		CHECK(ioctl(b->fd, NIOCRXSYNC, NULL) == 0);
	} while (nm_ring_empty(NETMAP_RXRING(b->nifp, 0)));
	take(b->fd, NETMAP_RXRING(b->nifp, 0), 'x', 60);
	NETMAP_RXRING(b->nifp, 0)->head = NETMAP_RXRING(b->nifp, 0)->cur = NETMAP_RXRING(b->nifp, 0)->tail;
	puts("end");
	fflush(stdout);
	struct pollfd fd = { .fd = b->fd, .events = POLLIN };
	CHECK(poll(&fd, 1, 30000) == 1 && fd.revents == POLLERR);
	fd = (struct pollfd){ .fd = a->fd, .events = POLLOUT };
	CHECK(poll(&fd, 1, 30000) == 1 && (fd.revents & POLLERR));
	return 0;
}
