import { readFile } from 'node:fs/promises';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

const DEMO_SITE = Type.Object({
  site: Type.String(),
  browserKey: Type.String(),
  serverKey: Type.String(),
  /** An address that the site blocks; without it the demo sends no blocked traffic. */
  blockedIp: Type.Optional(Type.String()),
});

const READY = Type.Object({
  edge: Type.String(),
  /** An address to which a SELECT can be POSTed, credentials included. */
  clickhouse: Type.String(),
  demo: Type.Object({
    shop: DEMO_SITE,
    travel: DEMO_SITE,
    metaStandin: Type.String(),
    webhookStandin: Type.String(),
  }),
});

/** The part of `.local/ready.json` that the demo uses. */
export type Ready = Static<typeof READY>;
export type DemoSite = Static<typeof DEMO_SITE>;

/** `code` is `not_started` (no such file) or `demo_sites_missing` (the file lacks what the demo needs). */
export class ReadyError extends Error {
  readonly code: 'not_started' | 'demo_sites_missing';

  constructor(code: ReadyError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') {
      throw new ReadyError('not_started', `${path} is not there: run \`npm start\` first and wait for READY`);
    }
    throw error;
  }
}

/** Names of the fields that are missing or malformed; values are left out, as they may be keys. */
function faults(value: unknown): string {
  const paths = [...Value.Errors(READY, value)].map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  return [...new Set(paths)].join(', ');
}

/**
 * Reads where the running service is.
 *
 * @throws ReadyError
 */
export async function readReady(path: string): Promise<Ready> {
  const value: unknown = JSON.parse(await readText(path));
  if (Value.Check(READY, value)) return value;
  throw new ReadyError('demo_sites_missing', `${path} lacks what the demo needs: ${faults(value)}`);
}
