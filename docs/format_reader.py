#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reader of .gputrace files, written from docs/format.md alone.

usage: format_reader.py TRACE        one JSON object per record, after one for the trace

It reads orderly and damaged traces, but not the rings of killed processes. It is meant to be read, and
to check the document: the tests compare it with the other reader, record by record.
"""
import json
import struct
import sys
import zlib

import zstandard

FILE_MAGIC = b"\x89GPUTRC\n"
BLOCK_MAGIC = b"\xabGPTBLK\n"
TRAILER_MAGIC = b"\xabGPTEND\n"
MASK = (1 << 64) - 1
ROLE_SIZE = 3
SLOTS = 12
MULTIPLIER = 0x9E3779B97F4A7C15


class Damage(Exception):
    pass


class Bytes:
    """A cursor over bytes."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def left(self):
        return len(self.data) - self.at

    def raw(self, size):
        if size > self.left():
            raise Damage("cut off")
        self.at += size
        return self.data[self.at - size:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value & MASK

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def text(self):
        return self.raw(self.varint())

    def u64(self):
        return struct.unpack("<Q", self.raw(8))[0]


def read_header(data):
    if data[:8] != FILE_MAGIC:
        raise Damage("not a gputrace trace")
    version, minimum, size, trace_id, shift, clock, path_size, pid = struct.unpack_from(
        "<HHI16sBBHI", data, 8)
    if minimum > 1:
        raise Damage(f"needs a reader of format {minimum}")
    ticks, monotonic, realtime, rate, boot = struct.unpack_from("<QQQQ40s", data, 40)
    if zlib.crc32(data[:size - 4]) != struct.unpack_from("<I", data, size - 4)[0]:
        raise Damage("the header is damaged")
    return {"version": version, "bytes": size, "trace_id": trace_id.hex(), "shift": shift,
            "clock": clock, "pid": pid, "start_realtime_ns": realtime, "rate": rate,
            "live": data[112:112 + path_size].decode()}


def read_blocks(data, at):
    """Yields (header, payload) of each good block."""
    while True:
        at = data.find(BLOCK_MAGIC, at)
        if at < 0:
            return
        fields = struct.unpack_from("<4B5I6Q2I", data, at + 8) if at + 88 <= len(data) else None
        if not fields or zlib.crc32(data[at:at + 84]) != fields[-1]:
            at += 1
            continue
        kind, codec, layout, _, stored, raw, records, lost, _ = fields[:9]
        header = dict(kind=kind, layout=layout, records=records, lost=lost, first_time=fields[11],
                      anchor=(fields[13], fields[14]))
        payload = data[at + 88:at + 88 + stored]
        if len(payload) < stored or zlib.crc32(payload) != fields[-2]:
            at += 1
            continue
        if codec == 1:
            payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=raw)
        yield header, payload
        at += 88 + stored


class Dictionary:
    def __init__(self):
        self.entries, self.stacks, self.threads, self.contexts = {}, {}, {}, {}
        self.modules, self.facts, self.strings, self.devices = {}, {}, {}, {}
        self.end = None

    def add(self, payload):
        source, previous = Bytes(payload), []
        while source.left():
            kind = source.varint()
            body = Bytes(source.raw(source.varint()))
            if kind == 1:
                number = body.varint()
                self.strings[number] = body.text().decode(errors="replace")
            elif kind == 2:
                self.entry(body)
            elif kind == 3:
                previous = self.stack(body, previous)
            elif kind == 5:
                number, path, build_id = body.varint(), body.text(), body.text()
                start = body.varint()
                self.modules[number] = (path.decode(errors="replace"), build_id.hex(), start,
                                        start + body.varint())
            elif kind == 8:
                number, tid = body.varint(), body.varint()
                self.threads[number] = (tid, body.text().decode(errors="replace"))
            elif kind == 9:
                number, handle = body.varint(), body.varint()
                self.contexts[number] = (handle, body.zigzag())
            elif kind == 10:
                ordinal = body.zigzag()
                self.devices[ordinal] = body.text().decode(errors="replace")
            elif kind == 12:
                key = body.text().decode(errors="replace")
                self.facts[key] = body.text().decode(errors="replace")
            elif kind == 14:
                self.end = (body.varint(), body.varint())

    def entry(self, body):
        number, symbol = body.varint(), body.text().decode()
        for _ in range(4):
            body.varint()
        effects = [(body.varint(), body.varint()) for _ in range(body.varint())]
        operands = [(body.text().decode(), body.varint(), body.varint(), body.varint())
                    for _ in range(body.varint())]
        self.entries[number] = (symbol, effects, operands)

    def stack(self, body, previous):
        number = body.varint()
        body.u64()
        _epoch, _cut, depth, shared = (body.varint() for _ in range(4))
        frames = previous[:shared]
        for _ in range(depth - shared):
            frames.append(((frames[-1] if frames else 0) + body.zigzag()) & MASK)
        self.stacks[number] = frames[::-1]
        return frames


