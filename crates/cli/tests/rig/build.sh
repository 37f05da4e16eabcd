#!/bin/bash
# Builds what run-vm.sh boots: an uncompressed Debian kernel and a small initramfs with the kernel's own FCoE, from Debian
# packages, and a module of our own (dcb/), into target/rig (or $RIG). Nothing is installed in /boot. What is built is kept for the next time.
#   build.sh          build
#   build.sh --deps   apt-get install of the host packages first (root)
#   build.sh --suite  build, and what run-vm.sh --suite adds: libiscsi's conformance suite and all programs of sg3_utils
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
rig=${RIG:-$here/../../../../target/rig}
cache=$rig/cache out=$rig/out
HOSTPKGS="qemu-system-x86 busybox-static sg3-utils fio kmod cpio tcpdump ethtool xz-utils python3-minimal e2fsprogs dmsetup gcc make"
GUESTDEBS="fcoe-utils libpciaccess0"
SUITEDEBS="libiscsi-bin libiscsi7 libcunit1"
root=$out/root
fetch() { # packages into $cache
  local p; for p; do ls "${p}"_*.deb >/dev/null 2>&1 || apt-get download "$p" 2>&1 | grep -v unsandboxed; done
}
unpack() { # into $cache/DIR, packages
  local dir=$1 p; shift; rm -rf "$dir"; mkdir "$dir"; for p; do dpkg-deb -x "${p}"_*.deb "$dir"; done
}
bring() { # copy a binary and its shared libraries
  local dst=$1 f=$2 lib
  mkdir -p "$dst/usr/bin"; cp -L "$f" "$dst/usr/bin/"
  LD_LIBRARY_PATH=$cache/extra/usr/lib/x86_64-linux-gnu:$cache/suite/usr/lib/x86_64-linux-gnu ldd "$f" | awk '/=> \//{print $3} /^\t\/lib64/{print $1}' | while read -r lib; do
    case $lib in
      */ld-linux*) mkdir -p "$dst/lib64"; cp -Ln "$lib" "$dst/lib64/" ;;
      *) [ "$dst" != "$root" ] && [ -e "$root/lib/x86_64-linux-gnu/${lib##*/}" ] && continue
         mkdir -p "$dst/lib/x86_64-linux-gnu"; cp -Ln "$lib" "$dst/lib/x86_64-linux-gnu/" ;;
    esac
  done || true
}
pack() { (cd "$1" && find . -print0 | LC_ALL=C sort -z | cpio --quiet -0 -o -H newc -R 0:0) > "$2"; }
if [ "${1:-}" = --deps ]; then
  missing=; for p in $HOSTPKGS; do dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"; done
  [ -z "$missing" ] || DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=400 install -y -qq --no-install-recommends $missing >/dev/null
fi
if [ "${1:-}" = --suite ]; then
  "$0"
  [ "$out/suite.cpio" -nt "$0" ] && exit 0
  cd "$cache"; fetch $SUITEDEBS; unpack suite $SUITEDEBS
  sr=$out/suiteroot; rm -rf "$sr"
  for b in suite/usr/bin/iscsi-test-cu /usr/bin/sg_*; do bring "$sr" "$b"; done
  pack "$sr" "$out/suite.new"; mv "$out/suite.new" "$out/suite.cpio"; rm -rf "$sr"
  exit 0
