"""Whole image files by bits, channels and container, made by hand where no library writes them."""

import io
import struct
import zlib

import cv2
import numpy as np
from PIL import Image

SHAPE = (24, 40)
PNG = b"\x89PNG\r\n\x1a\n"


def smooth(depth):
    rough = np.random.default_rng(7).normal(size=SHAPE).astype(np.float32)
    scene = cv2.normalize(cv2.GaussianBlur(rough, (0, 0), 4), None, 10, 2**depth - 10, cv2.NORM_MINMAX)
    return scene.astype(np.uint8 if depth <= 8 else np.uint16)


GRAY, COUNTS = smooth(8), smooth(16)
LOW_8, LOW_16 = GRAY // np.uint8(2), COUNTS // np.uint16(2)
"""Some other plane: alpha, say."""


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def pack_rows(samples, bits):
    """Rows of samples of so many bits, big-endian, each row from a new byte on."""
    if bits == 16:
        return samples.astype(">u2").reshape(len(samples), -1).view(np.uint8)
    if bits == 8:
        return samples.astype(np.uint8).reshape(len(samples), -1)
    bitwise = (samples.reshape(len(samples), -1)[..., None] >> np.arange(bits)[::-1]) & 1
    return np.packbits(bitwise.reshape(len(samples), -1).astype(np.uint8), axis=1)


def filter_rows(samples, bits):
    return b"".join(b"\0" + row.tobytes() for row in pack_rows(samples, bits))


def png(samples, bits, colour, *before, interlaced=False):
    """`samples` [height width] or [height width channels], of a colour type."""
    height, width = samples.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    passes = [samples]
    if interlaced:
        steps = [(0, 8, 0, 8), (0, 8, 4, 8), (4, 8, 0, 4), (0, 4, 2, 4), (2, 4, 0, 2), (0, 2, 1, 2), (1, 2, 0, 1)]
        passes = [samples[top::down, left::across] for top, down, left, across in steps]
    data = zlib.compress(b"".join(filter_rows(each, bits) for each in passes))
    return PNG + chunk(b"IHDR", header) + b"".join(before) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def palette(count, *, gray=True):
    levels = np.linspace(0, 255, count).astype(np.uint8)
    return chunk(b"PLTE", np.stack([levels] * 3 if gray else [levels, levels[::-1], levels], axis=1).tobytes())


def pack_bits(data):
    """Literal runs of at most 128 bytes."""
    runs = [data[at : at + 128] for at in range(0, len(data), 128)]
    return b"".join(bytes([len(run) - 1]) + run for run in runs)


PACKING = {1: bytes, 8: zlib.compress, 32773: pack_bits}


