//! Opens protected records (RFC 8446, section 5.2; RFC 5246, section 6.2.3).
//! Never gives bytes that do not authenticate.

use aes::cipher::{Block, BlockCipherEncrypt, BlockModeDecrypt, KeyIvInit};
use aes::{Aes128, Aes256};
use aes_gcm::aead::array::typenum::{U8, U12, U16};
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit, Nonce, Tag};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use ccm::Ccm;
use chacha20poly1305::ChaCha20Poly1305;
use ghash::GHash;
use ghash::universal_hash::UniversalHash;

use super::keylog::{Random, Secret};
use super::record::{HEADER, Record};
use super::schedule::{expand_label, hmac, prf};
use super::suites::{Hash, Protection, Suite};

/// Length of an AES block in bytes.
const BLOCK: usize = 16;
/// Length of a record nonce in bytes (RFC 8446, section 5.3).
const NONCE: usize = 12;
/// Length of the part of a TLS 1.2 nonce that is sent (RFC 5288, section 3).
const EXPLICIT: usize = 8;

/// What a record holds.
pub(super) struct Plain {
    /// The content type; the inner one under TLS 1.3.
    pub kind: u8,
    pub bytes: Vec<u8>,
}

enum Cipher {
    Gcm128(Box<Aes128Gcm>),
    Gcm256(Box<Aes256Gcm>),
    Ccm128(Box<Ccm<Aes128, U16, U12>>),
    Ccm256(Box<Ccm<Aes256, U16, U12>>),
    Ccm8With128(Box<Ccm<Aes128, U8, U12>>),
    Ccm8With256(Box<Ccm<Aes256, U8, U12>>),
    ChaCha(Box<ChaCha20Poly1305>),
    Cbc { mac: Hash, mac_key: Vec<u8>, encrypt_then_mac: bool },
}

/// The key of one direction, until the next change of keys.
pub(super) struct Opener {
    suite: &'static Suite,
    cipher: Cipher,
    key: Vec<u8>,
    /// The whole static nonce, or the four implicit bytes of it.
    iv: Vec<u8>,
    /// The traffic secret (TLS 1.3 alone).
    secret: Option<Secret>,
}

/// What a TLS 1.2 connection agreed on.
pub(super) struct Agreed<'a> {
    pub suite: &'static Suite,
    pub client_random: &'a Random,
    pub server_random: &'a Random,
    pub encrypt_then_mac: bool,
}

impl Opener {
    /// From a traffic secret (RFC 8446, section 7.3); `None` where its length does not fit the suite.
    pub(super) fn tls13(suite: &'static Suite, secret: &Secret) -> Option<Self> {
        if secret.bytes().len() != suite.hash.length() {
            return None;
        }
        let key = expand_label(suite.hash, secret.bytes(), "key", suite.key)?;
        let iv = expand_label(suite.hash, secret.bytes(), "iv", NONCE)?;
        let cipher = aead(suite, &key)?;
        Some(Self { suite, cipher, key, iv, secret: Some(secret.clone()) })
    }

    /// From a master secret (RFC 5246, section 6.3), for what the client or the server sends.
    pub(super) fn tls12(agreed: &Agreed<'_>, master: &Secret, from_client: bool) -> Option<Self> {
        let suite = agreed.suite;
        let (mac, iv) = match suite.protection {
            Protection::Cbc(hash) => (hash.length(), 0),
            Protection::ChaCha => (0, NONCE),
            Protection::Gcm | Protection::Ccm(_) => (0, NONCE - EXPLICIT),
        };
        let seed: [&[u8]; 2] = [agreed.server_random, agreed.client_random];
        let block = prf(suite.hash, master.bytes(), "key expansion", &seed, 2 * (mac + suite.key + iv))?;
        let mut rest = block.as_slice();
        let mut pick = |length: usize| {
            let (client, after) = rest.split_at_checked(length)?;
            let (server, after) = after.split_at_checked(length)?;
            rest = after;
            Some(if from_client { client.to_vec() } else { server.to_vec() })
        };
        let (mac_key, key, iv) = (pick(mac)?, pick(suite.key)?, pick(iv)?);
        let cipher = match suite.protection {
            Protection::Cbc(hash) => {
                Cipher::Cbc { mac: hash, mac_key, encrypt_then_mac: agreed.encrypt_then_mac }
            }
            _ => aead(suite, &key)?,
        };
        Some(Self { suite, cipher, key, iv, secret: None })
    }

