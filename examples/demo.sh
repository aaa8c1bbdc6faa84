#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# examples/demo.sh [--frames N] [PICTURE]
#
# Installs what is missing, builds, and shows the main job: pictures (GStreamer's moving
# test pattern, or a picture of yours) become JPEG 2000, go through RTP, and come back. Ends with frames per
# second, the back end in use, and a PNG of a frame that went the whole way.
set -u
cd "$(dirname "$0")/.." || exit 1
. scripts/setup.sh

frames=50
input=
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

has_element() { gst-inspect-1.0 "$1" >/dev/null 2>&1; }
has_element cudaj2kdec || fail "the plugin in $folder/gst does not load"
encoder=cudaj2kenc
has_element $encoder || encoder=openjpegenc

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

rate() { awk "BEGIN { printf \"%.1f frames/s\", $frames / $seconds }"; }

say "encoding $frames frames with $encoder"
play "$source ! $caps ! $encoder ! mj2mux ! filesink location=$results/demo.mj2"
encoding=$(rate)

say "decoding them with cudaj2kdec"
play "filesrc location=$results/demo.mj2 ! qtdemux ! cudaj2kdec ! fakesink sync=false"
decoding=$(rate)

say "one frame through RTP into a PNG"
rm -f "$results/demo.png"
play "filesrc location=$results/demo.mj2 ! qtdemux ! jpeg2000parse ! rtpj2kpay ! rtpj2kdepay ! cudaj2kdec ! videoconvert ! pngenc snapshot=true ! filesink location=$results/demo.png"
[ -s "$results/demo.png" ] || fail "no picture came out"

bytes=$(wc -c <"$results/demo.mj2")
cat <<END
frames     $frames of 1920x1080, 4:2:2 10 bit, $((bytes / frames)) bytes each
encoder    $encoder, $encoding
decoder    cudaj2kdec on ${backend:-an unnamed back end}, $decoding
picture    $results/demo.png
END
