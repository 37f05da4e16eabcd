/* SWITCH: three of its ports in one program: a flood reaches two, what is learned reaches one. */
#include "common.h"

int main(int argc, char **argv)
{
	char name[3][64];
	struct nmport_d *port[3];
	CHECK(argc == 2);
	for (int i = 0; i < 3; i++) {
		snprintf(name[i], sizeof name[i], "vale%s:p%d", argv[1], i);
		CHECK(port[i] = nmport_open(name[i]));
	}
	/* The switch has let all in. */
	CHECK(getchar() == '\n');
	const char *frames[3] = { "\377\377\377\377\377\377\2\0\0\0\0\1\210\265", "\2\0\0\0\0\1\2\0\0\0\0\2\210\265",
				  "\2\0\0\0\0\2\2\0\0\0\0\3\210\265" };
	for (int from = 0; from < 3; from++) {
		struct netmap_ring *tx = NETMAP_TXRING(port[from]->nifp, 0);
		memcpy(NETMAP_BUF(tx, tx->slot[tx->head].buf_idx), frames[from], 14);
		tx->slot[tx->head].len = 60;
		tx->head = tx->cur = nm_ring_next(tx, tx->head);
		push(port[from]->fd);
		/* Who gets it first: what else is wrong has come by then. */
		for (int i = 0; i < 3; i++) {
			int to = (i + from + 2) % 3;
			struct netmap_ring *rx = NETMAP_RXRING(port[to]->nifp, 0);
			/* To all but the first; to the first, which spoke; to the second, which has spoken since. */
			int wanted = from == 0 ? to != 0 : to == from - 1;
			CHECK(!wanted || await(port[to]->fd, POLLIN));
			CHECK(ioctl(port[to]->fd, NIOCRXSYNC, NULL) == 0 && nm_ring_space(rx) == (wanted ? 1u : 0u));
			if (wanted) {
				CHECK(!memcmp(NETMAP_BUF(rx, rx->slot[rx->head].buf_idx), frames[from], 14));
				rx->head = rx->cur = nm_ring_next(rx, rx->head);
			}
		}
	}
	return 0;
}