class Model:
    """What predicts the records of one block."""

    def __init__(self, payload, first_time):
        source = Bytes(payload)
        for _ in range(3 * source.varint()):
            source.varint()
        sizes = [source.varint() for _ in range(source.varint())]
        self.columns = [Bytes(source.raw(size)) for size in sizes]
        self.time = first_time
        self.shapes, self.sites, self.previous = [], [], None
        self.opened, self.open_of, self.reuse = [], {}, {}
        self.last_opened = self.last_closed = self.last_native = self.last_python = 0

    def record(self):
        site = self.site()
        shape = site["shape"]
        self.time += self.columns[2].varint()
        duration = self.columns[3].raw(1)[0]
        operands, size = [], 0
        for position, hint in enumerate(shape["hints"]):
            role, predictor = hint & 31, hint >> 5
            slot = min(position, SLOTS - 1)
            column = self.columns[4 + role]
            if predictor == 0:
                value = (site["last"][slot] + column.zigzag()) & MASK
            elif predictor == 1:
                value = self.open(column, size, site["last"][slot])
            else:
                value = self.close(column, site, site["last"][slot])
            if role == ROLE_SIZE and size == 0:
                size = value
            site["last"][slot] = value
            operands.append(value)
        return dict(kind=shape["kind"], flags=shape["flags"], entry=shape["entry"],
                    result=shape["result"], thread=shape["thread"], context=shape["context"],
                    native=site["native"], python=site["python"], time=self.time,
                    duration=duration, operands=operands)

    def site(self):
        code = self.columns[1].varint()
        if code == 0:
            number = self.sites[self.previous]["next"]
        elif code == 1:
            number = self.define_site()
        else:
            number = code - 2
        if self.previous is not None:
            self.sites[self.previous]["next"] = number
        self.previous = number
        self.sites[number]["shape"]["recent"] = number
        return self.sites[number]

    def define_site(self):
        source = self.columns[0]
        reference = source.varint()
        if reference == 0:
            kind, flags, entry = source.varint(), source.varint(), source.varint()
            result, thread, context = source.zigzag(), source.varint(), source.varint()
            hints = [source.varint() for _ in range(source.varint())]
            self.shapes.append(dict(kind=kind, flags=flags, entry=entry, result=result, thread=thread,
                                    context=context, hints=hints, recent=None))
            reference = len(self.shapes)
        shape = self.shapes[reference - 1]
        self.last_native += source.zigzag()
        self.last_python += source.zigzag()
        model = None if shape["recent"] is None else self.sites[shape["recent"]]
        self.sites.append(dict(shape=shape, native=self.last_native, python=self.last_python, next=None,
                               last=list(model["last"]) if model else [0] * SLOTS,
                               age=model["age"] if model else 0))
        return len(self.sites) - 1

    @staticmethod
    def reuse_slot(size):
        return (size * MULTIPLIER & MASK) >> 54

    def open(self, column, size, last):
        code = column.varint()
        if code == 0:
            value = last
        elif code == 1:
            value = self.reuse.get(self.reuse_slot(size), 0)
        else:
            value = (self.last_opened + column.zigzag() * (512 if code == 2 else 1)) & MASK
        self.last_opened = value
        if len(self.opened) < 32768:
            self.open_of[value] = len(self.opened)
            self.opened.append((value, size))
        return value

    def close(self, column, site, last):
        code = column.varint()
        opening = None
        if code <= 1:
            if code == 1:
                site["age"] = column.varint()
            opening = len(self.opened) - 1 - site["age"]
            value = self.opened[opening][0]
        elif code == 2:
            value = last
        else:
            value = (self.last_closed + column.zigzag() * (512 if code == 3 else 1)) & MASK
        self.last_closed = value
        if opening is not None:
            self.reuse[self.reuse_slot(self.opened[opening][1])] = value
            if self.open_of.get(value) == opening:
                del self.open_of[value]
        return value


def read_trace(path):
    """Returns (header, dictionary, [record])."""
    with open(path, "rb") as file:
        data = file.read()
    header, dictionary, events = read_header(data), Dictionary(), []
    for block, payload in read_blocks(data, header["bytes"]):
        if block["kind"] == 1:
            dictionary.add(payload)
        elif block["kind"] in (2, 3):
            model = Model(payload, block["first_time"])
            events += [model.record() for _ in range(block["records"])]
    return header, dictionary, events


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        header, dictionary, events = read_trace(sys.argv[1])
    except (Damage, OSError) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
    print(json.dumps({"header": header, "facts": dictionary.facts, "records": len(events),
                      "end": dictionary.end}))
    for event in events:
        entry = dictionary.entries.get(event["entry"])
        event["symbol"] = entry[0] if entry else None
        event["stack"] = dictionary.stacks.get(event["native"], [])
        print(json.dumps(event))


if __name__ == "__main__":
    main()
