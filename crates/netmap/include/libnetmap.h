/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * nmport_open and nmport_close, in a header alone: a program needs no library to link.
 *
 *   netmap:NAME      all rings of a port: an interface (eth0), or one of linerate's ports (cable:x{1)
 *   netmap:NAME-N    ring N of it
 *   netmap:NAME^     the host's rings, if it has some; netmap:NAME^N one of them; netmap:NAME* all rings
 *   valeX:PORT       a port of a switch
 */
#ifndef LINERATE_LIBNETMAP_H
#define LINERATE_LIBNETMAP_H

#include <errno.h>
#include <fcntl.h>
#include <net/netmap_user.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct nmport_d {
	struct nmreq_header hdr;
	struct nmreq_register reg;
	int register_done;
	int mmap_done;
	int fd;
	void *mem;
	struct netmap_if *nifp;
	uint16_t first_tx_ring, last_tx_ring, first_rx_ring, last_rx_ring;
	uint16_t cur_tx_ring, cur_rx_ring;
};

static inline void nmport_close(struct nmport_d *d)
{
	int was = errno;
	if (d->mmap_done)
		munmap(d->mem, d->reg.nr_memsize);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
	errno = was;
}

/* A port's description before it is opened; null, and errno, if the name cannot be. */
static inline struct nmport_d *nmport_prepare(const char *name)
{
	const char *from = strncmp(name, "netmap:", 7) ? name : name + 7, *ring = strpbrk(from, "^*");
	size_t len = strlen(from);
	struct nmport_d *d = (struct nmport_d *)calloc(1, sizeof *d);
	if (!d)
		return NULL;
	d->fd = -1;
	d->reg.nr_mode = NR_REG_ALL_NIC;
	ring = ring ? ring : strrchr(from, '-');
	if (from != name && ring && strspn(ring + 1, "0123456789") == strlen(ring + 1) && (ring[1] || *ring != '-')) {
		len = (size_t)(ring - from);
		d->reg.nr_mode = *ring == '*' ? NR_REG_NIC_SW : *ring == '-' ? NR_REG_ONE_NIC : ring[1] ? NR_REG_ONE_SW : NR_REG_SW;
		d->reg.nr_ringid = (uint16_t)atoi(ring + 1);
	}
	if (len == 0 || len >= sizeof d->hdr.nr_name) {
		free(d);
		errno = EINVAL;
		return NULL;
	}
	memcpy(d->hdr.nr_name, from, len);
	d->hdr.nr_version = NETMAP_API;
	return d;
}

/* Registers a prepared port and maps its memory, unless `mem` is there already; -1, and errno, if that fails. */
static inline int nmport_open_desc(struct nmport_d *d)
{
	int sw = d->reg.nr_mode == NR_REG_SW || d->reg.nr_mode == NR_REG_ONE_SW;
	int one = d->reg.nr_mode == NR_REG_ONE_NIC || d->reg.nr_mode == NR_REG_ONE_SW;
	d->fd = open("/dev/netmap", O_RDWR);
	if (d->fd < 0)
		return -1;
	d->hdr.nr_reqtype = NETMAP_REQ_REGISTER;
	d->hdr.nr_body = (uintptr_t)&d->reg;
	if (ioctl(d->fd, NIOCCTRL, &d->hdr) < 0)
		return -1;
	d->register_done = 1;
	if (!d->mem) {
		d->mem = mmap(NULL, d->reg.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, d->fd, 0);
		if (d->mem == MAP_FAILED)
			return -1;
		d->mmap_done = 1;
	}
	d->nifp = NETMAP_IF(d->mem, d->reg.nr_offset);
	uint16_t tx = sw ? d->reg.nr_tx_rings : 0, rx = sw ? d->reg.nr_rx_rings : 0;
	int both = sw || d->reg.nr_mode == NR_REG_NIC_SW;
	d->first_tx_ring = (uint16_t)(tx + (one ? d->reg.nr_ringid : 0));
	d->first_rx_ring = (uint16_t)(rx + (one ? d->reg.nr_ringid : 0));
	d->last_tx_ring = one ? d->first_tx_ring : (uint16_t)(d->reg.nr_tx_rings + (both ? d->reg.nr_host_tx_rings : 0) - 1);
	d->last_rx_ring = one ? d->first_rx_ring : (uint16_t)(d->reg.nr_rx_rings + (both ? d->reg.nr_host_rx_rings : 0) - 1);
	d->cur_tx_ring = d->first_tx_ring;
	d->cur_rx_ring = d->first_rx_ring;
	return 0;
}

/* An open port; null, and errno, if it cannot be had. linerate has said why on standard error. */
static inline struct nmport_d *nmport_open(const char *name)
{
	struct nmport_d *d = nmport_prepare(name);
	if (d && nmport_open_desc(d) < 0) {
		nmport_close(d);
		d = NULL;
	}
	return d;
}

#ifdef NETMAP_WITH_LIBS
#include <net/netmap_libs.h>
#endif

#endif