    /// The key after a key update (RFC 8446, section 7.2).
    pub(super) fn updated(&self) -> Option<Self> {
        let secret = self.secret.as_ref()?;
        let next = expand_label(self.suite.hash, secret.bytes(), "traffic upd", self.suite.hash.length())?;
        Self::tls13(self.suite, &Secret::new(next))
    }

    /// The suite.
    pub(super) fn suite(&self) -> &'static Suite {
        self.suite
    }

    /// How much longer a record's body is than its plaintext, where that is fixed: padding of TLS 1.3
    /// counts as plaintext.
    pub(super) fn overhead(&self) -> Option<usize> {
        let tag = match self.suite.protection {
            Protection::Gcm | Protection::ChaCha => 16,
            Protection::Ccm(tag) => tag,
            Protection::Cbc(_) => return None,
        };
        Some(tag + if self.is_tls13() { 1 } else { self.explicit() })
    }

    /// The part of the nonce that a record carries (TLS 1.2 alone).
    pub(super) fn explicit_nonce(&self, record: &Record) -> Option<u64> {
        let sent = (self.explicit() > 0).then_some(&record.body)?;
        sent.first_chunk().copied().map(u64::from_be_bytes)
    }

    /// Opens a record of this sequence number; `None` where it does not authenticate.
    pub(super) fn open(&self, sequence: u64, record: &Record) -> Option<Plain> {
        if let Cipher::Cbc { mac, mac_key, encrypt_then_mac } = &self.cipher {
            let key = MacKey { hash: *mac, key: mac_key };
            let bytes = match encrypt_then_mac {
                true => self.encrypt_then_mac(&key, sequence, record)?,
                false => self.mac_then_encrypt(&key, sequence, record)?,
            };
            return Some(Plain { kind: record.kind, bytes });
        }
        let (explicit, sealed) = record.body.split_at_checked(self.explicit())?;
        let nonce = self.nonce(sequence, explicit)?;
        if self.is_tls13() {
            let bytes = self.aead_open(&nonce, &header(record), sealed)?;
            return inner(bytes);
        }
        let plaintext = sealed.len().checked_sub(self.overhead()?.checked_sub(explicit.len())?)?;
        let bytes = self.aead_open(&nonce, &additional_data(sequence, record, plaintext)?, sealed)?;
        Some(Plain { kind: record.kind, bytes })
    }

    /// The first sequence number of a range under which a record authenticates. Under AES-GCM the
    /// number enters the tag through one block only, so that a trial costs one block of AES.
    pub(super) fn find(
        &self,
        range: std::ops::Range<u64>,
        record: &Record,
        work: &mut u64,
    ) -> Option<(u64, Plain)> {
        if self.is_tls13() && self.suite.protection == Protection::Gcm {
            let found = match self.suite.key {
                16 => self.find_gcm(&Aes128::new_from_slice(&self.key).ok()?, range, record, work),
                _ => self.find_gcm(&Aes256::new_from_slice(&self.key).ok()?, range, record, work),
            }?;
            return Some((found, self.open(found, record)?));
        }
        // A trial of the others reads the record whole, and makes a key or two.
        let cost = record.body.len() as u64 + 128;
        for sequence in range {
            *work = work.checked_sub(cost)?;
            if let Some(plain) = self.open(sequence, record) {
                return Some((sequence, plain));
            }
        }
        None
    }

    fn find_gcm<A>(
        &self,
        aes: &A,
        range: std::ops::Range<u64>,
        record: &Record,
        work: &mut u64,
    ) -> Option<u64>
    where
        A: BlockCipherEncrypt<BlockSize = U16>,
    {
        const BATCH: usize = 16;
        let (sealed, tag) = record.body.split_at_checked(record.body.len().checked_sub(BLOCK)?)?;
        *work = work.checked_sub(record.body.len() as u64 + 128)?;
        let mut key = ghash::Key::default();
        aes.encrypt_block(&mut key);
        let mut hash = GHash::new(&key);
        hash.update_padded(&header(record));
        hash.update_padded(sealed);
        let bits = |length: usize| (length as u64).saturating_mul(8).to_be_bytes();
        let mut lengths = ghash::Block::default();
        lengths.iter_mut().zip(bits(HEADER).into_iter().chain(bits(sealed.len()))).for_each(|(l, b)| *l = b);
        hash.update(&[lengths]);
        let mut wanted = hash.finalize();
        wanted.iter_mut().zip(tag).for_each(|(w, t)| *w ^= t);

        let mut next = range.start;
        while next < range.end {
            let mut blocks = [Block::<A>::default(); BATCH];
            for (block, ahead) in blocks.iter_mut().zip(0..) {
                let nonce = self.nonce(next.wrapping_add(ahead), &[])?;
                block.iter_mut().zip(nonce.into_iter().chain([0, 0, 0, 1])).for_each(|(b, n)| *b = n);
            }
            *work = work.checked_sub((BATCH * BLOCK) as u64)?;
            aes.encrypt_blocks(&mut blocks);
            let hit = blocks.iter().position(|b| b.as_slice() == wanted.as_slice());
            if let Some(hit) = hit {
                return next.checked_add(hit as u64).filter(|s| *s < range.end);
            }
            next = next.checked_add(BATCH as u64)?;
        }
        None
    }

    fn is_tls13(&self) -> bool {
        self.secret.is_some()
    }

    fn explicit(&self) -> usize {
        match self.suite.protection {
            Protection::Gcm | Protection::Ccm(_) if !self.is_tls13() => EXPLICIT,
            _ => 0,
        }
    }

    /// RFC 8446, section 5.3 and RFC 7905, section 2 (xor), RFC 5288, section 3 (joined).
    fn nonce(&self, sequence: u64, explicit: &[u8]) -> Option<[u8; NONCE]> {
        let mut nonce = [0; NONCE];
        if !explicit.is_empty() {
            nonce.iter_mut().zip(self.iv.iter().chain(explicit)).for_each(|(n, b)| *n = *b);
            return Some(nonce);
        }
        let (front, back) = nonce.split_first_chunk_mut::<{ NONCE - 8 }>()?;
        back.copy_from_slice(&sequence.to_be_bytes());
        *front = [0; NONCE - 8];
        nonce.iter_mut().zip(&self.iv).for_each(|(n, b)| *n ^= b);
        Some(nonce)
    }

    fn aead_open(&self, nonce: &[u8; NONCE], aad: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        match &self.cipher {
            Cipher::Gcm128(c) => detached(&**c, nonce, aad, sealed, 16),
            Cipher::Gcm256(c) => detached(&**c, nonce, aad, sealed, 16),
            Cipher::Ccm128(c) => detached(&**c, nonce, aad, sealed, 16),
            Cipher::Ccm256(c) => detached(&**c, nonce, aad, sealed, 16),
            Cipher::Ccm8With128(c) => detached(&**c, nonce, aad, sealed, 8),
            Cipher::Ccm8With256(c) => detached(&**c, nonce, aad, sealed, 8),
            Cipher::ChaCha(c) => detached(&**c, nonce, aad, sealed, 16),
            Cipher::Cbc { .. } => None,
        }
    }

    /// RFC 5246, section 6.2.3.2.
    fn mac_then_encrypt(&self, key: &MacKey<'_>, sequence: u64, record: &Record) -> Option<Vec<u8>> {
        let mut bytes = self.cbc(&record.body)?;
        let padding = usize::from(*bytes.last()?);
        let content = bytes.len().checked_sub(padding + 1)?.checked_sub(key.hash.length())?;
        let (rest, padded) = bytes.split_at_checked(bytes.len().checked_sub(padding + 1)?)?;
        if padded.iter().any(|b| usize::from(*b) != padding) {
            return None;
        }
        let (data, mac) = rest.split_at_checked(content)?;
        let head = additional_data(sequence, record, content)?;
        if hmac(key.hash, key.key, &[&head, data])? != mac {
            return None;
        }
        bytes.truncate(content);
        Some(bytes)
    }

    /// RFC 7366, section 3.
    fn encrypt_then_mac(&self, key: &MacKey<'_>, sequence: u64, record: &Record) -> Option<Vec<u8>> {
        let length = record.body.len().checked_sub(key.hash.length())?;
        let (sealed, mac) = record.body.split_at_checked(length)?;
        let head = additional_data(sequence, record, length)?;
        if hmac(key.hash, key.key, &[&head, sealed])? != mac {
            return None;
        }
        let mut bytes = self.cbc(sealed)?;
        let padding = usize::from(*bytes.last()?);
        bytes.truncate(bytes.len().checked_sub(padding + 1)?);
        Some(bytes)
    }

    /// Undoes the encryption of an IV and blocks; at least one block.
    fn cbc(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        fn run<D: BlockModeDecrypt<BlockSize = U16>>(mut mode: D, bytes: &mut [u8]) {
            let (blocks, _) = Block::<D>::slice_as_chunks_mut(bytes);
            mode.decrypt_blocks(blocks);
        }
        let (iv, blocks) = sealed.split_at_checked(BLOCK)?;
        if blocks.is_empty() || !blocks.len().is_multiple_of(BLOCK) {
            return None;
        }
        let mut bytes = blocks.to_vec();
        match self.suite.key {
            16 => run(cbc::Decryptor::<Aes128>::new_from_slices(&self.key, iv).ok()?, &mut bytes),
            _ => run(cbc::Decryptor::<Aes256>::new_from_slices(&self.key, iv).ok()?, &mut bytes),
        }
        Some(bytes)
    }
}

