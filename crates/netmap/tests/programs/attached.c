/* SWITCH: a switch that this program runs, because nobody does; ports of others and persistent ones attached to it. The table has
 * wire=cable:wire{1, wire^=cable:host{1 and two=cable:two{1. */
#include "common.h"

static char names[8][64];

/* valeSWITCH:PORT. */
static const char *port(int at, const char *of, const char *name)
{
	snprintf(names[at], sizeof names[at], "vale%s:%s", of, name);
	return names[at];
}

/* A frame to all from one port arrives at another. */
static void floods(struct nmport_d *from, struct nmport_d *to, char mark)
{
	struct netmap_ring *tx = NETMAP_TXRING(from->nifp, 0), *rx = NETMAP_RXRING(to->nifp, 0);
	char *bytes = NETMAP_BUF(tx, tx->slot[tx->head].buf_idx);
	memset(bytes, 0xff, 6);
	memset(bytes + 6, 2, 6);
	memset(bytes + 12, mark, 48);
	tx->slot[tx->head].len = 60;
	tx->slot[tx->head].flags = 0;
	tx->head = tx->cur = nm_ring_next(tx, tx->head);
	push(from->fd);
	/* Frames of the switch's other ports may be there, too. */
	for (;;) {
		CHECK(await(to->fd, POLLIN));
		char got = NETMAP_BUF(rx, rx->slot[rx->head].buf_idx)[20];
		rx->head = rx->cur = nm_ring_next(rx, rx->head);
		if (got == mark)
			return;
	}
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	const char *sw = argv[1];
	int fd = open("/dev/netmap", O_RDWR);
	struct nmreq_vale_list list = { .nr_bridge_idx = 0 };
	CHECK(ask(fd, NETMAP_REQ_VALE_LIST, 14, "", &list, NULL) == ENOENT);
	CHECK(ask(fd, NETMAP_REQ_VALE_LIST, 14, "eth0", &list, NULL) == EINVAL);
	struct nmport_d *a = nmport_open(port(0, sw, "a")), *b = nmport_open(port(1, sw, "b"));
	CHECK(a && b);
	floods(a, b, 'a');
	CHECK(ask(fd, NETMAP_REQ_VALE_LIST, 14, port(1, sw, "b"), &list, NULL) == 0 && list.nr_bridge_idx == 0 && list.nr_port_idx == 1);
	CHECK(ask(fd, NETMAP_REQ_VALE_LIST, 14, port(2, sw, "no"), &list, NULL) == 0 && list.nr_port_idx == 254);
	list.nr_port_idx = 1;
	struct nmreq_header header = { .nr_version = 14, .nr_reqtype = NETMAP_REQ_VALE_LIST, .nr_body = (uintptr_t)&list };
	CHECK(ioctl(fd, NIOCCTRL, &header) == 0 && !strcmp(header.nr_name, names[1]));
	list.nr_port_idx = 2;
	CHECK(ask(fd, NETMAP_REQ_VALE_LIST, 14, "", &list, NULL) == ENOENT);

	/* An interface and its host. */
	struct nmreq_vale_attach attach = { .reg.nr_mode = NR_REG_NIC_SW };
	struct nmreq_vale_detach detach = { .port_index = 0 };
	struct nmport_d *wire = nmport_open("netmap:cable:wire}1"), *host = nmport_open("netmap:cable:host}1");
	const char *at = port(3, sw, "wire");
	CHECK(wire && host && ask(fd, NETMAP_REQ_VALE_DETACH, 14, at, &detach, NULL) == ENXIO);
	CHECK(ask(fd, NETMAP_REQ_VALE_ATTACH, 14, "wire", &attach, NULL) == EINVAL);
	/* It has no host rings, and is not there. */
	CHECK(ask(fd, NETMAP_REQ_VALE_ATTACH, 14, port(4, sw, "nosuchif0"), &attach, NULL) == EINVAL);
	attach.reg.nr_mode = NR_REG_ALL_NIC;
	CHECK(ask(fd, NETMAP_REQ_VALE_ATTACH, 14, port(4, sw, "nosuchif0"), &attach, NULL) == ENXIO);
	attach.reg.nr_mode = NR_REG_NIC_SW;
	CHECK(ask(fd, NETMAP_REQ_VALE_ATTACH, 14, at, &attach, NULL) == 0 && attach.port_index == 2);
	CHECK(ask(fd, NETMAP_REQ_VALE_ATTACH, 14, at, &attach, NULL) == EBUSY);
	floods(a, wire, 'b');
	floods(a, host, 'c');
	floods(wire, host, 'd');
	floods(host, b, 'e');
	/* Its thread spins on a processor if that is wanted and there is another one. */
	struct nmreq_vale_polling poll = { .nr_mode = NETMAP_POLLING_MODE_SINGLE_CPU, .nr_num_polling_cpus = 1 };
	CHECK(ask(fd, NETMAP_REQ_VALE_POLLING_DISABLE, 14, at, &poll, NULL) == EFAULT);
	CHECK(ask(fd, NETMAP_REQ_VALE_POLLING_ENABLE, 14, port(4, sw, "no"), &poll, NULL) == ENXIO);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		poll.nr_first_cpu_id = 1000000;
		CHECK(ask(fd, NETMAP_REQ_VALE_POLLING_ENABLE, 14, at, &poll, NULL) == EINVAL);
		poll.nr_first_cpu_id = 0;
		CHECK(ask(fd, NETMAP_REQ_VALE_POLLING_ENABLE, 14, at, &poll, NULL) == 0);
		CHECK(ask(fd, NETMAP_REQ_VALE_POLLING_ENABLE, 14, at, &poll, NULL) == EFAULT);
		CHECK(ask(fd, NETMAP_REQ_VALE_DETACH, 14, at, &detach, NULL) == EBUSY);
		floods(a, wire, 'f');
		CHECK(ask(fd, NETMAP_REQ_VALE_POLLING_DISABLE, 14, at, &poll, NULL) == 0);
	}
	poll.nr_num_polling_cpus = 0;
	CHECK(ask(fd, NETMAP_REQ_VALE_POLLING_ENABLE, 14, at, &poll, NULL) == EINVAL);
	CHECK(ask(fd, NETMAP_REQ_VALE_DETACH, 14, at, &detach, NULL) == 0 && detach.port_index == 2);
	CHECK(ask(fd, NETMAP_REQ_VALE_DETACH, 14, at, &detach, NULL) == ENXIO);

	/* A persistent port is a port of the switch that it is attached to. */
	struct nmreq_vale_newif newif = { .nr_tx_slots = 100, .nr_rx_slots = 200 };
	CHECK(ask(fd, NETMAP_REQ_VALE_DELIF, 14, "per", NULL, NULL) == ENXIO);
	CHECK(ask(fd, NETMAP_REQ_VALE_NEWIF, 14, "lo", &newif, NULL) == EEXIST);
	CHECK(ask(fd, NETMAP_REQ_VALE_NEWIF, 14, "per", &newif, NULL) == 0);
	CHECK(newif.nr_tx_slots == 256 && newif.nr_rx_slots == 256 && newif.nr_tx_rings == 1 && newif.nr_mem_id == 1);
	CHECK(ask(fd, NETMAP_REQ_VALE_NEWIF, 14, "per", &newif, NULL) == EEXIST);
	CHECK(!nmport_open("netmap:per") && errno == ENXIO);
	attach.reg.nr_mode = NR_REG_ALL_NIC;
	at = port(5, sw, "per");
	CHECK(ask(fd, NETMAP_REQ_VALE_ATTACH, 14, at, &attach, NULL) == 0);
	CHECK(ask(fd, NETMAP_REQ_VALE_DELIF, 14, "per", NULL, NULL) == EBUSY);
	struct nmport_d *per = nmport_open("netmap:per");
	CHECK(per && per->reg.nr_tx_slots == 256);
	floods(per, a, 'p');
	CHECK(ask(fd, NETMAP_REQ_VALE_DETACH, 14, at, &detach, NULL) == EBUSY);
	nmport_close(per);
	CHECK(ask(fd, NETMAP_REQ_VALE_DETACH, 14, at, &detach, NULL) == 0);
	CHECK(ask(fd, NETMAP_REQ_VALE_DELIF, 14, "per", NULL, NULL) == 0);

	/* The older requests; what is still attached at the end is told. */
	struct nmreq old = { .nr_version = 14, .nr_cmd = 1 };
	CHECK(strlen(port(6, sw, "two")) < sizeof old.nr_name);
	strcpy(old.nr_name, names[6]);
	CHECK(ioctl(fd, NIOCREGIF, &old) == 0);
	old.nr_cmd = 4;
	/* The number before it may be the closed port's still. */
	CHECK(ioctl(fd, NIOCGINFO, &old) == 0 && old.nr_arg1 == 0 && (old.nr_arg2 == 2 || old.nr_arg2 == 3));
	return 0;
}
