import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpServer, type HttpServer, listen } from '#infra/http/http_server.ts';
import { sendLines, statusIn } from '#test/harness/raw_request.ts';

let app: HttpServer;
let port: number;
beforeAll(async () => {
  app = createHttpServer({ trustedProxies: [], bodyBytesMax: 1_000, requestTimeoutMs: 30_000 });
  app.get('/', (_request, reply) => reply.send('served'));
  port = await listen(app, '127.0.0.1', 0);
});
afterAll(() => app.close());

const statusOf = async (lines: string[]): Promise<number> => statusIn(await sendLines(port, lines));

test.each([
  ['a name', ['GET / HTTP/1.1', 'Host: shop.example']],
  ['a name with a port', ['GET / HTTP/1.1', 'host: shop.example:8443']],
  ['an address', ['GET / HTTP/1.1', 'Host: 127.0.0.1:80']],
  ['a name with the highest port', ['GET / HTTP/1.1', 'Host: shop.example:65535']],
  ['an address of IPv6', ['GET / HTTP/1.1', 'Host: [2001:db8::1]:443']],
  ['a name with the dot of the root', ['GET / HTTP/1.1', 'Host: shop.example.']],
  ['nothing, as where a URL names no host', ['GET / HTTP/1.1', 'Host:']],
  ['none, of HTTP/1.0', ['GET / HTTP/1.0']],
  ['that of its target', ['GET http://Shop.example:80/ HTTP/1.1', 'Host: shop.example:80']],
])('a request whose Host is %s is served', async (_, lines) => {
  expect(await statusOf(lines)).toBe(200);
});

test.each([
  ['two Hosts', ['GET / HTTP/1.1', 'Host: shop.example', 'Host: other.example']],
  ['two Hosts that are the same', ['GET / HTTP/1.1', 'Host: shop.example', 'HOST: shop.example']],
  ['two Hosts, of HTTP/1.0', ['GET / HTTP/1.0', 'Host: shop.example', 'Host: other.example']],
  ['no Host', ['GET / HTTP/1.1']],
  ['two names in one Host', ['GET / HTTP/1.1', 'Host: shop.example, other.example']],
  ['a user in its Host', ['GET / HTTP/1.1', 'Host: me@shop.example']],
  ['a path in its Host', ['GET / HTTP/1.1', 'Host: shop.example/path']],
  ['a target of another host', ['GET http://other.example/ HTTP/1.1', 'Host: shop.example']],
  ['a target of another port', ['GET http://shop.example:81/ HTTP/1.1', 'Host: shop.example']],
  ['a host in its target alone', ['GET http://shop.example/ HTTP/1.0']],
  ['a target of another scheme', ['GET ftp://shop.example/ HTTP/1.1', 'Host: shop.example']],
  ['a port that there is not', ['GET / HTTP/1.1', 'Host: shop.example:65536']],
  ['a port that there is not at an address of IPv6', ['GET / HTTP/1.1', 'Host: [::1]:99999']],
  ['no port in its Host, though it says one', ['GET / HTTP/1.1', 'Host: shop.example:http']],
])('a request with %s is refused', async (_, lines) => {
  expect(await statusOf(lines)).toBe(400);
});
