// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An interface `dcb0` for tests, whose driver keeps what dcbnl sets and sends nothing. It refuses shares that do not sum to 100,
 * classes beyond 7, more lossless priorities than it has (2), and a buffer for a priority without bytes.
 * Parameters (also while it runs, in /sys/module/dcbdev/parameters): what a peer and a storm would do.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <net/dcbnl.h>

static int peer_pfc = -1;
module_param(peer_pfc, int, 0644);
MODULE_PARM_DESC(peer_pfc, "lossless priorities of the peer, a bit each; -1: there is no peer");
static ulong requests, indications;
module_param(requests, ulong, 0644);
module_param(indications, ulong, 0644);
MODULE_PARM_DESC(requests, "pause frames sent for priority 3");
MODULE_PARM_DESC(indications, "pause frames received for priority 3");

#define PFC_CAP 2
#define TOTAL (256 << 10)

struct dcbdev {
	struct ieee_ets ets;
	struct ieee_pfc pfc;
	struct ieee_maxrate maxrate;
	struct dcbnl_buffer buffer;
	u8 mode;
};

static int get_ets(struct net_device *dev, struct ieee_ets *ets)
{
	struct dcbdev *me = netdev_priv(dev);

	*ets = me->ets;
	return 0;
}

static int set_ets(struct net_device *dev, struct ieee_ets *ets)
{
	struct dcbdev *me = netdev_priv(dev);
	int i, sum = 0, any = 0;

	for (i = 0; i < IEEE_8021QAZ_MAX_TCS; i++) {
		if (ets->prio_tc[i] >= IEEE_8021QAZ_MAX_TCS)
			return -EINVAL;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_CB_SHAPER)
			return -EOPNOTSUPP;
		if (ets->tc_tsa[i] == IEEE_8021QAZ_TSA_ETS) {
			any = 1;
			sum += ets->tc_tx_bw[i];
		} else if (ets->tc_tx_bw[i]) {
			return -EINVAL;
		}
	}
	if (any && sum != 100)
		return -EINVAL;
	me->ets = *ets;
	me->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	me->ets.cbs = 0;
	return 0;
}

static int get_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct dcbdev *me = netdev_priv(dev);

	*pfc = me->pfc;
	pfc->requests[3] = requests;
	pfc->indications[3] = indications;
	return 0;
}

static int set_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct dcbdev *me = netdev_priv(dev);

	if (hweight8(pfc->pfc_en) > PFC_CAP)
		return -E2BIG;
	me->pfc = *pfc;
	me->pfc.pfc_cap = PFC_CAP;
	return 0;
}

static int get_maxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	struct dcbdev *me = netdev_priv(dev);

	*maxrate = me->maxrate;
	return 0;
}

static int set_maxrate(struct net_device *dev, struct ieee_maxrate *maxrate)
{
	struct dcbdev *me = netdev_priv(dev);

	me->maxrate = *maxrate;
	return 0;
}

static int get_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct dcbdev *me = netdev_priv(dev);

	*buffer = me->buffer;
	return 0;
}

static int set_buffer(struct net_device *dev, struct dcbnl_buffer *buffer)
{
	struct dcbdev *me = netdev_priv(dev);
	u64 sum = 0;
	int i;

	for (i = 0; i < DCBX_MAX_BUFFERS; i++)
		sum += buffer->buffer_size[i];
	if (sum > TOTAL)
		return -ENOSPC;
	for (i = 0; i < IEEE_8021Q_MAX_PRIORITIES; i++)
		if (buffer->prio2buffer[i] >= DCBX_MAX_BUFFERS || !buffer->buffer_size[buffer->prio2buffer[i]])
			return -EINVAL;
	me->buffer = *buffer;
	me->buffer.total_size = TOTAL;
	return 0;
}

static u8 get_mode(struct net_device *dev)
{
	struct dcbdev *me = netdev_priv(dev);

	return me->mode;
}

static u8 set_mode(struct net_device *dev, u8 mode)
{
	struct dcbdev *me = netdev_priv(dev);

	if (mode & DCB_CAP_DCBX_LLD_MANAGED)
		return 1;
	me->mode = mode;
	return 0;
}

static int peer_get_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	if (peer_pfc < 0)
		return -ENODATA;
	memset(pfc, 0, sizeof(*pfc));
	pfc->pfc_cap = 8;
	pfc->pfc_en = peer_pfc;
	return 0;
}

static const struct dcbnl_rtnl_ops dcb_ops = {
	.ieee_getets = get_ets,
	.ieee_setets = set_ets,
	.ieee_getpfc = get_pfc,
	.ieee_setpfc = set_pfc,
	.ieee_getmaxrate = get_maxrate,
	.ieee_setmaxrate = set_maxrate,
	.dcbnl_getbuffer = get_buffer,
	.dcbnl_setbuffer = set_buffer,
	.getdcbx = get_mode,
	.setdcbx = set_mode,
	.ieee_peer_getpfc = peer_get_pfc,
};

static netdev_tx_t drop(struct sk_buff *skb, struct net_device *dev)
{
	dev_kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops net_ops = { .ndo_start_xmit = drop, .ndo_set_mac_address = eth_mac_addr };

static struct net_device *dev;

static int __init begin(void)
{
	struct dcbdev *me;
	int error;

	dev = alloc_etherdev(sizeof(*me));
	if (!dev)
		return -ENOMEM;
	strscpy(dev->name, "dcb0", IFNAMSIZ);
	eth_hw_addr_random(dev);
	dev->netdev_ops = &net_ops;
	dev->dcbnl_ops = &dcb_ops;
	dev->max_mtu = 9600;
	me = netdev_priv(dev);
	me->mode = DCB_CAP_DCBX_HOST | DCB_CAP_DCBX_VER_IEEE;
	me->ets.ets_cap = IEEE_8021QAZ_MAX_TCS;
	me->pfc.pfc_cap = PFC_CAP;
	me->buffer.buffer_size[0] = TOTAL / 2;
	me->buffer.total_size = TOTAL;
	error = register_netdev(dev);
	if (error)
		free_netdev(dev);
	return error;
}

static void __exit end(void)
{
	unregister_netdev(dev);
	free_netdev(dev);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("an interface that keeps settings of Data Center Bridging");
