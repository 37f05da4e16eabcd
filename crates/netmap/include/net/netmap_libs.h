/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The older way to open ports, in a header alone: nm_open, nm_inject, nm_nextpkt, nm_dispatch, nm_close. net/netmap_user.h includes it
 * where NETMAP_WITH_LIBS is defined.
 */
#ifndef LINERATE_NET_NETMAP_LIBS_H
#define LINERATE_NET_NETMAP_LIBS_H

#include <libnetmap.h>

struct nm_pkthdr { /* begins as struct pcap_pkthdr does */
	struct timeval ts;
	uint32_t caplen, len;
	uint64_t flags;
	struct nm_desc *d;
	struct netmap_slot *slot;
	uint8_t *buf;
};

struct nm_stat {
	unsigned ps_recv, ps_drop, ps_ifdrop;
};

struct nm_desc {
	struct nm_desc *self;
	int fd;
	void *mem;
	uint64_t memsize;
	int done_mmap;
	struct netmap_if *nifp;
	uint16_t first_tx_ring, last_tx_ring, cur_tx_ring;
	uint16_t first_rx_ring, last_rx_ring, cur_rx_ring;
	struct nmreq req; /* name, sizes and number of the memory */
	struct nm_pkthdr hdr;
	struct netmap_ring *some_ring;
	void *buf_start, *buf_end;
	struct nm_stat st;
	struct nmport_d *port;
};

typedef void (*nm_cb_t)(unsigned char *, const struct nm_pkthdr *, const unsigned char *);

#define NETMAP_FD(d) (((struct nm_desc *)(d))->fd)
#define NM_OPEN_NO_MMAP 0x040000 /* with `like`, whose memory this one shares */

static inline int nm_close(struct nm_desc *d)
{
	if (!d || d->self != d)
		return EINVAL;
	nmport_close(d->port);
	d->self = NULL;
	free(d);
	return 0;
}

/* An open port; null, and errno. `req` may ask for extra buffers (nr_arg3) and ways to poll (nr_ringid); its other fields are not
 * looked at, and flags beside NM_OPEN_NO_MMAP are EINVAL. */
static inline struct nm_desc *nm_open(const char *name, const struct nmreq *req, uint64_t flags, const struct nm_desc *like)
{
	struct nm_desc *d = (struct nm_desc *)calloc(1, sizeof *d);
	struct nmport_d *port = d ? nmport_prepare(name) : NULL;
	if (!port || (flags & ~(uint64_t)NM_OPEN_NO_MMAP)) {
		if (port) {
			nmport_close(port);
			errno = EINVAL;
		}
		free(d);
		return NULL;
	}
	if (req) {
		port->reg.nr_extra_bufs = req->nr_arg3;
		port->reg.nr_flags |= req->nr_ringid & NETMAP_NO_TX_POLL ? NR_NO_TX_POLL : 0;
		port->reg.nr_flags |= req->nr_ringid & NETMAP_DO_RX_POLL ? NR_DO_RX_POLL : 0;
	}
	if (like && (flags & NM_OPEN_NO_MMAP)) {
		port->mem = like->mem;
		port->reg.nr_mem_id = like->req.nr_arg2;
	}
	if (nmport_open_desc(port) < 0) {
		nmport_close(port);
		free(d);
		return NULL;
	}
	d->self = d;
	d->port = port;
	d->fd = port->fd;
	d->mem = port->mem;
	d->memsize = port->reg.nr_memsize;
	d->done_mmap = port->mmap_done;
	d->nifp = port->nifp;
	d->first_tx_ring = d->cur_tx_ring = port->first_tx_ring;
	d->last_tx_ring = port->last_tx_ring;
	d->first_rx_ring = d->cur_rx_ring = port->first_rx_ring;
	d->last_rx_ring = port->last_rx_ring;
	memcpy(d->req.nr_name, port->hdr.nr_name, sizeof d->req.nr_name - 1);
	d->req.nr_version = NETMAP_API;
	d->req.nr_offset = (uint32_t)port->reg.nr_offset;
	d->req.nr_memsize = (uint32_t)port->reg.nr_memsize;
	d->req.nr_tx_slots = port->reg.nr_tx_slots;
	d->req.nr_rx_slots = port->reg.nr_rx_slots;
	d->req.nr_tx_rings = port->reg.nr_tx_rings;
	d->req.nr_rx_rings = port->reg.nr_rx_rings;
	d->req.nr_arg2 = port->reg.nr_mem_id;
	d->req.nr_arg3 = port->reg.nr_extra_bufs;
	d->req.nr_flags = port->reg.nr_mode;
	d->req.nr_ringid = port->reg.nr_ringid | (port->reg.nr_mode == NR_REG_SW ? NETMAP_SW_RING : 0);
	for (uint16_t i = d->first_rx_ring; port->reg.nr_rx_rings > 0 && i <= d->last_rx_ring; i++)
		NETMAP_RXRING(d->nifp, i)->flags |= NR_TIMESTAMP;
	if (port->reg.nr_rx_rings > 0) {
		d->some_ring = NETMAP_RXRING(d->nifp, d->first_rx_ring);
		d->buf_start = NETMAP_BUF(d->some_ring, 0);
		d->buf_end = (char *)d->mem + d->memsize;
	}
	return d;
}

