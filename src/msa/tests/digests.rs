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

const SHA_384: &str = "cbbb9d5dc1059ed8629a292a367cd5079159015a3070dd17152fecd8f70e5939
    67332667ffc00b318eb44a8768581511db0c2e0d64f98fa747b5481dbefa4fa4";

#[test]
fn klmd_sha_1_gives_the_answers_of_fips_180() {
    for (message, digest) in [
        (&b"abc"[..], SHA_1_OF_ABC),
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
        (&b"abc"[..], SHA_256_OF_ABC),
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
        (&b"abc"[..], SHA_512_OF_ABC),
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
    for (code, digests) in SHA_3 {
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
            SHAKE_OF_NOTHING[0].1,
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
            SHAKE_OF_NOTHING[1].1,
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
