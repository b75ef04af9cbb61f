//! The formulas beside the definitions of the counters and the metrics of Linux.
//!
//! The formulas name counters by number. Here the counters have the names of SA23-2261, as Linux has them in
//! `cf_*/extended.json`, and the shares are sums of names, as in `cf_*/transaction.json` where there is one. Each counter
//! has a value of its own, so a formula that takes another counter gives another number.

use super::{
    examples::{distinct, number},
    figure::Figure,
    generation::Generation,
    lack::Lack,
    nest::Given,
};

/// The counters of a model that say where a line came from, by number, each with its name.
type Names = &'static [(u16, &'static str)];

/// For each share the endings of the names of its counters.
type Shares = [(Figure, &'static [&'static str]); 5];

static Z10: Names = &[
    (128, "L1I_L2_SOURCED_WRITES"),
    (129, "L1D_L2_SOURCED_WRITES"),
    (130, "L1I_L3_LOCAL_WRITES"),
    (131, "L1D_L3_LOCAL_WRITES"),
    (132, "L1I_L3_REMOTE_WRITES"),
    (133, "L1D_L3_REMOTE_WRITES"),
    (134, "L1D_LMEM_SOURCED_WRITES"),
    (135, "L1I_LMEM_SOURCED_WRITES"),
];

/// What SA23-2261 calls the level-3 cache of z10 is its level-2 cache.
static SHARES_OF_Z10: Shares = [
    (Figure::Level2, &["L2_SOURCED_WRITES"]),
    (Figure::Level3, &[]),
    (Figure::Local4, &["L3_LOCAL_WRITES"]),
    (Figure::Remote4, &["L3_REMOTE_WRITES"]),
    (Figure::Memory, &["LMEM_SOURCED_WRITES"]),
];

static Z196: Names = &[
    (128, "L1D_L2_SOURCED_WRITES"),
    (129, "L1I_L2_SOURCED_WRITES"),
    (134, "L1D_OFFBOOK_L3_SOURCED_WRITES"),
    (135, "L1D_ONBOOK_L4_SOURCED_WRITES"),
    (136, "L1I_ONBOOK_L4_SOURCED_WRITES"),
    (138, "L1D_OFFBOOK_L4_SOURCED_WRITES"),
    (139, "L1I_OFFBOOK_L4_SOURCED_WRITES"),
    (141, "L1D_LMEM_SOURCED_WRITES"),
    (142, "L1I_LMEM_SOURCED_WRITES"),
    (143, "L1I_OFFBOOK_L3_SOURCED_WRITES"),
    (150, "L1D_ONCHIP_L3_SOURCED_WRITES"),
    (152, "L1D_OFFCHIP_L3_SOURCED_WRITES"),
    (153, "L1I_ONCHIP_L3_SOURCED_WRITES"),
    (155, "L1I_OFFCHIP_L3_SOURCED_WRITES"),
];

static ZEC12: Names = &[
    (130, "L1D_L2I_SOURCED_WRITES"),
    (131, "L1I_L2I_SOURCED_WRITES"),
    (132, "L1D_L2D_SOURCED_WRITES"),
    (135, "L1D_LMEM_SOURCED_WRITES"),
    (137, "L1I_LMEM_SOURCED_WRITES"),
    (144, "L1D_ONCHIP_L3_SOURCED_WRITES"),
    (145, "L1D_OFFCHIP_L3_SOURCED_WRITES"),
    (146, "L1D_OFFBOOK_L3_SOURCED_WRITES"),
    (147, "L1D_ONBOOK_L4_SOURCED_WRITES"),
    (148, "L1D_OFFBOOK_L4_SOURCED_WRITES"),
    (150, "L1D_ONCHIP_L3_SOURCED_WRITES_IV"),
    (151, "L1D_OFFCHIP_L3_SOURCED_WRITES_IV"),
    (152, "L1D_OFFBOOK_L3_SOURCED_WRITES_IV"),
    (153, "L1I_ONCHIP_L3_SOURCED_WRITES"),
    (154, "L1I_OFFCHIP_L3_SOURCED_WRITES"),
    (155, "L1I_OFFBOOK_L3_SOURCED_WRITES"),
    (156, "L1I_ONBOOK_L4_SOURCED_WRITES"),
    (157, "L1I_OFFBOOK_L4_SOURCED_WRITES"),
    (159, "L1I_ONCHIP_L3_SOURCED_WRITES_IV"),
    (160, "L1I_OFFCHIP_L3_SOURCED_WRITES_IV"),
    (161, "L1I_OFFBOOK_L3_SOURCED_WRITES_IV"),
];

/// A level-3 cache of another chip of the book is as near as the book's level-4 cache.
static SHARES_OF_BOOKS: Shares = [
    (
        Figure::Level2,
        &[
            "L2_SOURCED_WRITES",
            "L2I_SOURCED_WRITES",
            "L2D_SOURCED_WRITES",
        ],
    ),
    (
        Figure::Level3,
        &["ONCHIP_L3_SOURCED_WRITES", "ONCHIP_L3_SOURCED_WRITES_IV"],
    ),
    (
        Figure::Local4,
        &[
            "ONBOOK_L4_SOURCED_WRITES",
            "OFFCHIP_L3_SOURCED_WRITES",
            "OFFCHIP_L3_SOURCED_WRITES_IV",
        ],
    ),
    (
        Figure::Remote4,
        &[
            "OFFBOOK_L3_SOURCED_WRITES",
            "OFFBOOK_L3_SOURCED_WRITES_IV",
            "OFFBOOK_L4_SOURCED_WRITES",
        ],
    ),
    (Figure::Memory, &["LMEM_SOURCED_WRITES"]),
];

static Z13: Names = &[
    (133, "L1D_L2D_SOURCED_WRITES"),
    (136, "L1I_L2I_SOURCED_WRITES"),
    (144, "L1D_ONCHIP_L3_SOURCED_WRITES"),
    (145, "L1D_ONCHIP_L3_SOURCED_WRITES_IV"),
    (146, "L1D_ONNODE_L4_SOURCED_WRITES"),
    (147, "L1D_ONNODE_L3_SOURCED_WRITES_IV"),
    (148, "L1D_ONNODE_L3_SOURCED_WRITES"),
    (149, "L1D_ONDRAWER_L4_SOURCED_WRITES"),
    (150, "L1D_ONDRAWER_L3_SOURCED_WRITES_IV"),
    (151, "L1D_ONDRAWER_L3_SOURCED_WRITES"),
    (152, "L1D_OFFDRAWER_SCOL_L4_SOURCED_WRITES"),
    (153, "L1D_OFFDRAWER_SCOL_L3_SOURCED_WRITES_IV"),
    (154, "L1D_OFFDRAWER_SCOL_L3_SOURCED_WRITES"),
    (155, "L1D_OFFDRAWER_FCOL_L4_SOURCED_WRITES"),
    (156, "L1D_OFFDRAWER_FCOL_L3_SOURCED_WRITES_IV"),
    (157, "L1D_OFFDRAWER_FCOL_L3_SOURCED_WRITES"),
    (158, "L1D_ONNODE_MEM_SOURCED_WRITES"),
    (159, "L1D_ONDRAWER_MEM_SOURCED_WRITES"),
    (160, "L1D_OFFDRAWER_MEM_SOURCED_WRITES"),
    (161, "L1D_ONCHIP_MEM_SOURCED_WRITES"),
    (162, "L1I_ONCHIP_L3_SOURCED_WRITES"),
    (163, "L1I_ONCHIP_L3_SOURCED_WRITES_IV"),
    (164, "L1I_ONNODE_L4_SOURCED_WRITES"),
    (165, "L1I_ONNODE_L3_SOURCED_WRITES_IV"),
    (166, "L1I_ONNODE_L3_SOURCED_WRITES"),
    (167, "L1I_ONDRAWER_L4_SOURCED_WRITES"),
    (168, "L1I_ONDRAWER_L3_SOURCED_WRITES_IV"),
    (169, "L1I_ONDRAWER_L3_SOURCED_WRITES"),
    (170, "L1I_OFFDRAWER_SCOL_L4_SOURCED_WRITES"),
    (171, "L1I_OFFDRAWER_SCOL_L3_SOURCED_WRITES_IV"),
    (172, "L1I_OFFDRAWER_SCOL_L3_SOURCED_WRITES"),
    (173, "L1I_OFFDRAWER_FCOL_L4_SOURCED_WRITES"),
    (174, "L1I_OFFDRAWER_FCOL_L3_SOURCED_WRITES_IV"),
    (175, "L1I_OFFDRAWER_FCOL_L3_SOURCED_WRITES"),
    (176, "L1I_ONNODE_MEM_SOURCED_WRITES"),
    (177, "L1I_ONDRAWER_MEM_SOURCED_WRITES"),
    (178, "L1I_OFFDRAWER_MEM_SOURCED_WRITES"),
    (179, "L1I_ONCHIP_MEM_SOURCED_WRITES"),
];

static SHARES_OF_Z13: Shares = [
    (
        Figure::Level2,
        &["L2D_SOURCED_WRITES", "L2I_SOURCED_WRITES"],
    ),
    (
        Figure::Level3,
        &["ONCHIP_L3_SOURCED_WRITES", "ONCHIP_L3_SOURCED_WRITES_IV"],
    ),
    (
        Figure::Local4,
        &[
            "ONNODE_L4_SOURCED_WRITES",
            "ONNODE_L3_SOURCED_WRITES",
            "ONNODE_L3_SOURCED_WRITES_IV",
        ],
    ),
    (
        Figure::Remote4,
        &[
            "ONDRAWER_L4_SOURCED_WRITES",
            "ONDRAWER_L3_SOURCED_WRITES",
            "ONDRAWER_L3_SOURCED_WRITES_IV",
            "SCOL_L4_SOURCED_WRITES",
            "SCOL_L3_SOURCED_WRITES",
            "SCOL_L3_SOURCED_WRITES_IV",
            "FCOL_L4_SOURCED_WRITES",
            "FCOL_L3_SOURCED_WRITES",
            "FCOL_L3_SOURCED_WRITES_IV",
        ],
    ),
    (Figure::Memory, &["MEM_SOURCED_WRITES"]),
];

/// Of z15 as well.
static Z14: Names = &[
    (133, "L1D_L2D_SOURCED_WRITES"),
    (136, "L1I_L2I_SOURCED_WRITES"),
    (144, "L1D_ONCHIP_L3_SOURCED_WRITES"),
    (145, "L1D_ONCHIP_MEMORY_SOURCED_WRITES"),
    (146, "L1D_ONCHIP_L3_SOURCED_WRITES_IV"),
    (147, "L1D_ONCLUSTER_L3_SOURCED_WRITES"),
    (148, "L1D_ONCLUSTER_MEMORY_SOURCED_WRITES"),
    (149, "L1D_ONCLUSTER_L3_SOURCED_WRITES_IV"),
    (150, "L1D_OFFCLUSTER_L3_SOURCED_WRITES"),
    (151, "L1D_OFFCLUSTER_MEMORY_SOURCED_WRITES"),
    (152, "L1D_OFFCLUSTER_L3_SOURCED_WRITES_IV"),
    (153, "L1D_OFFDRAWER_L3_SOURCED_WRITES"),
    (154, "L1D_OFFDRAWER_MEMORY_SOURCED_WRITES"),
    (155, "L1D_OFFDRAWER_L3_SOURCED_WRITES_IV"),
    (156, "L1D_ONDRAWER_L4_SOURCED_WRITES"),
    (157, "L1D_OFFDRAWER_L4_SOURCED_WRITES"),
    (158, "L1D_ONCHIP_L3_SOURCED_WRITES_RO"),
    (162, "L1I_ONCHIP_L3_SOURCED_WRITES"),
    (163, "L1I_ONCHIP_MEMORY_SOURCED_WRITES"),
    (164, "L1I_ONCHIP_L3_SOURCED_WRITES_IV"),
    (165, "L1I_ONCLUSTER_L3_SOURCED_WRITES"),
    (166, "L1I_ONCLUSTER_MEMORY_SOURCED_WRITES"),
    (167, "L1I_ONCLUSTER_L3_SOURCED_WRITES_IV"),
    (168, "L1I_OFFCLUSTER_L3_SOURCED_WRITES"),
    (169, "L1I_OFFCLUSTER_MEMORY_SOURCED_WRITES"),
    (170, "L1I_OFFCLUSTER_L3_SOURCED_WRITES_IV"),
    (171, "L1I_OFFDRAWER_L3_SOURCED_WRITES"),
    (172, "L1I_OFFDRAWER_MEMORY_SOURCED_WRITES"),
    (173, "L1I_OFFDRAWER_L3_SOURCED_WRITES_IV"),
    (174, "L1I_ONDRAWER_L4_SOURCED_WRITES"),
    (175, "L1I_OFFDRAWER_L4_SOURCED_WRITES"),
];

