//! Published known answers, through the instructions: every function that is offered gives the answer
//! of the document that defines it.
//!
//! FIPS 197 and SP 800-38A (AES), FIPS 81 and 113 and SP 800-67 (DEA, TDEA), IEEE 1619 (XTS), SP 800-38B
//! (CMAC), SP 800-38D (GCM, GHASH), FIPS 180 and 202 (digests), SP 800-90A (random numbers), RFC 6979,
//! 8032 and 7748 (curves).
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use guests::check::{check, holds};
use guests::insn::assist::{
    Instruction, MODIFIER, Registers, all, kdsa, kimd, klmd, km, kma, kmac, kmc, kmctr, kmf, kmo,
    pcc, pckmo, prno, query,
};
use guests::insn::cpu::stfle;
use guests::supervisor::task::with_heap;

guests::clause!(
    "Principles of Operation, message-security assist: every function",
    native = false,
    options = "--cryptography"
);
guests::guest!(run);

const KEYS: [(u64, &str); 3] = [
    (18, "2b7e151628aed2a6abf7158809cf4f3c"),
    (19, "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"),
    (
        20,
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
    ),
];
const ECB: [&str; 3] = [
    "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf
         43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
    "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef
         ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
    "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870
         b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
];
const CBC: [&str; 3] = [
    "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2
         73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
    "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a
         571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
    "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d
         39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
];
const CFB: [&str; 3] = [
    "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b
         26751f67a3cbb140b1808cf187a4f4dfc04b05357c5d1c0eeac4c66f9ff7f2e6",
    "cdc80d6fddf18cab34c25909c99a417467ce7f7f81173621961a2b70171d3d7a
         2e1e8a1dd59b88b1c8e60fed1efac4c9c05f9f9ca9834fa042ae8fba584b09ff",
    "dc7e84bfda79164b7ecd8486985d386039ffed143b28b1c832113c6331e5407b
         df10132415e54b92a13ed0a8267ae2f975a385741ab9cef82031623d55b1e471",
];
const OFB: [&str; 3] = [
    "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825
         9740051e9c5fecf64344f7a82260edcc304c6528f659c77866a510d9c1d6ae5e",
    "cdc80d6fddf18cab34c25909c99a4174fcc28b8d4c63837c09e81700c1100401
         8d9a9aeac0f6596f559c6d4daf59a5f26d9f200857ca6c3e9cac524bd9acc92a",
    "dc7e84bfda79164b7ecd8486985d38604febdc6740d20b3ac88f6ad82a4fb08d
         71ab47a086e86eedf39d1c5bba97c4080126141d67f37be8538f5a8be740e484",
];
const CTR: [&str; 3] = [
    "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
];
const GCM: [(u64, usize, &str, &str); 3] = [
    (
        18,
        16,
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
             21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
        "5bc94fbc3221a5db94fae95ae7121a47",
    ),
    (
        19,
        24,
        "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c
             7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
        "2519498e80f1478f37ba55bd6d27618c",
    ),
    (
        20,
        32,
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
             8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        "76fc6ece0f4e1768cddf8853bb2d551b",
    ),
];
const CMAC: [(u64, &str, [usize; 4], [&str; 4]); 5] = [
    (
        18,
        "2b7e151628aed2a6abf7158809cf4f3c",
        [0, 16, 40, 64],
        [
            "bb1d6929e95937287fa37d129b756746",
            "070a16b46b4d4144f79bdd9dd04a287c",
            "dfa66747de9ae63030ca32611497c827",
            "51f0bebf7e3b9d92fc49741779363cfe",
        ],
    ),
    (
        19,
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
        [0, 16, 40, 64],
        [
            "d17ddf46adaacde531cac483de7a9367",
            "9e99a7bf31e710900662f65e617c5184",
            "8a1de5be2eb31aad089a82e6ee908b0e",
            "a1d5df0eed790f794d77589659f39a11",
        ],
    ),
    (
        20,
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
        [0, 16, 40, 64],
        [
            "028962f61b7bf89efc6b551f4667d983",
            "28a7023f452e8f82bd4bf28d8c37c35c",
            "aaf3d8f1de5640c232f5b169b9c911e6",
            "e1992190549f6ed5696a2c056c315410",
        ],
    ),
    (
        2,
        "4cf15134a2850dd58a3d10ba80570d38",
        [0, 8, 20, 32],
        [
            "bd2ebf9a3ba00361",
            "4ff2ab813c53ce83",
            "62dd1b471902bd4e",
            "31b1e431dabc4eb8",
        ],
    ),
    (
        3,
        "8aa83bf8cbda10620bc1bf19fbb6cd58bc313d4a371ca8b5",
        [0, 8, 20, 32],
        [
            "b7a688e122ffaf95",
            "8e8f293136283797",
            "743ddbe0ce2dc2ed",
            "33e6b1092400eae5",
        ],
    ),
];
const SHA_3: [(u64, [&str; 3]); 4] = [
    (
        32,
        [
            "6b4e03423667dbb73b6e15454f0eb1abd4597f9a1b078e3f5b5a6bc7",
            "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf",
            "9376816aba503f72f96ce7eb65ac095deee3be4bf9bbc2a1cb7e11e0",
        ],
    ),
    (
        33,
        [
            "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a",
            "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
            "79f38adec5c20307a98ef76e8324afbfd46cfd81b22e3973c65fa1bd9de31787",
        ],
    ),
    (
        34,
        [
            "0c63a75b845e4f7d01107d852e4c2485c51a50aaaa94fc61995e71bbee983a2a
                 c3713831264adb47fb6bd1e058d5f004",
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b2
                 98d88cea927ac7f539f1edf228376d25",
            "1881de2ca7e41ef95dc4732b8f5f002b189cc1e42b74168ed1732649ce1dbcdd
                 76197a31fd55ee989f2d7050dd473e8f",
        ],
    ),
    (
        35,
        [
            "a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a6
                 15b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26",
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e
                 10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
            "e76dfad22084a8b1467fcf2ffa58361bec7628edf5f3fdc0e4805dc48caeeca8
                 1b7c13c30adf52a3659584739a2df46be589c51ca1a4a8416df6545a1ce8ba00",
        ],
    ),
];
const DRNG: &str = "95b7f17e9802d3577392c6a9c08083b67dd1292265b5f42d237f1c55bb9b10bf
             cfd82c77a378b8266a0099143b3c2d64611eeeb69acdc055957c139e8b190c7a
             06955f2c797c2778de940396a501f40e91396acf8d7e45ebdbb53bbf8c975230
             d2f0ff9106c76119ae498e7fbc03d90f8e4c51627aed5c8d4263d5d2b978873a
             0de596ee6dc7f7c29e37eee8b34c90dd1cf6a9ddb22b4cbd086b14b35de93da2
             d5cb1806698cbd7bbb67bfe3d31fd2d1dbd2a1e058a3eb99d7e51f1a938eed5e
             1c1de23a6b4345d3191409f92f39b3670d8dbf b635d8e6a36932d81033d1448d
             63b403ddf88e121b6e819ac381226c1321e4b08644f6727c368c5a9f7a4b3ee2";
