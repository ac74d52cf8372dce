import { createRequire } from 'node:module';

interface Connection {
  host: string;
  port: number;
  connectionStatus: string;
  requestTimeout: number;
  authHandlers: { onError(): void } | null;
  disconnect(): Promise<boolean>;
  failIfNotConnected(): void;
  rejectRequests(error: Error): void;
  sendAuthRequest(protocol: unknown): Promise<unknown>;
}

const require = createRequire(import.meta.url);
const { prototype } = require('kafkajs/src/network/connection.js') as { prototype: Connection };
const { KafkaJSConnectionClosedError } = require('kafkajs/src/errors.js') as {
  KafkaJSConnectionClosedError: new (message: string, facts: { host: string; port: number }) => Error;
};

const CONNECTED = 'connected';
let patched = false;

/**
 * Makes the client answer every request of a connection that is being closed. kafkajs 2.2.4 accepts requests until the
 * connection is closed, but stops its check for timeouts as soon as no request is open: a request that comes between the
 * two is neither answered nor timed out. Here requests are refused from the moment on at which closing begins, and those
 * that were accepted meanwhile are refused when it ends. A broker that does not answer during authentication is given up
 * likewise.
 */
export function patchClosingConnection(): void {
  if (patched) return;
  patched = true;
  const { disconnect, failIfNotConnected, sendAuthRequest } = prototype;
  prototype.failIfNotConnected = function () {
    failIfNotConnected.call(this);
    if (this.connectionStatus !== CONNECTED) throw closed(this);
  };
  prototype.disconnect = async function () {
    const result = await disconnect.call(this);
    this.rejectRequests(closed(this));
    return result;
  };
  prototype.sendAuthRequest = async function (protocol) {
    const timer = setTimeout(() => this.authHandlers?.onError(), this.requestTimeout);
    try {
      return await sendAuthRequest.call(this, protocol);
    } finally {
      clearTimeout(timer);
    }
  };
}

/** The client retries a request that gets this error, on a new connection. */
function closed({ host, port }: Connection): Error {
  return new KafkaJSConnectionClosedError('Connection is being closed', { host, port });
}
