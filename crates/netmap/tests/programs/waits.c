/* Each way to wait ends for a frame that another thread sends while it sleeps, and by its time-out without one. */
#define _GNU_SOURCE
#include "common.h"
#include <pthread.h>
#include <signal.h>
#include <sys/select.h>

static struct nmport_d *a, *b;
static int turn[2], idle[2];

static void *sender(void *unused)
{
	char go;
	while (read(turn[0], &go, 1) == 1) {
		usleep(20000);
		struct netmap_ring *ring = NETMAP_TXRING(a->nifp, 0);
		put(ring, go, 60, 0);
		push(a->fd);
	}
	return unused;
}

static int waits(int way, int ms)
{
	struct pollfd fd = { .fd = b->fd, .events = POLLIN };
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };
	struct timeval older = { ms / 1000, ms % 1000 * 1000 };
	sigset_t none;
	fd_set set;
	sigemptyset(&none);
	FD_ZERO(&set);
	FD_SET(b->fd, &set);
	FD_SET(idle[0], &set);
	int n = way == 0 ? poll(&fd, 1, ms)
		: way == 1 ? ppoll(&fd, 1, &time, &none)
		: way == 2 ? select(b->fd + idle[0], &set, NULL, NULL, &older)
			   : pselect(b->fd + idle[0], &set, NULL, NULL, &time, &none);
	if (way < 2)
		CHECK((fd.revents == POLLIN) == (n == 1));
	else
		CHECK(!!FD_ISSET(b->fd, &set) == (n == 1) && !FD_ISSET(idle[0], &set));
	return n;
}

int main(void)
{
	pthread_t thread;
	CHECK((a = nmport_open("netmap:cable:waits{1")) && (b = nmport_open("netmap:cable:waits}1")));
	CHECK(pipe(turn) == 0 && pipe(idle) == 0 && pthread_create(&thread, NULL, sender, NULL) == 0);
	for (int way = 0; way < 4; way++) {
		CHECK(waits(way, 0) == 0 && waits(way, 30) == 0);
		char mark = (char)('a' + way);
		CHECK(write(turn[1], &mark, 1) == 1);
		CHECK(waits(way, 30000) == 1);
		take(b->fd, NETMAP_RXRING(b->nifp, 0), mark, 60);
	}
	return 0;
}
