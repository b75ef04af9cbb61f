/*
 * A program with a known call tree, without a library. How many instructions each routine has is known by its loops,
 * so the inclusive share of each is known, too. It reads from the kernel in one routine only.
 */

/* So many instructions: a loop that is one instruction. */
static inline __attribute__((always_inline)) void busy(unsigned long instructions)
{
	__asm__ volatile("0: brctg %0,0b" : "+d"(instructions) : : "cc");
}

static long call(long number, long first, long second, long third)
{
	register long r1 __asm__("1") = number;
	register long r2 __asm__("2") = first;
	register long r3 __asm__("3") = second;
	register long r4 __asm__("4") = third;
	__asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4) : "memory", "cc");
	return r2;
}

#define ROUTINE __attribute__((noinline, noclone))

/* Calls nobody and has no frame. */
ROUTINE void straight(void)
{
	busy(6000);
}

/* Calls nobody and has a frame. */
ROUTINE long local(long number)
{
	volatile long numbers[40];

	numbers[number % 40] = number;
	busy(9000);
	return numbers[number % 40];
}

/* Has two callers. */
ROUTINE void shared(long times)
{
	while (times-- > 0) {
		busy(4000);
		straight();
	}
}

ROUTINE void first(void)
{
	busy(5000);
	shared(3);
	busy(3000);
}

ROUTINE long second(long round)
{
	shared(1);
	busy(2000);
	return local(round) + 1;
}

/* Calls itself, and has a frame of a size that is not known before. */
ROUTINE long nested(long depth)
{
	volatile char room[depth * 24 + 8];

	room[0] = 1;
	busy(2000);
	if (depth > 0)
		nested(depth - 1);
	busy(1000);
	return room[0];
}

static char bytes[16384];

/* Its time is the kernel's. */
ROUTINE long reading(long file)
{
	long read = call(3, file, (long)bytes, sizeof(bytes));

	busy(100);
	return read;
}

ROUTINE long all(long rounds)
{
	long file = call(5, (long)"/dev/urandom", 0, 0);
	long sum = 0;

	for (long round = 0; round < rounds; round++) {
		first();
		sum += second(round);
		sum += nested(4);
		if (round % 8 == 0)
			sum += reading(file);
	}
	return sum;
}

__attribute__((noreturn)) void begin(void)
{
	all(ROUNDS);
	call(1, 0, 0, 0);
	for (;;)
		;
}

__asm__(".globl _start\n"
	".type _start,@function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined 14\n"
	"aghi %r15,-160\n"
	".cfi_def_cfa_offset 320\n"
	"xc 0(8,%r15),0(%r15)\n"
	"brasl %r14,begin\n"
	"j .\n"
	".cfi_endproc\n"
	".size _start,.-_start\n");
