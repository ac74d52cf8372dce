import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { patchClosingConnection } from '#infra/kafka/kafkajs_patches/client_patches.ts';

interface Connection {
  connect(): Promise<unknown>;
  disconnect(): Promise<unknown>;
  send(protocol: { request: object; response: object }): Promise<unknown>;
  requestQueue: { fulfillRequest(answer: unknown): void };
}

const require = createRequire(import.meta.url);
const ConnectionOfClient = require('kafkajs/src/network/connection.js') as new (options: object) => Connection;
const Encoder = require('kafkajs/src/protocol/encoder.js') as new () => object;
const socketFactory = (require('kafkajs/src/network/socketFactory.js') as () => unknown)();
const log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const logger = { ...log, namespace: () => log };

/** A broker that answers the first request only, when it is told to. */
interface Broker {
  /** Settled when the first request has come. */
  asked: Promise<void>;
  answer(): void;
}

/** A connection to such a broker, which closes as the client does. */
async function connected(): Promise<Broker & { connection: Connection }> {
  const sockets: Socket[] = [];
  const asked = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', (request) => {
      const answer = Buffer.alloc(8);
      answer.writeInt32BE(4, 0);
      answer.writeInt32BE(request.readInt32BE(8), 4);
      asked.resolve();
      void told.promise.then(() => socket.write(answer));
    });
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connection = new ConnectionOfClient({
    host: '127.0.0.1',
    port,
    logger,
    socketFactory,
    requestTimeout: 60_000,
    connectionTimeout: 60_000,
  });
  await connection.connect();
  return { connection, asked: asked.promise, answer: () => told.resolve() };
}

const response = { decode: async () => ({}), parse: async () => ({}) };
const protocol = (encode: () => Promise<object>) => ({
  request: { apiKey: 18, apiVersion: 0, apiName: 'Test', encode },
  response,
});
const atOnce = async (): Promise<object> => new Encoder();

const outcomeOf = (sent: Promise<unknown>): Promise<string> =>
  sent.then(
    () => 'answered',
    (error: Error) => error.name,
  );

test('nothing new is taken on a connection that is being closed', async () => {
  patchClosingConnection();
  const { connection, asked, answer } = await connected();
  const first = connection.send(protocol(atOnce));
  await asked;
  const closing = connection.disconnect();
  const late = outcomeOf(connection.send(protocol(atOnce)));
  answer();
  expect(await late).toBe('KafkaJSConnectionClosedError');
  expect(await outcomeOf(first)).toBe('answered');
  await closing;
});

/** By so many microtasks the request comes before, or behind, the answer with which the connection closes. */
test.for([-3, -2, -1, 0, 1])('a request that comes as the connection closes is settled, %i', async (microtasks) => {
  patchClosingConnection();
  const { connection, asked, answer } = await connected();
  const first = connection.send(protocol(atOnce));
  const encoded = Promise.withResolvers<object>();
  const second = connection.send(protocol(() => encoded.promise));
  await asked;
  const closing = connection.disconnect();
  const { requestQueue } = connection;
  const fulfil = requestQueue.fulfillRequest.bind(requestQueue);
  const wait = async (count: number): Promise<void> => {
    for (let done = 0; done < count; done++) await Promise.resolve();
  };
  requestQueue.fulfillRequest = (answer) => {
    void wait(-microtasks).then(() => fulfil(answer));
    void wait(microtasks).then(() => encoded.resolve(new Encoder()));
  };
  answer();
  expect(await outcomeOf(first)).toBe('answered');
  expect(await outcomeOf(second)).toMatch(/^KafkaJS/);
  await closing;
});
