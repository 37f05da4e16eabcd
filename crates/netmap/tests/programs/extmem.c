/* Rings and buffers in memory of the program's own (option EXTMEM), shared or not, which it may take back at any time. What cannot be
 * is refused, and its status says so. */
#include "common.h"

static struct nmreq_register reg;
static struct nmreq_opt_extmem option;

static int asked(int fd, const char *name, void *memory, size_t bytes)
{
	memset(&reg, 0, sizeof reg);
	reg.nr_mode = NR_REG_ALL_NIC;
	reg.nr_tx_slots = reg.nr_rx_slots = 16;
	option.nro_opt.nro_reqtype = NETMAP_REQ_OPT_EXTMEM;
	option.nro_opt.nro_status = 12345;
	option.nro_usrptr = (uintptr_t)memory;
	option.nro_info.nr_memsize = bytes;
	int error = ask(fd, NETMAP_REQ_REGISTER, NETMAP_API, name, &reg, &option);
	CHECK((int)option.nro_opt.nro_status == error);
	return error;
}

static void sizes(int ifs, int rings, int ring, int bufs, int buf)
{
	memset(&option, 0, sizeof option);
	option.nro_info.nr_if_pool_objtotal = ifs;
	option.nro_info.nr_ring_pool_objtotal = rings;
	option.nro_info.nr_ring_pool_objsize = ring;
	option.nro_info.nr_buf_pool_objtotal = bufs;
	option.nro_info.nr_buf_pool_objsize = buf;
}

int main(void)
{
	size_t bytes = 16 << 20;
	int a = open("/dev/netmap", O_RDWR), b = open("/dev/netmap", O_RDWR), c = open("/dev/netmap", O_RDWR);
	char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *own;
	CHECK(a >= 0 && b >= 0 && c >= 0 && shared != MAP_FAILED && posix_memalign((void **)&own, 4096, bytes) == 0);
	strcpy(own + bytes - 10, "kept");
	/* What cannot be. */
	sizes(2, 64, 1 << 20, 4096, 2048);
	CHECK(asked(a, "cable:ext{1", shared, bytes) == EINVAL);
	sizes(2, 64, 1 << 16, 4096, 1024);
	CHECK(asked(a, "cable:ext{1", shared, bytes) == EINVAL);
	sizes(-1, -1, -1, -1, 2048);
	CHECK(asked(a, "cable:ext{1", shared, bytes) == EINVAL);
	sizes(0, 0, 0, 0, 0);
	CHECK(asked(a, "cable:ext{1", shared + 8, bytes - 4096) == EFAULT);
	CHECK(asked(a, "cable:ext{1", shared, 2 * bytes) == EFAULT);
	CHECK(asked(a, "cable:ext{1", NULL, bytes) == EFAULT);
	CHECK(asked(a, "cable:ext{1", shared, SIZE_MAX) == EFAULT);
	CHECK(asked(a, "cable:ext{1", shared, 0) == EINVAL);
	CHECK(mprotect(shared, bytes, PROT_READ) == 0 && asked(a, "cable:ext{1", shared, bytes) == EFAULT);
	CHECK(mprotect(shared, bytes, PROT_READ | PROT_WRITE) == 0);
	/* Two memories, one frame each way. */
	CHECK(asked(a, "cable:ext{1", shared, bytes) == 0 && reg.nr_memsize == bytes && reg.nr_mem_id > 1);
	CHECK(option.nro_info.nr_memsize == bytes && option.nro_info.nr_buf_pool_offset < bytes);
	struct netmap_if *left = NETMAP_IF(shared, reg.nr_offset);
	uint16_t number = reg.nr_mem_id;
	sizes(2, 4, 20480, 4096, 2048);
	CHECK(asked(b, "cable:ext}1", own, bytes) == 0 && reg.nr_mem_id != number && !strcmp(own + bytes - 10, "kept"));
	struct netmap_if *right = NETMAP_IF(own, reg.nr_offset);
	struct netmap_ring *rx = NETMAP_RXRING(right, 0);
	CHECK((char *)rx > own && NETMAP_BUF(rx, rx->slot[0].buf_idx) < own + bytes);
	put(NETMAP_TXRING(left, 0), 'l', 60, 0);
	push(a);
	take(b, rx, 'l', 60);
	put(NETMAP_TXRING(right, 0), 'r', 60, 0);
	push(b);
	take(a, NETMAP_RXRING(left, 0), 'r', 60);
	CHECK(mmap(NULL, 4096, PROT_READ, MAP_SHARED, a, 0) == MAP_FAILED);
	/* Another port in the first one's memory, by its number. */
	memset(&reg, 0, sizeof reg);
	reg.nr_mode = NR_REG_ALL_NIC;
	reg.nr_mem_id = number;
	reg.nr_mode = NR_REG_NULL;
	reg.nr_tx_rings = 1;
	reg.nr_tx_slots = 4096;
	CHECK(ask(c, NETMAP_REQ_REGISTER, NETMAP_API, "null:", &reg, NULL) == ENOMEM);
	reg.nr_tx_slots = 16;
	CHECK(ask(c, NETMAP_REQ_REGISTER, NETMAP_API, "null:", &reg, NULL) == 0 && reg.nr_mem_id == number);
	CHECK(NETMAP_IF(shared, reg.nr_offset)->ni_tx_rings == 1);
	/* The program takes its memory back while rings are in it. */
	put(NETMAP_TXRING(left, 0), 'l', 60, 0);
	CHECK(munmap(shared, bytes) == 0);
	push(a);
	take(b, rx, 'l', 60);
	CHECK(close(a) == 0 && close(b) == 0 && close(c) == 0);
	free(own);
	/* A port of a switch has rings of as many slots as are wanted, so it fits into a small memory. */
	sizes(2, 64, 512, 4096, 2048);
	bytes = 2 * 1024 + 64 * 512 + 4096 * 2048;
	shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	a = open("/dev/netmap", O_RDWR);
	CHECK(asked(a, "valeext:0", shared, bytes) == 0 && reg.nr_tx_slots == 16 && reg.nr_rx_slots == 16);
	CHECK(option.nro_info.nr_memsize == bytes);
	struct netmap_ring *tx = NETMAP_TXRING(NETMAP_IF(shared, reg.nr_offset), 0);
	for (int i = 0; i < 200; i++) {
		put(tx, 'v', 60, 0);
		CHECK(await(a, POLLOUT));
	}
	return 0;
}
