/* A program whose stack pointer lies: for some time each it designates what is no stack. */

static const unsigned long lies[] = {
	0,			/* not mapped */
	8,
	0x1234561,		/* off its boundary */
	0x1fff0000,		/* an address of the machine below, if it were absolute */
	0x3ff00000000,		/* in no mapping, or another one's */
	0x1ffffffffff8,		/* at the end of all programs */
	0xfffffffffffff000,	/* the last page */
	0xfffffffffffffff8,	/* and its last doubleword */
};

__attribute__((noinline)) static void tell(unsigned long lie, unsigned long instructions)
{
	__asm__ volatile("lgr %%r0,%%r15\n"
			 "lgr %%r15,%[lie]\n"
			 "0: brctg %[instructions],0b\n"
			 "lgr %%r15,%%r0\n"
			 : [instructions] "+d"(instructions)
			 : [lie] "d"(lie)
			 : "0", "cc");
}

/* A chain that leads back into itself. */
static unsigned long loop[64];

__attribute__((noreturn)) static void end(void)
{
	register long r1 __asm__("1") = 1;
	register long r2 __asm__("2") = 0;

	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1) : "memory");
	for (;;)
		;
}

__attribute__((noreturn)) void begin(void)
{
	unsigned long here = (unsigned long)loop;

	for (unsigned long number = 0; number < sizeof(lies) / sizeof(lies[0]); number++)
		tell(lies[number], 30000000);
	loop[0] = here + 160;
	loop[20] = here;
	tell(here, 30000000);
	end();
}

__asm__(".globl _start\n"
	"_start:\n"
	"aghi %r15,-160\n"
	"brasl %r14,begin\n"
	"j .\n");
