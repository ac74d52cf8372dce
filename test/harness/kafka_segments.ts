import { readFileSync } from 'node:fs';
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { filesBelow } from './byte_search.ts';

/** The records of one batch as they stand in a segment, decompressed: keys, values and headers among lengths. */
export interface SegmentBatch {
  path: string;
  records: Buffer;
}

const ATTRIBUTES_AT = 21;
const RECORDS_AT = 61;
const LENGTH_ENDS_AT = 12;

/** How a batch says it is compressed, in the lowest three bits of its attributes. */
const DECOMPRESS: Record<number, (bytes: Buffer) => Buffer> = {
  0: (bytes) => bytes,
  1: (bytes) => gunzipSync(bytes),
  4: (bytes) => zstdDecompressSync(bytes),
};

/**
 * Every batch in the segments below a broker's data folder, by Kafka's record batch format: also what was aborted,
 * what nobody will read again, and the topics of the registry and the broker.
 */
export function* segmentBatches(folder: string): Generator<SegmentBatch> {
  for (const path of filesBelow(folder).filter((name) => /\/\d{20}\.log$/.test(name))) {
    const bytes = readFileSync(path);
    for (let at = 0; at + RECORDS_AT <= bytes.length; ) {
      const end = at + LENGTH_ENDS_AT + bytes.readInt32BE(at + 8);
      if (end <= at + LENGTH_ENDS_AT || end > bytes.length) break;
      const codec = bytes.readInt16BE(at + ATTRIBUTES_AT) & 7;
      const decompress = DECOMPRESS[codec];
      if (decompress === undefined) throw new Error(`${path} at ${at}: compressed in way ${codec}`);
      yield { path, records: decompress(bytes.subarray(at + RECORDS_AT, end)) };
      at = end;
    }
  }
}
