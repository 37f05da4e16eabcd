/* Without descriptors for a port its registration is EMFILE, however many are left, and the next one, with enough, succeeds. */
#include "common.h"
#include <sys/resource.h>

int main(void)
{
	int fd = open("/dev/netmap", O_RDWR), refused = 0, error = EMFILE;
	CHECK(fd >= 0);
	for (int spare = 0; error == EMFILE; spare++, refused++) {
		struct rlimit limit = { .rlim_cur = fd + 1 + spare, .rlim_max = 1024 };
		struct nmreq_register reg = { .nr_mode = NR_REG_ALL_NIC };
		struct nmreq_header header = { .nr_version = 14, .nr_reqtype = NETMAP_REQ_REGISTER, .nr_body = (uintptr_t)&reg };
		strcpy(header.nr_name, "cable:limits{1");
		CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0 && spare < 100);
		error = ioctl(fd, NIOCCTRL, &header) == 0 ? 0 : errno;
		if (error && error != EMFILE)
			fprintf(stderr, "with %d spare: %s\n", spare, strerror(error));
	}
	CHECK(error == 0 && refused > 1);
	return 0;
}
