/* A port of no interface: as many rings of as many slots as are asked for, with buffers, that lead nowhere. */
#include "common.h"

static struct nmport_d *null(uint16_t tx, uint16_t rx, uint32_t tx_slots, uint32_t rx_slots, uint16_t memory)
{
	struct nmport_d *d = nmport_prepare("netmap:nowhere");
	CHECK(d);
	d->reg = (struct nmreq_register){ .nr_mode = NR_REG_NULL, .nr_mem_id = memory, .nr_tx_rings = tx, .nr_rx_rings = rx,
					  .nr_tx_slots = tx_slots, .nr_rx_slots = rx_slots, .nr_extra_bufs = 4 };
	return nmport_open_desc(d) == 0 ? d : NULL;
}

int main(void)
{
	struct nmport_d *d = null(10, 5, 256, 100, 1);
	CHECK(d && d->reg.nr_tx_rings == 10 && d->reg.nr_rx_rings == 5 && d->reg.nr_tx_slots == 256 && d->reg.nr_rx_slots == 100);
	CHECK(d->reg.nr_extra_bufs == 4 && d->nifp->ni_bufs_head && d->nifp->ni_tx_rings == 10 && d->nifp->ni_rx_rings == 5);
	struct netmap_ring *tx = NETMAP_TXRING(d->nifp, 9), *rx = NETMAP_RXRING(d->nifp, 4);
	CHECK(tx->num_slots == 256 && rx->num_slots == 100 && nm_ring_space(tx) == 255 && nm_ring_empty(rx));
	/* Nothing is sent, and nothing comes. */
	put(tx, 'n', 60, 0);
	CHECK(ioctl(d->fd, NIOCTXSYNC, NULL) == 0 && ioctl(d->fd, NIOCRXSYNC, NULL) == 0);
	CHECK(nm_ring_space(tx) == 254 && tx->head == 1 && nm_ring_empty(rx));
	struct pollfd entry = { .fd = d->fd, .events = POLLIN };
	CHECK(poll(&entry, 1, 20) == 0 && await(d->fd, POLLOUT));
	/* The memory that it is to use must be named, and have room; a ring has two slots at least. */
	CHECK(!null(1, 1, 64, 64, 0) && errno == EINVAL);
	CHECK(!null(1, 1, 1, 64, 1) && errno == EINVAL);
	CHECK(!null(65535, 65535, 1 << 20, 1 << 20, 1) && errno == ENOMEM);
	CHECK(!null(1, 1, UINT32_MAX, UINT32_MAX, 1) && errno == ENOMEM);
	CHECK((d = null(0, 0, 0, 0, 1)) && d->reg.nr_tx_rings == 0 && ioctl(d->fd, NIOCTXSYNC, NULL) == 0);
	return 0;
}