static SHARES_OF_Z14: Shares = [
    (
        Figure::Level2,
        &["L2D_SOURCED_WRITES", "L2I_SOURCED_WRITES"],
    ),
    (
        Figure::Level3,
        &["ONCHIP_L3_SOURCED_WRITES", "ONCHIP_L3_SOURCED_WRITES_IV"],
    ),
    (
        Figure::Local4,
        &[
            "ONCHIP_L3_SOURCED_WRITES_RO",
            "CLUSTER_L3_SOURCED_WRITES",
            "CLUSTER_L3_SOURCED_WRITES_IV",
            "ONDRAWER_L4_SOURCED_WRITES",
        ],
    ),
    (
        Figure::Remote4,
        &[
            "OFFDRAWER_L3_SOURCED_WRITES",
            "OFFDRAWER_L3_SOURCED_WRITES_IV",
            "OFFDRAWER_L4_SOURCED_WRITES",
        ],
    ),
    (Figure::Memory, &["MEMORY_SOURCED_WRITES"]),
];

static Z16: Names = &[
    (145, "DCW_REQ"),
    (146, "DCW_REQ_IV"),
    (147, "DCW_REQ_CHIP_HIT"),
    (148, "DCW_REQ_DRAWER_HIT"),
    (149, "DCW_ON_CHIP"),
    (150, "DCW_ON_CHIP_IV"),
    (151, "DCW_ON_CHIP_CHIP_HIT"),
    (152, "DCW_ON_CHIP_DRAWER_HIT"),
    (153, "DCW_ON_MODULE"),
    (154, "DCW_ON_DRAWER"),
    (155, "DCW_OFF_DRAWER"),
    (156, "DCW_ON_CHIP_MEMORY"),
    (157, "DCW_ON_MODULE_MEMORY"),
    (158, "DCW_ON_DRAWER_MEMORY"),
    (159, "DCW_OFF_DRAWER_MEMORY"),
    (160, "IDCW_ON_MODULE_IV"),
    (161, "IDCW_ON_MODULE_CHIP_HIT"),
    (162, "IDCW_ON_MODULE_DRAWER_HIT"),
    (163, "IDCW_ON_DRAWER_IV"),
    (164, "IDCW_ON_DRAWER_CHIP_HIT"),
    (165, "IDCW_ON_DRAWER_DRAWER_HIT"),
    (166, "IDCW_OFF_DRAWER_IV"),
    (167, "IDCW_OFF_DRAWER_CHIP_HIT"),
    (168, "IDCW_OFF_DRAWER_DRAWER_HIT"),
    (169, "ICW_REQ"),
    (170, "ICW_REQ_IV"),
    (171, "ICW_REQ_CHIP_HIT"),
    (172, "ICW_REQ_DRAWER_HIT"),
    (173, "ICW_ON_CHIP"),
    (174, "ICW_ON_CHIP_IV"),
    (175, "ICW_ON_CHIP_CHIP_HIT"),
    (176, "ICW_ON_CHIP_DRAWER_HIT"),
    (177, "ICW_ON_MODULE"),
    (178, "ICW_ON_DRAWER"),
    (179, "ICW_OFF_DRAWER"),
    // Not on z17, where the counters of memory are of both caches.
    (180, "ICW_ON_CHIP_MEMORY"),
    (181, "ICW_ON_MODULE_MEMORY"),
    (182, "ICW_ON_DRAWER_MEMORY"),
    (183, "ICW_OFF_DRAWER_MEMORY"),
];

