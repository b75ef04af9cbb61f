//! What the guest finds: the model, its cores and threads, the level it runs at.
//!
//! Nothing here changes how QEMU is started. The loader block carries it to the machine. The machine shows it to the
//! guest by STORE CPU ID, STORE SYSTEM INFORMATION, READ SCP INFO and the instructions of the two facilities.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::Args;
use {
    cpumf::model::{self, MODELS, Model},
    link::loader::{LoaderBlock, MOST_THREADS, flags, level},
};

use crate::nearest;

/// A model, by its product name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelName(pub &'static Model);

impl FromStr for ModelName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        model::of_name(text).map(Self).ok_or_else(|| {
            let names: Vec<String> = MODELS
                .iter()
                .map(|model| model.name.to_lowercase())
                .collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            format!("{text} is not a model{}", nearest::remedy(text, &names))
        })
    }
}

/// Where the guest finds itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In a logical partition.
    Lpar,
    /// In a virtual machine.
    Vm,
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "lpar" => Ok(Self::Lpar),
            "vm" => Ok(Self::Vm),
            _ => Err(format!(
                "{text} is not a level; choose lpar (a logical partition) or vm (a virtual machine)"
            )),
        }
    }
}

/// What samples tell about a secure guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secure {
    /// Bit 49 of its plaintext control flags is zero: samples are limited.
    Limited,
    /// The bit is one: samples are full, as for any other guest.
    Full,
}

impl FromStr for Secure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "limited" => Ok(Self::Limited),
            "full" => Ok(Self::Full),
            _ => Err(format!(
                "{text} is not a choice of samples; write --secure=limited or --secure=full"
            )),
        }
    }
}

/// A program parameter: a hexadecimal number of up to 64 bits.
fn parameter(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| {
        format!("{text} is not a program parameter; write up to 16 hexadecimal digits, as C0FFEE")
    })
}

/// Options that decide what the guest finds.
#[derive(Clone, Debug, Args, PartialEq, Eq)]
pub struct Configuration {
    /// The model that the guest finds: z10, z196, zec12, z13, z14, z15 or z16. It decides the machine
    /// type and the model that STIDP and STSI show, the counter version numbers, which counters there
    /// are, and the size of diagnostic samples. It does not decide the instructions: they are those of the
    /// machine below
    #[arg(long, value_name = "MODEL", default_value = "z15")]
    pub model: ModelName,
    /// Threads of a core, 1 or 2. With 2 threads (z13 or later) each CPU is a thread: 4 CPUs are
    /// 2 cores. The guest sees only the first thread of each core until it enables multithreading by SIGP
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_THREADS)))]
    pub threads: u32,
    /// Where the guest finds itself: lpar (a logical partition, the default) or vm (a virtual machine:
    /// samples say CL = 2, and LSCTL of the guest ignores its host indicator)
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<Level>,
    /// Mark the guest secure. It is then at level vm, and samples show only the host's program parameter
    /// (LS); --secure=full is a secure guest that allows full samples
    #[arg(
        long,
        value_name = "SAMPLES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "limited"
    )]
    pub secure: Option<Secure>,
    /// Program parameter of the level below the guest, in hexadecimal: samples of a guest at level vm
    /// then have H = 1 and this host program parameter
    #[arg(long, value_name = "HEX", value_parser = parameter)]
    pub host_parameter: Option<u64>,
    /// Dedicate the CPUs to the guest: sampling goes on while one of them waits (samples with W = 1).
    /// CPUs that are not dedicated are not sampled in wait
    #[arg(long)]
    pub dedicated: bool,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            model: ModelName(&model::DEFAULT),
            threads: 1,
            level: None,
            secure: None,
            host_parameter: None,
            dedicated: false,
        }
    }
}

impl Configuration {
    /// The level, chosen or implied.
    #[must_use]
    pub fn level(&self) -> Level {
        let implied = match self.secure {
            Some(_) => Level::Vm,
            None => Level::Lpar,
        };
        self.level.unwrap_or(implied)
    }

    /// Checks that the options go together, with this number of CPUs if the run chooses one.
    pub fn check(&self, cpus: Option<u32>) -> Result<()> {
        let (threads, model) = (self.threads, self.model.0);
        if threads > 1 && !model.has_threads() {
            bail!(
                "--threads {threads} is not possible with --model {}, whose cores have one thread (counter second version number {}); choose z13 or later, or leave --threads out",
                model.name.to_lowercase(),
                model.csvn
            );
        }
        if let Some(cpus) = cpus
            && !cpus.is_multiple_of(threads)
        {
            bail!(
                "--threads {threads} needs whole cores, and --cpus {cpus} is not a multiple of {threads}; choose an even number of CPUs"
            );
        }
        if self.secure.is_some() && self.level == Some(Level::Lpar) {
            bail!("a secure guest is always at level vm; leave --level lpar or --secure out");
        }
        if self.host_parameter.is_some() && self.level() == Level::Lpar {
            bail!(
                "--host-parameter belongs to the level below a virtual machine, and the guest is at level lpar; add --level vm"
            );
        }
        Ok(())
    }

    /// Writes it into a loader block.
    pub fn stage(&self, block: &mut LoaderBlock) {
        let flag = |bit: u32, on: bool| if on { bit } else { 0 };
        let bits = flag(flags::SECURE, self.secure.is_some())
            | flag(flags::FULL_SAMPLES, self.secure == Some(Secure::Full))
            | flag(flags::DEDICATED, self.dedicated)
            | flag(flags::HOST_INDICATOR, self.host_parameter.is_some());
        block.flags = (block.flags.get() | bits).into();
        block.level = match self.level() {
            Level::Lpar => level::LOGICAL_PARTITION,
            Level::Vm => level::VIRTUAL_MACHINE,
        }
        .into();
        block.machine_type = u32::from(self.model.0.types[0]).into();
        block.threads = self.threads.into();
        block.host_parameter = self.host_parameter.unwrap_or(0).into();
    }

    /// What differs from the default, in words.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.model.0 != &model::DEFAULT {
            words.push(self.model.0.name.to_lowercase());
        }
        if self.threads > 1 {
            words.push(format!("{} threads a core", self.threads));
        }
        match self.secure {
            Some(Secure::Limited) => words.push("secure guest".to_owned()),
            Some(Secure::Full) => words.push("secure guest with full samples".to_owned()),
            None if self.level() == Level::Vm => words.push("level vm".to_owned()),
            None => {}
        }
        if self.dedicated {
            words.push("dedicated CPUs".to_owned());
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: fn(&mut Configuration)) -> Configuration {
        let mut configuration = Configuration::default();
        change(&mut configuration);
        configuration
    }

    fn refusal(configuration: &Configuration, cpus: u32) -> String {
        configuration.check(Some(cpus)).unwrap_err().to_string()
    }

    #[test]
    fn every_model_has_a_name_and_the_refusal_of_another_lists_them() {
        for name in ["z10", "z196", "zec12", "z13", "z14", "z15", "z16"] {
            let found: ModelName = name.parse().unwrap();
            assert_eq!(found.0.name.to_lowercase(), name);
        }
        let refusal = "z9".parse::<ModelName>().unwrap_err();
        assert!(refusal.contains("z9") && refusal.contains("z10, z196, zec12, z13, z14, z15, z16"));
    }

    #[test]
    fn threads_need_a_model_that_has_them_and_whole_cores() {
        for (name, possible) in [("zec12", false), ("z13", true), ("z16", true)] {
            let configuration = Configuration {
                model: name.parse().unwrap(),
                threads: 2,
                ..Configuration::default()
            };
            assert_eq!(configuration.check(Some(4)).is_ok(), possible, "{name}");
            if !possible {
                let refusal = refusal(&configuration, 4);
                assert!(refusal.contains(name) && refusal.contains("z13 or later"));
            }
        }
        let two = with(|configuration| configuration.threads = 2);
        assert!(two.check(Some(2)).is_ok());
        assert!(two.check(Some(16)).is_ok());
        for cpus in [1, 3, 15] {
            let refusal = refusal(&two, cpus);
            assert!(
                refusal.contains(&format!("--cpus {cpus}")) && refusal.contains("an even number")
            );
        }
    }

    #[test]
    fn a_secure_guest_is_at_level_vm_and_nowhere_else() {
        let secure = with(|configuration| configuration.secure = Some(Secure::Limited));
        assert_eq!(secure.level(), Level::Vm);
        assert!(secure.check(None).is_ok());
        let both = Configuration {
            level: Some(Level::Lpar),
            ..secure
        };
        assert!(refusal(&both, 1).contains("always at level vm"));
    }

    #[test]
    fn a_host_parameter_needs_a_host() {
        let parameter = with(|configuration| configuration.host_parameter = Some(7));
        assert!(refusal(&parameter, 1).contains("add --level vm"));
        let above = Configuration {
            level: Some(Level::Vm),
            ..parameter
        };
        assert!(above.check(None).is_ok());
    }

    #[test]
    fn the_block_holds_the_whole_configuration() {
        let configuration = Configuration {
            model: "z14".parse().unwrap(),
            threads: 2,
            level: None,
            secure: Some(Secure::Full),
            host_parameter: Some(0xC0FFEE),
            dedicated: true,
        };
        let mut block = LoaderBlock::new();
        block.cpus = 4.into();
        configuration.stage(&mut block);
        block.seal();
        let bytes = zerocopy::transmute_ref!(&block);
        let block = LoaderBlock::parse(bytes).unwrap();
        let wanted = flags::FRAMES
            | flags::SECURE
            | flags::FULL_SAMPLES
            | flags::DEDICATED
            | flags::HOST_INDICATOR;
        assert_eq!(block.flags.get(), wanted);
        assert_eq!((block.level.get(), block.threads.get()), (2, 2));
        assert_eq!(block.machine_type.get(), 0x3906);
        assert_eq!(block.host_parameter.get(), 0xC0FFEE);
    }

    #[test]
    fn only_what_differs_from_the_default_has_words() {
        assert_eq!(Configuration::default().words(), Vec::<String>::new());
        let other = Configuration {
            model: "z16".parse().unwrap(),
            threads: 2,
            level: Some(Level::Vm),
            dedicated: true,
            ..Configuration::default()
        };
        let words = ["z16", "2 threads a core", "level vm", "dedicated CPUs"];
        assert_eq!(other.words(), words);
    }
}
