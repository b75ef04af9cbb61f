# Loads everything else from the device that this was IPLed from: the second step of an IPL from cards or from a DASD.
#
# The IPL itself can only read below 16 MiB, and a guest is staged above. This runs in ESA/390 mode with 31-bit addressing,
# below 16 MiB at a place that the host's tool chooses. It starts a channel program of the format 1 that the tool has made and
# the IPL has read, and waits for its end. If the program reads its own successor, that one is next, until its first command is
# zero. Then this clears the program's storage, and enters the image. The tool fills in the parameters.
# Nothing here uses an absolute address but the low storage that the machine clears.

    .set    SUBSYSTEM, 184              # the subsystem-identification word of the IPL device
    .set    IRB, 0xf00                  # where the interruption-response block goes
    .set    IRB_STATUS, IRB+8           # the status of the device and of the subchannel in it

    .section .boot.channel, "ax", @progbits
    .balign 8
    .globl  channel_loader
channel_loader:
    basr    %r12, 0
.Lthis:
    l       %r1, SUBSYSTEM(%r0)
    l       %r2, .Lread-.Lthis(%r12)
2:  .insn   s, 0xb2330000, .Lorb-.Lthis(%r12)    # START SUBCHANNEL
    jnz     .Lfailed
1:  .insn   s, 0xb2350000, IRB(%r0)     # TEST SUBCHANNEL
    jo      .Lfailed
    jnz     1b                          # no status yet
    l       %r0, IRB_STATUS(%r0)
    srl     %r0, 16
    chi     %r0, 0x0800                 # channel end alone: the device is not ready
    je      1b
    chi     %r0, 0x0c00                 # channel end and device end, and nothing else
    jne     .Lfailed
    icm     %r0, 15, .Lsuccessors-.Lthis(%r12)
    jz      3f
    cli     0(%r2), 0
    jne     2b
3:  lm      %r4, %r5, .Lprogram-.Lthis(%r12)
    lhi     %r6, 0
    lhi     %r7, 0
    mvcl    %r4, %r6
    l       %r2, .Lentry-.Lthis(%r12)
    br      %r2
.Lfailed:
    .insn   s, 0x82000000, .Lwait-.Lthis(%r12)   # LOAD PSW

    .balign 8
.Lwait:
    .long   0x000a0000, 0x80000000+{not_read}
.Lorb:
    .long   0                           # interruption parameter
    .long   0x0080ff00                  # CCWs of the format 1, no prefetching, any path
    .globl  channel_loader_parameters
channel_loader_parameters:
.Lread:
    .long   0                           # the address of the channel program
.Lprogram:
    .long   0                           # storage to clear, and the length of it
    .long   0
.Lentry:
    .long   0                           # the image's entry
.Lsuccessors:
    .long   0                           # whether the channel program reads its successor
    .balign 8
    .globl  channel_loader_end
channel_loader_end:
