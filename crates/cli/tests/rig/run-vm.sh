#!/bin/bash
# run-vm.sh - boot one Open-FCoE peer VM (Debian kernel + busybox initramfs).
# Exit status: the guest command's status, or
#   80 no LUN seen, 9x guest set-up step failed, 124 timeout, 125 usage,
#   126 guest died/panicked without a result.
set -u
here=$(cd "$(dirname "$0")" && pwd)
rig=${RIG:-$here/../../../../target/rig}
usage() { cat <<'U'
usage: run-vm.sh --role initiator|target|bare  NET  [options]
 NET (one of):
  --tap IF              host TAP interface (must exist; see --netns)
  --udp LPORT:RPORT     one Ethernet frame per UDP datagram on 127.0.0.1
  --unix LOCAL:REMOTE   one Ethernet frame per AF_UNIX datagram (paths)
  --unix2 LOCAL:REMOTE  a second NIC (eth1, MAC …:ff) the same way, which the guest's commands bring up
  --stream-listen PATH | --stream-connect PATH   AF_UNIX stream, 4-byte BE length + frame
 options:
  --netns NS            run QEMU inside this network namespace (for --tap)
  --mac M               guest NIC MAC           (52:54:00:fc:0e:01 init, :02 target)
  --mtu N               guest NIC MTU           (2500)
  --mode vn2vn|fabric|none    FCoE ctlr mode    (vn2vn)
  --vlan ID             put FCoE on eth0.ID
  --ipv6                leave the guest its IPv6
  --nic DEV             QEMU NIC model: virtio-net-pci (default), e1000e, e1000
  --pcie DEV            one more QEMU NIC model, without a peer, on a PCI Express root port of 2.5 GT/s; may repeat
  --luns 'rd:64 file:32 null:1024'   target role: backstores, MB   (rd:64)
  --blocksize N         target role: block size of all LUNs (512)
  --acl WWPN            target role: allowed initiator, may repeat (20:00:52:54:00:fc:0e:01)
  --cmd STRING | --cmd-file F   shell code run in the guest (as root, $DISK = first LUN's disk)
  --pre STRING          shell code run before FCoE comes up ($NIC is up)
  --put FILE            put FILE (executable) in the guest's /rig/, may repeat
  --bring FILE          the same for a binary of the host: stripped, with the shared libraries it links
  --out FILE            bytes the guest writes to /dev/ttyS1 go here
  --no-lun              initiator: do not wait for a LUN
  --lun-timeout S       (60)   --timeout S  whole run, wall clock (120)
  --fio                 add fio to the guest (77 MB more initramfs)
  --suite               add libiscsi's suite and sg3_utils to the guest (build.sh --suite)
  --pcap FILE           QEMU filter-dump of the NIC
  --debug               libfc/libfcoe debug logging on the console
  --quiet               only RIG lines from the kernel log (warnings and worse)
  --accel tcg|kvm|kvm:tcg   (tcg)   --cpu MODEL  --mem MB  --smp N
  --console FILE        also save the console there
U
exit 125; }
role= net= net2= netns= mac= mtu=2500 mode=vn2vn vlan= nic=virtio-net-pci luns=rd:64 bs= acls= cmd= pre= out= waitlun=1 ipv6=1
luntmo=60 tmo=120 fio= suite= pcap= dl= df= quiet= accel=tcg cpu=max mem=1024 smp=1 console= puts=() brings=() conf= pcies=()
while [ $# -gt 0 ]; do case $1 in
  --role) role=$2; shift 2;; --tap) net="tap,id=n0,ifname=$2,script=no,downscript=no"; shift 2;;
  --udp) net="dgram,id=n0,local.type=inet,local.host=127.0.0.1,local.port=${2%%:*},remote.type=inet,remote.host=127.0.0.1,remote.port=${2##*:}"; shift 2;;
  --unix) net="dgram,id=n0,local.type=unix,local.path=${2%%:*},remote.type=unix,remote.path=${2##*:}"; shift 2;;
  --unix2) net2="dgram,id=n1,local.type=unix,local.path=${2%%:*},remote.type=unix,remote.path=${2##*:}"; shift 2;;
  --stream-listen) net="stream,id=n0,server=on,addr.type=unix,addr.path=$2"; shift 2;;
  --stream-connect) net="stream,id=n0,server=off,addr.type=unix,addr.path=$2"; shift 2;;
  --netns) netns=$2; shift 2;; --mac) mac=$2; shift 2;; --mtu) mtu=$2; shift 2;; --mode) mode=$2; shift 2;;
  --vlan) vlan=$2; shift 2;; --ipv6) ipv6=0; shift;; --nic) nic=$2; shift 2;; --pcie) pcies+=("$2"); shift 2;; --luns) luns=$2; shift 2;; --blocksize) bs=$2; shift 2;;
  --acl) acls="$acls $2"; shift 2;; --cmd) cmd=$2; shift 2;; --cmd-file) cmd=$(cat "$2"); shift 2;; --pre) pre=$2; shift 2;;
  --put) puts+=("$2"); shift 2;; --bring) brings+=("$2"); shift 2;; --out) out=$2; shift 2;; --no-lun) waitlun=0; shift;; --lun-timeout) luntmo=$2; shift 2;;
  --timeout) tmo=$2; shift 2;; --fio) fio=1; shift;; --suite) suite=1; shift;; --pcap) pcap=$2; shift 2;; --debug) dl=${RIG_LIBFC_DEBUG:-15}; df=${RIG_FCOE_DEBUG:-15}; shift;;
  --quiet) quiet=1; shift;; --accel) accel=$2; shift 2;; --cpu) cpu=$2; shift 2;; --mem) mem=$2; shift 2;; --smp) smp=$2; shift 2;;
  --console) console=$2; shift 2;; *) echo "run-vm.sh: unknown option $1" >&2; usage;; esac; done
case $role in initiator) : "${mac:=52:54:00:fc:0e:01}";; target) : "${mac:=52:54:00:fc:0e:02}";; bare) : "${mac:=52:54:00:fc:0e:03}";; *) usage;; esac
[ -n "$net" ] || usage
[ -n "$acls" ] || acls=20:00:52:54:00:fc:0e:01
case $net in tap,*) t=${net#*ifname=}; t=${t%%,*}; ${netns:+ip netns exec "$netns"} ip link show "$t" >/dev/null 2>&1 || { echo "run-vm.sh: no interface $t${netns:+ in $netns}" >&2; exit 125; };; esac
[ -f "$rig/out/vmlinux" ] || { echo "run ./build.sh first" >&2; exit 125; }
tmp=$(mktemp -d /tmp/rigvm.XXXXXX); qpid=
cleanup() { [ -n "$qpid" ] && kill "$qpid" 2>/dev/null; rm -rf "$tmp"; }
trap cleanup EXIT; trap 'exit 143' TERM INT HUP
mkdir -p "$tmp/o/rig"
{ echo "ROLE=$role MODE=$mode MTU=$mtu VLAN=$vlan WAIT_LUN=$waitlun LUN_TIMEOUT=$luntmo BLOCKSIZE=$bs QUIET=$quiet DEBUG_LIBFC=$dl DEBUG_FCOE=$df"
  echo "LUNS='$luns'"; echo "ACLS='$acls'"; printf 'PRE=%q\n' "$pre" | sed "s/^PRE=\$'/PRE=\$'/"
  case $nic in e1000e*) echo NICMOD=e1000e;; e1000*) echo NICMOD=e1000;; esac; } > "$tmp/o/rig/conf"
