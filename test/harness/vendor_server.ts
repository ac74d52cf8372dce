import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A platform's address on the loopback. */
export interface VendorServer {
  url: string;
  /** Requests in their order. */
  seen: { url: string; headers: IncomingMessage['headers'] }[];
  /** How it answers from now on. */
  answer(by: (request: IncomingMessage, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export async function startVendor(): Promise<VendorServer> {
  const seen: VendorServer['seen'] = [];
  let by: (request: IncomingMessage, response: ServerResponse) => void = (request, response) => {
    response.setHeader('content-type', 'text/javascript').end(`/* script of ${request.url} */`);
  };
  const server = createServer((request, response) => {
    seen.push({ url: request.url ?? '', headers: request.headers });
    by(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answer(next) {
      by = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
