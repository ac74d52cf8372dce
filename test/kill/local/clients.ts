// The plainest way to put one thing into each part and to read it back.

import { once } from 'node:events';
import { connect } from 'node:net';
import { createClient } from '@clickhouse/client';
import { Kafka, logLevel } from 'kafkajs';
import { createRedis } from '#infra/redis/connection.ts';
import type { LocalAddresses } from '#services/local/parts/parts.ts';
import { quiet } from '#test/harness/kafka.ts';

const TOPIC = 'kept';
const SUBJECT = 'kept-value';

/** Two writes, which stand as a transaction in Redis's file. */
const TRANSACTION = 'redis.call("set","kept","yes");redis.call("set","kept.too","yes")';

/** Writes one thing into each part. */
export async function writeAll(addresses: LocalAddresses): Promise<void> {
  await redis(addresses, `EVAL ${TRANSACTION} 0`);
  await produce(addresses);
  await clickhouse(addresses, 'CREATE TABLE kept (word String) ENGINE = MergeTree ORDER BY word');
  await clickhouse(addresses, "INSERT INTO kept VALUES ('yes')");
  await registry(addresses);
}

/** What each part still knows. */
export async function readAll(addresses: LocalAddresses): Promise<Record<string, string>> {
  const subjects = await fetch(`${addresses.registryUrl}/subjects`);
  return {
    redis: await redis(addresses, 'GET kept'),
    kafka: await consume(addresses),
    clickhouse: await clickhouse(addresses, 'SELECT word FROM kept'),
    registry: ((await subjects.json()) as string[]).join(),
  };
}

/** Sends one command. */
async function redis(addresses: LocalAddresses, command: string): Promise<string> {
  const client = createRedis(addresses.redisUrl, quiet);
  const [name = '', ...words] = command.split(' ');
  const answer = await client.call(name, ...words);
  client.disconnect();
  return String(answer);
}

/** Sends what is no HTTP and waits until the other side hangs up. */
export async function sendGarbage(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => socket.end('NO HTTP\r\n\r\n'));
  socket.resume();
  await once(socket, 'close');
}

/** As curl does it: the URL's user and password become a header, its path is kept. */
export async function clickhouse(addresses: LocalAddresses, query: string): Promise<string> {
  const url = new URL(addresses.clickhouseUrl);
  const credentials = Buffer.from(`${url.username}:${url.password}`).toString('base64');
  const headers = { authorization: `Basic ${credentials}` };
  const response = await fetch(url.origin + url.pathname, { method: 'POST', body: query, headers });
  return (await response.text()).trim();
}

/** The database that the official client lands in with the same URL. */
export async function databaseOfClient(addresses: LocalAddresses): Promise<unknown> {
  const client = createClient({ url: addresses.clickhouseUrl });
  const answer = await client.query({ query: 'SELECT currentDatabase() AS name', format: 'JSONEachRow' });
  const rows = await answer.json();
  await client.close();
  return rows;
}

async function produce(addresses: LocalAddresses): Promise<void> {
  const kafka = kafkaOf(addresses);
  const admin = kafka.admin();
  await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 1, replicationFactor: 1 }] });
  await admin.disconnect();
  const producer = kafka.producer();
  await producer.connect();
  await producer.send({ topic: TOPIC, acks: -1, messages: [{ value: 'yes' }] });
  await producer.disconnect();
}

async function consume(addresses: LocalAddresses): Promise<string> {
  const consumer = kafkaOf(addresses).consumer({ groupId: `read-${performance.now()}` });
  const { promise, resolve } = Promise.withResolvers<string>();
  await consumer.connect();
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true });
  await consumer.run({ eachMessage: async ({ message }) => resolve(message.value?.toString() ?? '') });
  const value = await promise;
  await consumer.disconnect();
  return value;
}

function kafkaOf(addresses: LocalAddresses): Kafka {
  return new Kafka({ brokers: addresses.kafkaBrokers.split(','), logLevel: logLevel.NOTHING });
}

async function registry(addresses: LocalAddresses): Promise<void> {
  const body = JSON.stringify({ schema: '{"type":"string"}' });
  const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
  await fetch(`${addresses.registryUrl}/subjects/${SUBJECT}/versions`, { method: 'POST', body, headers });
}
