/* Monitors of a port: copies of what it sends and receives, whole frames, by direction and by ring; one that is not read holds
 * nothing up. */
#include "common.h"

static struct nmport_d *a, *b;

static struct nmport_d *monitor(const char *name, uint64_t flags, uint32_t slots)
{
	struct nmport_d *d = nmport_prepare(name);
	CHECK(d);
	d->reg.nr_flags = flags;
	d->reg.nr_rx_slots = slots;
	return nmport_open_desc(d) == 0 ? d : NULL;
}

/* A frame through ring `ring` of one port, taken at the other. */
static void passes(struct nmport_d *from, struct nmport_d *to, int ring, char mark, uint16_t len)
{
	put(NETMAP_TXRING(from->nifp, ring), mark, len, 0);
	push(from->fd);
	take(to->fd, NETMAP_RXRING(to->nifp, ring), mark, len);
	CHECK(ioctl(to->fd, NIOCRXSYNC, NULL) == 0);
	push(from->fd);
}

static void sees(struct nmport_d *d, int ring, char mark, uint16_t len, uint16_t flags)
{
	struct netmap_ring *rx = NETMAP_RXRING(d->nifp, ring);
	CHECK(await(d->fd, POLLIN) && rx->slot[rx->head].flags == flags);
	take(d->fd, rx, mark, len);
}

static int is_idle(struct nmport_d *d)
{
	struct pollfd entry = { .fd = d->fd, .events = POLLIN };
	return poll(&entry, 1, 0) == 0;
}

int main(void)
{
	const char *name = "netmap:cable:seen{1,queues=2";
	CHECK(!monitor(name, NR_MONITOR_TX, 0) && errno == EINVAL);
	CHECK((a = nmport_open(name)) && (b = nmport_open("netmap:cable:seen}1,queues=2")));
	struct nmport_d *both = monitor(name, NR_ZCOPY_MON, 0), *tx = monitor(name, NR_MONITOR_TX, 0);
	struct nmport_d *rx = monitor(name, NR_MONITOR_RX, 0), *one = monitor("netmap:cable:seen{1,queues=2-1", NR_MONITOR_TX, 0);
	CHECK(both && tx && rx && one && both->reg.nr_rx_rings == 2 && both->reg.nr_mem_id == a->reg.nr_mem_id);
	for (int i = 0; i < 3000; i++) {
		char mark = (char)('a' + i % 26);
		uint16_t len = (uint16_t)(60 + i % 1000);
		int ring = i % 2, sent = i % 3 == 0;
		passes(sent ? a : b, sent ? b : a, ring, mark, len);
		sees(both, ring, mark, len, sent ? NS_TXMON : 0);
		sees(sent ? tx : rx, ring, mark, len, sent ? NS_TXMON : 0);
		if (sent && ring)
			sees(one, 1, mark, len, NS_TXMON);
	}
	CHECK(is_idle(both) && is_idle(tx) && is_idle(rx) && is_idle(one));
	/* A frame of three slots is one there too, and joined to no other. */
	struct netmap_ring *ring = NETMAP_TXRING(a->nifp, 0);
	put(ring, 'x', 100, NS_MOREFRAG);
	put(ring, 'x', 200, NS_MOREFRAG);
	put(ring, 'x', 300, 0);
	push(a->fd);
	sees(tx, 0, 'x', 600, NS_TXMON);
	for (uint16_t len = 100; len <= 300; len = (uint16_t)(len + 100))
		take(b->fd, NETMAP_RXRING(b->nifp, 0), 'x', len);
	nmport_close(one);
	nmport_close(rx);
	/* What nobody takes is dropped, and the port does not notice. */
	struct nmport_d *full = monitor(name, NR_MONITOR_TX, 64);
	CHECK(full && full->reg.nr_rx_slots == 64);
	for (int i = 0; i < 500; i++)
		passes(a, b, 0, 'f', 60);
	CHECK(ioctl(full->fd, NIOCRXSYNC, NULL) == 0);
	uint32_t seen = nm_ring_space(NETMAP_RXRING(full->nifp, 0));
	CHECK(seen == 63);
	nmport_close(full);
	nmport_close(both);
	/* It ends with what it sees. */
	nmport_close(a);
	CHECK(ioctl(tx->fd, NIOCRXSYNC, NULL) == 0 && nm_ring_space(NETMAP_RXRING(tx->nifp, 0)) > 0);
	return 0;
}
