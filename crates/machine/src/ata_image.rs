//! IDENTIFY DEVICE data of imagined drives, for tests.

use super::ata::WORDS;

/// IDENTIFY data of an imagined drive.
pub fn words(model: &str, serial: &str, rpm: u16, sata_capabilities: u16) -> [u16; WORDS] {
    let mut words = [0u16; WORDS];
    let mut put = |first: usize, count: usize, value: &str| {
        let padded = format!("{value:<width$}", width = 2 * count);
        for (i, pair) in padded.as_bytes().as_chunks::<2>().0.iter().enumerate() {
            words[first + i] = u16::from_be_bytes(*pair);
        }
    };
    put(10, 10, serial);
    put(23, 4, "01.01A01");
    put(27, 20, model);
    words[217] = rpm;
    words[76] = sata_capabilities;
    words
}

/// As libata prints them.
pub fn text_of(words: &[u16; WORDS]) -> String {
    words.iter().map(|word| format!("{word:04x} ")).collect()
}

pub fn bytes(model: &str, serial: &str) -> Vec<u8> {
    words(model, serial, 5400, 0b1110).iter().flat_map(|word| word.to_le_bytes()).collect()
}
