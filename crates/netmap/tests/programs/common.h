/* What all these programs need. Each ends with 0 if all is as it should be, and otherwise says where it is not. */
#include <libnetmap.h>
#include <poll.h>
#include <stdio.h>

#define CHECK(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #what, errno); \
			exit(1); \
		} \
	} while (0)

/* Sends a frame of so many bytes, each `mark`, on a ring with room. */
__attribute__((unused)) static void put(struct netmap_ring *ring, char mark, uint16_t len, uint16_t flags)
{
	struct netmap_slot *slot = &ring->slot[ring->head];
	CHECK(nm_ring_space(ring) > 0);
	memset(NETMAP_BUF(ring, slot->buf_idx), mark, len);
	slot->len = len;
	slot->flags = flags;
	ring->head = ring->cur = nm_ring_next(ring, ring->head);
}

/* Waits for an event; false after half a minute. */
__attribute__((unused)) static int await(int fd, short events)
{
	struct pollfd entry = { .fd = fd, .events = events };
	return poll(&entry, 1, 30000) == 1 && entry.revents == events;
}

/* Takes the next frame and compares it. */
__attribute__((unused)) static void take(int fd, struct netmap_ring *ring, char mark, uint16_t len)
{
	CHECK(await(fd, POLLIN));
	struct netmap_slot *slot = &ring->slot[ring->head];
	char *bytes = NETMAP_BUF(ring, slot->buf_idx);
	CHECK(slot->len == len);
	for (int i = 0; i < len; i++)
		CHECK(bytes[i] == mark);
	ring->head = ring->cur = nm_ring_next(ring, ring->head);
}

/* Sends what is committed. On a cable, slots come back when the far end has released them. */
__attribute__((unused)) static void push(int fd)
{
	CHECK(ioctl(fd, NIOCTXSYNC, NULL) == 0);
}