fi
stamp=$(cat "$0" "$here/guest-init" "$here"/guest/* "$here"/dcb/* | sha256sum | cut -c1-16)
[ -f "$out/stamp" ] && [ "$(cat "$out/stamp")" = "$stamp" ] && exit 0
mkdir -p "$cache" "$out"; cd "$cache"
kpkg=$(apt-cache depends linux-image-amd64 | awk '/Depends:/{print $2; exit}')
kver=${kpkg#linux-image-}
fetch $kpkg $GUESTDEBS
if [ ! -f "kernel/.$kver" ]; then
  rm -rf kernel; mkdir kernel; dpkg-deb -x "${kpkg}"_*.deb kernel
  /sbin/depmod -b kernel "$kver"; touch "kernel/.$kver"
fi
unpack extra $GUESTDEBS

# --- our module: an interface with dcbnl, built against the kernel's headers, which name each other by absolute paths ---
hpkgs="linux-headers-$kver linux-headers-${kver%-*}-common $(apt-cache depends "linux-headers-$kver" | awk '/Depends: linux-kbuild/{print $2; exit}')"
fetch $hpkgs
unpack headers $hpkgs
src=$PWD/headers/usr/src
sed -i "s:/usr/src:$src:" "$src/linux-headers-$kver/Makefile"
rm -rf module; cp -r "$here/dcb" module
make -s -C "$src/linux-headers-$kver" M="$PWD/module" CC=gcc modules

# --- uncompressed kernel (skips the in-guest xz step: 2 s under TCG) ---
python3 - "kernel/boot/vmlinuz-$kver" "$out/vmlinux" <<'P'
import sys, lzma
d = open(sys.argv[1], 'rb').read()
i = d.find(b'\xfd7zXZ\x00')
x = lzma.LZMADecompressor().decompress(d[i:])
assert x[:4] == b'\x7fELF'
open(sys.argv[2], 'wb').write(x)
P

# --- root file system ---
rm -rf "$root"
mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,dev,proc,sys,tmp,run,etc,lib64,lib/x86_64-linux-gnu,rig,root,mnt}
cp /bin/busybox "$root/bin/busybox"
for a in $(busybox --list); do [ "$a" = busybox ] || ln -sf /bin/busybox "$root/bin/$a"; done
for b in mke2fs e2fsck dmsetup; do bring "$root" /sbin/$b; done
for b in sg_inq sg_luns sg_readcap sg_raw sg_turs sg_dd sg_reset sg_ses sg_vpd sg_requests sg_modes sg_logs sg_persist sg_verify sg_write_same sg_unmap sg_opcodes sg_sync; do
  [ -x /usr/bin/$b ] && bring "$root" /usr/bin/$b; done
bring "$root" "$(command -v tcpdump)"; bring "$root" "$(command -v ethtool)"
bring "$root" "$(command -v ip || echo /sbin/ip)"
for b in fcoeadm fipvlan fcping fcrls fcnsq; do bring "$root" "$cache/extra/usr/sbin/$b"; done
printf 'root:x:0:0:root:/root:/bin/sh\ntcpdump:x:0:0::/:/bin/sh\n' > "$root/etc/passwd"
printf 'root:x:0:\n' > "$root/etc/group"

# --- kernel modules (with dependencies) ---
mods="virtio_pci virtio_net virtio_blk virtio_console e1000e vmxnet3 ixgbe 8021q bonding dummy ifb veth tun fcoe sd_mod sg tcm_fc
 target_core_mod target_core_file target_core_iblock target_core_pscsi scsi_debug brd null_blk crc32c_generic crc32c-intel ext4 dm-multipath dm-round-robin"
for m in $mods; do
  /sbin/modprobe -d "$cache/kernel" -S "$kver" --show-depends "$m" 2>/dev/null | awk '$1=="insmod"{print $2}'
done | sort -u | while read -r ko; do
  rel=${ko#"$cache/kernel"}; mkdir -p "$root$(dirname "$rel")"; cp "$ko" "$root$rel"
done
mkdir -p "$root/lib/modules/$kver/extra"; cp module/dcbdev.ko "$root/lib/modules/$kver/extra/"
cp "$cache/kernel/lib/modules/$kver"/modules.{builtin,order} "$root/lib/modules/$kver/"
/sbin/depmod -b "$root" "$kver"
install -m 755 "$here/guest-init" "$root/init"
install -m 755 "$here"/guest/* "$root/rig/" 2>/dev/null || true
pack "$root" "$out/rig.cpio"
fr=$out/fioroot; rm -rf "$fr"; bring "$fr" /usr/bin/fio; pack "$fr" "$out/fio.cpio"
echo "$kver" > "$out/kver"
rm -rf "$root" "$fr" headers module; echo "$stamp" > "$out/stamp"
