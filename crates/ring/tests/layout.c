/* What a C program that was compiled against netmap's headers (API 14) expects of the mapping: the documented fields,
 * written down once more in C, so that the compiler computes where they are. Without arguments: prints the offsets.
 * With FILE OFFSET: maps the region, walks from the interface at OFFSET as netmap's macros do, writes a frame into slot
 * 0 of transmit ring 0, and prints what it saw. */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>

struct netmap_slot { uint32_t buf_idx; uint16_t len, flags; uint64_t ptr; };
struct netmap_ring {
    const int64_t buf_ofs;
    const uint32_t num_slots, nr_buf_size;
    const uint16_t ringid, dir;
    uint32_t head, cur, tail, flags;
    struct timeval ts;
    uint64_t offset_mask, buf_align;
    uint8_t __attribute__((aligned(128))) sem[128];
    struct netmap_slot slot[];
};
struct netmap_if {
    char ni_name[16];
    const uint32_t ni_version, ni_flags, ni_tx_rings, ni_rx_rings;
    uint32_t ni_bufs_head;
    const uint32_t ni_host_tx_rings, ni_host_rx_rings;
    uint32_t ni_spare1[3];
    const int64_t ring_ofs[];
};

#define AT(type, field) printf(#type "." #field " %zu\n", offsetof(struct type, field))

int main(int argc, char **argv)
{
    if (argc == 1) {
        AT(netmap_slot, buf_idx); AT(netmap_slot, len); AT(netmap_slot, flags); AT(netmap_slot, ptr);
        AT(netmap_ring, buf_ofs); AT(netmap_ring, num_slots); AT(netmap_ring, nr_buf_size); AT(netmap_ring, ringid);
        AT(netmap_ring, dir); AT(netmap_ring, head); AT(netmap_ring, cur); AT(netmap_ring, tail);
        AT(netmap_ring, flags); AT(netmap_ring, ts); AT(netmap_ring, offset_mask); AT(netmap_ring, buf_align);
        AT(netmap_ring, sem); AT(netmap_ring, slot);
        AT(netmap_if, ni_name); AT(netmap_if, ni_version); AT(netmap_if, ni_flags); AT(netmap_if, ni_tx_rings);
        AT(netmap_if, ni_rx_rings); AT(netmap_if, ni_bufs_head); AT(netmap_if, ni_host_tx_rings);
        AT(netmap_if, ni_host_rx_rings); AT(netmap_if, ring_ofs);
        printf("netmap_slot %zu\n", sizeof(struct netmap_slot));
        return 0;
    }
    struct stat st;
    int fd = open(argv[1], O_RDWR);
    if (fd < 0 || fstat(fd, &st)) { perror(argv[1]); return 1; }
    char *base = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) { perror("mmap"); return 1; }
    struct netmap_if *nifp = (struct netmap_if *)(base + atol(argv[2]));
    struct netmap_ring *tx = (struct netmap_ring *)((char *)nifp + nifp->ring_ofs[0]);
    struct netmap_ring *rx = (struct netmap_ring *)((char *)nifp + nifp->ring_ofs[nifp->ni_tx_rings]);
    char *buf = (char *)tx + tx->buf_ofs + (size_t)tx->slot[0].buf_idx * tx->nr_buf_size;
    char *same = (char *)rx + rx->buf_ofs + (size_t)tx->slot[0].buf_idx * rx->nr_buf_size;
    strcpy(buf, "written by C");
    tx->slot[0].len = 12;
    printf("%s %u %u/%u dir %u/%u slots %u size %u head %u tail %u same %d\n", nifp->ni_name, nifp->ni_version,
           nifp->ni_tx_rings, nifp->ni_rx_rings, tx->dir, rx->dir, tx->num_slots, tx->nr_buf_size, tx->head, tx->tail,
           buf == same);
    return 0;
}
