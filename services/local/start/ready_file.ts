import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DemoSites } from './demo_settings.ts';

/** What `.local/ready.json` holds while everything runs: where scripts and tests find the service. */
export interface ReadyFile {
  edge: string;
  control: string;
  /** The file that holds an admin token for it. */
  adminTokenFile: string;
  /** The dashboard, the user to sign in as, and the file that holds the password that the user was made with. */
  dashboard: { url: string; user: string; passwordFile: string };
  registry: string;
  kafka: string;
  redis: string;
  /** Credentials included; a SELECT can be POSTed to it and finds `events` unqualified. */
  clickhouse: string;
  site: string;
  browserKey: string;
  serverKey: string;
  /** The demo sites, the platforms they deliver to, and the pages of the shop, on which the tag can be tried. */
  demo: DemoSites & { metaStandin: string; webhookStandin: string; pages: string };
  /** Pid and metrics address of each process as they were at the start. */
  processes: Record<string, { pid: number | null; metrics: string | null }>;
}

export function readyPath(dataDir: string): string {
  return join(dataDir, 'ready.json');
}

/** Writes the file whole or not at all. It holds keys, so it is for its owner only. */
export function writeReadyFile(dataDir: string, ready: ReadyFile): void {
  const path = readyPath(dataDir);
  writeFileSync(`${path}.new`, `${JSON.stringify(ready, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

export function removeReadyFile(dataDir: string): void {
  rmSync(readyPath(dataDir), { force: true });
}
