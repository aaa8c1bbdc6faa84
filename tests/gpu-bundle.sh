#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# tests/gpu-bundle.sh [--root ROOT] BUILD DEST
#
# Collects what a GPU host without GStreamer needs to run the element tests of the build folder BUILD:
# GStreamer's libraries, plugins and tools, the plugin under test, the test programs, soak, measure-latency
# and bench-elements, with the C library they were linked with, so that the host's may be older. Makes the
# folder DEST and DEST.tar.xz (about 20 MB), which tests/gpu.sh --bundle takes.
#   --root ROOT   takes them from another system in the folder ROOT (for example made by debootstrap), in
#                 which BUILD was made; BUILD is its path there
#
# In DEST, bin/ has a starter for each program, libexec/ the programs, lib/ libraries, plugins/ GStreamer's
# plugins, plugin/ the one under test, presets/ its presets, `version` the version of GStreamer.
set -euo pipefail
root=
if [ "${1:-}" = --root ]; then
  root=${2:?--root ROOT} && shift 2
fi
build=${1:?usage: gpu-bundle.sh [--root ROOT] BUILD DEST} dest=${2:?usage: gpu-bundle.sh [--root ROOT] BUILD DEST}
plugins=(app codectimestamper coreelements coretracers debugutilsbad imagefreeze isomp4 mpegtsdemux mpegtsmux
  multifile mxf nvcodec openjpeg playback rawparse rtp rtpmanager timecode typefindfunctions udp videoconvertscale
  videoconvert videofilter videoparsersbad videorate videoscale videotestsrc)
tools=(gst-launch-1.0 gst-inspect-1.0)

# inside COMMAND...: runs a command in the system that is bundled.
inside() {
  if [ -n "$root" ]; then chroot "$root" "$@"; else "$@"; fi
}

libs=$(dirname "$(inside find /usr/lib /usr/lib64 -name 'libgstreamer-1.0.so.0' 2>/dev/null | head -n 1)")
loader=$(inside readlink -f /lib64/ld-linux-x86-64.so.2)
rm -rf "$dest"
mkdir -p "$dest"/{bin,libexec,lib,plugins,plugin}

files=()
for name in "${tools[@]}"; do
  cp "$root/usr/bin/$name" "$dest/libexec" && files+=("/usr/bin/$name")
done
for program in "$root$build"/tests/{test-element-*,soak,measure-latency,bench-elements}; do
  [ -f "$program" ] || continue
  strip --strip-debug -o "$dest/libexec/$(basename "$program")" "$program"
  files+=("$build/tests/$(basename "$program")")
done
strip --strip-debug -o "$dest/plugin/libgstcudaj2k.so" "$root$build/gst/libgstcudaj2k.so"
files+=("$build/gst/libgstcudaj2k.so")
cp -r "$(dirname "$0")/../gst/presets" "$dest/presets"
for name in "${plugins[@]}"; do
  file=$libs/gstreamer-1.0/libgst$name.so
  if [ -e "$root$file" ]; then cp "$root$file" "$dest/plugins" && files+=("$file"); fi
done

# Also libraries that are opened by name at run time, and parts of the C library that old programs need.
{
  inside ldd "${files[@]}" 2>/dev/null | awk '/=> \//{print $3}'
  printf '%s\n' "$loader" "$libs"/lib{gstcheck-1.0.so.0,gstcuda-1.0.so.0,c.so.6,m.so.6,pthread.so.0,dl.so.2,rt.so.1}
} | sort -u | while read -r file; do
  [ ! -e "$root$file" ] || cp -L "$root$file" "$dest/lib/"
done
mv "$dest/lib/$(basename "$loader")" "$dest/lib/loader" 2>/dev/null || true
find "$dest/lib" -name 'libcj2k*' -exec strip --strip-debug {} +

# A test that starts itself again must also use the bundled loader: argv[0] is the starter.
for program in "$dest"/libexec/*; do
  name=$(basename "$program")
  cat >"$dest/bin/$name" <<'STARTER'
#!/bin/sh
bundle=$(cd "$(dirname "$0")/.." && pwd)
export GST_PLUGIN_SYSTEM_PATH="$bundle/plugins" GST_PLUGIN_PATH="$bundle/plugin" GST_REGISTRY_FORK=no
export GST_PRESET_PATH="$bundle/presets"
exec "$bundle/lib/loader" --argv0 "$bundle/bin/$(basename "$0")" \
  --library-path "$bundle/lib:${BUNDLE_LIBS:-}:/usr/local/nvidia/lib64:/usr/lib/x86_64-linux-gnu:/usr/lib64" \
  "$bundle/libexec/$(basename "$0")" "$@"
STARTER
  chmod +x "$dest/bin/$name"
done
inside gst-inspect-1.0 --version | sed -n 's/^GStreamer //p' >"$dest/version"
XZ_OPT=-2 tar cJf "$dest.tar.xz" -C "$(dirname "$dest")" "$(basename "$dest")"
du -sh "$dest" "$dest.tar.xz"
