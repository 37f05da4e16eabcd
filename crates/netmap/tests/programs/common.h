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

/* A request by NIOCCTRL; errno, or 0. */
__attribute__((unused)) static int ask(int fd, uint16_t type, uint16_t version, const char *name, void *body, void *options)
{
	struct nmreq_header header = { .nr_version = version, .nr_reqtype = type };
	strncpy(header.nr_name, name, sizeof header.nr_name - 1);
	header.nr_body = (uintptr_t)body;
	header.nr_options = (uintptr_t)options;
	return ioctl(fd, NIOCCTRL, &header) < 0 ? errno : 0;
}

/* Sends what is committed. On a cable, slots come back when the far end has released them. */
__attribute__((unused)) static void push(int fd)
{
	CHECK(ioctl(fd, NIOCTXSYNC, NULL) == 0);
}
