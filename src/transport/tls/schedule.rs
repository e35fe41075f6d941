//! Keys out of secrets: HKDF-Expand-Label of TLS 1.3, the PRF of TLS 1.2.
//! Never computes a secret that the key log does not give, save the next of a key update.

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha384};

use super::suites::Hash;

/// HKDF-Expand-Label with an empty context (RFC 8446, section 7.1). `None` where the secret is
/// shorter than the hash or the length is more than HKDF gives.
pub(super) fn expand_label(hash: Hash, secret: &[u8], label: &str, length: usize) -> Option<Vec<u8>> {
    let mut info = Vec::with_capacity(10 + label.len());
    info.extend_from_slice(&u16::try_from(length).ok()?.to_be_bytes());
    info.push(u8::try_from(6 + label.len()).ok()?);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(0);
    let mut out = vec![0; length];
    match hash {
        Hash::Sha256 => Hkdf::<Sha256>::from_prk(secret).ok()?.expand(&info, &mut out).ok()?,
        Hash::Sha384 => Hkdf::<Sha384>::from_prk(secret).ok()?.expand(&info, &mut out).ok()?,
        Hash::Sha1 => return None,
    }
    Some(out)
}

/// The first `length` bytes of the PRF (RFC 5246, section 5).
pub(super) fn prf(hash: Hash, secret: &[u8], label: &str, seed: &[&[u8]], length: usize) -> Option<Vec<u8>> {
    let mut label_and_seed = label.as_bytes().to_vec();
    seed.iter().for_each(|s| label_and_seed.extend_from_slice(s));
    let mut out = Vec::with_capacity(length);
    let mut a = hmac(hash, secret, &[&label_and_seed])?;
    while out.len() < length {
        out.extend_from_slice(&hmac(hash, secret, &[&a, &label_and_seed])?);
        a = hmac(hash, secret, &[&a])?;
    }
    out.truncate(length);
    Some(out)
}

/// HMAC (RFC 2104) over the parts in order.
pub(super) fn hmac(hash: Hash, key: &[u8], parts: &[&[u8]]) -> Option<Vec<u8>> {
    fn run<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Option<Vec<u8>> {
        let mut mac = <M as KeyInit>::new_from_slice(key).ok()?;
        parts.iter().for_each(|p| mac.update(p));
        Some(mac.finalize().into_bytes().to_vec())
    }
    match hash {
        Hash::Sha1 => run::<Hmac<Sha1>>(key, parts),
        Hash::Sha256 => run::<Hmac<Sha256>>(key, parts),
        Hash::Sha384 => run::<Hmac<Sha384>>(key, parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    fn unhex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
    }

    /// The server's handshake keys of the simple 1-RTT handshake (RFC 8448, section 3).
    #[test]
    fn traffic_keys() {
        let secret = unhex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38");
        let key = expand_label(Hash::Sha256, &secret, "key", 16).unwrap();
        let iv = expand_label(Hash::Sha256, &secret, "iv", 12).unwrap();
        assert_eq!(hex(&key), "3fce516009c21727d0f2e4e86ee403bc");
        assert_eq!(hex(&iv), "5d313eb2671276ee13000b30");
    }

    /// RFC 2202, case 2, and RFC 4231, case 2.
    #[test]
    fn hmacs() {
        let data: &[&[u8]] = &[b"what do ya want ", b"for nothing?"];
        let check = |hash, expected: &str| assert_eq!(hex(&hmac(hash, b"Jefe", data).unwrap()), expected);
        check(Hash::Sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        check(Hash::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn refuses_what_does_not_fit() {
        assert_eq!(expand_label(Hash::Sha384, &[0; 32], "key", 32), None);
        assert_eq!(expand_label(Hash::Sha256, &[0; 32], "key", 70_000), None);
        assert_eq!(prf(Hash::Sha256, b"s", "l", &[b"a"], 100).unwrap().len(), 100);
    }
}
