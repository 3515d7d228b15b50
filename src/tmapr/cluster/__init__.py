"""Maps made by many processes on many machines: fixed parts, each done once by whoever comes first, joined in order.

An order says what to do in a line of JSON; what it makes is a file in RUN/jobs, named after all that it is made from.
So an order may be given twice, to anybody, at any time: whoever finds the file is done. How frames are cut does not
depend on who works, and sums are added in the order of the parts, so that a map is the same, bit for bit, whether one
process made it or a hundred, and whichever of them were lost meanwhile.
"""