static SHARES_OF_Z16: Shares = [
    (Figure::Level2, &["_REQ", "REQ_IV"]),
    (
        Figure::Level3,
        &["REQ_CHIP_HIT", "ON_CHIP", "ON_CHIP_IV", "CHIP_CHIP_HIT"],
    ),
    (
        Figure::Local4,
        &[
            "REQ_DRAWER_HIT",
            "CHIP_DRAWER_HIT",
            "ON_MODULE",
            "ON_MODULE_IV",
            "MODULE_CHIP_HIT",
            "MODULE_DRAWER_HIT",
            "ON_DRAWER",
            "ON_DRAWER_IV",
            "ON_DRAWER_CHIP_HIT",
            "ON_DRAWER_DRAWER_HIT",
        ],
    ),
    (
        Figure::Remote4,
        &[
            "OFF_DRAWER",
            "OFF_DRAWER_IV",
            "OFF_DRAWER_CHIP_HIT",
            "OFF_DRAWER_DRAWER_HIT",
        ],
    ),
    (Figure::Memory, &["MEMORY"]),
];

fn of(generation: Generation) -> (Names, &'static Shares) {
    match generation {
        Generation::Z10 => (Z10, &SHARES_OF_Z10),
        Generation::Z196 => (Z196, &SHARES_OF_BOOKS),
        Generation::ZEc12 => (ZEC12, &SHARES_OF_BOOKS),
        Generation::Z13 => (Z13, &SHARES_OF_Z13),
        Generation::Z14 | Generation::Z15 => (Z14, &SHARES_OF_Z14),
        Generation::Z16 => (Z16, &SHARES_OF_Z16),
        Generation::Z17 => (&Z16[..35], &SHARES_OF_Z16),
    }
}

/// What [`distinct`] gives a counter.
fn value(number: u16) -> f64 {
    f64::from(number).powi(2)
}

/// The counters of a share.
fn share<'n>(names: Names, endings: &'n [&str]) -> impl Iterator<Item = u16> + use<'n> {
    names.iter().filter_map(|(number, name)| {
        let is_of_share = endings.iter().any(|ending| name.ends_with(ending));
        is_of_share.then_some(*number)
    })
}

#[test]
fn the_shares_of_each_model_are_of_the_counters_whose_names_say_so() {
    let misses = value(2) + value(4);
    for generation in Generation::ALL {
        let (names, shares) = of(generation);
        let counts = distinct(generation);
        for (figure, endings) in shares {
            let found = counts.figure(*figure, &Given::default());
            if endings.is_empty() {
                assert_eq!(found, Err(Lack::NotThere(generation)));
                continue;
            }
            let sum: f64 = share(names, endings).map(value).sum();
            let found = number(&counts, *figure);
            let name = (generation.name(), figure.name());
            assert!(sum > 0.0, "{name:?}");
            assert!((found - 100.0 * sum / misses).abs() < 1e-6, "{name:?}");
        }
    }
}

#[test]
fn every_counter_of_a_place_belongs_to_one_share() {
    for generation in Generation::ALL {
        let (names, shares) = of(generation);
        let mut numbers: Vec<u16> = shares
            .iter()
            .flat_map(|(_, endings)| share(names, endings))
            .collect();
        numbers.sort_unstable();
        let all: Vec<u16> = names.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, all, "{}", generation.name());
    }
}

/// L1C_TLB2_MISSES is 143; DTLB2_WRITES, DTLB2_MISSES, ITLB2_WRITES, ITLB2_MISSES are 129, 130, 134, 135. On z13 the
/// names have TLB1.
#[test]
fn estimates_from_z13_on_are_those_of_the_metrics_of_linux() {
    let since_z13 = Generation::ALL
        .into_iter()
        .filter(|g| *g >= Generation::Z13);
    for generation in since_z13 {
        let counts = distinct(generation);
        let [cycles, instructions, missing] = [0, 1, 143].map(value);
        let misses = value(2) + value(4);
        let penalties = value(3) + value(5);
        let (in_progress, writes) = (value(130) + value(135), value(129) + value(134));
        for (figure, expected) in [
            (Figure::Cpi, cycles / instructions),
            (Figure::ProblemState, 100.0 * value(33) / instructions),
            (Figure::L1Misses, 100.0 * misses / instructions),
            (Figure::FiniteCpi, missing / instructions),
            (Figure::EstimatedCpi, (cycles - missing) / instructions),
            (Figure::MissCycles, missing / misses),
            (
                Figure::TlbCycles,
                in_progress / writes * (missing / penalties),
            ),
        ] {
            let found = number(&counts, figure);
            let name = (generation.name(), figure.name());
            assert!((found - expected).abs() < 1e-6, "{name:?}");
        }
    }
}