struct MacKey<'a> {
    hash: Hash,
    key: &'a [u8],
}

fn aead(suite: &Suite, key: &[u8]) -> Option<Cipher> {
    fn boxed<C: KeyInit>(key: &[u8]) -> Option<Box<C>> {
        C::new_from_slice(key).ok().map(Box::new)
    }
    match (suite.protection, suite.key) {
        (Protection::Gcm, 16) => boxed(key).map(Cipher::Gcm128),
        (Protection::Gcm, _) => boxed(key).map(Cipher::Gcm256),
        (Protection::Ccm(8), 16) => boxed(key).map(Cipher::Ccm8With128),
        (Protection::Ccm(8), _) => boxed(key).map(Cipher::Ccm8With256),
        (Protection::Ccm(_), 16) => boxed(key).map(Cipher::Ccm128),
        (Protection::Ccm(_), _) => boxed(key).map(Cipher::Ccm256),
        (Protection::ChaCha, _) => boxed(key).map(Cipher::ChaCha),
        (Protection::Cbc(_), _) => None,
    }
}

fn detached<A: AeadInOut>(
    cipher: &A,
    nonce: &[u8; NONCE],
    aad: &[u8],
    sealed: &[u8],
    tag: usize,
) -> Option<Vec<u8>> {
    let (sealed, tag) = sealed.split_at_checked(sealed.len().checked_sub(tag)?)?;
    let nonce = Nonce::<A>::try_from(nonce.as_slice()).ok()?;
    let tag = Tag::<A>::try_from(tag).ok()?;
    let mut out = vec![0; sealed.len()];
    let buffer = InOutBuf::new(sealed, &mut out).ok()?;
    cipher.decrypt_inout_detached(&nonce, aad, buffer, &tag).ok()?;
    Some(out)
}