/* Copies a frame into the first ring with room; its length, or 0 if no ring has room. A frame longer than a buffer takes several
 * slots. */
static inline int nm_inject(struct nm_desc *d, const void *frame, size_t len)
{
	for (uint16_t n = 0, rings = (uint16_t)(d->last_tx_ring - d->first_tx_ring + 1); n < rings; n++) {
		struct netmap_ring *ring = NETMAP_TXRING(d->nifp, d->cur_tx_ring);
		size_t size = ring->nr_buf_size, slots = (len + size - 1) / size;
		if (len > 0 && slots <= nm_ring_space(ring)) {
			uint32_t at = ring->head;
			for (size_t from = 0; from < len; from += size, at = nm_ring_next(ring, at)) {
				size_t part = len - from < size ? len - from : size;
				memcpy(NETMAP_BUF(ring, ring->slot[at].buf_idx), (const char *)frame + from, part);
				ring->slot[at].len = (uint16_t)part;
				ring->slot[at].flags = from + part < len ? NS_MOREFRAG : 0;
			}
			ring->head = ring->cur = at;
			return (int)len;
		}
		d->cur_tx_ring = d->cur_tx_ring == d->last_tx_ring ? d->first_tx_ring : (uint16_t)(d->cur_tx_ring + 1);
	}
	return 0;
}

/* The next slot that was received, its frame or a part of one; null if there is none. It is the ring's again with the next call that
 * finds the descriptor here, and the ring is synced by poll. */
static inline unsigned char *nm_nextpkt(struct nm_desc *d, struct nm_pkthdr *hdr)
{
	for (uint16_t n = 0, rings = (uint16_t)(d->last_rx_ring - d->first_rx_ring + 1); n < rings; n++) {
		struct netmap_ring *ring = NETMAP_RXRING(d->nifp, d->cur_rx_ring);
		/* What the last call gave lies before `cur`. */
		ring->head = ring->cur;
		if (ring->cur != ring->tail) {
			struct netmap_slot *slot = &ring->slot[ring->cur];
			hdr->ts = ring->ts;
			hdr->caplen = hdr->len = slot->len;
			hdr->flags = slot->flags;
			hdr->d = d;
			hdr->slot = slot;
			hdr->buf = (uint8_t *)NETMAP_BUF(ring, slot->buf_idx);
			ring->cur = nm_ring_next(ring, ring->cur);
			return hdr->buf;
		}
		d->cur_rx_ring = d->cur_rx_ring == d->last_rx_ring ? d->first_rx_ring : (uint16_t)(d->cur_rx_ring + 1);
	}
	return NULL;
}

/* Gives up to `most` frames (all that have come for 0 or less) to a function; how many. */
static inline int nm_dispatch(struct nm_desc *d, int most, nm_cb_t take, unsigned char *argument)
{
	int n = 0;
	unsigned char *frame;
	while ((most <= 0 || n < most) && (frame = nm_nextpkt(d, &d->hdr))) {
		take(argument, &d->hdr, frame);
		n++;
	}
	/* Nothing is used any more. */
	for (uint16_t i = d->first_rx_ring; i <= d->last_rx_ring; i++)
		NETMAP_RXRING(d->nifp, i)->head = NETMAP_RXRING(d->nifp, i)->cur;
	return n;
}

#endif
