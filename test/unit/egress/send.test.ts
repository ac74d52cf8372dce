import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTcpServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createEgress, EGRESS_DEFAULTS, type Egress, type EgressOptions } from '#infra/egress/send.ts';
import type { Resolve } from '#infra/egress/ssrf_guard.ts';
import type { HttpRequest } from '#pipelines/delivery/contract.ts';

const LOCAL: EgressOptions = { ...EGRESS_DEFAULTS, allowHttp: true, allowLoopback: true };
/** No answer takes as long, on whatever machine. */
const LATE_MS = 60_000;
const open: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => server.close(resolve)));
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : expect.fail('no port');
}

const serve = (listener: RequestListener): Promise<number> => listen(createServer(listener));

function egress(options: Partial<EgressOptions> = {}, resolve?: Resolve): Egress {
  const created = createEgress({ ...LOCAL, ...options }, resolve);
  open.unshift(() => created.close());
  return created;
}

const post = (url: string, trusted = true): HttpRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json' },
  body: '{"a":1}',
  trusted,
});

describe('an exchange', () => {
  it('brings back status, headers and body', async () => {
    const port = await serve((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        response.writeHead(429, { 'Retry-After': '7' });
        response.end(`${request.method} ${request.url} ${body}`);
      });
    });
    const answer = await egress().send(post(`http://127.0.0.1:${port}/in?x=1`), LATE_MS);
    expect(answer).toMatchObject({ kind: 'answered', status: 429, body: 'POST /in?x=1 {"a":1}' });
    expect(answer).toHaveProperty('headers.retry-after', '7');
  });

  it('keeps its connection for those after it', async () => {
    const ports = new Set<number | undefined>();
    const port = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      request.resume().on('end', () => response.end('ok'));
    });
    const out = egress();
    for (let call = 0; call < 20; call += 1) await out.send(post(`http://127.0.0.1:${port}/`), LATE_MS);
    expect(ports.size).toBeLessThanOrEqual(2);
  });

  it('opens no more connections to an origin than allowed', async () => {
    const ports = new Set<number | undefined>();
    const held: ServerResponse[] = [];
    // The first are answered when all connections there may be are in use.
    const port = await serve((request, response) => {
      ports.add(request.socket.remotePort);
      held.push(response);
      if (ports.size >= 3) for (const one of held.splice(0)) one.end('ok');
    });
    const out = egress({ connectionsMax: 3 });
    const calls = Array.from({ length: 20 }, () => out.send(post(`http://127.0.0.1:${port}/`), LATE_MS));
    const answers = await Promise.all(calls);
    expect(answers.every((answer) => answer.kind === 'answered')).toBe(true);
    expect(ports.size).toBe(3);
  });

  it('does not follow a redirect', async () => {
    const paths: (string | undefined)[] = [];
    const port = await serve((request, response) => {
      paths.push(request.url);
      response.writeHead(307, { location: '/other' }).end();
    });
    expect(await egress().send(post(`http://127.0.0.1:${port}/first`), LATE_MS)).toMatchObject({ status: 307 });
    expect(paths).toEqual(['/first']);
  });

  it('reads at most 64 KiB of an endless body', async () => {
    const port = await serve((_, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(16_384)));
      };
      response.on('drain', write);
      write();
    });
    const answer = await egress().send(post(`http://127.0.0.1:${port}/`), LATE_MS);
    expect(answer.kind === 'answered' && answer.body.length).toBe(65_536);
  });
});

