/* A descriptor that another thread closes while it is polled: the poll ends, and the port with it. */
#include "common.h"
#include <pthread.h>

static struct nmport_d *port;

static void *closer(void *unused)
{
	usleep(50000);
	CHECK(close(port->fd) == 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	for (int i = 0; i < 5; i++) {
		CHECK(port = nmport_open("netmap:cable:closed{1"));
		struct pollfd fd = { .fd = port->fd, .events = POLLIN };
		CHECK(pthread_create(&thread, NULL, closer, NULL) == 0);
		CHECK(poll(&fd, 1, 30000) == 1 && fd.revents == POLLNVAL);
		CHECK(pthread_join(thread, NULL) == 0);
	}
	return 0;
}
