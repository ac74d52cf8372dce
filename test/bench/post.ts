import type { Dispatcher, Pool } from 'undici';

/** Below the level of streams, which cost the sender half as much again, on the cores that it shares with what it measures. */
export function post(
  pool: Pool,
  path: string,
  headers: Record<string, string>,
  body: string | Buffer,
): Promise<{ status: number; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  let status = 0;
  const chunks: Buffer[] = [];
  const handler: Dispatcher.DispatchHandler = {
    // Without it the dispatcher takes the handler for one of its older kind, whose methods have other names.
    onRequestStart: () => undefined,
    onResponseStart(_, statusCode) {
      status = statusCode;
    },
    onResponseData(_, chunk) {
      chunks.push(chunk);
    },
    onResponseEnd: () => resolve({ status, text: Buffer.concat(chunks).toString() }),
    onResponseError: (_, error) => reject(error),
  };
  pool.dispatch({ path, method: 'POST', headers, body }, handler);
  return promise;
}
