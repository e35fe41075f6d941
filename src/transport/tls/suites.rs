//! The cipher suites that can be read: numbers of the IANA registry, names, sizes.
//! Never says what is secure: it reads what was sent.

/// How records of a suite are protected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Protection {
    /// AES in Galois counter mode (RFC 5288).
    Gcm,
    /// AES-CCM with this tag length in bytes (RFC 6655).
    Ccm(usize),
    /// ChaCha20-Poly1305 (RFC 7905).
    ChaCha,
    /// AES in cipher block chaining mode with an HMAC (RFC 5246, section 6.2.3.2).
    Cbc(Hash),
}

/// A hash of a suite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hash {
    Sha1,
    Sha256,
    Sha384,
}

impl Hash {
    /// Length of its output in bytes.
    pub(super) fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
        }
    }
}

/// A cipher suite.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Suite {
    /// Its number in the registry.
    pub number: u16,
    /// Its name there, without `TLS_`.
    pub name: &'static str,
    /// Key length in bytes.
    pub key: usize,
    pub protection: Protection,
    /// The hash of the key schedule (TLS 1.3) or of the PRF (TLS 1.2).
    pub hash: Hash,
}

/// The suite of a number, where it can be read.
pub(super) fn suite(number: u16) -> Option<&'static Suite> {
    SUITES.iter().find(|s| s.number == number)
}

/// Whether a number is one of TLS 1.3.
pub(super) fn is_tls13(number: u16) -> bool {
    number >> 8 == 0x13
}

const GCM: Protection = Protection::Gcm;
const CCM: Protection = Protection::Ccm(16);
const CCM_8: Protection = Protection::Ccm(8);
const CHACHA: Protection = Protection::ChaCha;
const CBC_SHA: Protection = Protection::Cbc(Hash::Sha1);
const CBC_SHA256: Protection = Protection::Cbc(Hash::Sha256);
const CBC_SHA384: Protection = Protection::Cbc(Hash::Sha384);

macro_rules! suites {
    ($($number:literal $name:literal $key:literal $protection:ident $hash:ident)*) => {
        &[$(Suite { number: $number, name: $name, key: $key, protection: $protection, hash: Hash::$hash }),*]
    };
}

