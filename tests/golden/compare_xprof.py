#!/usr/bin/env python3
"""Compares our tables of a profile with those that XProf makes of the same file.

  compare_xprof.py TOKAMAX_PROFILE FILE.xplane.pb

It needs xprof==2.24.2 from PyPI. TOKAMAX_PROFILE is the program of examples/tokamax_profile.cpp. Times, shares, rates and
intensities of ops and the lengths of steps may differ by 0.1 %.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from xprof.convert import raw_to_tool_data

TOOLS = ["trace_viewer@", "overview_page", "input_pipeline_analyzer", "framework_op_stats", "op_profile", "hlo_stats",
         "roofline_model"]


def tool(file, name):
    data, _ = raw_to_tool_data.xspace_to_tool_data([file], name, {"trace_viewer_options": {}, "use_saved_result": False})
    if not data:
        sys.exit(f"XProf's {name} has no answer")
    return data


def table(parsed):
    names = [c["id"] for c in parsed["cols"]]
    return [dict(zip(names, (cell["v"] for cell in row["c"]))) for row in parsed["rows"]]


def main():
    program, given = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:  # XProf writes what it has made beside the file
        file = str(pathlib.Path(folder) / "host.xplane.pb")
        shutil.copy(given, file)
        compare(program, file)


def compare(program, file):

    def ours(command):
        return json.loads(subprocess.run([program, command, file, "--json"], check=True, capture_output=True).stdout)

    wrong = []

    def check(what, found, expected):
        if abs(found - expected) > 1e-3 * abs(expected) + 1e-12:
            wrong.append(f"{what}: XProf has {found}, we have {expected}")

    for name in TOOLS:
        tool(file, name)
    theirs = {}
    for row in table(json.loads(tool(file, "hlo_stats"))):
        if row["category"] != "IDLE":
            theirs.setdefault(row["hlo_op_name"], []).append(row)
    rows = {row["name"]: row for row in ours("top")}
    if set(rows) != set(theirs):
        wrong.append(f"names of ops differ: {sorted(set(rows) ^ set(theirs))}")
    all_self = sum(r["total_self_time"] for group in theirs.values() for r in group)
    for name in set(rows) & set(theirs):
        mine, group = rows[name], theirs[name]
        self_us = sum(r["total_self_time"] for r in group)
        check(f"{name}: self time", self_us * 1e3, mine["self"])
        check(f"{name}: share", self_us / all_self, mine["share"])
        check(f"{name}: count", sum(r["occurrences"] for r in group), mine["count"])
        flops = sum(r["normalized_flop_rate"] * r["total_time"] for r in group) / self_us
        check(f"{name}: FLOP/s", flops * 1e9, mine["flops_per_second"])
        bandwidth = sum(r["measured_memory_bw"] * r["total_time"] for r in group) / self_us
        check(f"{name}: B/s", bandwidth * 2**30, mine["bytes_per_second"])
        if mine["bytes"] > 0:
            check(f"{name}: FLOP/B", group[0]["operational_intensity"], mine["intensity"])
        bound = {"Compute": "compute", "HBM": "memory"}.get(group[0]["bound_by"], "none")
        if bound != mine["bound_by"]:
            wrong.append(f"{name}: XProf has it bound by {group[0]['bound_by']}, we by {mine['bound_by']}")
    steps = ours("steps")["steps"]
    page = json.loads(tool(file, "input_pipeline_analyzer"))
    graph = next(t for t in page if any(c["id"] == "stepnum" for c in t["cols"]))
    lengths = {row["stepnum"]: float(row["tooltip"].split("Step time = ")[1].split()[0]) for row in table(graph)}
    if len(lengths) != len(steps):
        wrong.append(f"XProf has {len(lengths)} steps, we have {len(steps)}")
    for s in steps:
        check(f"step {s['number']}", lengths.get(str(int(s["number"])), 0) * 1e6, s["length"])
    print("\n".join(wrong) or f"{len(rows)} ops and {len(steps)} steps agree with XProf's within 0.1 %")
    sys.exit(1 if wrong else 0)


main()
