//! The message-security assist: general registers as its instructions use them, and one wrapper each.

use core::arch::asm;

/// Bit 56 of general register 0: decipher, or seed.
pub const MODIFIER: u64 = 0x80;

/// General registers 0 to 7 of an instruction: function code, parameter block, and the addresses and
/// lengths of three operands (R1 = 2, R2 = 4, R3 = 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// Function code and modifiers.
    pub control: u64,
    /// Address of the parameter block.
    pub parameter: u64,
    /// First operand.
    pub first: (u64, u64),
    /// Second operand.
    pub second: (u64, u64),
    /// Third operand.
    pub third: (u64, u64),
}

impl Registers {
    /// A function on a parameter block, with no operand.
    #[must_use]
    pub fn new(control: u64, parameter: &mut [u8]) -> Self {
        Self {
            control,
            parameter: parameter.as_mut_ptr() as u64,
            ..Self::default()
        }
    }

    /// With this first operand.
    #[must_use]
    pub fn first(mut self, operand: &mut [u8]) -> Self {
        self.first = (operand.as_mut_ptr() as u64, operand.len() as u64);
        self
    }

    /// With this second operand.
    #[must_use]
    pub fn second(mut self, operand: &[u8]) -> Self {
        self.second = (operand.as_ptr() as u64, operand.len() as u64);
        self
    }

    /// With this third operand.
    #[must_use]
    pub fn third(mut self, operand: &[u8]) -> Self {
        self.third = (operand.as_ptr() as u64, operand.len() as u64);
        self
    }
}

/// Like [`crate::attempt!`], with general registers 0 to 7 from and to [`Registers`]: `attempt_with_registers!(".long
/// 0xb92e0024", &mut registers)`.
#[macro_export]
macro_rules! attempt_with_registers {
    ($text:literal, $registers:expr) => {{
        let registers: &mut $crate::insn::assist::Registers = $registers;
        $crate::attempt_between!(
            "lgr %r1, {parameter}",
            $text,
            "",
            parameter = in(reg) registers.parameter,
            inout("r0") registers.control,
            inout("r2") registers.first.0,
            inout("r3") registers.first.1,
            inout("r4") registers.second.0,
            inout("r5") registers.second.1,
            inout("r6") registers.third.0,
            inout("r7") registers.third.1,
        )
    }};
}

macro_rules! instructions {
    ($($name:ident $text:literal $title:literal;)*) => {$(
        #[doc = concat!($title, ", once: the condition code.")]
        pub fn $name(registers: &mut Registers) -> u8 {
            let cc: u64;
            // SAFETY: what the registers designate is the caller's.
            unsafe {
                asm!(
                    $text,
                    "ipm %r8",
                    inout("r0") registers.control,
                    in("r1") registers.parameter,
                    inout("r2") registers.first.0,
                    inout("r3") registers.first.1,
                    inout("r4") registers.second.0,
                    inout("r5") registers.second.1,
                    inout("r6") registers.third.0,
                    inout("r7") registers.third.1,
                    out("r8") cc,
                );
            }
            (cc >> 28) as u8 & 3
        }
    )*};
}

instructions! {
    km ".long 0xb92e0024" "CIPHER MESSAGE";
    kmc ".long 0xb92f0024" "CIPHER MESSAGE WITH CHAINING";
    kmf ".long 0xb92a0024" "CIPHER MESSAGE WITH CIPHER FEEDBACK";
    kmo ".long 0xb92b0024" "CIPHER MESSAGE WITH OUTPUT FEEDBACK";
    kmctr ".long 0xb92d6024" "CIPHER MESSAGE WITH COUNTER";
    kma ".long 0xb9296024" "CIPHER MESSAGE WITH AUTHENTICATION";
    kmac ".long 0xb91e0024" "COMPUTE MESSAGE AUTHENTICATION CODE";
    kimd ".long 0xb93e0024" "COMPUTE INTERMEDIATE MESSAGE DIGEST";
    klmd ".long 0xb93f0024" "COMPUTE LAST MESSAGE DIGEST";
    prno ".long 0xb93c0024" "PERFORM RANDOM NUMBER OPERATION";
    pcc ".long 0xb92c0000" "PERFORM CRYPTOGRAPHIC COMPUTATION";
    kdsa ".long 0xb93a0024" "COMPUTE DIGITAL SIGNATURE AUTHENTICATION";
    pckmo ".long 0xb9280000" "PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATIONS";
}

/// An instruction of the assist.
pub type Instruction = fn(&mut Registers) -> u8;

/// Issues an instruction until its condition code is not 3. Returns that condition code.
pub fn all(instruction: Instruction, registers: &mut Registers) -> u8 {
    loop {
        let cc = instruction(registers);
        if cc != 3 {
            return cc;
        }
    }
}

/// The status word of an instruction's query function.
#[must_use]
pub fn query(instruction: Instruction) -> u128 {
    let mut status = [0; 16];
    instruction(&mut Registers::new(0, &mut status));
    u128::from_be_bytes(status)
}
