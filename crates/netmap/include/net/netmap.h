/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Structures and numbers of netmap's interface, version 14, as netmap(4) describes it, for programs that are run by
 * `linerate netmap run`. Names are netmap's, so a program is compiled against this file or netmap's own alike. What linerate
 * does not serve (kernel loops) is left out.
 */
#ifndef LINERATE_NET_NETMAP_H
#define LINERATE_NET_NETMAP_H

#include <net/if.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#define NETMAP_API 14
#define NETMAP_MIN_API 14
#define NETMAP_MAX_API 15
#define NETMAP_REQ_IFNAMSIZ 64
#define NETMAP_MAX_FRAGS 64

/* A slot: a buffer by its number, and the frame, or a part of one, in it. */
struct netmap_slot {
	uint32_t buf_idx;
	uint16_t len;
	uint16_t flags;
	uint64_t ptr;
};

#define NS_BUF_CHANGED 0x0001 /* buf_idx is another one than before */
#define NS_REPORT 0x0002      /* tell when sent: `tail` always does */
#define NS_INDIRECT 0x0010    /* the frame is at `ptr` (transmit only) */
#define NS_MOREFRAG 0x0020    /* the frame goes on in the next slot */
#define NS_TXMON 0x0040       /* of a monitor: the frame was sent, not received */

/* A ring. The program owns the slots from `head` up to `tail`, and moves `head`; poll wakes when `tail` passes `cur`. */
struct netmap_ring {
	const int64_t buf_ofs; /* from this structure to buffer 0, in bytes */
	const uint32_t num_slots;
	const uint32_t nr_buf_size;
	const uint16_t ringid;
	const uint16_t dir; /* 0 transmit, 1 receive */
	uint32_t head;
	uint32_t cur;
	uint32_t tail;
	uint32_t flags;
	struct timeval ts;
	const uint64_t offset_mask;
	const uint64_t buf_align;
	uint8_t sem[128] __attribute__((__aligned__(128)));
	struct netmap_slot slot[];
};

#define NR_TIMESTAMP 0x0002 /* write `ts` at each receive sync */

/* An interface: where its rings are, in bytes from this structure, transmit rings first; 0 for one that this descriptor is not
 * registered on. */
struct netmap_if {
	char ni_name[IFNAMSIZ];
	const uint32_t ni_version;
	const uint32_t ni_flags;
	const uint32_t ni_tx_rings;
	const uint32_t ni_rx_rings;
	uint32_t ni_bufs_head; /* first extra buffer; each begins with the number of the next, 0 ends the list */
	const uint32_t ni_host_tx_rings;
	const uint32_t ni_host_rx_rings;
	uint32_t ni_spare1[3];
	const int64_t ring_ofs[];
};

/* A request by NIOCCTRL: this, and a body by `nr_reqtype`. */
struct nmreq_header {
	uint16_t nr_version;
	uint16_t nr_reqtype;
	uint32_t nr_reserved;
	char nr_name[NETMAP_REQ_IFNAMSIZ];
	uint64_t nr_options;
	uint64_t nr_body;
};

enum {
	NETMAP_REQ_REGISTER = 1,
	NETMAP_REQ_PORT_INFO_GET = 2,
	NETMAP_REQ_VALE_ATTACH = 3,
	NETMAP_REQ_VALE_DETACH = 4,
	NETMAP_REQ_VALE_LIST = 5,
	NETMAP_REQ_PORT_HDR_SET = 6,
	NETMAP_REQ_PORT_HDR_GET = 7,
	NETMAP_REQ_VALE_NEWIF = 8,
	NETMAP_REQ_VALE_DELIF = 9,
	NETMAP_REQ_VALE_POLLING_ENABLE = 10,
	NETMAP_REQ_VALE_POLLING_DISABLE = 11,
	NETMAP_REQ_POOLS_INFO_GET = 12,
};

struct nmreq_option {
	uint64_t nro_next;
	uint32_t nro_reqtype;
	uint32_t nro_status;
	uint64_t nro_size;
};

struct nmreq_register {
	uint64_t nr_offset;
	uint64_t nr_memsize;
	uint32_t nr_tx_slots;
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_host_tx_rings;
	uint16_t nr_host_rx_rings;
	uint16_t nr_mem_id;
	uint16_t nr_ringid;
	uint32_t nr_mode;
	uint32_t nr_extra_bufs;
	uint64_t nr_flags;
};

enum {
	NR_REG_DEFAULT = 0,
	NR_REG_ALL_NIC = 1,
	NR_REG_SW = 2,     /* the host's rings */
	NR_REG_NIC_SW = 3, /* both */
	NR_REG_ONE_NIC = 4,
	NR_REG_PIPE_MASTER = 5, /* the older requests alone */
	NR_REG_PIPE_SLAVE = 6,
	NR_REG_NULL = 7, /* rings that lead nowhere */
	NR_REG_ONE_SW = 8,
};

