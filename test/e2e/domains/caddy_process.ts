import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createSecureContext, type SecureContext, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '#test/harness/environment.ts';
import { findCaddy } from '#test/harness/find_caddy.ts';
import { until } from '#test/harness/until.ts';

const CADDYFILE = fileURLToPath(new URL('../../../infra/caddy/Caddyfile', import.meta.url));

export interface Caddy {
  /** A connection for a name. Rejects where Caddy has no certificate for it. */
  open(servername: string): Promise<TLSSocket>;
  close(): Promise<void>;
}

/** A real Caddy with the configuration that operators run, in front of an edge, with certificates of its own authority. */
export async function startCaddy(edgeAddress: string): Promise<Caddy> {
  const command = await findCaddy();
  const home = mkdtempSync(join(tmpdir(), 'caddy-'));
  const [port, httpPort] = [await freePort(), await freePort()];
  const child = spawn(command, ['run', '--config', CADDYFILE, '--adapter', 'caddyfile'], {
    env: childEnvironment({
      HOME: home,
      XDG_DATA_HOME: home,
      XDG_CONFIG_HOME: home,
      EDGE_ADDRESS: edgeAddress,
      CADDY_HTTPS_PORT: String(port),
      CADDY_HTTP_PORT: String(httpPort),
      CADDY_ISSUER: 'internal',
    }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-20_000);
  });
  const gone = once(child, 'exit');
  const close = async (): Promise<void> => {
    child.kill('SIGTERM');
    await gone;
    rmSync(home, { recursive: true, force: true });
  };
  const root = join(home, 'caddy/pki/authorities/local/root.crt');
  try {
    const authority = await until(
      'caddy has its authority',
      async () => readIfThere(root),
      (text) => text !== '',
      {
        timeoutMs: 20_000,
      },
    );
    // Once, as it is a client's costliest part.
    const secureContext = createSecureContext({ ca: authority });
    return { open: (servername) => openTls(port, servername, secureContext), close };
  } catch (error) {
    await close();
    throw new Error(`caddy did not start: ${log}`, { cause: error });
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

async function openTls(port: number, servername: string, secureContext: SecureContext): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, servername, secureContext });
  await once(socket, 'secureConnect');
  return socket;
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
