/* valeSWITCH:PORT: attaches a port to a switch that another program runs, until its input ends. */
#include "common.h"

int main(int argc, char **argv)
{
	struct nmreq_vale_attach attach = { .reg.nr_mode = NR_REG_ALL_NIC };
	struct nmreq_vale_detach detach = { .port_index = 0 };
	struct nmreq_vale_list list = { .nr_bridge_idx = 0 };
	int fd = open("/dev/netmap", O_RDWR);
	CHECK(argc == 2 && ask(fd, NETMAP_REQ_VALE_ATTACH, 14, argv[1], &attach, NULL) == 0);
	/* It runs no switch itself. */
	CHECK(ask(fd, NETMAP_REQ_VALE_LIST, 14, argv[1], &list, NULL) == ENOENT);
	puts("attached");
	fflush(stdout);
	while (getchar() != EOF)
		;
	CHECK(ask(fd, NETMAP_REQ_VALE_DETACH, 14, argv[1], &detach, NULL) == 0);
	return 0;
}
