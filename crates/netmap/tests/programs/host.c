/* An interface and the host behind it, by the table wire=cable:wire{1,queues=2 and wire^=cable:host{1: a bridge between the two, on
 * one descriptor, on two, and by a ring's number. */
#include "common.h"

static struct nmport_d *wire, *host;

/* A frame from the far end of one to the far end of the other, which the program carries between two of its rings. */
static void carries(struct nmport_d *from, struct nmport_d *in, int rx, struct nmport_d *out, int tx, struct nmport_d *to, char mark)
{
	struct netmap_ring *begin = NETMAP_TXRING(from->nifp, 0), *source = NETMAP_RXRING(in->nifp, rx);
	put(begin, mark, 100, 0);
	push(from->fd);
	take(in->fd, source, mark, 100);
	put(NETMAP_TXRING(out->nifp, tx), mark, 100, 0);
	push(out->fd);
	take(to->fd, NETMAP_RXRING(to->nifp, 0), mark, 100);
}

int main(void)
{
	CHECK((wire = nmport_open("netmap:cable:wire}1,queues=2")) && (host = nmport_open("netmap:cable:host}1")));
	struct nmport_d *all = nmport_open("netmap:wire*");
	CHECK(all && all->reg.nr_tx_rings == 2 && all->reg.nr_rx_rings == 2);
	CHECK(all->reg.nr_host_tx_rings == 1 && all->reg.nr_host_rx_rings == 1 && all->last_tx_ring == 2);
	CHECK(all->nifp->ni_tx_rings == 2 && all->nifp->ni_host_tx_rings == 1 && NETMAP_RXRING(all->nifp, 2)->ringid == 2);
	carries(wire, all, 0, all, 2, host, 'u');
	carries(host, all, 2, all, 0, wire, 'd');

	struct nmport_d *nic = nmport_open("netmap:wire"), *sw = nmport_open("netmap:wire^");
	CHECK(nic && sw && nic->last_tx_ring == 1 && sw->first_tx_ring == 2 && sw->last_rx_ring == 2);
	nmport_close(all);
	/* Each knows its own rings by their offsets. */
	CHECK(nic->nifp->ring_ofs[0] && nic->nifp->ring_ofs[1] && !nic->nifp->ring_ofs[2] && nic->nifp->ring_ofs[3]);
	CHECK(!sw->nifp->ring_ofs[0] && !sw->nifp->ring_ofs[1] && sw->nifp->ring_ofs[2] && sw->nifp->ring_ofs[5]);
	carries(wire, nic, 0, sw, 2, host, 'U');
	carries(host, sw, 2, nic, 0, wire, 'D');
	nmport_close(sw);
	CHECK((sw = nmport_open("netmap:wire^0")) && sw->first_rx_ring == 2 && sw->last_rx_ring == 2);
	carries(host, sw, 2, nic, 0, wire, 'o');
	CHECK(!nmport_open("netmap:wire^1") && errno == EINVAL);

	/* As many host rings as are asked for, of a port with five queues: those that have no ring of their own share one. */
	struct nmport_d *many = nmport_prepare("netmap:many^"), *far = nmport_open("netmap:cable:crowd}1,queues=5");
	CHECK(many && far);
	many->reg.nr_host_tx_rings = 5;
	many->reg.nr_host_rx_rings = 3;
	CHECK(nmport_open_desc(many) == 0 && many->reg.nr_host_tx_rings == 5 && many->reg.nr_host_rx_rings == 3);
	int first = many->reg.nr_rx_rings;
	for (int i = 0; i < 40; i++) {
		put(NETMAP_TXRING(far->nifp, i % 5), (char)i, 60, 0);
		push(far->fd);
		take(many->fd, NETMAP_RXRING(many->nifp, first + i % 5 % 3), (char)i, 60);
		put(NETMAP_TXRING(many->nifp, many->reg.nr_tx_rings + i % 5), (char)i, 60, 0);
		push(many->fd);
		take(far->fd, NETMAP_RXRING(far->nifp, i % 5), (char)i, 60);
	}
	return 0;
}