/// The table, most used first within TLS 1.3: a search tries them in this order.
pub(super) const SUITES: &[Suite] = suites! {
    0x1301 "AES_128_GCM_SHA256" 16 GCM Sha256
    0x1302 "AES_256_GCM_SHA384" 32 GCM Sha384
    0x1303 "CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256
    0x1304 "AES_128_CCM_SHA256" 16 CCM Sha256
    0x1305 "AES_128_CCM_8_SHA256" 16 CCM_8 Sha256

    0xc02b "ECDHE_ECDSA_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0xc02c "ECDHE_ECDSA_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0xc02f "ECDHE_RSA_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0xc030 "ECDHE_RSA_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0xc02d "ECDH_ECDSA_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0xc02e "ECDH_ECDSA_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0xc031 "ECDH_RSA_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0xc032 "ECDH_RSA_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0x009c "RSA_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0x009d "RSA_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0x009e "DHE_RSA_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0x009f "DHE_RSA_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0x00a2 "DHE_DSS_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0x00a3 "DHE_DSS_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0x00a6 "DH_anon_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0x00a7 "DH_anon_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0x00a8 "PSK_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0x00a9 "PSK_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0x00aa "DHE_PSK_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0x00ab "DHE_PSK_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0x00ac "RSA_PSK_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0x00ad "RSA_PSK_WITH_AES_256_GCM_SHA384" 32 GCM Sha384
    0xd001 "ECDHE_PSK_WITH_AES_128_GCM_SHA256" 16 GCM Sha256
    0xd002 "ECDHE_PSK_WITH_AES_256_GCM_SHA384" 32 GCM Sha384

    0xcca8 "ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256
    0xcca9 "ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256
    0xccaa "DHE_RSA_WITH_CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256
    0xccab "PSK_WITH_CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256
    0xccac "ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256
    0xccad "DHE_PSK_WITH_CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256
    0xccae "RSA_PSK_WITH_CHACHA20_POLY1305_SHA256" 32 CHACHA Sha256

    0xc09c "RSA_WITH_AES_128_CCM" 16 CCM Sha256
    0xc09d "RSA_WITH_AES_256_CCM" 32 CCM Sha256
    0xc09e "DHE_RSA_WITH_AES_128_CCM" 16 CCM Sha256
    0xc09f "DHE_RSA_WITH_AES_256_CCM" 32 CCM Sha256
    0xc0a0 "RSA_WITH_AES_128_CCM_8" 16 CCM_8 Sha256
    0xc0a1 "RSA_WITH_AES_256_CCM_8" 32 CCM_8 Sha256
    0xc0a2 "DHE_RSA_WITH_AES_128_CCM_8" 16 CCM_8 Sha256
    0xc0a3 "DHE_RSA_WITH_AES_256_CCM_8" 32 CCM_8 Sha256
    0xc0a4 "PSK_WITH_AES_128_CCM" 16 CCM Sha256
    0xc0a5 "PSK_WITH_AES_256_CCM" 32 CCM Sha256
    0xc0a6 "DHE_PSK_WITH_AES_128_CCM" 16 CCM Sha256
    0xc0a7 "DHE_PSK_WITH_AES_256_CCM" 32 CCM Sha256
    0xc0a8 "PSK_WITH_AES_128_CCM_8" 16 CCM_8 Sha256
    0xc0a9 "PSK_WITH_AES_256_CCM_8" 32 CCM_8 Sha256
    0xc0aa "PSK_DHE_WITH_AES_128_CCM_8" 16 CCM_8 Sha256
    0xc0ab "PSK_DHE_WITH_AES_256_CCM_8" 32 CCM_8 Sha256
    0xc0ac "ECDHE_ECDSA_WITH_AES_128_CCM" 16 CCM Sha256
    0xc0ad "ECDHE_ECDSA_WITH_AES_256_CCM" 32 CCM Sha256
    0xc0ae "ECDHE_ECDSA_WITH_AES_128_CCM_8" 16 CCM_8 Sha256
    0xc0af "ECDHE_ECDSA_WITH_AES_256_CCM_8" 32 CCM_8 Sha256

    0x002f "RSA_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0x0035 "RSA_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0x003c "RSA_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0x003d "RSA_WITH_AES_256_CBC_SHA256" 32 CBC_SHA256 Sha256
    0x0032 "DHE_DSS_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0x0033 "DHE_RSA_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0x0038 "DHE_DSS_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0x0039 "DHE_RSA_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0x0034 "DH_anon_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0x003a "DH_anon_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0x0040 "DHE_DSS_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0x006a "DHE_DSS_WITH_AES_256_CBC_SHA256" 32 CBC_SHA256 Sha256
    0x0067 "DHE_RSA_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0x006b "DHE_RSA_WITH_AES_256_CBC_SHA256" 32 CBC_SHA256 Sha256
    0x008c "PSK_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0x008d "PSK_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0x00ae "PSK_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0x00af "PSK_WITH_AES_256_CBC_SHA384" 32 CBC_SHA384 Sha384
    0xc004 "ECDH_ECDSA_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0xc005 "ECDH_ECDSA_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0xc009 "ECDHE_ECDSA_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0xc00a "ECDHE_ECDSA_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0xc00e "ECDH_RSA_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0xc00f "ECDH_RSA_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0xc013 "ECDHE_RSA_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0xc014 "ECDHE_RSA_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0xc023 "ECDHE_ECDSA_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0xc024 "ECDHE_ECDSA_WITH_AES_256_CBC_SHA384" 32 CBC_SHA384 Sha384
    0xc025 "ECDH_ECDSA_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0xc026 "ECDH_ECDSA_WITH_AES_256_CBC_SHA384" 32 CBC_SHA384 Sha384
    0xc027 "ECDHE_RSA_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0xc028 "ECDHE_RSA_WITH_AES_256_CBC_SHA384" 32 CBC_SHA384 Sha384
    0xc029 "ECDH_RSA_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0xc02a "ECDH_RSA_WITH_AES_256_CBC_SHA384" 32 CBC_SHA384 Sha384
    0xc035 "ECDHE_PSK_WITH_AES_128_CBC_SHA" 16 CBC_SHA Sha256
    0xc036 "ECDHE_PSK_WITH_AES_256_CBC_SHA" 32 CBC_SHA Sha256
    0xc037 "ECDHE_PSK_WITH_AES_128_CBC_SHA256" 16 CBC_SHA256 Sha256
    0xc038 "ECDHE_PSK_WITH_AES_256_CBC_SHA384" 32 CBC_SHA384 Sha384
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_names_agree_with_sizes() {
        for (i, s) in SUITES.iter().enumerate() {
            assert!(!SUITES[..i].iter().any(|t| t.number == s.number), "{:04x}", s.number);
            assert_eq!(s.name.contains("AES_128"), s.key == 16, "{}", s.name);
            assert_eq!(s.name.ends_with("SHA384"), s.hash == Hash::Sha384, "{}", s.name);
            assert_eq!(s.name.contains("GCM"), s.protection == Protection::Gcm, "{}", s.name);
            assert_eq!(s.name.contains("CCM_8"), s.protection == Protection::Ccm(8), "{}", s.name);
            assert_eq!(is_tls13(s.number), !s.name.contains("WITH"), "{}", s.name);
        }
        assert_eq!(suite(0xc02f).map(|s| s.name), Some("ECDHE_RSA_WITH_AES_128_GCM_SHA256"));
        assert_eq!(suite(0x000a), None);
    }
}
