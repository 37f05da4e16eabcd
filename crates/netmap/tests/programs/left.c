/* A frame that is sent before the far end is there goes out while the program waits for something else. */
#include "common.h"
#include <pthread.h>

static void *far_end(void *unused)
{
	usleep(100000);
	struct nmport_d *b = nmport_open("netmap:cable:left}1"), *d = nmport_open("netmap:cable:answer}1");
	CHECK(b && d);
	take(b->fd, NETMAP_RXRING(b->nifp, 0), 'l', 60);
	put(NETMAP_TXRING(d->nifp, 0), 'd', 60, 0);
	push(d->fd);
	CHECK(ioctl(b->fd, NIOCRXSYNC, NULL) == 0);
	/* The answer's end stays until it was read. */
	pause();
	return unused;
}

int main(void)
{
	struct nmport_d *a = nmport_open("netmap:cable:left{1"), *c = nmport_open("netmap:cable:answer{1");
	pthread_t thread;
	CHECK(a && c && pthread_create(&thread, NULL, far_end, NULL) == 0);
	put(NETMAP_TXRING(a->nifp, 0), 'l', 60, 0);
	push(a->fd);
	take(c->fd, NETMAP_RXRING(c->nifp, 0), 'd', 60);
	return 0;
}
