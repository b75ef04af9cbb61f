# The parts that come with the image when QEMU loads it as firmware.
#
# -bios moves an ELF as a whole to the end of storage, so that what belongs at an address of its own cannot be loaded there.
# It comes directly below the image instead, with a list that says what goes where. The last doubleword below the image
# is the length of all that is below it: the list comes first, an entry each of
#
#   distance from the list, destination, length
#
# with the length zero behind the last. The entries are in the order of their destinations.

    .section .boot.parts, "ax", @progbits
    .globl  _start_with_parts
_start_with_parts:                      # in 64-bit addressing: only QEMU comes here
    larl    %r12, _start
    lgr     %r11, %r12
    aghi    %r11, -8
    lghi    %r3, 0
    sg      %r3, 0(%r11)
    la      %r11, 0(%r3,%r12)           # the list
    lgr     %r10, %r11
    lghi    %r9, 0                      # the end of what has been moved
1:  lg      %r5, 16(%r10)
    ltgr    %r5, %r5
    jz      3f
    lg      %r4, 8(%r10)
    lg      %r6, 0(%r10)
    agr     %r6, %r11
    lgr     %r7, %r5
    lgr     %r9, %r4
    agr     %r9, %r5
2:  mvcle   %r4, %r6, 0
    jo      2b
    aghi    %r10, 24
    j       1b
3:  lgr     %r4, %r11                   # zeros again where the parts came
    cgr     %r9, %r4
    jnh     4f
    lgr     %r4, %r9
4:  lgr     %r5, %r12
    sgr     %r5, %r4
    jnp     _start
    lghi    %r6, 0
    lghi    %r7, 0
5:  mvcle   %r4, %r6, 0
    jo      5b
    j       _start
