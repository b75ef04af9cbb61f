//! Signatures and products on elliptic curves.

/// RFC 6979, appendix A.2: one curve's numbers, and the message "sample".
pub struct Sample {
    /// The function code of KDSA to verify.
    pub verify: u8,
    /// The function code of KDSA to sign.
    pub sign: u8,
    /// The function code of PCC to multiply.
    pub multiply: u8,
    /// The generator of the curve.
    pub generator: [&'static str; 2],
    /// The digest of the message.
    pub digest: &'static str,
    /// The private key.
    pub private: &'static str,
    /// The public key.
    pub public: [&'static str; 2],
    /// The nonce of the message and the key.
    pub nonce: &'static str,
    /// The signature.
    pub signature: [&'static str; 2],
}

/// RFC 6979: P-256, P-384 and P-521, each with a digest of its length.
pub const SAMPLES: [Sample; 3] = [
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

/// RFC 8032, section 7.1: private key, public key, message, signature.
pub const ED25519: [[&str; 4]; 3] = [
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

/// RFC 8032: the base point, each coordinate highest byte first.
pub const BASE_POINT: [&str; 2] = [
    "216936d3cd6e53fec0a4e231fdd6dc5c692cc7609525a7b2c9562d608f25d51a",
    "6666666666666666666666666666666666666666666666666666666666666658",
];

/// RFC 7748: a scalar, lowest byte first, before its bits are set.
pub const X25519_SCALAR: &str = "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4";

/// RFC 7748: the point that it multiplies, lowest byte first.
pub const X25519_POINT: &str = "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c";

/// RFC 7748: the product, lowest byte first.
pub const X25519_PRODUCT: &str = "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552";
