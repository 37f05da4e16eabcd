// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Data Center Bridging that an interface's driver offers (dcbnl), for a program into which this is preloaded: Linux has none on
 * veth pairs and tap devices. Requests of RTM_GETDCB and RTM_SETDCB end here; the program reads the answer from its socket.
 * Whatever is set is kept, for all interfaces alike, and the whole of it appended to the file of the environment's DCBNL, as a
 * line of JSON for each request.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/dcbnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define N 8 /* classes, and priorities */
#define SOCKETS 1024

static struct {
	__u8 mode, on;
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct dcb_app app[64];
	int apps;
} dev = {
	.mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE | DCB_CAP_DCBX_VER_CEE,
	.ets.ets_cap = N,
	.pfc.pfc_cap = N,
};

/* The answer that waits at a socket. */
static struct answer {
	char bytes[4096];
	size_t len;
} answers[SOCKETS];

/* Attributes of a message or of an attribute that holds others. */
#define EACH(a, first, len) \
	for (int left = (len), once = (a = (void *)(first), 1); once && RTA_OK(a, left); a = RTA_NEXT(a, left))
#define WITHIN(a, of) EACH(a, RTA_DATA(of), RTA_PAYLOAD(of))
#define TYPE(a) ((a)->rta_type & NLA_TYPE_MASK)

static __u8 byte(const struct rtattr *a)
{
	return RTA_PAYLOAD(a) ? *(__u8 *)RTA_DATA(a) : 0;
}

static void copy(void *to, size_t len, const struct rtattr *a)
{
	memcpy(to, RTA_DATA(a), RTA_PAYLOAD(a) < len ? RTA_PAYLOAD(a) : len);
}

static void *put(struct nlmsghdr *m, int type, const void *data, int len)
{
	struct rtattr *a = (void *)((char *)m + m->nlmsg_len);

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	m->nlmsg_len += RTA_ALIGN(a->rta_len);
	return a;
}

static void put_byte(struct nlmsghdr *m, int type, __u8 value)
{
	put(m, type, &value, 1);
}

/* The attribute ends with what was put last. */
static void end(struct nlmsghdr *m, struct rtattr *a)
{
	a->rta_len = (char *)m + m->nlmsg_len - (char *)a;
}

static void del_app(struct dcb_app app, int any_priority)
{
	int kept = 0;

	for (int i = 0; i < dev.apps; i++) {
		struct dcb_app *is = &dev.app[i];

		if (is->selector != app.selector || is->protocol != app.protocol || (!any_priority && is->priority != app.priority))
			dev.app[kept++] = *is;
	}
	dev.apps = kept;
}

static void add_app(struct dcb_app app)
{
	del_app(app, 0);
	if (dev.apps < 64)
		dev.app[dev.apps++] = app;
}

static void set_ieee(struct rtattr *ieee, int del)
{
	struct rtattr *a, *entry;
	struct dcb_app app = { 0 };

	WITHIN(a, ieee) {
		if (TYPE(a) == DCB_ATTR_IEEE_ETS)
			copy(&dev.ets, sizeof(dev.ets), a);
		if (TYPE(a) == DCB_ATTR_IEEE_PFC)
			copy(&dev.pfc, sizeof(dev.pfc), a);
		if (TYPE(a) == DCB_ATTR_IEEE_APP_TABLE)
			WITHIN(entry, a) {
				copy(&app, sizeof(app), entry);
				del ? del_app(app, 0) : add_app(app);
			}
	}
	dev.ets.ets_cap = dev.pfc.pfc_cap = N;
}

/* Priorities of CEE's classes, each with its group's share. */
static void set_groups(struct rtattr *groups)
{
	struct rtattr *a, *p;
	__u8 share[N] = { 0 }, group[N] = { 0 };

	WITHIN(a, groups) {
		int class = TYPE(a) - DCB_PG_ATTR_TC_0, id = TYPE(a) - DCB_PG_ATTR_BW_ID_0;

		if (id >= 0 && id < N)
			share[id] = byte(a);
		if (class < 0 || class >= N)
			continue;
		WITHIN(p, a) {
			if (TYPE(p) == DCB_TC_ATTR_PARAM_PGID)
				group[class] = byte(p);
			if (TYPE(p) == DCB_TC_ATTR_PARAM_STRICT_PRIO)
				dev.ets.tc_tsa[class] = byte(p) ? IEEE_8021QAZ_TSA_STRICT : IEEE_8021QAZ_TSA_ETS;
			for (int i = 0; TYPE(p) == DCB_TC_ATTR_PARAM_UP_MAPPING && i < N; i++)
				if (byte(p) >> i & 1)
					dev.ets.prio_tc[i] = class;
		}
	}
	for (int class = 0; class < N; class++)
		dev.ets.tc_tx_bw[class] = share[group[class] % N];
}

