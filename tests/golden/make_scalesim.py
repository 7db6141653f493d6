# make_scalesim.py: writes scalesim.txt from the COMPUTE_REPORT and DETAILED_ACCESS_REPORT files that SCALE-Sim v3 leaves.
#
#   pip install scalesim==3.0.0 "numpy<2"
#   python make_scalesim.py > scalesim.txt
#
# Runs one product per line of CASES (id, rows, columns, dataflow, M, N, K) without stalls of memory (CALC mode).
import csv
import pathlib
import subprocess
import sys
import tempfile

CASES = """
C004 8 8 ws 32 32 32
C012 8 8 os 32 32 32
C020 8 8 is 32 32 32
C002 8 8 ws 1 32 7
C027 16 16 ws 130 130 130
C032 16 16 os 130 130 130
C050 32 32 is 512 512 512
C057 128 128 ws 1024 1024 1024
C065 128 128 os 1024 1024 1024
C077 256 256 ws 256 256 256
"""
CONFIG = """[general]
run_name = run
[architecture_presets]
ArrayHeight: {rows}
ArrayWidth: {columns}
IfmapSramSzkB: 65536
FilterSramSzkB: 65536
OfmapSramSzkB: 65536
IfmapOffset: 0
FilterOffset: 100000000
OfmapOffset: 200000000
Dataflow: {flow}
Bandwidth: 10
MemoryBanks: 1
ReadRequestBuffer: 64
WriteRequestBuffer: 64
[layout]
IfmapCustomLayout: False
IfmapSRAMBankBandwidth: 10
IfmapSRAMBankNum: 10
IfmapSRAMBankPort: 2
FilterCustomLayout: False
FilterSRAMBankBandwidth: 10
FilterSRAMBankNum: 10
FilterSRAMBankPort: 2
[sparsity]
SparsitySupport: false
[run_presets]
InterfaceBandwidth: CALC
UseRamulatorTrace: False
"""


def run(rows, columns, flow, m, n, k):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "run.cfg").write_text(CONFIG.format(rows=rows, columns=columns, flow=flow))
        (folder / "run.csv").write_text(f"Layer,M,N,K,\nproduct,{m},{n},{k},\n")
        (folder / "layout.csv").write_text("Layer,\nproduct," + "1," * 20 + "\n")  # read, and not used
        subprocess.run([sys.executable, "-m", "scalesim.scale", "-c", folder / "run.cfg", "-t", folder / "run.csv",
                        "-l", folder / "layout.csv", "-p", folder, "-i", "gemm", "-s", "N"], check=True, stdout=subprocess.DEVNULL)
        one = {}
        for report in ("COMPUTE_REPORT.csv", "DETAILED_ACCESS_REPORT.csv"):
            for row in csv.DictReader((folder / "run" / report).open(), skipinitialspace=True):
                one.update({key.strip(): value for key, value in row.items() if key})
        return one


print("# Reports of SCALE-Sim v3 (scalesim-project/scale-sim-v3), CALC mode, written by make_scalesim.py.")
print("# id rows columns dataflow M N K cycles printed utilisation% mapping% ifmap_reads filter_reads ofmap_writes")
for case in CASES.split("\n")[1:-1]:
    ident, rows, columns, flow, m, n, k = case.split()
    r = run(rows, columns, flow, m, n, k)
    printed = int(float(r["Total Cycles"]))
    shares = [f"{round(float(r[key]), 6):.9g}" for key in ("Overall Util %", "Mapping Efficiency %")]
    counts = [int(float(r[key])) for key in ("SRAM IFMAP Reads", "SRAM Filter Reads", "SRAM OFMAP Writes")]
    print(ident, rows, columns, flow, m, n, k, printed + 1, printed, *shares, *counts)
