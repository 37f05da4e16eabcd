/* Rings that parent and child share after fork: used by the child alone, by both in turns, by a child of the child, and by a child
 * whose parent has ended in any way but one. What cannot be shared says so. */
#include "common.h"
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

static struct nmport_d *a, *b;
static int told[2], go[2];

static void opened(void)
{
	CHECK((a = nmport_open("netmap:cable:shared{1")) && (b = nmport_open("netmap:cable:shared}1")));
}

/* Sends a frame one way and takes it, both ends by this process. */
static void turn(struct nmport_d *from, struct nmport_d *to, char mark)
{
	put(NETMAP_TXRING(from->nifp, 0), mark, 60, 0);
	push(from->fd);
	take(to->fd, NETMAP_RXRING(to->nifp, 0), mark, 60);
}

static void ended(pid_t child)
{
	int status;
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* The child has the rings when the parent has closed its own; so has its child. */
static void alone(void)
{
	opened();
	pid_t child = fork();
	if (child == 0) {
		usleep(20000);
		void *map = mmap(NULL, a->reg.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
		CHECK(map != MAP_FAILED && ((struct netmap_if *)((char *)map + a->reg.nr_offset))->ni_tx_rings == 1);
		for (int i = 0; i < 200; i++)
			turn(i % 2 ? a : b, i % 2 ? b : a, (char)i);
		char where[] = "from this process";
		struct netmap_ring *tx = NETMAP_TXRING(a->nifp, 0);
		uint32_t slot = tx->head;
		put(tx, 'x', 60, NS_INDIRECT);
		tx->slot[slot].ptr = (uintptr_t)where;
		tx->slot[slot].len = sizeof where;
		push(a->fd);
		CHECK(await(b->fd, POLLIN));
		struct netmap_ring *rx = NETMAP_RXRING(b->nifp, 0);
		CHECK(!strcmp(NETMAP_BUF(rx, rx->slot[rx->head].buf_idx), where));
		rx->head = rx->cur = nm_ring_next(rx, rx->head);
		child = fork();
		if (child == 0) {
			turn(a, b, 'g');
			_exit(0);
		}
		ended(child);
		struct nmreq_port_info_get body = { 0 };
		CHECK(ask(a->fd, NETMAP_REQ_PORT_INFO_GET, NETMAP_API, "", &body, NULL) == EOPNOTSUPP);
		CHECK(close(a->fd) == 0 && ioctl(a->fd, NIOCTXSYNC, NULL) == -1 && errno == EBADF);
		exit(0);
	}
	CHECK(close(a->fd) == 0 && close(b->fd) == 0);
	ended(child);
	/* Nobody holds them: the port can be opened again. */
	CHECK(a = nmport_open("netmap:cable:shared{1,slots=64"));
	nmport_close(a);
}

/* The child receives, by poll and by epoll, what the parent sends. */
static void turns(void)
{
	opened();
	CHECK(pipe(told) == 0);
	pid_t child = fork();
	char byte;
	if (child == 0) {
		int poller = epoll_create1(0);
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = 7 };
		CHECK(epoll_ctl(poller, EPOLL_CTL_ADD, b->fd, &event) == 0);
		for (int i = 0; i < 300; i++) {
			if (i % 2)
				CHECK(epoll_wait(poller, &event, 1, 30000) == 1 && event.data.u32 == 7);
			take(b->fd, NETMAP_RXRING(b->nifp, 0), (char)i, 60);
			CHECK(write(told[1], "x", 1) == 1);
		}
		exit(0);
	}
	for (int i = 0; i < 300; i++) {
		if (i % 100 == 0)
			usleep(20000);
		put(NETMAP_TXRING(a->nifp, 0), (char)i, 60, 0);
		push(a->fd);
		CHECK(read(told[0], &byte, 1) == 1);
	}
	ended(child);
	/* A child that is killed amid anything leaves the parent as it is. */
	for (int i = 0; i < 20; i++) {
		child = fork();
		if (child == 0)
			for (struct pollfd fd = { .fd = b->fd, .events = POLLIN };; ioctl(a->fd, NIOCTXSYNC, NULL))
				poll(&fd, 1, 1);
		usleep(1000 * (i % 5));
		kill(child, SIGKILL);
		CHECK(waitpid(child, NULL, 0) == child);
		turn(a, b, 'k');
	}
	nmport_close(a);
	nmport_close(b);
}

/* A parent ends in this way, and its child goes on: a process is made for it that is no other's child. */
static void orphan(const char *how)
{
	char byte;
	CHECK(pipe(told) == 0 && pipe(go) == 0);
	pid_t parent = fork();
	if (parent == 0) {
		opened();
		turn(a, b, 'p');
		pid_t child = !strcmp(how, "daemon") ? daemon(1, 1) : fork();
		if (child == 0) {
			CHECK(read(go[0], &byte, 1) == 1);
			if (!strcmp(how, "kill")) {
				struct pollfd fd = { .fd = a->fd, .events = POLLIN };
				CHECK(poll(&fd, 1, 30000) == 1 && fd.revents == POLLERR);
				CHECK(ioctl(a->fd, NIOCRXSYNC, NULL) == -1 && errno == ENXIO);
			} else {
				for (int i = 0; i < 200; i++)
					turn(a, b, (char)i);
			}
			CHECK(write(told[1], "x", 1) == 1);
			_exit(0);
		}
		CHECK(child > 0);
		if (!strcmp(how, "exit"))
			exit(0);
		if (!strcmp(how, "_exit"))
			_exit(0);
		/* The child sleeps on it. */
		CHECK(write(go[1], "x", 1) == 1);
		usleep(50000);
		kill(getpid(), SIGKILL);
	}
	CHECK(waitpid(parent, NULL, 0) == parent);
	CHECK(write(go[1], "x", 1) == 1);
	struct pollfd entry = { .fd = told[0], .events = POLLIN };
	CHECK(poll(&entry, 1, 30000) == 1 && read(told[0], &byte, 1) == 1);
}

/* A descriptor that came by a socket, or stayed open over exec, is none here. */
static void passed(int fd)
{
	CHECK(ioctl(fd, NIOCRXSYNC, NULL) == -1 && errno == EOPNOTSUPP);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		passed(atoi(argv[1]));
		return 0;
	}
	alone();
	turns();
	const char *ways[] = { "exit", "_exit", "daemon", "kill" };
	for (int i = 0; i < 4; i++)
		orphan(ways[i]);
	opened();
	pid_t child = fork();
	if (child == 0) {
		char number[12];
		snprintf(number, sizeof number, "%d", a->fd);
		execl("/proc/self/exe", argv[0], number, (char *)NULL);
	}
	ended(child);
	turn(a, b, 'e');
	return 0;
}
