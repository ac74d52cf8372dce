import Fastify from 'fastify';

/** The floor below every edge in Fastify: parse the JSON and answer. */
const app = Fastify({ bodyLimit: 1024 * 1024 });
app.post('/', (request, reply) => reply.send({ accepted: (request.body as { events: unknown[] }).events.length }));
await app.listen({ host: '127.0.0.1', port: 0 });
process.send?.({ port: (app.server.address() as { port: number }).port });
