import type { HttpRequestIn } from '#infra/http/http_server.ts';
import { BODY_BYTES_MAX, type Decoded, decompress } from './decode.ts';

/** The path of a request as it was sent. */
export function sentPath({ url }: HttpRequestIn): string {
  return url.split('?', 1)[0] ?? '';
}

/** The query of a request as it was sent, without the question mark. */
export function sentQuery({ url }: HttpRequestIn): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at + 1);
}

/** The bytes of a body as they came; none where there is no body. */
export function sentBytes({ body }: HttpRequestIn): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.alloc(0);
}

/** The bytes of a body with its Content-Encoding undone, as many as SPEC section 8 allows. */
export function sentBody(request: HttpRequestIn): Decoded<Buffer> {
  return decompress(sentBytes(request), request.headers['content-encoding'], BODY_BYTES_MAX);
}
