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
configure "$folder" "${options_default[@]}" || fail "meson could not configure $folder"
compile "$folder" --no-tests
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

rm -f "$results"/demo.* "$results"/*.png
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

# receiver_port LOG PROCESS: prints the port at which the receiver listens, once it does.
receiver_port() {
  local _
  for _ in {1..600}; do
    sed -n 's/.*current-port = \([1-9][0-9]*\)$/\1/p' "$1" | grep . && return
    kill -0 "$2" 2>/dev/null || break
    sleep 0.2
  done
  tail -n 20 "$1" >&2
  fail "the receiver does not listen"
}

# link SOURCE SINK: a contribution link. SOURCE is encoded at a bit rate and goes through RTP over loopback to
# another process (framed as in RFC 4571, so that no packet of a demonstration is lost), which decodes into SINK.
link() {
  local log=$results/link.log receiver port
  eval "timeout 300 gst-launch-1.0 -v tcpserversrc host=127.0.0.1 port=0 ! application/x-rtp-stream \
    ! rtpstreamdepay ! 'application/x-rtp,media=video,clock-rate=90000,encoding-name=JPEG2000,sampling=YCbCr-4:2:2' \
    ! rtpj2kdepay ! cudaj2kdec ! $2" >"$log" 2>&1 </dev/null &
  receiver=$!
  port=$(receiver_port "$log" $receiver) || exit 1
  play "$1 ! $caps ! cudaj2kenc block-coder=ht rate-control=cbr bits-per-pixel=4 ! rtpj2kpay ! rtpstreampay \
    ! tcpclientsink host=127.0.0.1 port=$port"
  wait $receiver || {
    tail -n 20 "$log" >&2
    fail "the receiver failed"
  }
  backend=$(sed -n 's/.*active-backend = "\{0,1\}\([a-z]*\).*/\1/p' "$log" | tail -n 1)
}

say "live at 25 frames/s: encoder, RTP over loopback, decoder in another process"
live=$source
[ -z "$input" ] && live="$source is-live=true"
link "$live" "fakesink sync=false"
live=$(rate)

say "one frame through the same link, beside its source"
one=${source/num-buffers=$frames/num-buffers=1}
picture="videoconvert ! video/x-raw,format=RGB ! pngenc ! filesink location="
play "$one ! $caps ! $picture$results/source.png"
link "$one" "$picture$results/received.png"
psnr=$("$folder/examples/cj2k-compare" "$results/source.png" "$results/received.png" "$results/demo.png") ||
  fail "no picture came out"

cat <<END
$frames frames of 1920x1080, 4:2:2 10 bit, at most 4 bits a pixel; back end: ${backend:-unknown}
${table}live       $live frames/s from source to decoder, at most 207 Mbit/s; a frame has $psnr against its source
picture    $results/demo.png (left the source, right what was received)
END
