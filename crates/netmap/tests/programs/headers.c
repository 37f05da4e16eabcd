/* virtio-net's header before the frames of a port of a switch: what is put before a frame is not sent, what comes has one, and what
 * it asks for is passed on. */
#include "common.h"

static struct nmport_d *a, *b;
static const char broadcast[6] = { '\377', '\377', '\377', '\377', '\377', '\377' };

static int header(const char *name, uint32_t bytes)
{
	struct nmreq_port_hdr hdr = { .nr_hdr_len = bytes }, got = { .nr_hdr_len = 77 };
	int error = ask(a->fd, NETMAP_REQ_PORT_HDR_SET, 14, name, &hdr, NULL);
	if (error)
		return error;
	CHECK(ask(a->fd, NETMAP_REQ_PORT_HDR_GET, 14, name, &got, NULL) == 0 && got.nr_hdr_len == bytes);
	return 0;
}

/* Puts `before` bytes and a frame of 60 into a slot, or into two. */
static void sends(struct nmport_d *from, const char *before, uint16_t bytes, char mark, int apart)
{
	struct netmap_ring *ring = NETMAP_TXRING(from->nifp, 0);
	for (int part = 0; part <= apart; part++) {
		struct netmap_slot *slot = &ring->slot[ring->head];
		char *at = NETMAP_BUF(ring, slot->buf_idx);
		slot->len = 0;
		slot->flags = apart && part == 0 ? NS_MOREFRAG : 0;
		if (part == 0) {
			memcpy(at, before, bytes);
			slot->len = bytes;
		}
		if (part == apart) {
			memset(at + slot->len, mark, 60);
			memcpy(at + slot->len, broadcast, 6);
			memset(at + slot->len + 6, from == a ? 2 : 4, 6);
			slot->len = (uint16_t)(slot->len + 60);
		}
		ring->head = ring->cur = nm_ring_next(ring, ring->head);
	}
	push(from->fd);
}

static void comes(struct nmport_d *to, const char *before, uint16_t bytes, char mark)
{
	struct netmap_ring *ring = NETMAP_RXRING(to->nifp, 0);
	CHECK(await(to->fd, POLLIN));
	struct netmap_slot *slot = &ring->slot[ring->head];
	char *at = NETMAP_BUF(ring, slot->buf_idx);
	CHECK(slot->len == bytes + 60 && !memcmp(at, before, bytes) && !memcmp(at + bytes, broadcast, 6) && at[bytes + 59] == mark);
	ring->head = ring->cur = nm_ring_next(ring, ring->head);
}

int main(void)
{
	static const char none[12], asks[12] = { 1, 0, 0, 0, 0, 0, 34, 0, 16, 0, 0, 0 };
	CHECK((a = nmport_open("valeheads:a")) && (b = nmport_open("valeheads:b")));
	CHECK(header("valeheads:c", 12) == ENXIO && header("valeheads:a", 11) == EINVAL && header("null:", 12) == ENXIO);
	CHECK(header("valeheads:a", 12) == 0 && header("valeheads:a", 0) == 0 && header("valeheads:a", 10) == 0);
	sends(a, none, 10, '1', 0);
	comes(b, none, 0, '1');
	sends(b, none, 0, '2', 0);
	comes(a, none, 10, '2');
	/* The header alone in a slot. */
	sends(a, none, 10, '3', 1);
	comes(b, none, 0, '3');
	/* Both have one, and pass on what it asks for. */
	CHECK(header("valeheads:a", 12) == 0 && header("valeheads:b", 12) == 0);
	sends(a, asks, 12, '4', 0);
	comes(b, asks, 12, '4');
	sends(a, none, 12, '5', 0);
	comes(b, none, 12, '5');
	/* A frame without room for its header is none. */
	struct netmap_ring *ring = NETMAP_TXRING(a->nifp, 0);
	put(ring, 'x', 11, 0);
	put(ring, 'x', 12, 0);
	push(a->fd);
	sends(a, none, 12, '6', 0);
	comes(b, none, 12, '6');
	/* Who registers must accept it. */
	CHECK(!nmport_open("valeheads:a") && errno == EIO);
	struct nmport_d *also = nmport_prepare("valeheads:a");
	CHECK(also);
	also->reg.nr_flags = NR_ACCEPT_VNET_HDR;
	CHECK(nmport_open_desc(also) == 0);
	return 0;
}
