/* A child of fork may have rings of its own beside its parent's; the parent goes on. So does one whose child of vfork closes
 * everything. */
#include "common.h"
#include <pthread.h>
#include <sys/wait.h>

static struct nmport_d *a, *b;
static volatile int ends;

static void *busy(void *unused)
{
	while (!ends)
		ioctl(b->fd, NIOCRXSYNC, NULL);
	return unused;
}

static void sound(void)
{
	put(NETMAP_TXRING(a->nifp, 0), 'p', 60, 0);
	push(a->fd);
	take(b->fd, NETMAP_RXRING(b->nifp, 0), 'p', 60);
}

int main(void)
{
	pthread_t thread;
	int status;
	CHECK((a = nmport_open("netmap:cable:forks{1")) && (b = nmport_open("netmap:cable:forks}1")));
	CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (child == 0) {
			CHECK(ioctl(a->fd, NIOCTXSYNC, NULL) == 0);
			CHECK(close(a->fd) == 0 && close(b->fd) == 0);
			struct nmport_d *own = nmport_open("netmap:null:");
			CHECK(own && own->reg.nr_mem_id != 0);
			/* A program that maps once for each memory has its parent's under the parent's number. */
			CHECK(own->reg.nr_mem_id != a->reg.nr_mem_id);
			put(NETMAP_TXRING(own->nifp, 0), 'c', 60, 0);
			push(own->fd);
			CHECK(!nm_tx_pending(NETMAP_TXRING(own->nifp, 0)));
			nmport_close(own);
			_exit(0);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
		child = vfork();
		if (child == 0) {
			close(a->fd);
			close(b->fd);
			_exit(0);
		}
		CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
		sound();
	}
	ends = 1;
	CHECK(pthread_join(thread, NULL) == 0);
	return 0;
}