# (printf %q may emit $'..' quoting; busybox ash understands it)
printf '%s\n' "$cmd" > "$tmp/o/rig/cmd.sh"; [ -n "$cmd" ] || : > "$tmp/o/rig/cmd.sh"
for f in ${puts[@]+"${puts[@]}"}; do install -m 755 "$f" "$tmp/o/rig/"; done
for f in ${brings[@]+"${brings[@]}"}; do
  strip -o "$tmp/o/rig/${f##*/}" "$f" && ldd "$f" | grep -o '/[^ ]*' | sed 's:^/::' | (cd / && cpio --quiet -pdL "$tmp/o") || exit 125
done
(cd "$tmp/o" && find . | cpio --quiet -o -H newc -R 0:0) > "$tmp/over.cpio"
cat "$rig/out/rig.cpio" ${fio:+"$rig/out/fio.cpio"} ${suite:+"$rig/out/suite.cpio"} "$tmp/over.cpio" > "$tmp/initrd"
[ -n "$fio" ] && [ "$mem" -lt 1536 ] && mem=1536
hm=; case $nic in virtio-net-pci*) hm=",host_mtu=$mtu";; esac
extra=(); [ -n "$net2" ] && extra+=(-netdev "$net2" -device "$nic,netdev=n1,mac=${mac%:*}:ff,romfile=$hm")
i=1
for pcie in ${pcies[@]+"${pcies[@]}"}; do
  extra+=(-device "pcie-root-port,id=rp$i,chassis=$i,x-speed=2_5,x-width=1" -netdev "hubport,id=p$i,hubid=$i" -device "$pcie,bus=rp$i,netdev=p$i,mac=${mac%:*}:f$((i - 1)),romfile=")
  i=$((i + 1))
done
[ -n "$pcap" ] && extra+=(-object "filter-dump,id=fd0,netdev=n0,file=$pcap,maxlen=65535")
ser=(-chardev "file,id=con,path=$tmp/console" -serial chardev:con)
[ -n "$out" ] && ser+=(-serial "file:$out")
ex=(); [ -n "$netns" ] && ex=(ip netns exec "$netns")
: > "$tmp/console"
start=$(date +%s.%N)
# The guest measures its TSC, of which emulated time is made, while the host may do other things: one was eleven times too fast.
# The PM timer has a rate that is known.
"${ex[@]}" qemu-system-x86_64 -accel ${accel/:/ -accel } -cpu "$cpu" -smp "$smp" -m "$mem" -nodefaults -no-user-config \
  -no-reboot -display none -monitor none -machine q35,hpet=off "${ser[@]}" -netdev "$net" -device "$nic,netdev=n0,mac=$mac,romfile=$hm" \
  -kernel "$rig/out/vmlinux" -initrd "$tmp/initrd" \
  -append "console=ttyS0 panic=-1 quiet loglevel=4 clocksource=acpi_pm tsc=reliable no_timer_check mitigations=off nokaslr random.trust_cpu=on ipv6.disable=$ipv6" \
  "${extra[@]}" </dev/null 2>"$tmp/qerr" & qpid=$!
tail -n +1 -f --pid=$qpid "$tmp/console" & tpid=$!
deadline=$((SECONDS+tmo)); rc=
while kill -0 $qpid 2>/dev/null; do
  [ $SECONDS -ge $deadline ] && { rc=124; kill $qpid; break; }
  sleep 0.1
done
wait $qpid 2>/dev/null; qrc=$?; qpid=; wait $tpid 2>/dev/null
[ -n "$console" ] && cp "$tmp/console" "$console"
cat "$tmp/qerr" >&2
if [ -z "$rc" ]; then
  r=$(tr -d '\r' < "$tmp/console" | sed -n 's/^RIG-RESULT rc=\([0-9]*\).*/\1/p' | tail -1)
  if [ -n "$r" ]; then rc=$r; else rc=126; fi
fi
printf 'RUN-VM role=%s rc=%s wall=%.1fs\n' "$role" "$rc" "$(echo "$(date +%s.%N) - $start" | bc 2>/dev/null || python3 -c "import time;print(time.time()-$start)")"
exit "$rc"
