/* Entry points of a fortified program: __poll_chk, __ppoll_chk, __open64_2, fcntl64. */
#define _GNU_SOURCE
#include "common.h"
#include <signal.h>

int main(int argc, char **argv)
{
	volatile nfds_t n = (nfds_t)argc;
	volatile int flags = O_RDWR;
	int fd = open("/dev/netmap", flags), at = openat(AT_FDCWD, "/dev/netmap", flags);
	struct nmreq_register reg = { .nr_mode = NR_REG_ALL_NIC };
	struct nmreq_header header = { 14, NETMAP_REQ_REGISTER, 0, "null:", 0, (uintptr_t)&reg };
	struct timespec none = { 0, 0 };
	sigset_t mask;
	sigemptyset(&mask);
	CHECK(argv[0] && fd >= 0 && at >= 0 && ioctl(fd, NIOCCTRL, &header) == 0);
	struct pollfd entries[2] = { { .fd = fd, .events = POLLOUT }, { .fd = fd, .events = POLLOUT } };
	CHECK(poll(entries, n, 0) == 1 && entries[0].revents == POLLOUT && entries[1].revents == 0);
	CHECK(ppoll(entries, n, &none, &mask) == 1);
	CHECK(fcntl(fd, F_DUPFD, 50) == 50 && ioctl(50, NIOCTXSYNC, NULL) == 0);
	return 0;
}