def tiff(samples, bits, order="<", *, photometric=1, compression=1, strips=1, planar=1, tile=None, pages=1, **tags):
    """`tags` are others, as `tag_274=3`."""
    height, width = samples.shape[:2]
    channels = samples[..., None] if samples.ndim == 2 else samples
    count = channels.shape[2]
    swapped = pack_rows if order == ">" or bits != 16 else lambda some, _: some.astype("<u2").view(np.uint8)
    planes = [channels] if planar == 1 else [channels[..., [each]] for each in range(count)]
    if tile:
        cut = [np.pad(p, ((0, -height % tile), (0, -width % tile), (0, 0))) for p in planes]
        across, down = range(0, cut[0].shape[1], tile), range(0, cut[0].shape[0], tile)
        parts = [p[y : y + tile, x : x + tile] for p in cut for y in down for x in across]
    else:
        parts = [part for plane in planes for part in np.array_split(plane, strips)]
    packed = [PACKING[compression](swapped(np.ascontiguousarray(p).reshape(len(p), -1), bits).tobytes()) for p in parts]
    content, nexts = struct.pack(f"{order}2sHI", b"II" if order == "<" else b"MM", 42, 0), [4]
    for _ in range(pages):
        places = []
        for part in packed:
            places.append(len(content))
            content += part
        where = (324, 325) if tile else (273, 279)
        values = {
            256: [width], 257: [height], 258: [bits] * count, 259: [compression], 262: [photometric], 277: [count],
            284: [planar], where[0]: places, where[1]: [len(part) for part in packed],
        }  # fmt: skip
        values |= {322: [tile], 323: [tile]} if tile else {278: [-(-height // strips)]}
        values |= {338: [2]} if count in (2, 4) else {}
        values |= {int(name[4:]): value if isinstance(value, list) else [value] for name, value in tags.items()}
        content += bytes(len(content) % 2)
        start, arrays, entries = len(content), b"", b""
        behind = start + 2 + 12 * len(values) + 4
        for tag in sorted(values):
            kind = 4 if tag in (256, 257, 273, 278, 279, 324, 325) else 3
            body = struct.pack(f"{order}{len(values[tag])}{'I' if kind == 4 else 'H'}", *values[tag])
            if len(body) > 4:
                arrays, body = arrays + body, struct.pack(f"{order}I", behind + len(arrays))
            entries += struct.pack(f"{order}HHI", tag, kind, len(values[tag])) + body.ljust(4, b"\0")
        content = content[: nexts[-1]] + struct.pack(f"{order}I", start) + content[nexts[-1] + 4 :]
        content += struct.pack(f"{order}H", len(values)) + entries + bytes(4) + arrays
        nexts.append(behind - 4)
    return content


def by_opencv(suffix, image, *options):
    return cv2.imencode(suffix, image, list(options))[1].tobytes()


def by_pillow(kind, image, mode=None, **options):
    stream = io.BytesIO()
    made = Image.fromarray(image)
    (made.convert(mode) if mode else made).save(stream, kind, **options)
    return stream.getvalue()


def turned_jpeg():
    """EXIF says that it lies on its side."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return by_pillow("JPEG", GRAY, exif=exif)


def stack(*planes):
    return np.dstack(planes)


def as_opencv(content):
    """A lossy picture, or one that alpha darkens, with what OpenCV makes of it."""
    image = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    return content, image if image.ndim == 2 else cv2.cvtColor(image[..., :3], cv2.COLOR_BGR2GRAY)


NIBBLES = (GRAY >> 4).astype(np.uint8)
COLOURED, CHANNELS = "is a false-colour picture", "channels; export one channel of raw counts"
VALUES, DAMAGED = "values; export the raw counts as 8- or 16-bit integers", "is cut off or damaged"
THREE_8, THREE_16 = stack(GRAY, GRAY, GRAY), stack(COUNTS, COUNTS, COUNTS)
SAMPLING = (
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_411,
    cv2.IMWRITE_JPEG_SAMPLING_FACTOR_444,
)
PNGS = {
    "gray, 1 bit": (png(GRAY >> 7, 1, 0), 255 * (GRAY >> 7)),
    "gray, 2 bits": (png(GRAY >> 6, 2, 0), 85 * (GRAY >> 6)),
    "gray, 4 bits": (png(NIBBLES, 4, 0), 17 * NIBBLES),
    "gray, 8 bits": (png(GRAY, 8, 0), GRAY),
    "gray, 16 bits": (png(COUNTS, 16, 0), COUNTS),
    "gray, 12 of 16 bits": (png(COUNTS >> 4, 16, 0, chunk(b"sBIT", b"\x0c")), COUNTS >> 4),
    "gray, 14 of 16 bits": (png(COUNTS >> 2, 16, 0), COUNTS >> 2),
    "gray, 8 bits, interlaced": (png(GRAY, 8, 0, interlaced=True), GRAY),
    "gray, 16 bits, interlaced": (png(COUNTS, 16, 0, interlaced=True), COUNTS),
    "gray, 8 bits, a transparent count": (png(GRAY, 8, 0, chunk(b"tRNS", b"\0\x60")), GRAY),
    "gray, 16 bits, a transparent count": (png(COUNTS, 16, 0, chunk(b"tRNS", b"\x60\0")), COUNTS),
    "gray and alpha, 8 bits": (png(stack(GRAY, LOW_8), 8, 4), GRAY),
    "gray and alpha, 16 bits": (png(stack(COUNTS, LOW_16), 16, 4), COUNTS),
    "RGB of gray, 8 bits": (png(THREE_8, 8, 2), GRAY),
    "RGB of gray, 16 bits": (png(THREE_16, 16, 2), COUNTS),
    "RGB of colours, 8 bits": (png(stack(GRAY, LOW_8, GRAY), 8, 2), COLOURED),
    "RGB of colours, 16 bits": (png(stack(COUNTS, LOW_16, COUNTS), 16, 2), COLOURED),
    "RGBA of gray, 8 bits": (png(stack(THREE_8, LOW_8), 8, 6), GRAY),
    "RGBA of gray, 16 bits": (png(stack(THREE_16, LOW_16), 16, 6), COUNTS),
    "palette of grays, 8 bits": (png(GRAY, 8, 3, palette(256)), GRAY),
    "palette of grays, 4 bits": (png(NIBBLES, 4, 3, palette(16)), 17 * NIBBLES),
    "palette of grays, 1 bit": (png(GRAY >> 7, 1, 3, palette(2)), 255 * (GRAY >> 7)),
    "palette of grays, transparent": (png(GRAY, 8, 3, palette(256), chunk(b"tRNS", bytes(range(256)))), GRAY),
    "palette of colours": (png(GRAY, 8, 3, palette(256, gray=False)), COLOURED),
    "a profile, gamma and a text": (
        png(COUNTS, 16, 0, chunk(b"iCCP", b"junk\0\0" + zlib.compress(bytes(200))), chunk(b"tEXt", b"x")),
        COUNTS,
    ),
}
TIFFS = {
    f"gray, {bits} bits, {'little' if order == '<' else 'big'}-endian, compression {packing}": (
        tiff(plane, bits, order, compression=packing, strips=3),
        plane,
    )
    for bits, plane in ((8, GRAY), (16, COUNTS))
    for order in "<>"
    for packing in PACKING
}
TIFFS |= {
    "gray, 16 bits, LZW": (by_opencv(".tiff", COUNTS, cv2.IMWRITE_TIFF_COMPRESSION, 5), COUNTS),
    "gray, 16 bits, LZW of differences": (by_opencv(".tiff", COUNTS, 259, 5, cv2.IMWRITE_TIFF_PREDICTOR, 2), COUNTS),
    "gray, 8 bits, LZW by Pillow": (by_pillow("TIFF", GRAY, compression="tiff_lzw"), GRAY),
    "gray, 16 bits, deflated by Pillow": (by_pillow("TIFF", COUNTS, compression="tiff_adobe_deflate"), COUNTS),
    "gray, 8 bits, JPEG in it": as_opencv(by_pillow("TIFF", GRAY, compression="jpeg")),
    "gray, 14 of 16 bits": (tiff(COUNTS >> 2, 16), COUNTS >> 2),
    "gray, 14 bits": (tiff(COUNTS >> 2, 14), COUNTS >> 2 << 2),
    "gray, 12 bits": (tiff(COUNTS >> 4, 12), COUNTS >> 4 << 4),
    "gray, 10 bits": (tiff(COUNTS >> 6, 10), COUNTS >> 6 << 6),
    "gray, 4 bits": (tiff(NIBBLES, 4), DAMAGED),
    "gray, 1 bit": (tiff(GRAY >> 7, 1), 255 * (GRAY >> 7)),
    "gray, 1 bit, as a fax": (by_pillow("TIFF", 255 * (GRAY >> 7), "1", compression="group4"), 255 * (GRAY >> 7)),
    "gray, 8 bits, white is 0": (tiff(GRAY, 8, photometric=0), 255 - GRAY),
    "gray, 16 bits, white is 0": (tiff(COUNTS, 16, photometric=0), COUNTS),
    "gray, 8 bits, tiles": (tiff(GRAY, 8, tile=16), DAMAGED),
    "gray, 16 bits, tiles": (tiff(COUNTS, 16, tile=16), COUNTS),
    "gray, 16 bits, tiles, deflated": (tiff(COUNTS, 16, ">", tile=16, compression=8), COUNTS),
    "gray, 16 bits, three pages": (tiff(COUNTS, 16, pages=3), COUNTS),
    "gray, 8 bits, upside down": (tiff(GRAY, 8, tag_274=3), GRAY),
    "gray, 16 bits, upside down": (tiff(COUNTS, 16, tag_274=3), COUNTS),
    "gray, 16 bits, on its side": (tiff(COUNTS, 16, tag_274=6), COUNTS),
    "gray, 16 bits, a maker's own tags": (tiff(COUNTS, 16, tag_51000=7, tag_51001=[1, 2, 3]), COUNTS),
    "gray, 16 bits, signed": (tiff(COUNTS, 16, tag_339=2), VALUES),
    "gray, 32-bit float": (by_opencv(".tiff", COUNTS.astype(np.float32)), VALUES),
    "gray, 64-bit float": (by_opencv(".tiff", COUNTS.astype(np.float64)), VALUES),
    "gray, 32-bit integers": (by_pillow("TIFF", COUNTS.astype(np.int32)), VALUES),
    "gray and alpha, 8 bits": (tiff(stack(GRAY, LOW_8), 8), GRAY),
    "gray and alpha, 16 bits": (tiff(stack(COUNTS, LOW_16), 16), CHANNELS),  # OpenCV makes 8 bits of it
    "RGB of gray, 8 bits": (tiff(THREE_8, 8, photometric=2), GRAY),
    "RGB of gray, 16 bits": (tiff(THREE_16, 16, photometric=2), COUNTS),
    "RGB of gray, 8 bits, planes apart": (tiff(THREE_8, 8, photometric=2, planar=2), GRAY),
    "RGB of gray, 16 bits, planes apart": (tiff(THREE_16, 16, photometric=2, planar=2), CHANNELS),  # and noise of this
    "RGB of colours, 8 bits": (tiff(stack(GRAY, LOW_8, GRAY), 8, photometric=2), COLOURED),
    "RGB of colours, 16 bits": (tiff(stack(COUNTS, LOW_16, COUNTS), 16, photometric=2), COLOURED),
    "RGBA of gray, 8 bits": as_opencv(tiff(stack(THREE_8, LOW_8), 8, photometric=2)),
    "RGBA of gray, 16 bits": (tiff(stack(THREE_16, LOW_16), 16, photometric=2), COUNTS),
    "palette of grays": (by_pillow("TIFF", GRAY, "P"), GRAY),
    "CMYK": (by_pillow("TIFF", THREE_8, "CMYK"), GRAY),
    "of more than 4 GiB": (b"II+\0\x08\0\0\0" + bytes(100), "is not a PNG, TIFF or JPEG image"),
}
JPEGS = {
    "gray": as_opencv(by_opencv(".jpg", GRAY)),
    "gray, progressive": as_opencv(by_opencv(".jpg", GRAY, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)),
    "gray, restarts": as_opencv(by_opencv(".jpg", GRAY, cv2.IMWRITE_JPEG_RST_INTERVAL, 2)),
    "gray, own codes": as_opencv(by_opencv(".jpg", GRAY, cv2.IMWRITE_JPEG_OPTIMIZE, 1, cv2.IMWRITE_JPEG_QUALITY, 100)),
    "gray, poor": as_opencv(by_opencv(".jpg", GRAY, cv2.IMWRITE_JPEG_QUALITY, 5)),
    "gray, on its side": as_opencv(turned_jpeg()),
    "colours of gray": as_opencv(by_opencv(".jpg", THREE_8)),
    "colours of gray, progressive": as_opencv(by_opencv(".jpg", THREE_8, cv2.IMWRITE_JPEG_PROGRESSIVE, 1)),
    "colours of gray, 4:1:1": as_opencv(by_opencv(".jpg", THREE_8, *SAMPLING[:2])),
    "colours of gray, 4:4:4": as_opencv(by_opencv(".jpg", THREE_8, *SAMPLING[::2])),
    "nearly gray": as_opencv(by_opencv(".jpg", stack(GRAY, GRAY, GRAY + np.uint8(1)))),
    "RGB as it is": as_opencv(by_pillow("JPEG", THREE_8, keep_rgb=True)),
    "colours": (by_opencv(".jpg", stack(GRAY, LOW_8, GRAY)), COLOURED),
    "CMYK": (by_pillow("JPEG", THREE_8, "CMYK"), CHANNELS),
}
TABLE = {
    f"{kind}: {name}": row
    for kind, rows in (("PNG", PNGS), ("TIFF", TIFFS), ("JPEG", JPEGS))
    for name, row in rows.items()
}
"""What a file is, its content, and the counts that are read or part of the refusal."""
