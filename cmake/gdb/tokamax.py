# tokamax.py: how gdb shows arrays: dtype, shape, what they are, and their first elements. In gdb, or in ~/.gdbinit:
#   source /path/to/tokamax.py
import struct

import gdb

SHOWN = 6  # elements
FORMATS = {"bool_": "?", "i4": "b", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u4": "B", "u8": "B", "u16": "H", "u32": "I",
           "u64": "Q", "f16": "e", "bf16": "H", "f32": "f", "f64": "d"}


def elements(memory, dtype, count):
    """The first elements of a dtype in memory, or None if the dtype is not shown."""
    code = FORMATS.get(dtype)
    if code is None:
        return None
    size = struct.calcsize("<" + code)
    values = struct.unpack("<%d%s" % (count, code), bytes(memory[: size * count]))
    if dtype == "bf16":
        values = [struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in values]
    return ["%g" % v if isinstance(v, float) else str(v) for v in values]


class array_printer:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        t = self.value["type_"]
        dtype = str(t["dtype"]).split("::")[-1]
        extents = [int(t["shape"]["values"][i]) for i in range(int(t["shape"]["count"]))]
        size = 1
        for e in extents:
            size *= e
        text = "%s%s" % (dtype.rstrip("_"), str(["n" if e < 0 else e for e in extents]).replace(" ", "").replace("'", ""))
        if dtype == "none":
            return "no array"
        if int(self.value["graph_"]) != 0:
            return "%s (traced, node %d)" % (text, int(self.value["id_"]))
        holds = str(self.value["holds_"]).split("::")[-1]
        bits = int(self.value["value_"]["value"])
        if holds == "digits":
            return "%s = %g everywhere" % (text, struct.unpack("<d", struct.pack("<Q", bits & (2**64 - 1)))[0])
        if holds == "number":
            shown = elements(struct.pack("<Q", bits & (2**64 - 1)), dtype, 1)
            return "%s = %s everywhere" % (text, shown[0] if shown else hex(bits))
        if holds == "nothing":
            return "%s (abstract)" % text
        block = self.value["block_"]["block_"]
        if int(block) == 0:
            return "%s (moved from)" % text
        if int(block["where"]) != 0:
            return "%s (on a device)" % text
        count = min(size, SHOWN)
        code = FORMATS.get(dtype)
        if code is None:
            return text
        memory = gdb.selected_inferior().read_memory(int(block["data"]), max(1, count * struct.calcsize("<" + code)))
        shown = elements(memory, dtype, count)
        return "%s {%s%s}" % (text, ", ".join(shown), ", ..." if size > count else "")


def is_array(t):
    """Is this tokamax::array, or a type derived from it, such as a tensor or a key?"""
    t = t.strip_typedefs().unqualified()
    if t.code != gdb.TYPE_CODE_STRUCT:
        return False
    if t.name == "tokamax::array":
        return True
    return any(f.is_base_class and is_array(f.type) for f in t.fields())


def find_printer(value):
    return array_printer(value) if is_array(value.type) else None


gdb.pretty_printers.append(find_printer)
