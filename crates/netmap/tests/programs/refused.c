/* A ring full of frames that cannot be sent is the program's again at once, whatever the far end does; those that can be sent
 * and lie among them stay until they are. */
#include "common.h"

int main(void)
{
	struct nmport_d *a = nmport_open("netmap:cable:refused{1"), *b = nmport_open("netmap:cable:refused}1");
	CHECK(a && b);
	struct netmap_ring *tx = NETMAP_TXRING(a->nifp, 0), *rx = NETMAP_RXRING(b->nifp, 0);
	uint16_t lengths[] = { 0, 65535 };
	for (int i = 0; i < 2; i++) {
		while (!nm_ring_empty(tx)) {
			uint32_t slot = tx->head;
			put(tx, 'r', 60, 0);
			tx->slot[slot].len = lengths[i];
		}
		CHECK(await(a->fd, POLLOUT) && nm_ring_space(tx) == tx->num_slots - 1);
	}
	/* Two that are refused on either side of one that is not. */
	for (int i = 0; i < 5; i++)
		put(tx, i == 2 ? 's' : 'r', i == 2 ? 60 : 0, 0);
	push(a->fd);
	CHECK(nm_ring_space(tx) == tx->num_slots - 4);
	take(b->fd, rx, 's', 60);
	CHECK(ioctl(b->fd, NIOCRXSYNC, NULL) == 0 && nm_ring_empty(rx));
	push(a->fd);
	CHECK(nm_ring_space(tx) == tx->num_slots - 1);
	return 0;
}
