/* Frames of several slots: those of no bytes are left out, and a frame of more slots than may be is dropped whole. */
#include "common.h"

static struct nmport_d *a, *b;

/* Sends a frame of 100 bytes behind what was sent, and finds nothing else. */
static void alone(void)
{
	struct netmap_ring *rx = NETMAP_RXRING(b->nifp, 0);
	put(NETMAP_TXRING(a->nifp, 0), 'z', 100, 0);
	push(a->fd);
	take(b->fd, rx, 'z', 100);
	CHECK(!(rx->slot[(rx->head + rx->num_slots - 1) % rx->num_slots].flags & NS_MOREFRAG));
	CHECK(ioctl(b->fd, NIOCRXSYNC, NULL) == 0 && nm_ring_empty(rx));
	push(a->fd);
	CHECK(nm_ring_space(NETMAP_TXRING(a->nifp, 0)) == NETMAP_TXRING(a->nifp, 0)->num_slots - 1);
}

int main(void)
{
	CHECK((a = nmport_open("netmap:cable:chains{1")) && (b = nmport_open("netmap:cable:chains}1")));
	struct netmap_ring *tx = NETMAP_TXRING(a->nifp, 0), *rx = NETMAP_RXRING(b->nifp, 0);
	int lengths[][3] = { { 60, 0, 0 }, { 0, 60, 0 }, { 0, 0, 60 }, { 60, 0, 50 }, { 60, 50, 0 }, { 0, 60, 50 }, { 0, 0, 0 } };
	for (int i = 0; i < 7; i++) {
		int left = 0;
		for (int j = 0; j < 3; j++) {
			put(tx, 'c', lengths[i][j], j < 2 ? NS_MOREFRAG : 0);
			left += lengths[i][j] > 0;
		}
		push(a->fd);
		for (int j = 0; j < 3; j++)
			if (lengths[i][j] > 0) {
				uint32_t slot = rx->head;
				take(b->fd, rx, 'c', lengths[i][j]);
				CHECK(!(rx->slot[slot].flags & NS_MOREFRAG) == (--left == 0));
			}
		alone();
	}
	/* In one piece, in pieces, and with a slot of no bytes at its end. */
	int slots[] = { 65, 66, 133, 200, 1000 };
	for (int i = 0; i < 5; i++)
		for (int how = 0; how < 3; how++) {
			for (int j = 1; j <= slots[i]; j++) {
				put(tx, 'l', how == 2 && j == slots[i] ? 0 : 10, j < slots[i] ? NS_MOREFRAG : 0);
				if (how == 1 && j % 50 == 0)
					push(a->fd);
			}
			alone();
		}
	for (int j = 1; j <= 64; j++)
		put(tx, 'm', 10, j < 64 ? NS_MOREFRAG : 0);
	push(a->fd);
	for (int j = 1; j <= 64; j++)
		take(b->fd, rx, 'm', 10);
	alone();
	return 0;
}
