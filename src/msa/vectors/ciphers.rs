//! Texts that are enciphered: AES, DEA and TDEA, and XTS-AES.

/// SP 800-38A: the keys of all its examples with AES.
pub const AES_KEYS: [(u8, &str); 3] = [
    (18, "2b7e151628aed2a6abf7158809cf4f3c"),
    (19, "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b"),
    (
        20,
        "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
    ),
];

/// SP 800-38A: the text of all its examples.
pub const PLAIN: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710";

/// SP 800-38A: the initialization vector.
pub const CHAINING: &str = "000102030405060708090a0b0c0d0e0f";

/// SP 800-38A: the counter blocks of the counter mode.
pub const COUNTERS: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfefff0f1f2f3f4f5f6f7f8f9fafbfcfdff00
    f0f1f2f3f4f5f6f7f8f9fafbfcfdff01f0f1f2f3f4f5f6f7f8f9fafbfcfdff02";

/// SP 800-38A: electronic codebook, in the order of the keys.
pub const ECB: [&str; 3] = [
    "3ad77bb40d7a3660a89ecaf32466ef97f5d3d58503b9699de785895a96fdbaaf
         43b1cd7f598ece23881b00e3ed0306887b0c785e27e8ad3f8223207104725dd4",
    "bd334f1d6e45f25ff712a214571fa5cc974104846d0ad3ad7734ecb3ecee4eef
         ef7afd2270e2e60adce0ba2face6444e9a4b41ba738d6c72fb16691603c18e0e",
    "f3eed1bdb5d2a03c064b5a7e3db181f8591ccb10d410ed26dc5ba74a31362870
         b6ed21b99ca6f4f9f153e7b1beafed1d23304b7a39f9f3ff067d8d8f9e24ecc7",
];

/// SP 800-38A: cipher block chaining, in the order of the keys.
pub const CBC: [&str; 3] = [
    "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2
         73bed6b8e3c1743b7116e69e222295163ff1caa1681fac09120eca307586e1a7",
    "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a
         571b242012fb7ae07fa9baac3df102e008b0e27988598881d920a9e64f5615cd",
    "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d
         39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b",
];

/// SP 800-38A: cipher feedback of whole blocks, in the order of the keys.
pub const CFB: [&str; 3] = [
    "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b
         26751f67a3cbb140b1808cf187a4f4dfc04b05357c5d1c0eeac4c66f9ff7f2e6",
    "cdc80d6fddf18cab34c25909c99a417467ce7f7f81173621961a2b70171d3d7a
         2e1e8a1dd59b88b1c8e60fed1efac4c9c05f9f9ca9834fa042ae8fba584b09ff",
    "dc7e84bfda79164b7ecd8486985d386039ffed143b28b1c832113c6331e5407b
         df10132415e54b92a13ed0a8267ae2f975a385741ab9cef82031623d55b1e471",
];

/// SP 800-38A: output feedback, in the order of the keys.
pub const OFB: [&str; 3] = [
    "3b3fd92eb72dad20333449f8e83cfb4a7789508d16918f03f53c52dac54ed825
         9740051e9c5fecf64344f7a82260edcc304c6528f659c77866a510d9c1d6ae5e",
    "cdc80d6fddf18cab34c25909c99a4174fcc28b8d4c63837c09e81700c1100401
         8d9a9aeac0f6596f559c6d4daf59a5f26d9f200857ca6c3e9cac524bd9acc92a",
    "dc7e84bfda79164b7ecd8486985d38604febdc6740d20b3ac88f6ad82a4fb08d
         71ab47a086e86eedf39d1c5bba97c4080126141d67f37be8538f5a8be740e484",
];

/// SP 800-38A: counter mode, in the order of the keys.
pub const CTR: [&str; 3] = [
    "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff
         5ae4df3edbd5d35e5b4f09020db03eab1e031dda2fbe03d1792170a0f3009cee",
    "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94
         1e36b26bd1ebc670d1bd1d665620abf74f78a7f6d29809585a97daec58c6b050",
    "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5
         2b0930daa23de94ce87017ba2d84988ddfc9c58db67aada613c2dd08457941a6",
];

/// FIPS 81: "Now is the time for all ".
pub const TIME: &str = "4e6f77206973207468652074696d6520666f7220616c6c20";

/// FIPS 81: the key.
pub const DEA_KEY: &str = "0123456789abcdef";

/// FIPS 81: the initialization vector.
pub const DEA_CHAINING: &str = "1234567890abcdef";

/// FIPS 81: electronic codebook.
pub const DEA_ECB: &str = "3fa40e8a984d48156a271787ab8883f9893d51ec4b563b53";

/// FIPS 81: cipher block chaining.
pub const DEA_CBC: &str = "e5c7cdde872bf27c43e934008c389c0f683788499a7c05f6";

/// FIPS 81: cipher feedback of whole blocks.
pub const DEA_CFB: &str = "f3096249c7f46e51a69e839b1a92f78403467133898ea622";

/// FIPS 81: cipher feedback of single bytes, the first ten.
pub const DEA_CFB_8: &str = "f31fda07011462ee187f";

/// FIPS 81: output feedback.
pub const DEA_OFB: &str = "f3096249c7f46e5135f24a242eeb3d3f3d6d5be3255af8c3";

/// SP 800-67: three keys.
pub const TDEA_KEYS: &str = "0123456789abcdef23456789abcdef01456789abcdef0123";

/// SP 800-67: "The qufck brown fox jump", as it is printed there.
pub const FOX: &str = "54686520717566636b2062726f776e20666f78206a756d70";

/// SP 800-67: that text under these keys.
pub const TDEA_ECB: &str = "a826fd8ce53b855fcce21c8112256fe668d5c05dd9b6b900";

/// A vector of IEEE 1619.
pub struct Xts {
    /// The function code.
    pub code: u8,
    /// The key of the text, and the key of the tweak.
    pub keys: [&'static str; 2],
    /// The data unit's number, lowest byte first.
    pub tweak: &'static str,
    /// The first 32 bytes of the ciphertext.
    pub head: &'static str,
}

/// IEEE 1619, vector 2: 32 bytes of 44 hex.
pub const XTS_2: Xts = Xts {
    code: 50,
    keys: [
        "11111111111111111111111111111111",
        "22222222222222222222222222222222",
    ],
    tweak: "33333333330000000000000000000000",
    head: "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
};

/// IEEE 1619, vector 10: the bytes 0 to 255, twice.
pub const XTS_10: Xts = Xts {
    code: 52,
    keys: [
        "2718281828459045235360287471352662497757247093699959574966967627",
        "3141592653589793238462643383279502884197169399375105820974944592",
    ],
    tweak: "ff000000000000000000000000000000",
    head: "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b",
};
