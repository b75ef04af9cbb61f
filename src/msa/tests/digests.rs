//! KIMD and KLMD: FIPS 180-4 and FIPS 202.

use super::*;

const TWO_BLOCKS: &[u8] = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
const TWO_LONG_BLOCKS: &[u8] = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn\
    hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";

/// KLMD over a message that begins with `initial`, for the length field of `length` bytes.
fn secure_hash(code: u8, initial: &str, length: usize, message: &[u8]) -> Vec<u8> {
    let klmd = function(Instruction::Klmd, code);
    let mut parameter = hex(initial);
    let bits = (8 * message.len() as u128).to_be_bytes();
    parameter.extend_from_slice(&bits[16 - length..]);
    assert_eq!(parameter.len(), klmd.parameter_length());
    let whole =
        message.len() / klmd.data_block(Control::default()) * klmd.data_block(Control::default());
    klmd.digest(&mut parameter, &message[..whole]);
    klmd.digest_last(&mut parameter, &message[whole..]);
    parameter[klmd.updated()].to_vec()
}

const SHA_1: &str = "67452301efcdab8998badcfe10325476c3d2e1f0";
const SHA_256: &str = "6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19";
const SHA_512: &str = "6a09e667f3bcc908bb67ae8584caa73b3c6ef372fe94f82ba54ff53a5f1d36f1
    510e527fade682d19b05688c2b3e6c1f1f83d9abfb41bd6b5be0cd19137e2179";
const SHA_384: &str = "cbbb9d5dc1059ed8629a292a367cd5079159015a3070dd17152fecd8f70e5939
    67332667ffc00b318eb44a8768581511db0c2e0d64f98fa747b5481dbefa4fa4";

#[test]
fn klmd_sha_1_gives_the_answers_of_fips_180() {
    for (message, digest) in [
        (&b"abc"[..], "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (TWO_BLOCKS, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (TWO_LONG_BLOCKS, "a49b2446a02c645bf419f995b67091253a04a259"),
        (
            &[b'a'; 1_000_000],
            "34aa973cd4c4daa4f61eeb2bdbad27316534016f",
        ),
        (b"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ] {
        assert_eq!(secure_hash(1, SHA_1, 8, message), hex(digest));
    }
}

#[test]
fn klmd_sha_256_gives_the_answers_of_fips_180() {
    for (message, digest) in [
        (
            &b"abc"[..],
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            TWO_BLOCKS,
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (
            TWO_LONG_BLOCKS,
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
        ),
        (
            b"",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
    ] {
        assert_eq!(secure_hash(2, SHA_256, 8, message), hex(digest));
    }
}

#[test]
fn klmd_sha_512_gives_the_answers_of_fips_180() {
    for (message, digest) in [
        (
            &b"abc"[..],
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            TWO_BLOCKS,
            "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c335
             96fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd70354ec631238ca3445",
        ),
        (
            TWO_LONG_BLOCKS,
            "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018
             501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
        ),
    ] {
        assert_eq!(secure_hash(3, SHA_512, 16, message), hex(digest));
    }
}

#[test]
fn sha_384_is_sha_512_from_another_chaining_value() {
    let digest = secure_hash(3, SHA_384, 16, b"abc");
    let expected = "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed
        8086072ba1e7cc2358baeca134c825a7";
    assert_eq!(digest[..48], hex(expected));
}

#[test]
fn kimd_leaves_the_chaining_value_after_each_whole_block() {
    // A message of one block whose padding is a block of its own: KIMD over both is the digest.
    let message = [b'x'; 64];
    let kimd = function(Instruction::Kimd, 2);
    let mut parameter = hex(SHA_256);
    assert_eq!(kimd.parameter_length(), 32);
    kimd.digest(&mut parameter, &message);
    let mut padding = [0; 64];
    padding[0] = 0x80;
    padding[62..].copy_from_slice(&512_u16.to_be_bytes());
    kimd.digest(&mut parameter, &padding);
    assert_eq!(parameter, secure_hash(2, SHA_256, 8, &message));
}

fn sponge(code: u8, message: &[u8], length: usize) -> Vec<u8> {
    let klmd = function(Instruction::Klmd, code);
    let rate = klmd.data_block(Control::default());
    let mut parameter = vec![0; klmd.parameter_length()];
    let whole = message.len() / rate * rate;
    klmd.digest(&mut parameter, &message[..whole]);
    klmd.digest_last(&mut parameter, &message[whole..]);
    if klmd.extends() {
        let mut output = vec![0; length];
        klmd.extend(&mut parameter, false, &mut output);
        return output;
    }
    parameter.truncate(length);
    parameter
}

#[test]
fn klmd_sha_3_gives_the_answers_of_fips_202() {
    let cases: [(u8, [&str; 3]); 4] = [
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
    for (code, digests) in cases {
        for (message, digest) in [&b""[..], b"abc", &[0xA3; 200]].into_iter().zip(digests) {
            let digest = hex(digest);
            assert_eq!(sponge(code, message, digest.len()), digest);
        }
    }
}

#[test]
fn klmd_shake_fills_the_first_operand_as_fips_202_says() {
    for (code, message, tail, head) in [
        (
            36,
            &[][..],
            "43e41b45a653f2a5c4492c1add544512dda2529833462b71a41a45be97290b6f",
            "7f9c2ba4e88f827d616045507605853ed73b8093f6efbc88eb1a6eacfa66ef26",
        ),
        (
            36,
            &[0xA3; 200],
            "44c9fb359fd56ac0a9a75a743cff6862f17d7259ab075216c0699511643b6439",
            "131ab8d2b594946b9c81333f9bb6e0ce75c3b93104fa3469d3917457385da037",
        ),
        (
            37,
            &[],
            "ab0bae316339894304e35877b0c28a9b1fd166c796b9cc258a064a8f57e27f2a",
            "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762f",
        ),
        (
            37,
            &[0xA3; 200],
            "6a1a9d7846436e4dca5728b6f760eef0ca92bf0be5615e96959d767197a0beeb",
            "cd8a920ed141aa0407a22d59288652e9d9f1a7ee0c1e7c1ca699424da84a904d",
        ),
    ] {
        let output = sponge(code, message, 512);
        assert_eq!(
            (&output[..32], &output[480..]),
            (&hex(head)[..], &hex(tail)[..])
        );
    }
}
