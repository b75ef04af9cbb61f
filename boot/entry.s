# From the machine's IPL PSW to Rust.
#
# The image may be anywhere below 2 GiB: where it was linked (-kernel, an .ins list), or moved up by
# a multiple of 64 KiB (-bios). It may be entered in ESA/390 mode, as hardware does, or already in
# the z/Architecture mode. Nothing here uses an absolute address.
#
# 1. Switch to the z/Architecture and to 64-bit addressing.
# 2. Relocate the image where it stands, and ask Rust (`choose_home`) for its place in the HSA.
# 3. Copy the image there, relocate the copy, clear its .bss, and go on in Rust (`ipl`) there.
#
# LLVM's assembler has no privileged s390x mnemonics; such instructions are written with .insn.

    .set    SET_ARCHITECTURE, 0x12      # SIGNAL PROCESSOR order

    .section .boot, "ax", @progbits
    .globl  _start
_start:
    basr    %r12, 0                     # in any mode: where am I
.Lhere:
    lhi     %r0, 0
    lhi     %r1, 1                      # SIGP parameter: the z/Architecture
    lhi     %r2, 0
    lhi     %r3, 0
    .insn   rs, 0xae000000, %r0, %r3, SET_ARCHITECTURE   # SIGP; refused if already set
    .insn   e, 0x010e                   # SAM64
    larl    %r12, _start
    larl    %r15, early_stack_end
    aghi    %r15, -160

    larl    %r2, _start                 # the image's base here
    brasl   %r14, relocate
    aghi    %r15, -24
    la      %r2, 160(%r15)              # room for three doublewords
    brasl   %r14, choose_home           # Rust: base of the HSA, storage, increment; or a wait state
    lg      %r10, 160(%r15)
    lg      %r7, 168(%r15)
    lg      %r13, 176(%r15)

    larl    %r4, _start                 # copy [_start, __data_end) upward; the HSA is above us
    lgr     %r5, %r10
    larl    %r6, __data_end
    sgr     %r6, %r4
1:  lg      %r0, 0(%r4)
    stg     %r0, 0(%r5)
    aghi    %r4, 8
    aghi    %r5, 8
    aghi    %r6, -8
    jp      1b

    larl    %r9, _start
    larl    %r8, .Lmoved
    sgr     %r8, %r9
    agr     %r8, %r10
    br      %r8

.Lmoved:
    larl    %r2, _start
    brasl   %r14, relocate
    larl    %r4, __bss_start
    larl    %r5, __bss_end
    lghi    %r0, 0
2:  cgr     %r4, %r5
    jnl     3f
    stg     %r0, 0(%r4)
    aghi    %r4, 8
    j       2b
3:  llilh   %r15, 0x001f                # IPL's stack is at the end of the room for the image, which is much larger
    agr     %r15, %r10
    aghi    %r15, -160
    lgr     %r2, %r9                    # where the image was loaded: that storage is the guest's again
    lgr     %r3, %r7                    # storage in bytes
    lgr     %r4, %r13                   # storage increment in bytes
    brasl   %r14, ipl                   # Rust; does not come back
    j       .

# Applies the R_390_RELATIVE relocations for an image whose base is in %r2.
relocate:
    larl    %r4, __rela_start
    larl    %r5, __rela_end
    lgr     %r3, %r2
    llilh   %r0, 0x0002                 # the address that the image was linked for: 20000 hex
    sgr     %r3, %r0
4:  cgr     %r4, %r5
    bnlr    %r14
    lg      %r1, 8(%r4)                 # type, in the right half: 12 is RELATIVE
    nill    %r1, 0xff
    cghi    %r1, 12
    jne     5f
    lg      %r1, 16(%r4)                # addend
    agr     %r1, %r3
    lg      %r0, 0(%r4)                 # where, as linked
    lgr     %r11, %r0
    agr     %r11, %r3
    stg     %r1, 0(%r11)
5:  aghi    %r4, 24
    j       4b

    .section .bss.early_stack, "aw", @nobits
    .balign 4096
early_stack:                            # for what asks for the place, and for a failure
    .skip   65536
early_stack_end:
