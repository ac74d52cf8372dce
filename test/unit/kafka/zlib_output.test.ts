import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { zlibOutput } from '#infra/zlib_output.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

/** So few that V8 collects nothing by itself meanwhile: what a full collection meets is old behind it, or gone. */
const CALLS = 50;
const ROUNDS = 5;
const CONTENT = Buffer.alloc(20_000, 'one event after the other ');
/** A tenth of what calls held before they let go of it: a chunk of 16 KiB or more. */
const HELD_BYTES_MAX = 1_600;

/** Bytes that buffers hold more of for each call, when the young generation has been collected often enough for all that can go. */
function heldBy(call: () => unknown): number {
  const rounds = Array.from({ length: ROUNDS }, () => {
    // The second ends what the first left to be freed beside what runs.
    for (let times = 0; times < 2; times += 1) collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let calls = 0; calls < CALLS; calls += 1) call();
    for (let times = 0; times < 3; times += 1) collect({ type: 'minor' });
    return (process.memoryUsage().arrayBuffers - before) / CALLS;
  });
  return rounds.sort((one, other) => one - other)[Math.floor(ROUNDS / 2)] as number;
}

const [zstd, gzip] = [zstdCompressSync(CONTENT), gzipSync(CONTENT)];
/** In one chunk. */
const WHOLE = { chunkSize: 32_768 };

test('what was compressed or decompressed is let go of with the young generation', () => {
  expect(zlibOutput(zstdCompressSync, CONTENT, {})).toEqual({ output: zstd, bytesRead: CONTENT.length });
  expect(zlibOutput(zstdDecompressSync, zstd, WHOLE)).toEqual({ output: CONTENT, bytesRead: zstd.length });
  expect(zlibOutput(gunzipSync, gzip, WHOLE)).toEqual({ output: CONTENT, bytesRead: gzip.length });
  const held = {
    compressed: heldBy(() => zlibOutput(zstdCompressSync, CONTENT, {})),
    decompressed: heldBy(() => zlibOutput(zstdDecompressSync, zstd, WHOLE)),
    ofGzip: heldBy(() => zlibOutput(gunzipSync, gzip, WHOLE)),
  };
  for (const bytes of Object.values(held)) expect(bytes, JSON.stringify(held)).toBeLessThan(HELD_BYTES_MAX);
});
