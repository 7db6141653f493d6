"""Writes data_files.txt: small files of data as other programs write them. Needs numpy, array_record, bagz and protobuf."""
import io
import struct
import tempfile

import bagz
import numpy as np
from array_record.python import array_record_module
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory


def written(make):
  with tempfile.NamedTemporaryFile(suffix=".bag") as file:
    make(file.name)
    return open(file.name, "rb").read()


def array_record(options):
  def make(path):
    writer = array_record_module.ArrayRecordWriter(path, options)
    for i in range(10):
      writer.write(b"record %d " % i * (i + 1))
    writer.close()
  return written(make)


def bag(path):
  writer = bagz.Writer(path)
  for i in range(4):
    writer.write(b"r" * i + b"%d" % i)
  writer.close()


def numpy_bytes(save, *values, **named):
  file = io.BytesIO()
  save(file, *values, **named)
  return file.getvalue()


def crc32c(data):
  crc = 0xFFFFFFFF
  for byte in data:
    crc ^= byte
    for _ in range(8):
      crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
  crc ^= 0xFFFFFFFF
  return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(records):
  frame = lambda b: b + struct.pack("<I", crc32c(b))
  return b"".join(frame(struct.pack("<Q", len(r))) + frame(r) for r in records)


def example(packed):
  file = descriptor_pb2.FileDescriptorProto(name=f"e{packed}.proto", package=f"e{packed}", syntax="proto3")
  types = descriptor_pb2.FieldDescriptorProto
  for name, kind in [("BytesList", types.TYPE_BYTES), ("FloatList", types.TYPE_FLOAT), ("Int64List", types.TYPE_INT64)]:
    field = file.message_type.add(name=name).field.add(name="value", number=1, type=kind, label=types.LABEL_REPEATED)
    if name != "BytesList":
      field.options.packed = packed
  feature = file.message_type.add(name="Feature")
  for number, name in enumerate(["BytesList", "FloatList", "Int64List"]):
    feature.field.add(name=name.lower(), number=number + 1, type=types.TYPE_MESSAGE, label=types.LABEL_OPTIONAL,
                      type_name=f".e{packed}.{name}")
  features = file.message_type.add(name="Features")
  entry = features.nested_type.add(name="FeatureEntry")
  entry.options.map_entry = True
  entry.field.add(name="key", number=1, type=types.TYPE_STRING, label=types.LABEL_OPTIONAL)
  entry.field.add(name="value", number=2, type=types.TYPE_MESSAGE, label=types.LABEL_OPTIONAL,
                  type_name=f".e{packed}.Feature")
  features.field.add(name="feature", number=1, type=types.TYPE_MESSAGE, label=types.LABEL_REPEATED,
                     type_name=f".e{packed}.Features.FeatureEntry")
  file.message_type.add(name="Example").field.add(name="features", number=1, type=types.TYPE_MESSAGE,
                                                  label=types.LABEL_OPTIONAL, type_name=f".e{packed}.Features")
  pool = descriptor_pool.DescriptorPool()
  pool.Add(file)
  message = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"e{packed}.Example"))()
  of = message.features.feature
  of["image"].byteslist.value.extend([b"\0\1png", b""])
  of["weight"].floatlist.value.extend([0.5, -1.25])
  of["label"].int64list.value.extend([3, -1, 2**40])
  return message.SerializeToString(deterministic=True)


files = {
    "array_record": array_record("group_size:3,uncompressed"),
    "array_record_zstd": array_record("group_size:3,zstd"),
    "bag": written(bag),
    "f4.npy": numpy_bytes(np.save, np.arange(6, dtype=np.float32).reshape(2, 3)),
    "scalar.npy": numpy_bytes(np.save, np.int64(-7)),
    "bool.npy": numpy_bytes(np.save, np.array([True, False, True])),
    "empty.npy": numpy_bytes(np.save, np.zeros((0, 4), np.float16)),
    "columns.npy": numpy_bytes(np.save, np.asfortranarray(np.zeros((2, 3)))),
    "big.npy": numpy_bytes(np.save, np.zeros(2, ">i4")),
    "two.npz": numpy_bytes(np.savez, x=np.arange(5, dtype=np.int32), y=np.full((2, 2), 1.5)),
    "compressed.npz": numpy_bytes(np.savez_compressed, x=np.arange(5, dtype=np.int32),
                                  y=(np.arange(3000) ** 2 % 251).astype(np.int16).reshape(3, 1000)),
    "tfrecord": tfrecord([b"first", b"", example(True), example(False)]),
}
with open(__file__.replace("make_data_files.py", "data_files.txt"), "w") as out:
  out.write("# Made by make_data_files.py: NAME SIZE, and the bytes from each offset on that are not zeros.\n")
  for name, data in files.items():
    out.write(f"{name} {len(data)}\n")
    at = 0
    while at < len(data):
      if not data[at]:
        at += 1
        continue
      end = at
      while end < len(data) and any(data[end:end + 16]) and end - at < 56:
        end += 1
      out.write(f"  {at} {data[at:end].hex()}\n")
      at = end