/* An application of CEE has a bit for its priority, or none if it goes. */
static void set_app(struct rtattr *attr)
{
	struct rtattr *a;
	struct dcb_app app = { 0 };
	__u8 priorities = 0, kind = 0;

	WITHIN(a, attr) {
		if (TYPE(a) == DCB_APP_ATTR_IDTYPE)
			kind = byte(a);
		if (TYPE(a) == DCB_APP_ATTR_ID)
			copy(&app.protocol, sizeof(app.protocol), a);
		if (TYPE(a) == DCB_APP_ATTR_PRIORITY)
			priorities = byte(a);
	}
	app.selector = kind == DCB_APP_IDTYPE_ETHTYPE ? IEEE_8021QAZ_APP_SEL_ETHERTYPE : IEEE_8021QAZ_APP_SEL_ANY;
	del_app(app, 1);
	if (priorities) {
		app.priority = __builtin_ctz(priorities);
		add_app(app);
	}
}

static void set(__u8 cmd, struct rtattr *a)
{
	struct rtattr *p;

	if (cmd == DCB_CMD_SDCBX)
		dev.mode = byte(a);
	if (cmd == DCB_CMD_SSTATE)
		dev.on = byte(a);
	if (cmd == DCB_CMD_IEEE_SET || cmd == DCB_CMD_IEEE_DEL)
		set_ieee(a, cmd == DCB_CMD_IEEE_DEL);
	if (cmd == DCB_CMD_PGTX_SCFG)
		set_groups(a);
	if (cmd == DCB_CMD_SAPP)
		set_app(a);
	if (cmd == DCB_CMD_PFC_SCFG) {
		dev.pfc.pfc_en = 0;
		WITHIN(p, a)
			if (byte(p))
				dev.pfc.pfc_en |= 1 << (TYPE(p) - DCB_PFC_UP_ATTR_0) % N;
	}
}

static int list(char *to, size_t room, const char *name, const __u8 *bytes)
{
	int n = snprintf(to, room, ",\"%s\":[", name);

	for (int i = 0; i < N; i++)
		n += snprintf(to + n, room - n, "%s%d", i ? "," : "", bytes[i]);
	return n + snprintf(to + n, room - n, "]");
}

static void record(void)
{
	char line[4096];
	const char *path = getenv("DCBNL");
	int n = snprintf(line, sizeof(line), "{\"mode\":%d,\"pfc\":%d", dev.mode, dev.pfc.pfc_en);
	int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;

	n += list(line + n, sizeof(line) - n, "prio_tc", dev.ets.prio_tc);
	n += list(line + n, sizeof(line) - n, "tc_tsa", dev.ets.tc_tsa);
	n += list(line + n, sizeof(line) - n, "tc_bw", dev.ets.tc_tx_bw);
	n += snprintf(line + n, sizeof(line) - n, ",\"app\":[");
	for (int i = 0; i < dev.apps; i++)
		n += snprintf(line + n, sizeof(line) - n, "%s[%d,%d,%d]", i ? "," : "", dev.app[i].selector,
			      dev.app[i].protocol, dev.app[i].priority);
	n += snprintf(line + n, sizeof(line) - n, "]}\n");
	if (fd < 0 || write(fd, line, n) != n || close(fd))
		abort();
}

