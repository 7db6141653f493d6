"""Writes images.txt: small JPEG and PNG files, their pixels as Pillow reads them, and what Pillow makes of them. Needs pillow and numpy."""
import io

import numpy as np
from PIL import Image


def encoded(image, kind, **options):
  file = io.BytesIO()
  image.save(file, kind, **options)
  return file.getvalue()


def waves(height, width, channels):
  y, x, c = np.mgrid[0:height, 0:width, 0:channels]
  return (127 + 90 * np.sin(0.5 * x + c) + 37 * np.cos(0.7 * y - 0.3 * x * c)).astype(np.uint8)


colours = Image.fromarray(waves(13, 19, 3))
grey = Image.fromarray(waves(9, 8, 1)[:, :, 0])
opacity = Image.fromarray(waves(7, 6, 4))
palette = colours.quantize(9)
deep = Image.fromarray((waves(5, 4, 1)[:, :, 0].astype(np.uint16) << 8) + 77)
files = {
  "colours.jpg": encoded(colours, "JPEG", quality=90),
  "progressive.jpg": encoded(colours, "JPEG", quality=50, progressive=True, subsampling=0),
  "grey.jpg": encoded(grey, "JPEG"),
  "print.jpg": encoded(colours.convert("CMYK"), "JPEG"),
  "colours.png": encoded(colours, "PNG"),
  "grey.png": encoded(grey, "PNG"),
  "opacity.png": encoded(opacity, "PNG"),
  "palette.png": encoded(palette, "PNG", bits=4),
  "clear.png": encoded(palette, "PNG", transparency=b"\0\x80"),
  "bits.png": encoded(grey.convert("1"), "PNG"),
  "deep.png": encoded(deep, "PNG"),
}
for name, size in [("colours.png", (11, 5)), ("colours.png", (40, 17)), ("grey.png", (3, 9))]:
  image = Image.open(io.BytesIO(files[name]))
  files[f"{name}.{size[0]}x{size[1]}"] = np.asarray(image.resize(size, Image.BILINEAR)).tobytes()
for name, data in list(files.items()):
  if name.endswith((".jpg", ".png")) and name != "print.jpg":
    image = Image.open(io.BytesIO(data))
    if name == "deep.png":
      pixels = np.repeat((np.asarray(image) >> 8).astype(np.uint8)[:, :, None], 3, 2)
    else:
      pixels = np.asarray(image.convert("RGBA").convert("RGB"))
    files[name + ".rgb"] = pixels.tobytes()
    if name.endswith(".jpg"):  # without a way through colours
      image = Image.open(io.BytesIO(data))
      image.draft("L", image.size)
      files[name + ".grey"] = np.asarray(image).tobytes()
    elif name != "deep.png":
      files[name + ".grey"] = np.asarray(image.convert("RGBA").convert("RGB").convert("L")).tobytes()
    if name in ("opacity.png", "clear.png"):
      files[name + ".rgba"] = np.asarray(image.convert("RGBA")).tobytes()
with open("images.txt", "w") as out:
  out.write("# Written by make_images.py: name and size of a file, and its bytes behind their place.\n")
  for name, data in files.items():
    out.write(f"{name} {len(data)}\n")
    for at in range(0, len(data), 64):
      out.write(f"  {at} {data[at:at + 64].hex()}\n")
