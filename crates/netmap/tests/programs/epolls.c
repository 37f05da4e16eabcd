/* netmap's descriptors among those of an epoll: events, members that change while another thread waits, and ends. */
#include "common.h"
#include <pthread.h>
#include <sys/epoll.h>

static struct nmport_d *a, *b;
static int poller, ends[2];

static int control(int operation, int fd, uint32_t events, uint64_t data)
{
	struct epoll_event event = { .events = events, .data.u64 = data };
	return epoll_ctl(poller, operation, fd, &event) < 0 ? errno : 0;
}

/* The only event within so many milliseconds: its data, 0 for none. */
static uint64_t next(int ms, uint32_t events)
{
	struct epoll_event got[4];
	int n = epoll_wait(poller, got, 4, ms);
	CHECK(n == 0 || (n == 1 && got[0].events == events));
	return n ? got[0].data.u64 : 0;
}

static void one(char mark)
{
	put(NETMAP_TXRING(a->nifp, 0), mark, 60, 0);
	push(a->fd);
}

/* Takes a frame that is there, and gives its slot back. */
static void taken(char mark)
{
	take(b->fd, NETMAP_RXRING(b->nifp, 0), mark, 60);
	CHECK(ioctl(b->fd, NIOCRXSYNC, NULL) == 0);
}

static void *waiter(void *data)
{
	*(uint64_t *)data = next(30000, EPOLLIN);
	return NULL;
}

/* Waits in another thread while `change` is made; the event that ends it. */
static uint64_t meanwhile(void (*change)(void))
{
	uint64_t data = 0;
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, waiter, &data) == 0);
	usleep(20000);
	change();
	CHECK(pthread_join(thread, NULL) == 0);
	return data;
}

static void sends(void) { one('m'); }
static void adds(void) { CHECK(control(EPOLL_CTL_ADD, b->fd, EPOLLIN, 8) == 0); }
static void writes(void) { CHECK(write(ends[1], "w", 1) == 1); }

int main(void)
{
	CHECK((a = nmport_open("netmap:cable:epolls{1")) && (b = nmport_open("netmap:cable:epolls}1")));
	CHECK((poller = epoll_create1(EPOLL_CLOEXEC)) >= 0 && pipe(ends) == 0);
	/* What cannot be is refused as by the kernel. */
	CHECK(control(EPOLL_CTL_MOD, b->fd, EPOLLIN, 1) == ENOENT && control(EPOLL_CTL_DEL, b->fd, 0, 0) == ENOENT);
	CHECK(epoll_ctl(ends[0], EPOLL_CTL_ADD, b->fd, &(struct epoll_event){ 0 }) == -1 && errno == EINVAL);
	CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, b->fd, NULL) == -1 && errno == EFAULT);
	CHECK(control(EPOLL_CTL_ADD, b->fd, EPOLLIN, 7) == 0 && control(EPOLL_CTL_ADD, b->fd, EPOLLIN, 7) == EEXIST);
	CHECK(control(EPOLL_CTL_ADD, ends[0], EPOLLIN, 9) == 0);
	struct epoll_event got[4];
	CHECK(epoll_wait(poller, got, 0, 0) == -1 && errno == EINVAL);
	CHECK(next(0, 0) == 0 && next(30, 0) == 0);

	/* A frame, before and while it is waited for; it is told until it was taken. */
	one('a');
	CHECK(next(30000, EPOLLIN) == 7 && next(0, EPOLLIN) == 7);
	taken('a');
	CHECK(next(0, 0) == 0 && meanwhile(sends) == 7);
	/* Others of the program's stand beside it; with room for one event, both have their turn. */
	writes();
	CHECK(epoll_wait(poller, got, 4, 30000) == 2 && got[0].data.u64 + got[1].data.u64 == 16);
	uint64_t seen = 0;
	for (int i = 0; i < 4; i++)
		CHECK(epoll_wait(poller, got, 1, 30000) == 1 && (seen |= got[0].data.u64 == 7 ? 1 : 2));
	CHECK(seen == 3);
	taken('m');
	char byte;
	CHECK(next(0, EPOLLIN) == 9 && read(ends[0], &byte, 1) == 1 && meanwhile(writes) == 9 && read(ends[0], &byte, 1) == 1);

	/* Other events, and one only. */
	CHECK(control(EPOLL_CTL_MOD, b->fd, EPOLLIN | EPOLLOUT, 5) == 0 && next(0, EPOLLOUT) == 5);
	CHECK(control(EPOLL_CTL_MOD, b->fd, EPOLLIN | EPOLLONESHOT, 6) == 0);
	one('o');
	CHECK(next(30000, EPOLLIN) == 6 && next(0, 0) == 0);
	CHECK(control(EPOLL_CTL_MOD, b->fd, EPOLLIN | EPOLLONESHOT, 4) == 0 && next(0, EPOLLIN) == 4);

	/* One that goes, and one that comes while another thread waits. */
	CHECK(control(EPOLL_CTL_DEL, b->fd, 0, 0) == 0 && next(0, 0) == 0);
	CHECK(meanwhile(adds) == 8);
	taken('o');
	struct nmport_d *other = nmport_open("netmap:null:");
	CHECK(other && control(EPOLL_CTL_ADD, other->fd, EPOLLOUT, 3) == 0 && next(0, EPOLLOUT) == 3);
	nmport_close(other);
	/* The number serves again, and is no member. */
	CHECK((other = nmport_open("netmap:null:")) && next(0, 0) == 0);
	nmport_close(other);
	CHECK(close(poller) == 0 && epoll_wait(poller, got, 4, 0) == -1 && errno == EBADF);
	CHECK((poller = epoll_create1(0)) >= 0 && next(0, 0) == 0);
	return 0;
}