static void get(__u8 cmd, int type, struct nlmsghdr *m)
{
	struct rtattr *a, *table;

	switch (cmd) {
	case DCB_CMD_GDCBX:
		put_byte(m, DCB_ATTR_DCBX, dev.mode);
		break;
	case DCB_CMD_GSTATE:
		put_byte(m, DCB_ATTR_STATE, dev.on);
		break;
	case DCB_CMD_GCAP:
		a = put(m, DCB_ATTR_CAP, 0, 0);
		for (int cap = DCB_CAP_ATTR_PG; cap <= DCB_CAP_ATTR_DCBX; cap++)
			put_byte(m, cap, cap == DCB_CAP_ATTR_DCBX ? dev.mode :
				 cap == DCB_CAP_ATTR_PG_TCS || cap == DCB_CAP_ATTR_PFC_TCS ? 1 << (N - 1) :
				 cap == DCB_CAP_ATTR_PG || cap == DCB_CAP_ATTR_PFC || cap == DCB_CAP_ATTR_GSP);
		end(m, a);
		break;
	case DCB_CMD_GNUMTCS:
		a = put(m, DCB_ATTR_NUMTCS, 0, 0);
		put_byte(m, DCB_NUMTCS_ATTR_PG, N);
		put_byte(m, DCB_NUMTCS_ATTR_PFC, N);
		end(m, a);
		break;
	case DCB_CMD_IEEE_GET:
		a = put(m, DCB_ATTR_IEEE, 0, 0);
		put(m, DCB_ATTR_IEEE_ETS, &dev.ets, sizeof(dev.ets));
		put(m, DCB_ATTR_IEEE_PFC, &dev.pfc, sizeof(dev.pfc));
		table = put(m, DCB_ATTR_IEEE_APP_TABLE, 0, 0);
		for (int i = 0; i < dev.apps; i++)
			put(m, DCB_ATTR_IEEE_APP, &dev.app[i], sizeof(dev.app[i]));
		end(m, table);
		end(m, a);
		break;
	default: /* It is done; of all at once: and the link stayed up. */
		put_byte(m, type, cmd == DCB_CMD_SET_ALL ? 2 : 0);
	}
}

/* True if it was a request for this driver, whose answer then waits at the socket. */
static int request(int fd, const void *bytes, size_t len)
{
	const struct nlmsghdr *asked = bytes;
	const struct dcbmsg *dcb = NLMSG_DATA(asked);
	struct nlmsghdr *m;
	struct rtattr *a;
	int type = 0;

	if (fd < 0 || fd >= SOCKETS || len < NLMSG_LENGTH(sizeof(*dcb)) || asked->nlmsg_len > len ||
	    (asked->nlmsg_type != RTM_GETDCB && asked->nlmsg_type != RTM_SETDCB))
		return 0;
	EACH(a, (char *)dcb + NLMSG_ALIGN(sizeof(*dcb)), asked->nlmsg_len - NLMSG_LENGTH(sizeof(*dcb)))
		if (TYPE(a) != DCB_ATTR_IFNAME) {
			type = TYPE(a);
			set(dcb->cmd, a);
		}
	if (asked->nlmsg_type == RTM_SETDCB)
		record();
	m = (void *)answers[fd].bytes;
	memset(m, 0, sizeof(answers[fd].bytes));
	*m = *asked;
	m->nlmsg_flags = 0;
	m->nlmsg_len = NLMSG_LENGTH(sizeof(*dcb));
	*(struct dcbmsg *)NLMSG_DATA(m) = *dcb;
	get(dcb->cmd, type, m);
	answers[fd].len = m->nlmsg_len;
	return 1;
}

static struct answer *answer(int fd)
{
	return fd >= 0 && fd < SOCKETS && answers[fd].len ? &answers[fd] : NULL;
}

static ssize_t take(struct answer *from, void *to, size_t room, int flags)
{
	size_t len = from->len;

	memcpy(to, from->bytes, len < room ? len : room);
	if (!(flags & MSG_PEEK))
		from->len = 0;
	return len < room || flags & MSG_TRUNC ? len : room;
}

/* The function of the C library whose place this one takes. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t sendto(int fd, const void *bytes, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)
{
	return request(fd, bytes, len) ? (ssize_t)len : NEXT(sendto)(fd, bytes, len, flags, to, to_len);
}

ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct iovec *v = msg->msg_iov;

	return msg->msg_iovlen == 1 && request(fd, v->iov_base, v->iov_len) ? (ssize_t)v->iov_len : NEXT(sendmsg)(fd, msg, flags);
}

ssize_t recv(int fd, void *to, size_t room, int flags)
{
	struct answer *from = answer(fd);

	return from ? take(from, to, room, flags) : NEXT(recv)(fd, to, room, flags);
}

ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct answer *from = answer(fd);
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	if (!from)
		return NEXT(recvmsg)(fd, msg, flags);
	if (msg->msg_name && msg->msg_namelen >= sizeof(kernel))
		memcpy(msg->msg_name, &kernel, msg->msg_namelen = sizeof(kernel));
	msg->msg_controllen = 0;
	msg->msg_flags = from->len > msg->msg_iov->iov_len ? MSG_TRUNC : 0;
	return take(from, msg->msg_iov->iov_base, msg->msg_iov->iov_len, flags);
}

int close(int fd)
{
	if (answer(fd))
		answers[fd].len = 0;
	return NEXT(close)(fd);
}
