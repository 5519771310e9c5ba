#!/usr/bin/env python3
"""Writes glyphs.tsv, the letters of exported PNG pictures: face, letter, advance, outline in units of the font.

Run beside the fonts, with fontTools (pip install fonttools): ./glyphs.py >glyphs.tsv
"""

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont


class OutlinePen(BasePen):
    """Commands of SVG with a blank between all parts."""

    def __init__(self, glyphs):
        super().__init__(glyphs)
        self.parts = []

    def add(self, command, *points):
        self.parts += [command, *(f"{coordinate:g}" for point in points for coordinate in point)]

    def _moveTo(self, point):
        self.add("M", point)

    def _lineTo(self, point):
        self.add("L", point)

    def _qCurveToOne(self, control, point):
        self.add("Q", control, point)

    def _curveToOne(self, first, second, point):
        self.add("C", first, second, point)

    def _closePath(self):
        self.add("Z")


for face, file in [("regular", "DejaVuSans-latin.ttf"), ("bold", "DejaVuSans-Bold-latin.ttf")]:
    font = TTFont(file)
    glyphs = font.getGlyphSet()
    units = font["head"].unitsPerEm
    assert units == 2048, units
    # The glyph of letters that the font does not have.
    letters = {0: ".notdef", **font.getBestCmap()}
    for letter, name in sorted(letters.items()):
        pen = OutlinePen(glyphs)
        glyphs[name].draw(pen)
        print(face, f"{letter:x}", glyphs[name].width, " ".join(pen.parts), sep="\t")
