#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""rfc9828.py FILE...: checks recordings of RTP packets against the rules of RFC 9828 for senders.

A recording is a sequence of packets in the framing of RFC 4571 (two bytes of length in front of each packet), as
rtpstreampay makes it. This program was written from the RFC and shares no code with the sender. It reads
codestreams only as far as the rules need: the end of the headers, the tiles, levels and precincts, and the
beginnings of packets where SOP shows them.
"""
import struct
import sys


class Broken(Exception):
    """A recording that cannot be read at all."""


def packets(data):
    at = 0
    while at < len(data):
        if len(data) - at < 2:
            raise Broken("the recording ends in a length")
        size, = struct.unpack_from(">H", data, at)
        if size > len(data) - at - 2:
            raise Broken("the recording ends in a packet")
        yield data[at + 2:at + 2 + size]
        at += 2 + size


class Rtp:
    def __init__(self, raw):
        if len(raw) < 12 or raw[0] >> 6 != 2:
            raise Broken("not RTP version 2")
        self.marker, self.type = raw[1] >> 7, raw[1] & 127
        self.sequence, self.timestamp, self.ssrc = struct.unpack_from(">HII", raw, 2)
        at = 12 + 4 * (raw[0] & 15)
        if raw[0] & 16:
            at += 4 + 4 * struct.unpack_from(">H", raw, at + 2)[0]
        end = len(raw) - (raw[-1] if raw[0] & 32 else 0)
        self.payload = raw[at:end]


class Header:
    """The payload header (5.3, 5.4) and the bytes behind it."""

    def __init__(self, payload):
        b = payload
        self.mh, self.tp = b[0] >> 6, b[0] >> 3 & 7
        self.ptstamp, self.eseq = (b[1] & 15) << 8 | b[2], b[3]
        self.raw = b[:8]
        if self.mh:
            self.ordh, self.p, self.xtrac = b[0] & 7, b[1] >> 7, b[1] >> 4 & 7
            self.r, self.s, self.c = b[4] >> 7, b[4] >> 6 & 1, b[4] >> 5 & 1
            self.reserved, self.range = b[4] >> 1 & 15, b[4] & 1
            self.prims, self.trans, self.mat = b[5:8]
        else:
            self.res, self.ordb, self.qual = b[0] & 7, b[1] >> 7, b[1] >> 4 & 7
            word, = struct.unpack_from(">I", b, 4)
            self.pos, self.pid = word >> 20, word & 0xfffff
        self.data = b[8 + (4 * self.xtrac if self.mh else 0):]


class Codestream:
    """The parts of a codestream's headers that the rules need, from SIZ and COD."""

    def __init__(self, data):
        self.data, self.markers = data, []
        at = 2
        self.good = data[:4] == b"\xff\x4f\xff\x51"
        while self.good and at + 4 <= len(data):
            marker, size = struct.unpack_from(">HH", data, at)
            if marker == 0xff93:
                break
            self.markers.append((marker, data[at + 4:at + 2 + size]))
            at += 2 + size
        self.header = at + 2
        siz = self.segment(0xff51)
        cod = self.segment(0xff52)
        x1, y1, x0, y0, tdx, tdy, tx0, ty0, self.components = struct.unpack_from(">8IH", siz, 2)
        self.tiles = -(-(x1 - tx0) // tdx) * -(-(y1 - ty0) // tdy)
        self.progression, self.layers, self.levels = cod[1], struct.unpack_from(">H", cod, 2)[0], cod[5]
        self.sop = cod[0] & 2
        self.poc = any(marker == 0xff5f for marker, _ in self.markers)
        self.subsampling = [tuple(siz[37 + 3 * c:39 + 3 * c]) for c in range(self.components)]
        self.area = (x0, y0, x1, y1)
        steps = list(cod[10:]) if cod[0] & 1 else [0xff] * (self.levels + 1)
        self.precincts = [(s & 15, s >> 4) for s in steps]
        self.same_levels = not any(marker == 0xff53 for marker, _ in self.markers)

    def segment(self, wanted):
        return next(body for marker, body in self.markers if marker == wanted)

    def alike(self):
        """The marker segments that R announces to be the same: all except SOT, COM and pointers (TLM, PLM, PLT)."""
        return [(m, body) for m, body in self.markers if m not in (0xff90, 0xff64, 0xff55, 0xff57, 0xff58)]

    def counts(self, component):
        """The number of precincts of each resolution of a component, in a codestream of one tile (T.800 B.6)."""
        x0, y0, x1, y1 = self.area
        dx, dy = self.subsampling[component]
        out = []
        for r in range(self.levels + 1):
            level = self.levels - r
            edges = [-(-(-(-v // d)) // 2 ** level) for v, d in ((x0, dx), (y0, dy), (x1, dx), (y1, dy))]
            ppx, ppy = self.precincts[r]
            wide = -(-edges[2] // 2 ** ppx) - edges[0] // 2 ** ppx if edges[2] > edges[0] else 0
            high = -(-edges[3] // 2 ** ppy) - edges[1] // 2 ** ppy if edges[3] > edges[1] else 0
            out.append(wide * high)
        return out

    def resolution(self, pid):
        """The resolution of the precinct with this PID; None: there is no such precinct."""
        component, number = pid % self.components, pid // self.components
        for r, count in enumerate(self.counts(component)):
            if number < count:
                return r
            number -= count
        return None


class Judge:
    def __init__(self):
        self.errors, self.checked = [], 0
        self.expected = self.ssrc = None
        self.current, self.last_stamp, self.stamps = [], None, []
        self.first_main = self.first_codestream = None
        self.codestreams, self.sizes, self.counts = [], [], []

    def must(self, truth, text):
        self.checked += 1
        if not truth:
            self.errors.append(f"{self.where}: broken rule: {text}")

    def packet(self, number, raw):
        self.where = f"packet {number}"
        rtp = Rtp(raw)
        self.must(len(rtp.payload) > 8, "a payload holds bytes of the codestream")
        if len(rtp.payload) <= 8:
            return
        header = Header(rtp.payload)
        full = header.eseq << 16 | rtp.sequence
        self.must(self.expected in (None, full), "ESEQ and sequence number increase by 1 with each packet")
        self.expected = (full + 1) % 2 ** 24
        self.must(self.ssrc in (None, rtp.ssrc), "all packets have the same SSRC")
        self.ssrc = rtp.ssrc
        self.must(header.tp != 7, "TP is not 7")
        if header.mh:
            self.main(header)
        else:
            self.body(header)
        if not self.current and not header.mh and self.codestreams and not any(header.data):
            self.must(rtp.marker == 0, "a packet of padding has no RTP marker")
            self.must(rtp.timestamp == self.stamps[-1][0], "padding has the timestamp of the codestream before it")
            self.sizes[-1] += len(header.data)
            self.counts[-1] += 1
            return
        if not self.current:
            self.must(header.mh in (1, 3), "a codestream begins with a Main packet")
            self.must(header.data[:2] == b"\xff\x4f"[:len(header.data)], "a codestream begins with SOC")
        else:
            self.must(rtp.timestamp == self.current[0][0].timestamp,
                      "all packets of a codestream have the same timestamp")
            self.must(header.tp == self.current[0][1].tp, "all packets of a codestream have the same TP")
            before = self.current[-1][1].mh
            self.must(header.mh in ((1, 2) if before == 1 else (0,)),
                      "MH is 1 up to the last Main packet, which has 2 (3 if it is the only one), and then 0")
        self.current.append((rtp, header))
        if rtp.marker:
            self.end()

    def main(self, header):
        self.must(header.xtrac == 0, "XTRAC is 0")
        self.must(header.reserved == 0, "reserved bits are 0")
        self.must(header.p or header.ptstamp == 0, "PTSTAMP is 0 without P")
        self.must(header.s or (header.prims, header.trans, header.mat, header.range) == (0, 0, 0, 0),
                  "colour fields are 0 without S")
        self.must(header.r or not header.c, "C is set only with R")

    def body(self, header):
        self.must(header.ordb or (header.pos, header.pid) == (0, 0), "POS and PID are 0 without ORDB")
        self.must(not header.ordb or header.pos < len(header.data), "POS is inside the payload")

    def end(self):
        data = b"".join(header.data for _, header in self.current)
        mains = [header for _, header in self.current if header.mh]
        self.must(data.rstrip(b"\0").endswith(b"\xff\xd9"), "the RTP marker is in the packet with EOC")
        codestream = Codestream(data)
        self.must(codestream.good, "a codestream begins with SOC and SIZ")
        size = 0
        for header in mains:
            self.must(size < codestream.header, "a Main packet has bytes of the headers")
            size += len(header.data)
        self.must(size >= codestream.header, "a Body packet has no bytes of the headers")
        self.must(not mains[0].r or size == codestream.header, "with R, Main packets have bytes of the headers only")
        for header in mains:
            same = bytes([header.raw[0] & 0x3f, header.raw[1] & 0xf0]) + header.raw[4:]
            first = bytes([mains[0].raw[0] & 0x3f, mains[0].raw[1] & 0xf0]) + mains[0].raw[4:]
            self.must(same == first, "all Main packets of a codestream have the same header")
        self.reuse(mains[0], codestream)
        self.order(mains[0], codestream)
        self.resync(mains[0], codestream, size)
        self.time(self.current[0][0].timestamp, mains[0].tp)
        self.codestreams.append(data.rstrip(b"\0"))
        self.sizes.append(len(data))
        self.counts.append(len(self.current))
        self.current = []

    def reuse(self, main, codestream):
        first = self.first_main
        if first is None:
            self.first_main, self.first_codestream = main, codestream
        elif first.r or main.r:
            kept = [bytes([m.raw[0] & 7, m.raw[1] & 0xf0]) + m.raw[4:] for m in (first, main)]
            self.must(kept[0] == kept[1], "with R, all payload headers are the same")
            self.must(codestream.alike() == self.first_codestream.alike(), "with R, all main headers are the same")

    def order(self, main, codestream):
        if codestream.tiles > 1:
            self.must(main.ordh == 0, "ORDH is 0 with several tiles")
        elif codestream.poc:
            self.must(main.ordh in (0, 7), "ORDH is 0 or 7 with POC")
        else:
            self.must(main.ordh in (0, 7, codestream.progression + 1), "ORDH is the progression")

    def resync(self, main, codestream, at):
        marked = set()
        for _, header in self.current:
            if header.mh:
                continue
            self.must(not header.ordb or main.ordh, "ORDB is set only if ORDH is not 0")
            if header.ordb and main.ordh:
                r = codestream.resolution(header.pid)
                self.must(r is not None, f"PID {header.pid} names a precinct")
                self.must(header.pid not in marked, f"PID {header.pid} is marked once")
                marked.add(header.pid)
                if codestream.same_levels and header.res and r is not None:
                    self.must(header.res == 7 - codestream.levels + r,
                              f"RES {header.res} is right for resolution {r} of {codestream.levels} levels")
                if codestream.sop:
                    self.must(header.pos >= 6 and header.data[header.pos - 6:header.pos - 4] == b"\xff\x91",
                              "POS is behind SOP")
                    self.must(header.data.count(b"\xff\x91\0\4") <= max(1, codestream.layers),
                              "a marked payload has packets of one precinct only")
        if main.ordh:
            count = sum(sum(codestream.counts(c)) for c in range(codestream.components))
            self.must(len(marked) == count, f"all {count} precincts are marked ({len(marked)} are)")

    def time(self, timestamp, tp):
        self.must(not self.stamps or (tp == 6) == (timestamp == self.stamps[-1][0]),
                  "codestreams have timestamps of their own, except the second segment of PsF")
        self.stamps.append((timestamp, tp))

    def finish(self):
        self.where = "end of the recording"
        self.must(not self.current, "the last codestream ends with a marker")
        self.must(len(self.stamps) > 0, "there is a codestream")
        firsts = [stamp for stamp, tp in self.stamps if tp not in (2, 4, 6)]
        steps = [(b - a) % 2 ** 32 for a, b in zip(firsts, firsts[1:])]
        self.must(not steps or max(steps) - min(steps) <= 1, f"pictures are evenly spaced: {sorted(set(steps))}")
        for (a, tp), (b, next_tp) in zip(self.stamps, self.stamps[1:]):
            if next_tp in (2, 4) and steps:
                self.must(tp == next_tp - 1, "a second field follows its first")
                self.must(abs((b - a) % 2 ** 32 * 2 - steps[0]) <= 2, "fields are half a picture apart")


def judge(data):
    """Checks a recording. Returns the errors, the number of checks made, and the codestreams."""
    it = examine(data)
    return it.errors, it.checked, it.codestreams


def examine(data):
    """Checks a recording. Of the result, sizes and counts are those of each codestream's bytes, with padding, and of
    its packets."""
    it = Judge()
    for number, raw in enumerate(packets(data)):
        it.packet(number, raw)
    it.finish()
    return it


def main(files):
    bad = 0
    for name in files:
        with open(name, "rb") as file:
            errors, checked, codestreams = judge(file.read())
        print(f"{name}: {len(codestreams)} codestreams, {checked} checks, {len(errors)} violations")
        for line in errors[:20]:
            print(f"  {line}")
        bad += bool(errors)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
