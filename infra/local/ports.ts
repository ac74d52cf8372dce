import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { LocalError } from './errors.ts';

/**
 * Below the range from which Linux takes outgoing ports (32768 on). If a port were inside of it, a client that retries while
 * the part is down could connect to itself and hold the port for good.
 */
const PORT_MIN = 20_000;
const PORT_MAX = 32_000;
const TRIES_MAX = 200;

/** Loopback ports by name, the same as at the last start where they are still free, stored in ports.json. */
export async function choosePorts<Name extends string>(
  dataDir: string,
  names: readonly Name[],
): Promise<Record<Name, number>> {
  const path = join(dataDir, 'ports.json');
  const saved = readPorts(path);
  const chosen = { ...saved };
  for (const name of names)
    chosen[name] = await keepOrPick(
      saved[name],
      Object.values(chosen).filter((port) => port !== undefined),
    );
  writePorts(path, chosen);
  return chosen as Record<Name, number>;
}

async function keepOrPick(saved: number | undefined, taken: number[]): Promise<number> {
  if (saved !== undefined && (await isFree(saved))) return saved;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
    if (!taken.includes(port) && (await isFree(port))) return port;
  }
  throw new LocalError('local_no_free_port', `no free port between ${PORT_MIN} and ${PORT_MAX}: end what uses them`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

function readPorts(path: string): Partial<Record<string, number>> {
  if (!existsSync(path)) return {};
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}

function writePorts(path: string, ports: Partial<Record<string, number>>): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(`${path}.new`, `${JSON.stringify(ports, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}
