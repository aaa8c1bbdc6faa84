#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# examples/demo.sh [--frames N] [PICTURE]
#
# Installs what is missing, builds, and shows the main job: pictures (GStreamer's moving
# test pattern, or a picture of yours) become JPEG 2000 at a bit rate, go through RTP, and come back.
# Ends with frames per second, the back end in use, and a PNG of a frame that went the whole way.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/setup.sh

frames=50
input=
table=
while [ $# -gt 0 ]; do
  case $1 in
  --frames) frames=${2:?number of frames} && shift ;;
  -h | --help) sed -n '4,8s/^# \{0,1\}//p' "$0" && exit 0 ;;
  -*) fail "unknown option $1; see examples/demo.sh --help" ;;
  *) input=$(realpath "$1") ;;
  esac
  shift
done

folder=$cj2k_root/build
results=$folder/demo
install_packages "${packages_build[@]}" "${packages_demo[@]}"
# A build folder of the tests serves as well as one of its own.
[ -e "$folder/build.ninja" ] || configure "$folder" || fail "meson could not configure $folder"
compile "$folder"
mkdir -p "$results"
export GST_PLUGIN_PATH=$folder/gst GST_REGISTRY=$results/registry.bin

gst-inspect-1.0 cudaj2kdec >/dev/null 2>&1 || fail "the plugin in $folder/gst does not load"
# 1080p 4:2:2 10 bit is what a studio would send.
caps=video/x-raw,format=I422_10LE,width=1920,height=1080,framerate=25/1,colorimetry=bt709
source="videotestsrc num-buffers=$frames pattern=zone-plate kx2=14 ky2=9 kt=3"
if [ -n "$input" ]; then
  source="filesrc location=\"$input\" ! decodebin ! imagefreeze num-buffers=$frames ! videoconvertscale"
fi

# play PIPELINE: run it; seconds from its first frame to its last go to $seconds.
play() {
  local log=$results/pipeline.log
  eval "gst-launch-1.0 -v $1" >"$log" 2>&1 </dev/null || {
    tail -n 20 "$log" >&2
    fail "this pipeline failed: $1"
  }
  seconds=$(sed -n 's/^Execution ended after \([0-9]*\):\([0-9]*\):\([0-9.]*\)$/\1 \2 \3/p' "$log" |
    awk '{ print $1 * 3600 + $2 * 60 + $3 }')
  backend=$(sed -n 's/.*active-backend = "\{0,1\}\([a-z]*\).*/\1/p' "$log" | tail -n 1)
}

rate() { awk "BEGIN { printf \"%.1f\", $frames / $seconds }"; }

rm -f "$results"/demo.*
for coder in mq ht; do
  # No frame above its share of 4 bits a pixel: 1036800 bytes, 207 Mbit/s.
  encoder="cudaj2kenc block-coder=$coder rate-control=cbr bits-per-pixel=4"
  file=$results/demo.$coder.mj2
  say "encoding and decoding $frames frames, block-coder=$coder"
  play "$source ! $caps ! $encoder ! mj2mux ! filesink location=$file"
  encoding=$(rate)
  play "filesrc location=$file ! qtdemux ! cudaj2kdec ! fakesink sync=false"
  table+=$(printf '%-10s encode %7s   decode %7s frames/s   %d bytes a frame\n.' "$coder" "$encoding" \
    "$(rate)" $(($(wc -c <"$file") / frames)))
  table=${table%.}
done

say "one frame through RTP into a PNG"
play "$source ! $caps ! $encoder ! rtpj2kpay ! rtpj2kdepay ! cudaj2kdec ! videoconvert ! pngenc snapshot=true ! filesink location=$results/demo.png"
[ -s "$results/demo.png" ] || fail "no picture came out"

cat <<END
$frames frames of 1920x1080, 4:2:2 10 bit, at most 4 bits a pixel; back end: ${backend:-unknown}
${table}picture    $results/demo.png
END
