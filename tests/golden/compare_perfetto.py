#!/usr/bin/env python3
"""Reads our XSpace and Perfetto files of one recording by other tools' readers: JAX's ProfileData and the protos of PyPI's perfetto.

  compare_perfetto.py TOKAMAX_PROFILE FILE.xplane.pb

It needs `perfetto` and, for the second half, `jax`. Slices must nest, and their numbers and times be those of our trace events.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from perfetto.protos.perfetto.trace import perfetto_trace_pb2


def slices(trace):
    """Of each track: names with numbers and nanoseconds."""
    names, threads, open_slices, found = {}, {}, collections.defaultdict(list), {}
    for packet in trace.packet:
        for name in packet.interned_data.event_names:
            names[name.iid] = name.name
        if packet.HasField("track_descriptor") and packet.track_descriptor.HasField("thread"):
            threads[packet.track_descriptor.uuid] = packet.track_descriptor.thread.thread_name
        e = packet.track_event
        if e.type == e.TYPE_SLICE_BEGIN:
            open_slices[e.track_uuid].append((names[e.name_iid], packet.timestamp))
        elif e.type == e.TYPE_SLICE_END:
            name, begin = open_slices[e.track_uuid].pop()
            entry = found.setdefault((threads[e.track_uuid], name), [0, 0])
            entry[0] += 1
            entry[1] += packet.timestamp - begin
    assert not any(open_slices.values()), "slices that do not end"
    return found


def main():
    program, file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        trace, events = pathlib.Path(folder) / "a.perfetto-trace", pathlib.Path(folder) / "a.json"
        for out in (trace, events):
            subprocess.run([program, "convert", file, str(out)], check=True)
        found = slices(perfetto_trace_pb2.Trace.FromString(trace.read_bytes()))
        threads, expected = {}, {}
        for e in json.loads(events.read_text())["traceEvents"]:
            if e["ph"] == "M":
                threads[e["tid"]] = e["args"]["name"]
            elif e["ph"] == "X":
                entry = expected.setdefault((threads[e["tid"]], e["name"]), [0, 0])
                entry[0] += 1
                entry[1] += round(e["dur"] * 1000)
        assert found == expected, f"slices {found}, trace events {expected}"
        print(f"Perfetto's protos read {sum(n for n, _ in found.values())} slices, as the trace events have them")
        try:
            from jax.profiler import ProfileData
        except ImportError:
            return
        theirs = {}
        for plane in ProfileData.from_file(file).planes:
            for line in plane.lines:
                if line.name == "XLA Ops":
                    for e in line.events:
                        entry = theirs.setdefault(e.name, [0, 0])
                        entry[0] += 1
                        entry[1] += round(e.duration_ns)
        rows = json.loads(subprocess.run([program, "top", file, "--json"], check=True, capture_output=True).stdout)
        assert {n: v[0] for n, v in theirs.items()} == {r["name"]: r["count"] for r in rows}, "counts differ from ProfileData's"
        for r in rows:
            assert r["total"] == theirs[r["name"]][1], f"{r['name']}: {theirs[r['name']]}, we have {r['total']}"
        print(f"JAX's ProfileData reads {len(rows)} ops with our counts and times")


main()
