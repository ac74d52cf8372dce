import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { makeCertificate, type TestCertificate } from './certificate.ts';

/** TLS in front of a plain server on loopback, as far away as a visitor is. */
export interface DelayProxy {
  port: number;
  /** `https://NAME:PORT`, for a name that the browser resolves to loopback. */
  origin(name: string): string;
  /** Connections that were opened, those refused included. */
  connections(): number;
  /** Away: open connections are reset, and so is every new one, until it is back. */
  setAway(isAway: boolean): void;
  close(): Promise<void>;
}

/** Each way. Over loopback without delay everything arrives, however it is sent. */
const DELAY_MS = 40;

/** One for all proxies of a process, so that one flag of the browser covers them. */
export const CERTIFICATE: TestCertificate = makeCertificate('test.example');

/** Starts a proxy for a server on loopback. What a browser that has died sent before still arrives, as over any wire. */
export async function startDelayProxy(target: string, delayMs: number = DELAY_MS): Promise<DelayProxy> {
  const { port: targetPort } = new URL(target);
  const tls = createTlsServer({ key: CERTIFICATE.key, cert: CERTIFICATE.cert, ALPNProtocols: ['http/1.1'] }, (secure) =>
    join(secure, connect(Number(targetPort), '127.0.0.1')),
  );
  await listening(tls);
  const wires = new Set<Socket>();
  let isAway = false;
  let opened = 0;
  const wire = createServer({ noDelay: true, allowHalfOpen: true }, (near) => {
    opened += 1;
    if (isAway) return void near.resetAndDestroy();
    const far = connect({ port: portOf(tls), host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    wires.add(near).add(far);
    near.once('close', () => wires.delete(near));
    far.once('close', () => wires.delete(far));
    delay(near, far, delayMs);
    delay(far, near, delayMs);
    return undefined;
  });
  await listening(wire);
  const cut = (): void => {
    for (const socket of wires) socket.resetAndDestroy();
  };
  return {
    port: portOf(wire),
    origin: (name) => `https://${name}:${portOf(wire)}`,
    connections: () => opened,
    setAway(away) {
      isAway = away;
      if (away) cut();
    },
    async close() {
      cut();
      await Promise.all([closed(wire), closed(tls)]);
    },
  };
}

/** Passes on what comes, in order, each piece as late as the others. */
function delay(from: Socket, to: Socket, delayMs: number): void {
  let last = Promise.resolve();
  const later = (act: () => void): void => {
    const due = sleep(delayMs);
    last = last.then(() => due).then(() => void (to.destroyed || act()));
  };
  from.on('data', (chunk: Buffer) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => later(() => to.end()));
}

function join(one: Socket, other: Socket): void {
  one.pipe(other).pipe(one);
  one.on('error', () => other.end());
  other.on('error', () => one.destroy());
  // The source of a pipe stands still when its target has closed: with what came since unread it would never end.
  one.once('close', () => other.resume());
  other.once('close', () => one.resume());
}

function listening(server: Server): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;
