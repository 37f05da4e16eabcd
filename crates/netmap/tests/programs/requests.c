/* Requests that cannot be served are refused by errno, and the older ones work. */
#define _GNU_SOURCE
#include "common.h"

int main(void)
{
	int fd = open("/dev/netmap", O_RDWR | O_CLOEXEC), other = openat(AT_FDCWD, "/dev/netmap", O_RDWR);
	struct pollfd unbound = { .fd = fd, .events = POLLIN };
	CHECK(fd >= 0 && other >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC && fcntl(other, F_GETFD) == 0);
	CHECK(poll(&unbound, 1, 0) == 1 && unbound.revents == POLLERR);
	CHECK(ioctl(fd, NIOCTXSYNC, NULL) == -1 && errno == ENXIO);
	CHECK(ioctl(fd, 0x1234, NULL) == -1 && errno == EINVAL);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(ioctl(fd, NIOCCTRL, NULL) == -1 && errno == EFAULT);
	CHECK(ioctl(fd, NIOCREGIF, (void *)8) == -1 && errno == EFAULT);

	struct nmreq_register reg = { .nr_mode = NR_REG_ALL_NIC };
	CHECK(ask(fd, NETMAP_REQ_REGISTER, 13, "null:", &reg, NULL) == EINVAL);
	CHECK(ask(fd, NETMAP_REQ_REGISTER, 14, "null:", NULL, NULL) == EINVAL);
	CHECK(ask(fd, NETMAP_REQ_REGISTER, 14, "null:", (void *)8, NULL) == EFAULT);
	CHECK(ask(fd, NETMAP_REQ_REGISTER, 14, "", &reg, NULL) == EINVAL);
	CHECK(ask(fd, NETMAP_REQ_REGISTER, 14, "nosuchif0", &reg, NULL) == ENXIO);
	CHECK(ask(fd, NETMAP_REQ_REGISTER, 14, "null:,color=red", &reg, NULL) == EINVAL);
	/* A body that is wanted and missing, or there and not wanted, is an error, whatever is asked for. */
	for (uint16_t type = 0; type < 20; type++) {
		int none = type == 0 || type == 9 || type > 13;
		CHECK(ask(fd, type, 14, "null:", none ? &reg : NULL, NULL) == EINVAL);
		if (type == 0 || type > 15)
			CHECK(ask(fd, type, 14, "null:", NULL, NULL) == EINVAL);
		if (type >= 13 && type <= 15)
			CHECK(ask(fd, type, 14, "null:", none ? NULL : &reg, NULL) == EOPNOTSUPP);
	}
	/* Modes that are none, of a pipe (part of the name today), of a ring or a host that is not there, of no memory. */
	for (uint32_t mode = 0; mode < 12; mode++) {
		struct nmreq_register strange = { .nr_mode = mode, .nr_ringid = 1 };
		if (mode != NR_REG_ALL_NIC)
			CHECK(ask(fd, 1, 14, "null:", &strange, NULL) == EINVAL);
	}
	/* Options: each is told of; one that comes twice, or a list without end, is an error of its own. */
	struct nmreq_option second = { .nro_reqtype = 1234 }, option = { .nro_reqtype = 3, .nro_next = (uintptr_t)&second };
	CHECK(ask(fd, 1, 14, "null:", &reg, &option) == EOPNOTSUPP);
	CHECK(option.nro_status == EOPNOTSUPP && second.nro_status == EOPNOTSUPP && option.nro_next == (uintptr_t)&second);
	option.nro_reqtype = second.nro_reqtype = 5;
	CHECK(ask(fd, 1, 14, "null:", &reg, &option) == EINVAL && option.nro_status == EINVAL && second.nro_status == EINVAL);
	struct nmreq_option loop = { .nro_reqtype = 6, .nro_next = (uintptr_t)&loop }, none = { .nro_next = 0 };
	CHECK(ask(fd, 1, 14, "null:", &reg, &loop) == EMSGSIZE);
	loop.nro_reqtype = 3;
	CHECK(ask(fd, 1, 14, "null:", &reg, &loop) == EINVAL && loop.nro_status == EINVAL);
	CHECK(ask(fd, 1, 14, "null:", &reg, &none) == EINVAL && none.nro_status == EINVAL);
	CHECK(ask(fd, 1, 14, "null:", &reg, (void *)8) == EFAULT);
	option = (struct nmreq_option){ .nro_reqtype = 2, .nro_size = UINT64_MAX };
	CHECK(ask(fd, 1, 14, "null:", &reg, &option) == EMSGSIZE);
	struct nmreq_port_hdr virtio = { .nr_hdr_len = 12 };
	CHECK(ask(fd, NETMAP_REQ_PORT_HDR_SET, 14, "null:", &virtio, NULL) == ENXIO);
	CHECK(ask(fd, NETMAP_REQ_PORT_HDR_GET, 14, "null:", &virtio, NULL) == 0 && virtio.nr_hdr_len == 0);

	struct nmreq_port_info_get info = { .nr_memsize = 0 };
	CHECK(ask(fd, NETMAP_REQ_PORT_INFO_GET, 15, "null:,slots=128", &info, NULL) == 0);
	CHECK(info.nr_tx_slots == 128 && info.nr_rx_slots == 128 && info.nr_tx_rings == 1 && info.nr_mem_id == 1);
	struct nmreq_pools_info pools = { .nr_mem_id = 0 };
	CHECK(ask(fd, NETMAP_REQ_POOLS_INFO_GET, 14, "", &pools, NULL) == ENXIO);
	CHECK(ask(fd, NETMAP_REQ_POOLS_INFO_GET, 14, "null:", &pools, NULL) == 0 && pools.nr_mem_id == 1);
	CHECK(pools.nr_buf_pool_offset + (uint64_t)pools.nr_buf_pool_objtotal * pools.nr_buf_pool_objsize == pools.nr_memsize);
	pools.nr_mem_id = 7;
	CHECK(ask(fd, NETMAP_REQ_POOLS_INFO_GET, 14, "null:", &pools, NULL) == EINVAL);

	/* Extra buffers are a list; exclusive rings are one file's; a file registers once. */
	struct nmreq_register monitor = { .nr_mode = NR_REG_ALL_NIC, .nr_flags = 0x100 };
	CHECK(ask(fd, 1, 14, "null:", &monitor, NULL) == EINVAL);
	reg.nr_extra_bufs = 3;
	/* 0x1000 is NETMAP_NO_TX_POLL of the older interface, which pkt-gen sets here, and netmap ignores. */
	reg.nr_flags = NR_EXCLUSIVE | 0x1000;
	CHECK(ask(fd, 1, 14, "null:", &reg, NULL) == 0 && reg.nr_extra_bufs == 3 && reg.nr_tx_slots == 1024);
	CHECK(ask(fd, 1, 14, "null:", &reg, NULL) == EBUSY);
	CHECK(ask(other, 1, 14, "null:", &reg, NULL) == EBUSY);
	char *memory = mmap(NULL, reg.nr_memsize, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED);
	/* Nothing lies beyond it: a mapping of that would end the program at its first access. */
	CHECK(mmap(NULL, reg.nr_memsize + 1, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
	CHECK(mmap(NULL, reg.nr_memsize, PROT_READ, MAP_SHARED, fd, 4096) == MAP_FAILED && errno == EINVAL);
	struct netmap_if *nifp = NETMAP_IF(memory, reg.nr_offset);
	struct netmap_ring *ring = NETMAP_TXRING(nifp, 0);
	uint32_t n = 0, buffer = nifp->ni_bufs_head;
	for (; buffer; n++)
		memcpy(&buffer, NETMAP_BUF(ring, buffer), sizeof buffer);
	CHECK(n == 3 && !strcmp(nifp->ni_name, "null:") && ring->nr_buf_size == 2048 && ring->num_slots == 1024);
	CHECK(close(fd) == 0);

	/* Of the older requests' versions only the first ones are too old; a pipe is a number there. */
	struct nmreq old = { .nr_version = 13, .nr_name = "null:,slots=64" };
	CHECK(ioctl(other, NIOCGINFO, &old) == -1 && errno == EINVAL && old.nr_version == 14);
	old.nr_version = 77;
	CHECK(ioctl(other, NIOCGINFO, &old) == 0 && old.nr_rx_slots == 64 && old.nr_memsize == reg.nr_memsize);
	old.nr_cmd = 3;
	CHECK(ioctl(other, NIOCREGIF, &old) == -1 && errno == EOPNOTSUPP);
	struct nmreq pipe_end = { .nr_version = 14, .nr_name = "old", .nr_ringid = 7, .nr_flags = NR_REG_PIPE_SLAVE };
	int slave = open("/dev/netmap", O_RDWR);
	CHECK(ioctl(slave, NIOCREGIF, &pipe_end) == 0 && !strcmp(NETMAP_IF(memory, pipe_end.nr_offset)->ni_name, "old}7"));
	CHECK(close(slave) == 0);
	old.nr_cmd = 0;
	CHECK(ioctl(other, NIOCREGIF, &old) == 0);
	CHECK(NETMAP_IF(memory, old.nr_offset)->ni_tx_rings == 1);

	/* A copy is the same file; the last one closes it. A number that serves again is what it is now. */
	int copy = dup(other), high = fcntl(other, F_DUPFD_CLOEXEC, 100);
	CHECK(high >= 100 && close(other) == 0 && ioctl(copy, NIOCTXSYNC, NULL) == 0);
	CHECK(dup2(copy, 90) == 90 && close(copy) == 0 && ioctl(90, NIOCTXSYNC, NULL) == 0);
	/* Onto a number that is free, which the library might take in between. */
	int lowest = dup(90);
	CHECK(close(lowest) == 0 && dup2(90, lowest) == lowest && ioctl(lowest, NIOCTXSYNC, NULL) == 0);
	CHECK(close(lowest) == 0 && dup3(90, lowest, O_CLOEXEC) == lowest && fcntl(lowest, F_GETFD) == FD_CLOEXEC);
	CHECK(close(lowest) == 0 && fcntl(90, F_DUPFD, 0) == lowest && fcntl(lowest, F_GETFD) == 0);
	CHECK(ioctl(90, NIOCTXSYNC, NULL) == 0 && close(lowest) == 0 && ioctl(lowest, NIOCTXSYNC, NULL) == -1);
	int ends[2], written = 1;
	CHECK(pipe(ends) == 0 && dup2(-1, 90) == -1 && errno == EBADF && ioctl(90, NIOCTXSYNC, NULL) == 0);
	CHECK(dup2(ends[1], 90) == 90 && ioctl(ends[0], FIONREAD, &written) == 0 && written == 0);
	CHECK(ioctl(90, NIOCTXSYNC, NULL) == -1 && errno == ENOTTY);
	CHECK(ioctl(high, NIOCTXSYNC, NULL) == 0 && close(high) == 0);
	CHECK(ioctl(high, NIOCTXSYNC, NULL) == -1 && errno == EBADF);

	/* Of a thousand descriptors none is lost. */
	static int many[1000];
	for (int i = 0; i < 1000; i++)
		CHECK((many[i] = open("/dev/netmap", O_RDWR)) >= 0);
	for (int i = 0; i < 1000; i++)
		CHECK(close(many[i]) == 0);
	return 0;
}
