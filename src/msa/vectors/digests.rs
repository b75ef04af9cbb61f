//! Digests, and the random numbers made from them.

/// FIPS 180: the initial value of SHA-1.
pub const SHA_1: &str = "67452301efcdab8998badcfe10325476c3d2e1f0";

/// FIPS 180: the initial value of SHA-256.
pub const SHA_256: &str = "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19";

/// FIPS 180: the initial value of SHA-512.
pub const SHA_512: &str = "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1
    510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179";

/// FIPS 180: SHA-1 of "abc".
pub const SHA_1_OF_ABC: &str = "a9993e364706816aba3e25717850c26c9cd0d89d";

/// FIPS 180: SHA-256 of "abc".
pub const SHA_256_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// FIPS 180: SHA-512 of "abc".
pub const SHA_512_OF_ABC: &str = "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a
    2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f";

/// FIPS 202: SHA3 of nothing, of "abc" and of 200 bytes of A3 hex.
pub const SHA_3: [(u8, [&str; 3]); 4] = [
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

/// FIPS 202: the first 32 bytes of SHAKE128 and SHAKE256 of nothing.
pub const SHAKE_OF_NOTHING: [(u8, &str); 2] = [
    (
        36,
        "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26",
    ),
    (
        37,
        "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f",
    ),
];

/// SP 800-90A, Hash_DRBG with SHA-512: entropy and nonce.
pub const DRNG_SEED: &str = "6b50a7d8f8a55d7a3df8bb40bcc3b722d8708de67fda010b
    03c4c84d72096f8c3ec649cc6256d9fa31db7a2904aaf025";

/// SP 800-90A: the result of the second request for 256 bytes.
pub const DRNG: &str = "95b7f17e9802d3577392c6a9c08083b67dd1292265b5f42d237f1c55bb9b10bf
             cfd82c77a378b8266a0099143b3c2d64611eeeb69acdc055957c139e8b190c7a
             06955f2c797c2778de940396a501f40e91396acf8d7e45ebdbb53bbf8c975230
             d2f0ff9106c76119ae498e7fbc03d90f8e4c51627aed5c8d4263d5d2b978873a
             0de596ee6dc7f7c29e37eee8b34c90dd1cf6a9ddb22b4cbd086b14b35de93da2
             d5cb1806698cbd7bbb67bfe3d31fd2d1dbd2a1e058a3eb99d7e51f1a938eed5e
             1c1de23a6b4345d3191409f92f39b3670d8dbf b635d8e6a36932d81033d1448d
             63b403ddf88e121b6e819ac381226c1321e4b08644f6727c368c5a9f7a4b3ee2";