describe('the deadline', () => {
  it('ends a call that is never answered', async () => {
    const port = await serve(() => undefined);
    expect(await egress().send(post(`http://127.0.0.1:${port}/`), 100)).toEqual({
      kind: 'no_answer',
      reason: 'timeout',
    });
  });

  it('ends a body that trickles, keeping the status that came', async () => {
    const port = await serve((_, response) => {
      response.writeHead(200);
      // oxlint-disable-next-line no-restricted-globals -- It waits for nothing: it is the trickle.
      const timer = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const answer = await egress().send(post(`http://127.0.0.1:${port}/`), 1_000);
    expect(answer).toMatchObject({ kind: 'answered', status: 200 });
  });
});

describe('no answer', () => {
  it('is told apart: nobody listens', async () => {
    const port = await serve(() => undefined);
    await open.pop()?.();
    expect(await egress().send(post(`http://127.0.0.1:${port}/`), LATE_MS)).toEqual({
      kind: 'no_answer',
      reason: 'connect',
    });
  });

  it('is told apart: the connection breaks', async () => {
    const port = await serve((request) => request.socket.destroy());
    expect(await egress().send(post(`http://127.0.0.1:${port}/`), LATE_MS)).toEqual({
      kind: 'no_answer',
      reason: 'reset',
    });
  });

  it('is told apart: the name is unknown', async () => {
    const resolve: Resolve = () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' }));
    const answer = await egress({}, resolve).send(post('http://nowhere.example/', false), LATE_MS);
    expect(answer).toEqual({ kind: 'no_answer', reason: 'dns' });
  });

  it('is told apart: the peer does not speak TLS', async () => {
    const server = createTcpServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 400 Bad Request\r\n\r\n');
        socket.destroySoon();
      });
    });
    const port = await listen(server);
    expect(await egress().send(post(`https://127.0.0.1:${port}/`), LATE_MS)).toEqual({
      kind: 'no_answer',
      reason: 'tls',
    });
  });

  it('is told apart: the request cannot be written', async () => {
    const request = { ...post('http://127.0.0.1:9/'), headers: { token: 'a\r\nb' } };
    expect(await egress().send(request, LATE_MS)).toEqual({ kind: 'no_answer', reason: 'invalid_request' });
  });
});

describe('the guard', () => {
  const REFUSED = { kind: 'no_answer', reason: 'address_refused' };
  const resolvingTo =
    (...addresses: string[]): Resolve =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  it.each([
    ['loopback', ['127.0.0.1']],
    ['a private address', ['10.1.2.3']],
    ['a metadata address', ['169.254.169.254']],
    ['a v4-mapped address', ['::ffff:10.0.0.1']],
    ['one public and one private address', ['93.184.216.34', '192.168.0.1']],
    ['no address', []],
  ])('refuses a name that leads to %s', async (_, addresses) => {
    const out = egress({ allowHttp: false, allowLoopback: false }, resolvingTo(...addresses));
    expect(await out.send(post('https://hooks.example/', false), LATE_MS)).toEqual(REFUSED);
  });

  it.each(['http://127.1/', 'https://0x7f000001/', 'https://[::ffff:10.0.0.1]/', 'http://hooks.example/', 'not a url'])(
    'refuses %s without resolving anything',
    async (url) => {
      const resolve: Resolve = () => expect.fail('resolved');
      const out = egress({ allowHttp: false, allowLoopback: false }, resolve);
      expect(await out.send(post(url, false), LATE_MS)).toEqual(REFUSED);
    },
  );

  it('connects to the address it checked, though the name answers differently the next time', async () => {
    const hosts: (string | undefined)[] = [];
    const port = await serve((request, response) => {
      hosts.push(request.headers.host);
      response.end('ok');
    });
    let asked = 0;
    const rebinding: Resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    };
    const out = egress({}, rebinding);
    expect(await out.send(post(`http://hooks.example:${port}/`, false), LATE_MS)).toMatchObject({ status: 200 });
    expect(hosts).toEqual([`hooks.example:${port}`]);
    expect(asked).toBe(1);
  });

  it('checks again for every new connection', async () => {
    const port = await serve((_, response) => {
      response.writeHead(200, { connection: 'close' }).end('ok');
    });
    let asked = 0;
    const rebinding: Resolve = async () => {
      asked += 1;
      return [{ address: asked === 1 ? '127.0.0.1' : '10.0.0.1', family: 4 }];
    };
    const out = egress({}, rebinding);
    const url = `http://hooks.example:${port}/`;
    expect(await out.send(post(url, false), LATE_MS)).toMatchObject({ status: 200 });
    expect(await out.send(post(url, false), LATE_MS)).toEqual(REFUSED);
  });

  it('lets a trusted request through to loopback', async () => {
    const port = await serve((_, response) => response.end('ok'));
    const out = egress({ allowHttp: false, allowLoopback: false });
    expect(await out.send(post(`http://127.0.0.1:${port}/`), LATE_MS)).toMatchObject({ status: 200 });
  });
});
