/* A signal handler that polls and syncs while it may have interrupted a sync, a poll or a close of the same rings. */
#include "common.h"
#include <signal.h>
#include <sys/time.h>

static struct nmport_d *a, *b;
static volatile sig_atomic_t calls;

static void handler(int signal)
{
	int was = errno;
	struct pollfd fds[] = { { .fd = a->fd, .events = POLLOUT }, { .fd = b->fd, .events = POLLIN } };
	CHECK(signal == SIGALRM && poll(fds, 2, 0) >= 0);
	CHECK(ioctl(a->fd, NIOCTXSYNC, NULL) == 0 && ioctl(b->fd, NIOCRXSYNC, NULL) == 0);
	calls++;
	errno = was;
}

int main(void)
{
	CHECK((a = nmport_open("netmap:cable:handlers{1")) && (b = nmport_open("netmap:cable:handlers}1")));
	struct itimerval often = { { 0, 50 }, { 0, 50 } };
	CHECK(signal(SIGALRM, handler) != SIG_ERR && setitimer(ITIMER_REAL, &often, NULL) == 0);
	/* Until there was time enough to be interrupted anywhere. */
	for (int i = 0; calls < 5000; i++) {
		put(NETMAP_TXRING(a->nifp, 0), (char)i, 60, 0);
		push(a->fd);
		struct netmap_ring *rx = NETMAP_RXRING(b->nifp, 0);
		while (nm_ring_empty(rx)) {
			struct pollfd fd = { .fd = b->fd, .events = POLLIN };
			CHECK(poll(&fd, 1, 1000) >= 0 || errno == EINTR);
		}
		rx->head = rx->cur = rx->tail;
		int copy = dup(b->fd);
		CHECK(copy >= 0 && close(copy) == 0);
	}
	return 0;
}