/// The header as sent, which TLS 1.3 authenticates (RFC 8446, section 5.2).
fn header(record: &Record) -> [u8; HEADER] {
    let [major, minor] = record.version.to_be_bytes();
    // A body is never longer than the header can say.
    let [high, low] = u16::try_from(record.body.len()).unwrap_or(u16::MAX).to_be_bytes();
    [record.kind, major, minor, high, low]
}

/// What TLS 1.2 authenticates beside the content (RFC 5246, section 6.2.3).
fn additional_data(sequence: u64, record: &Record, length: usize) -> Option<[u8; 13]> {
    let mut out = [0; 13];
    let (front, back) = out.split_first_chunk_mut::<8>()?;
    *front = sequence.to_be_bytes();
    let [major, minor] = record.version.to_be_bytes();
    let [high, low] = u16::try_from(length).ok()?.to_be_bytes();
    back.copy_from_slice(&[record.kind, major, minor, high, low]);
    Some(out)
}

/// Takes zero padding and the inner content type off (RFC 8446, section 5.4).
fn inner(mut bytes: Vec<u8>) -> Option<Plain> {
    let end = bytes.iter().rposition(|b| *b != 0)?;
    let kind = *bytes.get(end)?;
    bytes.truncate(end);
    Some(Plain { kind, bytes })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::record::Loss;
    use super::*;
    use crate::transport::tls::suites::suite;

    fn opener(number: u16) -> Opener {
        let suite = suite(number).unwrap();
        Opener::tls13(suite, &Secret::new((0..suite.hash.length() as u8).collect())).unwrap()
    }

    /// A record of TLS 1.3, sealed under a key and a sequence number.
    fn seal(opener: &Opener, sequence: u64, text: &[u8]) -> Record {
        fn run<A: AeadInOut>(cipher: &A, nonce: &[u8], aad: &[u8], mut bytes: Vec<u8>) -> Vec<u8> {
            let nonce = Nonce::<A>::try_from(nonce).unwrap();
            let tag = cipher.encrypt_inout_detached(&nonce, aad, bytes.as_mut_slice().into()).unwrap();
            bytes.extend_from_slice(&tag);
            bytes
        }
        // Content type and two bytes of padding.
        let inner = [text, &[23, 0, 0]].concat();
        let body = Bytes::from(vec![0; inner.len() + 16]);
        let mut record = Record { kind: 23, version: 0x0303, body, time: None, at: 0, loss: Loss::default() };
        let (nonce, aad) = (opener.nonce(sequence, &[]).unwrap(), header(&record));
        let sealed = match &opener.cipher {
            Cipher::Gcm128(c) => run(&**c, &nonce, &aad, inner),
            Cipher::Gcm256(c) => run(&**c, &nonce, &aad, inner),
            Cipher::ChaCha(c) => run(&**c, &nonce, &aad, inner),
            _ => unreachable!("no test of it"),
        };
        record.body = sealed.into();
        record
    }

    fn check(number: u16, sequence: u64, range: std::ops::Range<u64>, found: bool) {
        let opener = opener(number);
        let record = seal(&opener, sequence, b"far away");
        let mut work = u64::MAX;
        let hit = opener.find(range.clone(), &record, &mut work);
        assert_eq!(hit.as_ref().map(|h| h.0), found.then_some(sequence), "{sequence} in {range:?}");
        assert!(hit.is_none_or(|h| h.1.kind == 23 && h.1.bytes == b"far away"));
        assert!(opener.find(range, &record, &mut 100).is_none(), "without work to do it");
    }

    #[test]
    fn sequence_numbers_are_found() {
        for number in [0x1301, 0x1302, 0x1303] {
            check(number, 0, 0..1, true);
            check(number, 15, 0..16, true);
            check(number, 16, 0..17, true);
            check(number, 1000, 256..4096, true);
            check(number, 4096, 256..4096, false);
            check(number, 255, 256..4096, false);
            check(number, u64::MAX - 1, u64::MAX - 9..u64::MAX, true);
        }
        check(0x1301, 1_000_000, 65_536..(1 << 20), true);
    }

    #[test]
    fn what_is_short_does_not_open() {
        for number in [0x1301, 0x1303, 0x1304, 0x1305] {
            let opener = opener(number);
            for length in 0..40 {
                let body = Bytes::from(vec![0; length]);
                let loss = Loss::default();
                let record = Record { kind: 23, version: 0x0303, body, time: None, at: 0, loss };
                assert!(opener.open(0, &record).is_none());
                assert!(opener.find(0..3, &record, &mut 10_000).is_none());
            }
        }
    }
}
