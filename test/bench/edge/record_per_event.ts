import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Kafka, logLevel } from 'kafkajs';

const TOPIC = 'bench.records';
const PARTITIONS = 12;

/** What one would write first: Fastify and kafkajs, a record for each event, the request's send awaited. */
const [brokers = ''] = process.argv.slice(2);
const kafka = new Kafka({ clientId: 'bench', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
const admin = kafka.admin();
await admin.connect();
await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: PARTITIONS }], waitForLeaders: true });
await admin.disconnect();
const producer = kafka.producer();
await producer.connect();
const app = Fastify({ bodyLimit: 1024 * 1024 });
app.addContentTypeParser('*', { parseAs: 'string' }, (_, body, done) => done(null, JSON.parse(String(body))));
app.post('*', async (request) => {
  const { events } = request.body as { events: { distinct_id: string; uuid: string }[] };
  const messages = events.map((event) => ({
    key: event.distinct_id,
    value: JSON.stringify(event),
    headers: { uuid: event.uuid },
  }));
  await producer.send({ topic: TOPIC, acks: -1, messages });
  return { accepted: events.length };
});
await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: (app.server.address() as AddressInfo).port });
