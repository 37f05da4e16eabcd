/* Two rings of one port on two descriptors: what goes into one comes out of the same at the far end. */
#include "common.h"

int main(void)
{
	struct nmport_d *all = nmport_open("netmap:cable:rings{1,queues=2"), *one[2];
	CHECK(all && all->reg.nr_tx_rings == 2 && all->last_rx_ring == 1);
	CHECK((one[0] = nmport_open("netmap:cable:rings}1,queues=2-0")) && (one[1] = nmport_open("netmap:cable:rings}1,queues=2-1")));
	CHECK(!nmport_open("netmap:cable:rings}1,queues=2-2") && errno == EINVAL);
	/* The other's rings have no offset: programs know their own by it. */
	for (int i = 0; i < 4; i++)
		CHECK(all->nifp->ring_ofs[i] && (one[i % 2]->nifp->ring_ofs[i] != 0) && one[1 - i % 2]->nifp->ring_ofs[i] == 0);
	for (int round = 0; round < 3000; round++) {
		int q = round % 3 ? 1 : 0;
		put(NETMAP_TXRING(all->nifp, q), (char)('a' + q), 60, 0);
		CHECK(ioctl(all->fd, NIOCTXSYNC, NULL) == 0);
		take(one[q]->fd, NETMAP_RXRING(one[q]->nifp, q), (char)('a' + q), 60);
		CHECK(ioctl(one[!q]->fd, NIOCRXSYNC, NULL) == 0 && nm_ring_empty(NETMAP_RXRING(one[!q]->nifp, !q)));
	}
	return 0;
}
