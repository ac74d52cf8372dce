import { ControlUnavailableError, type Transport } from './client.ts';

/** A change waits for Kafka, and behind other changes. */
const TIMEOUT_MS = 60_000;

/** Carries requests over HTTP. */
export function httpTransport(baseUrl: string): Transport {
  return async ({ method, path, headers, body }) => {
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await fetch(new URL(path, baseUrl), { method, headers, body, signal });
      return { status: response.status, body: await response.text() };
    } catch (error) {
      // The cause may quote the request, which may hold a secret: only where it went is said.
      const reason = error instanceof Error && error.name === 'TimeoutError' ? 'in time' : 'at all';
      throw new ControlUnavailableError(`the control service at ${baseUrl} does not answer ${reason}`);
    }
  };
}
