// Node's synchronous compression, without the memory that it leaves behind.

/** What comes of one of zlib's functions with `info`; Node's types know of the result without it alone. */
interface WithEngine {
  buffer: Buffer;
  engine: { bytesWritten: number; _outBuffer: Buffer | null };
}

/** What one of zlib's functions made of bytes, and how many of them it read. */
interface ZlibOutput {
  output: Buffer;
  bytesRead: number;
}

/**
 * Compresses or decompresses by one of zlib's synchronous functions, which throws what it throws.
 *
 * The engine of a call lives until the whole heap is collected, as its native half is held weakly, and with it the memory that the
 * output lies in: 16 KiB for a batch that was compressed, and all the content of one that was not any more. V8 collects the whole heap
 * for each 64 MiB of those, which an edge had after seven seconds. So the engine lets go of it here (docs/decisions/README.md, 53). Nothing
 * names the engine of a call that throws: its chunk stays until then.
 */
export function zlibOutput<Options extends object>(
  run: (bytes: Buffer, options: Options & { info: true }) => Buffer,
  bytes: Buffer,
  options: Options,
): ZlibOutput {
  const { buffer, engine } = run(bytes, { ...options, info: true }) as unknown as WithEngine;
  engine._outBuffer = null;
  return { output: buffer, bytesRead: engine.bytesWritten };
}