#define NR_MONITOR_TX 0x100
#define NR_MONITOR_RX 0x200
#define NR_ZCOPY_MON 0x400 /* both, as copies here too */
#define NR_EXCLUSIVE 0x800
#define NR_RX_RINGS_ONLY 0x2000
#define NR_TX_RINGS_ONLY 0x4000
#define NR_ACCEPT_VNET_HDR 0x8000
#define NR_DO_RX_POLL 0x10000
#define NR_NO_TX_POLL 0x20000

struct nmreq_port_info_get {
	uint64_t nr_memsize;
	uint32_t nr_tx_slots;
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_host_tx_rings;
	uint16_t nr_host_rx_rings;
	uint16_t nr_mem_id;
	uint16_t pad[3];
};

/* What a program attaches to a switch is attached as long as it runs. */
struct nmreq_vale_attach {
	struct nmreq_register reg; /* nr_mode: NR_REG_ALL_NIC, or NR_REG_NIC_SW with its host's port */
	uint32_t port_index;
	uint32_t pad1;
};

struct nmreq_vale_detach {
	uint32_t port_index;
	uint32_t pad1;
};

/* Without a name, from these numbers on; ENOENT is the end. Switches that the program itself runs. */
struct nmreq_vale_list {
	uint16_t nr_bridge_idx;
	uint16_t pad1;
	uint32_t nr_port_idx;
};

/* A persistent port: its name is a port of the switch that it is attached to. */
struct nmreq_vale_newif {
	uint32_t nr_tx_slots;
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_mem_id;
	uint16_t pad1;
};

struct nmreq_vale_polling {
	uint32_t nr_mode;
	uint32_t nr_first_cpu_id;
	uint32_t nr_num_polling_cpus; /* 1 */
	uint32_t pad1;
};

#define NETMAP_POLLING_MODE_SINGLE_CPU 1
#define NETMAP_POLLING_MODE_MULTI_CPU 2

/* virtio-net's header before each frame: 0, 10 or 12 bytes, on ports of switches. */
struct nmreq_port_hdr {
	uint32_t nr_hdr_len;
	uint32_t pad1;
};

/* Where the memory has what; linerate's interfaces and rings are pages of one area. */
struct nmreq_pools_info {
	uint64_t nr_memsize;
	uint16_t nr_mem_id;
	uint16_t pad1[3];
	uint64_t nr_if_pool_offset;
	uint32_t nr_if_pool_objtotal;
	uint32_t nr_if_pool_objsize;
	uint64_t nr_ring_pool_offset;
	uint32_t nr_ring_pool_objtotal;
	uint32_t nr_ring_pool_objsize;
	uint64_t nr_buf_pool_offset;
	uint32_t nr_buf_pool_objtotal;
	uint32_t nr_buf_pool_objsize;
};

/* An option of REGISTER: rings and buffers lie in memory of the program's, whole pages of one mapping, with interfaces first, then
 * rings, then buffers of 2048 bytes. Numbers and sizes that are 0 are chosen. */
struct nmreq_opt_extmem {
	struct nmreq_option nro_opt;
	uint64_t nro_usrptr;
	struct nmreq_pools_info nro_info;
};

#define NETMAP_REQ_OPT_EXTMEM 1

/* The older request, of NIOCREGIF and NIOCGINFO. */
struct nmreq {
	char nr_name[IFNAMSIZ];
	uint32_t nr_version;
	uint32_t nr_offset;
	uint32_t nr_memsize;
	uint32_t nr_tx_slots;
	uint32_t nr_rx_slots;
	uint16_t nr_tx_rings;
	uint16_t nr_rx_rings;
	uint16_t nr_ringid;
	uint16_t nr_cmd;
	uint16_t nr_arg1;
	uint16_t nr_arg2;
	uint32_t nr_arg3;
	uint32_t nr_flags;
	uint32_t spare2[1];
};

#define NR_REG_MASK 0xf /* the mode in nr_flags */
#define NETMAP_RING_MASK 0x0fff /* parts of nr_ringid: the ring's number */
#define NETMAP_NO_TX_POLL 0x1000
#define NETMAP_SW_RING 0x2000
#define NETMAP_HW_RING 0x4000
#define NETMAP_DO_RX_POLL 0x8000

#define NIOCGINFO _IOWR('i', 145, struct nmreq)
#define NIOCREGIF _IOWR('i', 146, struct nmreq)
#define NIOCTXSYNC _IO('i', 148)
#define NIOCRXSYNC _IO('i', 149)
#define NIOCCTRL _IOWR('i', 151, struct nmreq_header)

static inline int nm_ring_empty(struct netmap_ring *ring)
{
	return ring->head == ring->tail;
}

#endif
