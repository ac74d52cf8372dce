import Fastify from 'fastify';
import { Kafka, logLevel } from 'kafkajs';

/** What one would write first: Fastify and kafkajs, a record per event, the request's send awaited. */
const [brokers = '', topic = ''] = process.argv.slice(2);
const kafka = new Kafka({ clientId: 'floor', brokers: brokers.split(','), logLevel: logLevel.NOTHING });
// The client's warning about its own timers, of which it prints one a process.
process.removeAllListeners('warning');
const producer = kafka.producer();
await producer.connect();
const app = Fastify({ bodyLimit: 1024 * 1024 });
app.post('/', async (request, reply) => {
  const { events } = request.body as { events: { distinct_id: string; uuid: string }[] };
  const messages = events.map((event) => ({
    key: event.distinct_id,
    value: JSON.stringify(event),
    headers: { uuid: event.uuid },
  }));
  await producer.send({ topic, acks: -1, messages });
  return reply.send({ accepted: events.length });
});
await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: (app.server.address() as { port: number }).port });
