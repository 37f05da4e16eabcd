/* The older way to open ports: nm_open, nm_inject, nm_dispatch, nm_nextpkt and nm_close. */
#define NETMAP_WITH_LIBS
#include "common.h"

static unsigned expected;

static void seen(unsigned char *argument, const struct nm_pkthdr *hdr, const unsigned char *frame)
{
	unsigned number;
	memcpy(&number, frame, sizeof number);
	CHECK(argument == (unsigned char *)&expected && number == expected++ && hdr->len == 60 && hdr->ts.tv_sec > 1600000000);
}

int main(void)
{
	struct nmreq extra = { .nr_arg3 = 7 };
	struct nm_desc *a = nm_open("netmap:older{1", &extra, 0, NULL), *b = nm_open("netmap:older}1", NULL, NM_OPEN_NO_MMAP, a);
	CHECK(a && b && b->mem == a->mem && !b->done_mmap && a->req.nr_arg3 == 7 && NETMAP_FD(b) == b->fd);
	CHECK(!nm_open("netmap:cable:x{1", NULL, 1, NULL) && errno == EINVAL && !nm_open("netmap:", NULL, 0, NULL));
	char frame[5000];
	for (unsigned i = 0, sent = 0; expected < 5000; i++) {
		while (sent < 5000) {
			memcpy(frame, &sent, sizeof sent);
			if (nm_inject(a, frame, 60) == 0)
				break;
			sent++;
		}
		struct pollfd fds[] = { { .fd = a->fd, .events = sent < 5000 ? POLLOUT : 0 }, { .fd = b->fd, .events = POLLIN } };
		CHECK(poll(fds, 2, 30000) > 0);
		CHECK((nm_dispatch(b, i % 3 * 10, seen, (unsigned char *)&expected) > 0) == (fds[1].revents == POLLIN));
	}
	/* A frame of several slots comes as such. */
	memset(frame, 'm', sizeof frame);
	CHECK(nm_inject(a, frame, 3000) == 3000 && nm_inject(a, frame, 0) == 0);
	push(a->fd);
	struct nm_pkthdr hdr;
	CHECK(await(b->fd, POLLIN));
	CHECK(nm_nextpkt(b, &hdr) && hdr.len == 2048 && (hdr.flags & NS_MOREFRAG) && hdr.buf[2047] == 'm');
	CHECK(nm_nextpkt(b, &hdr) && hdr.len == 952 && !(hdr.flags & NS_MOREFRAG) && !nm_nextpkt(b, &hdr));
	CHECK(nm_close(b) == 0 && nm_close(a) == 0);
	return 0;
}
