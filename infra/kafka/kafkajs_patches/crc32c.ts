// The checksum of record batches: CRC-32C (RFC 3720, appendix B.4), eight bytes at a time by Kounavis and Berry's slicing.

const POLYNOMIAL = 0x82f63b78;
const SLICES = 8;
const SIZE = 256;

/** For each slice the checksums of a byte with so many zeros behind it. */
const TABLE = new Int32Array(SLICES * SIZE);
for (let byte = 0; byte < SIZE; byte += 1) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  TABLE[byte] = crc;
}
for (let at = SIZE; at < TABLE.length; at += 1) {
  const before = TABLE[at - SIZE] as number;
  TABLE[at] = (TABLE[before & 0xff] as number) ^ (before >>> 8);
}

/** As an unsigned number. */
export function crc32c(bytes: Uint8Array): number {
  const { length } = bytes;
  let crc = -1;
  let at = 0;
  for (; at + SLICES <= length; at += SLICES) {
    crc ^=
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    crc =
      (TABLE[7 * SIZE + (crc & 0xff)] as number) ^
      (TABLE[6 * SIZE + ((crc >>> 8) & 0xff)] as number) ^
      (TABLE[5 * SIZE + ((crc >>> 16) & 0xff)] as number) ^
      (TABLE[4 * SIZE + (crc >>> 24)] as number) ^
      (TABLE[3 * SIZE + (bytes[at + 4] as number)] as number) ^
      (TABLE[2 * SIZE + (bytes[at + 5] as number)] as number) ^
      (TABLE[SIZE + (bytes[at + 6] as number)] as number) ^
      (TABLE[bytes[at + 7] as number] as number);
  }
  for (; at < length; at += 1) crc = (TABLE[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8);
  return ~crc >>> 0;
}
