import type { CustomFetch } from 'openid-client';

/** What a provider answers at the most: discovery documents and key sets of the large ones have some 20 kB. */
const ANSWER_BYTES_MAX = 262_144;

/** A provider answers more than any answer needs. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

/**
 * Fetches from a provider, which may be hostile or broken, no more than so much, counted after decompression.
 *
 * @throws AnswerTooLargeError
 */
export const boundedFetch: CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit);
  const bytes = await readBounded(response);
  const { status, statusText, headers } = response;
  return new Response(bytes.length === 0 ? null : bytes, { status, statusText, headers });
};

async function readBounded({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.byteLength;
    // Leaving the loop cancels the body, and with it the connection.
    if (length > ANSWER_BYTES_MAX) throw new AnswerTooLargeError('an answer of the provider is too large');
    chunks.push(chunk);
  }
  return Uint8Array.from(Buffer.concat(chunks));
}
