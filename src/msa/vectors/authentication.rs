//! Codes that authenticate: Galois/counter mode, FIPS 113 and CMAC.

/// Galois/counter mode: the longest key; the shorter ones are its beginning.
pub const GCM_KEY: &str = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";

/// Galois/counter mode: the text of test cases 4 to 6 and of the corresponding ones with longer keys.
pub const GCM_TEXT: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
    1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";

/// Galois/counter mode: the additional authenticated data.
pub const GCM_ADDITIONAL: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";

/// Galois/counter mode: the initial counter value of test case 4.
pub const GCM_COUNTER: &str = "cafebabefacedbaddecaf88800000001";

/// Galois/counter mode: bytes of the key, ciphertext and tag.
pub const GCM: [(u8, usize, &str, &str); 3] = [
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

/// Galois/counter mode, test case 6: an initialization vector of 60 bytes.
pub const GCM_VECTOR_6: &str = "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728
    c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b";

/// Galois/counter mode, test case 6: the resulting initial counter value.
pub const GCM_COUNTER_6: &str = "3bab75780a31c059f83d2a44752f9864";

/// FIPS 113: the message, padded with zeros; the key is that of FIPS 81.
pub const MAC_MESSAGE: &[u8; 32] = b"7654321 Now is the time for \0\0\0\0";

/// FIPS 113: its authentication code.
pub const MAC: &str = "f1d30f6849312ca4";

/// SP 800-38B: key, lengths of the beginning of [`PLAIN`], and their authentication codes.
pub const CMAC: [(u8, &str, [usize; 4], [&str; 4]); 5] = [
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
