const MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** UTF-8 without the byte order mark that some programs begin every text with; RFC 8259 lets a reader ignore it. */
export function withoutByteOrderMark(text: Buffer): Buffer {
  return text.subarray(0, MARK.length).equals(MARK) ? text.subarray(MARK.length) : text;
}
