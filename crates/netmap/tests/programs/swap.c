/* A bridge by exchange of buffers between two ports, as netmap's programs do it, for longer than the rings are. */
#include "common.h"

int main(void)
{
	struct nmport_d *a = nmport_open("netmap:cable:in{1"), *in = nmport_open("netmap:cable:in}1");
	struct nmport_d *out = nmport_open("netmap:cable:out{1"), *b = nmport_open("netmap:cable:out}1");
	CHECK(a && in && out && b && a->reg.nr_mem_id == b->reg.nr_mem_id);
	struct netmap_ring *rx = NETMAP_RXRING(in->nifp, 0), *tx = NETMAP_TXRING(out->nifp, 0);
	for (int i = 0; i < 5000; i++) {
		put(NETMAP_TXRING(a->nifp, 0), (char)i, (uint16_t)(60 + i % 1000), 0);
		CHECK(ioctl(a->fd, NIOCTXSYNC, NULL) == 0 && await(in->fd, POLLIN) && await(out->fd, POLLOUT));
		struct netmap_slot *from = &rx->slot[rx->head], *to = &tx->slot[tx->head];
		uint32_t spare = to->buf_idx;
		to->buf_idx = from->buf_idx;
		to->len = from->len;
		from->buf_idx = spare;
		to->flags = from->flags = NS_BUF_CHANGED;
		rx->head = rx->cur = nm_ring_next(rx, rx->head);
		tx->head = tx->cur = nm_ring_next(tx, tx->head);
		CHECK(ioctl(in->fd, NIOCRXSYNC, NULL) == 0 && ioctl(out->fd, NIOCTXSYNC, NULL) == 0);
		take(b->fd, NETMAP_RXRING(b->nifp, 0), (char)i, (uint16_t)(60 + i % 1000));
	}
	return 0;
}