const BASE_POINT: [&str; 2] = [
    "216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51a",
    "6666666666666666666666666666666666666666666666666666666666666658",
];

struct Sample {
    verify: u64,
    sign: u64,
    multiply: u64,
    generator: [&'static str; 2],
    digest: &'static str,
    private: &'static str,
    public: [&'static str; 2],
    nonce: &'static str,
    signature: [&'static str; 2],
}
const SAMPLES: [Sample; 3] = [
    Sample {
        verify: 1,
        sign: 9,
        multiply: 64,
        generator: [
            "6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296",
            "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5",
        ],
        digest: "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf",
        private: "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
        public: [
            "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
            "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
        ],
        nonce: "a6e3c57dd01abe90086538398355dd4c3b17aa873382b0f24d6129493d8aad60",
        signature: [
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
            "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
        ],
    },
    Sample {
        verify: 2,
        sign: 10,
        multiply: 65,
        generator: [
            "aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b98
             59f741e082542a385502f25dbf55296c3a545e3872760ab7",
            "3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147c
             e9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f",
        ],
        digest: "9a9083505bc92276aec4be312696ef7bf3bf603f4bbd3811
            96a029f340585312313bca4a9b5b890efee42c77b1ee25fe",
        private: "6b9d3dad2e1b8c1c05b19875b6659f4de23c3b667bf297ba
            9aa47740787137d896d5724e4c70a825f872c9ea60d2edf5",
        public: [
            "ec3a4e415b4e19a4568618029f427fa5da9a8bc4ae92e02e
             06aae5286b300c64def8f0ea9055866064a254515480bc13",
            "8015d9b72d7d57244ea8ef9ac0c621896708a59367f9dfb9
             f54ca84b3f1c9db1288b231c3ae0d4fe7344fd2533264720",
        ],
        nonce: "94ed910d1a099dad3254e9242ae85abde4ba15168eaf0ca8
            7a555fd56d10fbca2907e3e83ba95368623b8c4686915cf9",
        signature: [
            "94edbb92a5ecb8aad4736e56c691916b3f88140666ce9fa7
             3d64c4ea95ad133c81a648152e44acf96e36dd1e80fabe46",
            "99ef4aeb15f178cea1fe40db2603138f130e740a19624526
             203b6351d0a3a94fa329c145786e679e7b82c71a38628ac8",
        ],
    },
    Sample {
        verify: 3,
        sign: 11,
        multiply: 66,
        generator: [
            "000000000000000000000000000000c6858e06b70404e9cd9e3ecb66
             2395b4429c648139053fb521f828af606b4d3dbaa14b5e77efe7
             5928fe1dc127a2ffa8de3348b3c1856a429bf97e7e31c2e5bd66",
            "0000000000000000000000000000011839296a789a3bc0045c8a5fb4
             2c7d1bd998f54449579b446817afbd17273e662c97ee72995ef4
             2640c550b9013fad0761353c7086a272c24088be94769fd16650",
        ],
        digest: "0000000000000000000000000000000039a5e04aaff7455d9850c605
             364f514c11324ce64016960d23d5dc57d3ffd8f49a739468ab80
             49bf18eef820cdb1ad6c9015f838556bc7fad4138b23fdf986c7",
        private: "000000000000000000000000000000fad06daa62ba3b25d2fb40133d
             a757205de67f5bb0018fee8c86e1b68c7e75caa896eb32f1f47c
             70855836a6d16fcc1466f6d8fbec67db89ec0c08b0e996b83538",
        public: [
            "000000000000000000000000000001894550d0785932e00eaa23b694
             f213f8c3121f86dc97a04e5a7167db4e5bcd371123d46e45db6b
             5d5370a7f20fb633155d38ffa16d2bd761dcac474b9a2f5023a4",
            "000000000000000000000000000000493101c962cd4d2fddf782285e
             64584139c2f91b47f87ff82354d6630f746a28a0db25741b5b34
             a828008b22acc23f924faafbd4d33f81ea66956dfeaa2bfdfcf5",
        ],
        nonce: "000000000000000000000000000001dae2ea071f8110dc26882d4d5e
             ae0621a3256fc8847fb9022e2b7d28e6f10198b1574fdd03a905
             3c08a1854a168aa5a57470ec97dd5ce090124ef52a2f7ecbffd3",
        signature: [
            "000000000000000000000000000000c328fafcbd79dd77850370c463
             25d987cb525569fb63c5d3bc53950e6d4c5f174e25a1ee9017b5
             d450606add152b534931d7d4e8455cc91f9b15bf05ec36e377fa",
            "000000000000000000000000000000617cce7cf5064806c467f678d3
             b4080d6f1cc50af26ca209417308281b68af282623eaa63e5b5c
             0723d8b8c37ff0777b1a20f8ccb1dccc43997f1ee0e44da4a67a",
        ],
    },
];
const ED25519: [[&str; 4]; 3] = [
    [
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155
         5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da
         085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac
         18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
];

const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";
const CHAINING: &str = "000102030405060708090a0b0c0d0e0f";
const TIME: &str = "4e6f77206973207468652074696d6520666f7220616c6c20";
const FOX: &str = "54686520717566636b2062726f776e20666f78206a756d70";
const GCM_KEY: &str = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
const GCM_TEXT: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
const GCM_ADDITIONAL: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
const SHA_512: &str = "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1
    510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179";

/// The bytes that `digits` spells; white space between them does not matter.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(u8::is_ascii_hexdigit)
        .map(|digit| (digit & 15) + if digit > b'9' { 9 } else { 0 })
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn joined(parts: &[&str]) -> Vec<u8> {
    parts.iter().flat_map(|part| hex(part)).collect()
}

/// Each 32 bytes with the highest byte first.
fn reversed(digits: &str) -> Vec<u8> {
    hex(digits)
        .chunks(32)
        .flat_map(|field| field.iter().rev().copied())
        .collect()
}

/// The functions of one instruction, of which some have been shown.
struct Shown {
    name: &'static str,
    instruction: Instruction,
    codes: u128,
}

impl Shown {
    fn new(name: &'static str, instruction: Instruction) -> Self {
        Self {
            name,
            instruction,
            codes: 1 << 127,
        }
    }

    /// An answer of function `control` was right, or not.
    fn answer(&mut self, control: u64, right: bool) {
        if !right {
            guests::println!("{} {:x}:", self.name, control);
            holds("  the known answer", false);
        }
        self.codes |= 1 << (127 - (control & 0x7F));
    }

    /// Enciphers to `cipher` and deciphers back.
    fn both_ways(&mut self, control: u64, parameter: &[u8], plain: &[u8], cipher: &[u8]) {
        for (modifier, from, to) in [(0, plain, cipher), (MODIFIER, cipher, plain)] {
            let mut parameter = parameter.to_vec();
            let mut output = vec![0; from.len()];
            let mut registers = Registers::new(control | modifier, &mut parameter)
                .first(&mut output)
                .second(from);
            let cc = all(self.instruction, &mut registers);
            self.answer(control, cc == 0 && output == to);
        }
    }

    /// Takes a message in; the parameter block then begins with `expected`.
    fn digest(&mut self, control: u64, parameter: &[u8], message: &[u8], expected: &[u8]) {
        let mut parameter = parameter.to_vec();
        let mut registers = Registers::new(control, &mut parameter).second(message);
        let cc = all(self.instruction, &mut registers);
        self.answer(control, cc == 0 && parameter[..expected.len()] == *expected);
    }

    /// Computes in the parameter block; `expected` stands at `at` then.
    fn compute(&mut self, control: u64, parameter: &[u8], at: usize, expected: &[u8]) {
        let mut parameter = parameter.to_vec();
        let cc = all(
            self.instruction,
            &mut Registers::new(control, &mut parameter),
        );
        self.answer(
            control,
            cc == 0 && parameter[at..at + expected.len()] == *expected,
        );
    }

    /// Every function that the query offers has been shown.
    fn end(self) {
        let offered = query(self.instruction);
        check(self.name, self.codes, offered);
    }
}

fn block_ciphers() {
    let mut km = Shown::new("KM", km);
    let mut kmc = Shown::new("KMC", kmc);
    let mut kmf = Shown::new("KMF", kmf);
    let mut kmo = Shown::new("KMO", kmo);
    let mut counter = Shown::new("KMCTR", kmctr);
    let plain = hex(PLAIN);
    for (n, (code, key)) in KEYS.into_iter().enumerate() {
        let chained = joined(&[CHAINING, key]);
        km.both_ways(code, &hex(key), &plain, &hex(ECB[n]));
        kmc.both_ways(code, &chained, &plain, &hex(CBC[n]));
        kmf.both_ways(code | 16 << 24, &chained, &plain, &hex(CFB[n]));
        kmo.both_ways(code, &chained, &plain, &hex(OFB[n]));
        let counters = hex(
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff0f1f2f3f4f5f6f7f8f9fafbfcfdff00
             f0f1f2f3f4f5f6f7f8f9fafbfcfdff01f0f1f2f3f4f5f6f7f8f9fafbfcfdff02",
        );
        counter.counters(code, &hex(key), &counters, &plain, &hex(CTR[n]));
    }
    // FIPS 81; with equal keys TDEA is DEA.
    let (key, chaining, time) = ("0123456789abcdef", "1234567890abcdef", hex(TIME));
    for copies in 1..=3 {
        let keys: Vec<u8> = (0..copies).flat_map(|_| hex(key)).collect();
        let chained = [hex(chaining), keys.clone()].concat();
        let code = copies as u64;
        km.both_ways(
            code,
            &keys,
            &time,
            &hex("3fa40e8a984d48156a271787ab8883f9893d51ec4b563b53"),
        );
        kmc.both_ways(
            code,
            &chained,
            &time,
            &hex("e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6"),
        );
        kmf.both_ways(
            code | 8 << 24,
            &chained,
            &time,
            &hex("f3096249c7f46e51a69e839b1a92f78403467133898ea622"),
        );
        kmf.both_ways(
            code | 1 << 24,
            &chained,
            &time[..10],
            &hex("f31fda07011462ee187f"),
        );
        kmo.both_ways(
            code,
            &chained,
            &time,
            &hex("f3096249c7f46e5135f24a242eeb3d3f3d6d5be3255af8c3"),
        );
        // The enciphered counters are the text's own answers, to a text of zeros.
        counter.counters(
            code,
            &keys,
            &time,
            &[0; 24],
            &hex("3fa40e8a984d48156a271787ab8883f9893d51ec4b563b53"),
        );
    }
    // SP 800-67.
    km.both_ways(
        3,
        &hex("0123456789abcdef23456789abcdef01456789abcdef0123"),
        &hex(FOX),
        &hex("a826fd8ce53b855fcce21c8112256fe668d5c05dd9b6b900"),
    );
    xts(&mut km);
    for shown in [km, kmc, kmf, kmo, counter] {
        shown.end();
    }
}

impl Shown {
    fn counters(&mut self, code: u64, key: &[u8], counters: &[u8], plain: &[u8], cipher: &[u8]) {
        let (mut key, mut output) = (key.to_vec(), vec![0; plain.len()]);
        let mut registers = Registers::new(code, &mut key)
            .first(&mut output)
            .second(plain)
            .third(counters);
        let cc = all(self.instruction, &mut registers);
        self.answer(code, cc == 0 && output == cipher);
    }
}

/// Vectors 2 and 10 of IEEE 1619, with the parameter that PCC computes.
fn xts(km: &mut Shown) {
    let long: Vec<u8> = (0..512).map(|n| n as u8).collect();
    for (code, keys, tweak, plain, head) in [
        (
            50,
            [
                "11111111111111111111111111111111",
                "22222222222222222222222222222222",
            ],
            "33333333330000000000000000000000",
            vec![0x44; 32],
            "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
        ),
        (
            52,
            [
                "2718281828459045235360287471352662497757247093699959574966967627",
                "3141592653589793238462643383279502884197169399375105820974944592",
            ],
            "ff000000000000000000000000000000",
            long,
            "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b",
        ),
    ] {
        let mut prepared = joined(&[keys[1], tweak]);
        let at = prepared.len() + 32;
        prepared.resize(at + 16, 0);
        let cc = all(pcc, &mut Registers::new(code, &mut prepared));
        holds("PCC computes the XTS parameter", cc == 0);
        let parameter = [hex(keys[0]), prepared[at..].to_vec()].concat();
        let (mut block, mut cipher) = (parameter.clone(), vec![0; plain.len()]);
        all(
            km.instruction,
            &mut Registers::new(code, &mut block)
                .first(&mut cipher)
                .second(&plain),
        );
        km.answer(code, cipher[..32] == *hex(head));
        km.both_ways(code, &parameter, &plain, &cipher);
    }
}

fn authentication() {
    let mut shown = Shown::new("KMA", kma);
    for (code, key, cipher, tag) in GCM {
        let (plain, cipher) = (hex(GCM_TEXT), hex(cipher));
        for (modifier, from, to) in [(0, &plain, &cipher), (MODIFIER, &cipher, &plain)] {
            let mut parameter = vec![0; 80];
            parameter[15] = 1;
            parameter[48..56].copy_from_slice(&160_u64.to_be_bytes());
            parameter[56..64].copy_from_slice(&480_u64.to_be_bytes());
            parameter[64..].copy_from_slice(&hex("cafebabefacedbaddecaf88800000001"));
            parameter.extend_from_slice(&hex(GCM_KEY)[..key]);
            let additional = hex(GCM_ADDITIONAL);
            let mut output = vec![0; 60];
            let mut registers = Registers::new(code | modifier | 0x300, &mut parameter)
                .first(&mut output)
                .second(from)
                .third(&additional);
            let cc = all(kma, &mut registers);
            shown.answer(
                code,
                cc == 0 && output == *to && parameter[16..32] == *hex(tag),
            );
        }
    }
    shown.end();
    // CMAC as a program computes it: KMAC for all blocks but the last, PCC for that.
    let mut mac = Shown::new("KMAC", kmac);
    mac.digest(
        1,
        &hex("00000000000000000123456789abcdef"),
        b"7654321 Now is the time for \0\0\0\0",
        &hex("f1d30f6849312ca4"),
    );
    let mut codes = 1_u128 << 127;
    let message = hex(PLAIN);
    for (code, key, lengths, answers) in CMAC {
        let block = if code < 18 { 8 } else { 16 };
        for (length, answer) in lengths.into_iter().zip(answers) {
            let before_last = length.saturating_sub(1) / block * block;
            let mut chaining = vec![0; block];
            chaining.extend(hex(key));
            let cc = all(
                kmac,
                &mut Registers::new(code, &mut chaining).second(&message[..before_last]),
            );
            let mut last = message[before_last..length].to_vec();
            let mut parameter = vec![8 * last.len() as u8, 0, 0, 0, 0, 0, 0, 0];
            last.resize(block, 0xA5);
            parameter.extend(last);
            parameter.extend(chaining);
            let computed = all(pcc, &mut Registers::new(code, &mut parameter));
            let right = cc | computed == 0 && parameter[8 + block..8 + 2 * block] == *hex(answer);
            mac.answer(code, right);
            codes |= 1 << (127 - code);
        }
    }
    mac.end();
    curves(codes);
}

/// PCC and KDSA; the functions of PCC that have been shown before.
fn curves(codes: u128) {
    let mut pcc = Shown::new("PCC", pcc);
    // CMAC with DEA is that with equal keys of TDEA; XTS was shown with KM.
    pcc.codes |= codes | 1 << (127 - 50) | 1 << (127 - 52);
    let dea = |copies: usize| {
        let mut parameter = vec![40, 0, 0, 0, 0, 0, 0, 0];
        parameter.extend(hex("6bc1bee22e000000 0000000000000000"));
        (0..copies).for_each(|_| parameter.extend(hex("0123456789abcdef")));
        let code = if copies == 1 { 1 } else { 3 };
        all(pcc.instruction, &mut Registers::new(code, &mut parameter));
        parameter[16..24].to_vec()
    };
    let same = dea(1) == dea(3);
    pcc.answer(1, same);
    let mut kdsa = Shown::new("KDSA", kdsa);
    for sample in &SAMPLES {
        let ([r, s], [x, y]) = (sample.signature, sample.public);
        let (length, public) = (hex(x).len(), joined(&[x, y]));
        let zeros = vec![0; 2 * length];
        let generator = [
            zeros.clone(),
            joined(&[sample.generator[0], sample.generator[1], sample.private]),
        ];
        pcc.compute(sample.multiply, &generator.concat(), 0, &public);
        let verify = joined(&[r, s, sample.digest, x, y]);
        kdsa.compute(sample.verify, &verify, 0, &verify);
        let mut wrong = verify;
        wrong[3 * length - 1] ^= 1;
        let cc = all(
            kdsa.instruction,
            &mut Registers::new(sample.verify, &mut wrong),
        );
        kdsa.answer(sample.verify, cc == 2);
        let sign = [
            zeros,
            joined(&[sample.digest, sample.private, sample.nonce]),
        ]
        .concat();
        kdsa.compute(sample.sign | MODIFIER, &sign, 0, &joined(&[r, s]));
    }
    for [private, public, message, signature] in ED25519 {
        let signature = reversed(signature);
        kdsa.digest(
            40,
            &[vec![0; 64], hex(private)].concat(),
            &hex(message),
            &signature,
        );
        let good = [signature, reversed(public)].concat();
        kdsa.digest(32, &good, &hex(message), &good);
        let mut longer = hex(message);
        longer.push(0);
        let mut bad = good.clone();
        let cc = all(
            kdsa.instruction,
            &mut Registers::new(32, &mut bad).second(&longer),
        );
        kdsa.answer(32, cc == 2);
    }
    for [private, public, ..] in ED25519 {
        // Key generation of RFC 8032, with KLMD and PCC.
        let mut digest = hex(SHA_512);
        digest.resize(80, 0);
        digest[78..].copy_from_slice(&256_u16.to_be_bytes());
        all(
            klmd,
            &mut Registers::new(3, &mut digest).second(&hex(private)),
        );
        digest[0] &= 248;
        digest[31] = digest[31] & 127 | 64;
        digest[..32].reverse();
        let mut expected = reversed(public);
        expected[0] &= 0x7F;
        let parameter = [vec![0; 64], joined(&BASE_POINT), digest[..32].to_vec()].concat();
        pcc.compute(72, &parameter, 32, &expected);
    }
    let mut scalar = hex("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4");
    scalar[0] &= 248;
    scalar[31] = scalar[31] & 127 | 64;
    scalar.reverse();
    let source = reversed("e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c");
    let product = reversed("c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552");
    pcc.compute(80, &[vec![0; 32], source, scalar].concat(), 0, &product);
    pcc.end();
    kdsa.end();
}

fn digests() {
    let mut last = Shown::new("KLMD", klmd);
    let mut intermediate = Shown::new("KIMD", kimd);
    for (code, initial, counter, digest) in [
        (
            1,
            "67452301efcdab8998badcfe10325476c3d2e1f0",
            8,
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        (
            2,
            "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19",
            8,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            3,
            SHA_512,
            16,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
    ] {
        let mut parameter = hex(initial);
        let end = parameter.len() + counter;
        parameter.resize(end, 0);
        parameter[end - 1] = 24;
        last.digest(code, &parameter, b"abc", &hex(digest));
        // What KLMD pads, padded by hand.
        let mut block = vec![0; if code == 3 { 128 } else { 64 }];
        block[..4].copy_from_slice(b"abc\x80");
        *block.last_mut().unwrap() = 24;
        intermediate.digest(code, &hex(initial), &block, &hex(digest));
    }
    for (code, answers) in SHA_3 {
        let rate = 200 - 2 * hex(answers[0]).len();
        for (message, answer) in [&b""[..], b"abc", &[0xA3; 200]].into_iter().zip(answers) {
            last.digest(code, &[0; 200], message, &hex(answer));
        }
        let mut block = vec![0; rate];
        block[..4].copy_from_slice(b"abc\x06");
        block[rate - 1] |= 0x80;
        intermediate.digest(code, &[0; 200], &block, &hex(answers[1]));
    }
    for (code, rate, head) in [
        (
            36,
            168,
            "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26",
        ),
        (
            37,
            136,
            "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f",
        ),
    ] {
        let (mut state, mut output) = (vec![0; 200], vec![0; 512]);
        let cc = all(
            klmd,
            &mut Registers::new(code, &mut state).first(&mut output),
        );
        last.answer(code, cc == 0 && output[..32] == *hex(head));
        let mut block = vec![0; rate];
        block[0] = 0x1F;
        block[rate - 1] |= 0x80;
        intermediate.digest(code, &[0; 200], &block, &hex(head));
    }
    // The initial counter value of test case 6 of the Galois/counter mode.
    let mut vector = hex(
        "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728
         c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b",
    );
    vector.resize(72, 0);
    vector.extend(480_u64.to_be_bytes());
    let (mut key, mut subkey) = (hex(GCM_KEY)[..16].to_vec(), vec![0; 16]);
    all(
        km,
        &mut Registers::new(18, &mut key)
            .first(&mut subkey)
            .second(&[0; 16]),
    );
    let parameter = [vec![0; 16], subkey].concat();
    intermediate.digest(
        65,
        &parameter,
        &vector,
        &hex("3bab75780a31c059f83d2a44752f9864"),
    );
    last.end();
    intermediate.end();
}

fn random_numbers() {
    let mut shown = Shown::new("PRNO", prno);
    let mut parameter = vec![0; 240];
    let seed = hex("6b50a7d8f8a55d7a3df8bb40bcc3b722d8708de67fda010b
         03c4c84d72096f8c3ec649cc6256d9fa31db7a2904aaf025");
    all(
        prno,
        &mut Registers::new(3 | MODIFIER, &mut parameter).second(&seed),
    );
    let mut output = vec![0; 256];
    for _ in 0..2 {
        all(
            prno,
            &mut Registers::new(3, &mut parameter).first(&mut output),
        );
    }
    let answer = hex(DRNG);
    shown.answer(3, output == answer);
    shown.compute(112, &[0; 8], 0, &[0, 0, 0, 4, 0, 0, 0, 1]);
    if query(prno) >> (127 - 114) & 1 == 1 {
        let (mut raw, mut conditioned) = (vec![0; 100], vec![0; 100]);
        let mut registers = Registers::new(114, &mut []).first(&mut raw);
        registers.second = (conditioned.as_mut_ptr() as u64, 100);
        let cc = all(prno, &mut registers);
        let random = |bytes: &[u8]| bytes.iter().any(|&byte| byte != bytes[0]);
        shown.answer(
            114,
            cc == 0 && random(&raw) && random(&conditioned) && raw != conditioned,
        );
    }
    shown.end();
}

fn run() {
    with_heap(answer);
}

extern "C" fn answer() {
    let mut list = [0; 4];
    stfle(&mut list);
    for bit in [17, 57, 76, 77, 146, 155] {
        let shown = list[bit / 64] >> (63 - bit % 64) & 1;
        check("facility", (bit as u64) << 4 | shown, (bit as u64) << 4 | 1);
    }
    block_ciphers();
    authentication();
    digests();
    random_numbers();
    Shown::new("PCKMO, the query alone", pckmo).end();
}
