/* Whatever a program writes into rings, slots and requests: the port goes on, and nothing wild is touched. */
#include "common.h"

static struct nmport_d *a, *b;

static int sound(void)
{
	put(NETMAP_TXRING(a->nifp, 0), 's', 100, 0);
	push(a->fd);
	take(b->fd, NETMAP_RXRING(b->nifp, 0), 's', 100);
	CHECK(ioctl(b->fd, NIOCRXSYNC, NULL) == 0);
	push(a->fd);
	return 1;
}

int main(void)
{
	CHECK((a = nmport_open("netmap:cable:hostile{1")) && (b = nmport_open("netmap:cable:hostile}1")));
	struct netmap_ring *tx = NETMAP_TXRING(a->nifp, 0), *rx = NETMAP_RXRING(b->nifp, 0);
	uint32_t wild[] = { tx->num_slots, tx->num_slots + 7, 0x7fffffff, 0x80000000, 0xffffffff };
	CHECK(sound());
	for (int i = 0; i < 5; i++) {
		/* A head or cur that cannot be: the ring is set back, and poll says so. */
		for (int which = 0; which < 4; which++) {
			struct netmap_ring *ring = which & 1 ? rx : tx;
			struct pollfd fd = { .fd = which & 1 ? b->fd : a->fd, .events = which & 1 ? POLLIN : POLLOUT };
			uint32_t head = ring->head;
			*(which & 2 ? &ring->cur : &ring->head) = wild[i];
			CHECK(poll(&fd, 1, 1000) == 1 && fd.revents & POLLERR);
			CHECK(ring->head == head && ring->cur == head);
			*(which & 2 ? &ring->cur : &ring->head) = wild[i];
			CHECK(ioctl(fd.fd, which & 1 ? NIOCRXSYNC : NIOCTXSYNC, NULL) == 0 && ring->head == head);
		}
		CHECK(sound());
		/* A buffer that is none is not sent, nor filled. */
		uint32_t head = tx->head, own = tx->slot[head].buf_idx;
		put(tx, 'x', 60, 0);
		tx->slot[head].buf_idx = i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 163840 : wild[i];
		push(a->fd);
		CHECK(sound());
		tx->slot[head].buf_idx = own;
		head = rx->head, own = rx->slot[head].buf_idx;
		rx->slot[head].buf_idx = i == 0 ? 0 : i == 1 ? 1 : i == 2 ? 163840 : wild[i];
		put(tx, 'y', 60, 0);
		push(a->fd);
		take(b->fd, rx, 'y', 0);
		rx->slot[head].buf_idx = own;
		CHECK(sound());
	}
	/* Frames that are too long, in one slot or many, or lie where nothing is. */
	uint32_t head = tx->head;
	put(tx, 'l', 60, 0);
	tx->slot[head].len = 65535;
	put(tx, 'i', 60, NS_INDIRECT);
	tx->slot[head + 1].ptr = 8;
	for (int i = 0; i < 70; i++)
		put(tx, 'c', 60, NS_MOREFRAG);
	put(tx, 'c', 60, 0);
	push(a->fd);
	CHECK(sound() && nm_ring_empty(rx));
	/* A frame in the program's own memory, whole and in two slots. */
	static char far[1000];
	memset(far, 'f', sizeof far);
	head = tx->head;
	put(tx, 'f', 500, NS_INDIRECT | NS_MOREFRAG);
	tx->slot[head].ptr = (uintptr_t)far;
	put(tx, 'f', 300, 0);
	push(a->fd);
	take(b->fd, rx, 'f', 500);
	CHECK(rx->slot[rx->head - 1].flags & NS_MOREFRAG);
	take(b->fd, rx, 'f', 300);
	/* Everything at once: constants, offsets, the interface and all buffers' numbers. */
	memset((char *)rx + 20, 0xff, 16);
	for (uint32_t i = 0; i < tx->num_slots; i++)
		tx->slot[i].buf_idx = rx->slot[i].buf_idx = 0xffffffff - i;
	memset((char *)tx, 0xff, 256);
	memset((char *)a->nifp, 0xff, 200);
	struct pollfd both[] = { { .fd = a->fd, .events = POLLOUT }, { .fd = b->fd, .events = POLLIN } };
	CHECK(poll(both, 2, 1000) == 2);
	nmport_close(a);
	nmport_close(b);
	CHECK((a = nmport_open("netmap:cable:hostile{1")) && (b = nmport_open("netmap:cable:hostile}1")));
	CHECK(sound());
	return 0;
}
