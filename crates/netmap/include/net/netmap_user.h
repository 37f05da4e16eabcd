/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Ways to rings, slots and buffers for programs; see net/netmap.h.
 */
#ifndef LINERATE_NET_NETMAP_USER_H
#define LINERATE_NET_NETMAP_USER_H

#include <net/netmap.h>

#define LINERATE_AT(type, from, bytes) ((type)(void *)((char *)(from) + (bytes)))

#define NETMAP_IF(base, offset) LINERATE_AT(struct netmap_if *, base, offset)
#define NETMAP_TXRING(nifp, i) LINERATE_AT(struct netmap_ring *, nifp, (nifp)->ring_ofs[i])
#define NETMAP_RXRING(nifp, i) \
	LINERATE_AT(struct netmap_ring *, nifp, (nifp)->ring_ofs[(i) + (nifp)->ni_tx_rings + (nifp)->ni_host_tx_rings])
#define NETMAP_BUF(ring, index) ((char *)(ring) + (ring)->buf_ofs + (uint64_t)(index) * (ring)->nr_buf_size)
#define NETMAP_BUF_IDX(ring, buf) \
	((uint32_t)(((char *)(buf) - ((char *)(ring) + (ring)->buf_ofs)) / (ring)->nr_buf_size))

static inline uint32_t nm_ring_next(struct netmap_ring *ring, uint32_t slot)
{
	return slot + 1 == ring->num_slots ? 0 : slot + 1;
}

/* Slots from `head` up to `tail`. */
static inline uint32_t nm_ring_space(struct netmap_ring *ring)
{
	int n = (int)(ring->tail - ring->head);
	return (uint32_t)(n < 0 ? n + (int)ring->num_slots : n);
}

/* True if not all that was committed has been sent. */
static inline int nm_tx_pending(struct netmap_ring *ring)
{
	return nm_ring_next(ring, ring->tail) != ring->head;
}

#ifdef NETMAP_WITH_LIBS
#include <libnetmap.h>
#endif

#endif
