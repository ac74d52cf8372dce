// Programs of this machine, their environment, packages unpacked without root, and folders that one process at a time fills.

import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { environment } from '#infra/config/environment.ts';
import { toolsConfig } from '#infra/config/local_config.ts';
import { ensureReaper, owner, registerChild } from './processes.ts';

const OUTPUT_CHARS_MAX = 16_384;

/** Runs a command to its end and returns what it printed (the last 16 KiB of both streams). */
export function runTool(command: string, args: string[], options: { cwd?: string } = {}): Promise<string> {
  ensureReaper();
  const child = spawn(command, args, {
    cwd: options.cwd,
    detached: true,
    // All of it, as Maven, pip and apt may need proxy settings.
    env: { ...environment(), ...ownerEnvironment() },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) registerChild(child.pid, 'part');
  let output = '';
  const take = (chunk: string) => {
    output = (output + chunk).slice(-OUTPUT_CHARS_MAX);
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      const what = `${command} cannot be run (${cause.message}): install it`;
      reject(new LocalError('local_tool_missing', what, { cause }));
    });
    child.once('close', (code) => {
      if (code === 0) return resolve(output);
      const end = output.trimEnd().split('\n').slice(-15).join('\n');
      reject(new LocalError('local_tool_failed', `${command} ${args.join(' ')} ended with ${code}:\n${end}`));
    });
  });
}

export function findOnPath(command: string): string | undefined {
  const folders = toolsConfig(environment()).path.split(':');
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, command))
    .find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Marks every process started for this one, so that the reaper also finds those that were never registered. */
const OWNER_VARIABLE = 'EVENT_INGEST_OWNER';

const PART_VARIABLES = ['PATH', 'HOME', 'USER', 'LANG', 'TZ', 'TMPDIR'];

/** What the environment of a supervisor's child process must hold; the child must be registered too. */
export function ownerEnvironment(): Record<string, string> {
  return { [OWNER_VARIABLE]: owner() };
}

/** A small environment for parts, so that no other variable changes how a broker or a database is configured. */
export function partEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = PART_VARIABLES.flatMap((name) => {
    const value = environment()[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(kept), ...ownerEnvironment(), ...extra };
}

/** Why starting the local parts can fail; docs and callers rely on these codes. */
type LocalErrorCode =
  | 'local_java_missing'
  | 'local_redis_missing'
  | 'local_clickhouse_missing'
  | 'local_tool_missing'
  | 'local_tool_failed'
  | 'local_part_failed'
  | 'local_process_not_ready'
  | 'local_no_free_port'
  | 'local_brokers_differ'
  | 'local_part_elsewhere';

/** A failure to bring up or keep a local part, with a message that says what to do. */
export class LocalError extends Error {
  readonly code: LocalErrorCode;

  constructor(code: LocalErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LocalError';
    this.code = code;
  }
}

export interface Wheel {
  /** Name and version, as pip takes them. */
  requirement: string;
  /** SHA-256 of its builds, by platform: pip takes no other file. */
  sha256: Readonly<Record<string, string>>;
}

/** Unpacks a wheel into a folder, which then holds what was asked for as well. */
export async function installWheel(folder: string, { requirement, sha256 }: Wheel): Promise<void> {
  const wanted = join(folder, 'requirements.txt');
  const hashes = Object.values(sha256).map((digest) => `--hash=sha256:${digest}`);
  writeFileSync(wanted, `${[requirement, ...hashes].join(' ')}\n`);
  const pip = ['-m', 'pip', 'install', '--no-deps', '--only-binary', ':all:', '--require-hashes'];
  await runTool('python3', [...pip, '--target', folder, '-r', wanted]);
}

const APT_LISTS = '/var/lib/apt/lists';
/** Where packages put shared libraries; libpulse has a part of its own in the last folder. */
const LIBRARIES = ['lib/*-linux-gnu*', 'usr/lib/*-linux-gnu*', 'usr/lib/*-linux-gnu*/pulseaudio'];

/**
 * Unpacks packages of the distribution into a folder, with the packages they need that this machine lacks. It installs
 * nothing and starts no daemon.
 *
 * @throws LocalError or Error where there is no apt, no such package or no network.
 */
export async function unpackDebianPackages(
  folder: string,
  wanted: readonly [string, ...string[]],
  onProgress: (line: string) => void,
): Promise<void> {
  if (findOnPath('apt-get') === undefined) throw new Error('no apt-get here');
  const names = await missingPackages(wanted, onProgress);
  onProgress(`${wanted[0]}: ${names.length} Debian packages, unpacked, not installed`);
  await runTool('apt-get', ['download', ...names], { cwd: folder });
  for (const archive of globSync('*.deb', { cwd: folder })) {
    await runTool('dpkg-deb', ['-x', archive, '.'], { cwd: folder });
  }
}

/** The folders of the shared libraries that were unpacked, as LD_LIBRARY_PATH takes them; empty where there are none. */
export function unpackedLibraries(folder: string): string {
  return globSync(LIBRARIES, { cwd: folder })
    .map((name) => join(folder, name))
    .join(':');
}

async function missingPackages(
  wanted: readonly [string, ...string[]],
  onProgress: (line: string) => void,
): Promise<string[]> {
  if (!existsSync(APT_LISTS) || !readdirSync(APT_LISTS).some((file) => file.includes('_Packages'))) {
    onProgress(`${wanted[0]}: apt-get update, since this machine has no package lists`);
    await runTool('apt-get', ['update']);
  }
  const plan = await runTool('apt-get', ['install', '--simulate', '--no-install-recommends', ...wanted]);
  return [...plan.matchAll(/^Inst (\S+)/gm)].flatMap((match) => match[1] ?? []);
}

const DRAFT_PREFIX = '.draft-';
const LOCK_POLL_MS = 250;

/**
 * A folder inside of the parts folder. It is complete whenever it exists, as it is made under another name and renamed.
 * Returns its path.
 */
export async function ensureFolder(
  partsDir: string,
  name: string,
  make: (draft: string) => Promise<void>,
): Promise<string> {
  const path = join(partsDir, name);
  if (existsSync(path)) return path;
  const draft = join(partsDir, `${DRAFT_PREFIX}${name}`);
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  await make(draft);
  renameSync(draft, path);
  return path;
}

/** Runs work while no other process installs into the same parts folder, after removing what a killed one left. */
export async function whileLocked<T>(partsDir: string, work: () => Promise<T>): Promise<T> {
  let release = await acquireLock(partsDir);
  for (; release === null; release = await acquireLock(partsDir)) await sleep(LOCK_POLL_MS);
  try {
    for (const name of readdirSync(partsDir)) {
      if (name.startsWith(DRAFT_PREFIX)) rmSync(join(partsDir, name), { recursive: true, force: true });
    }
    return await work();
  } finally {
    release();
  }
}

/**
 * Takes the lock of a folder, which only stops those who ask for it: a socket in Linux's abstract namespace, which is gone
 * with its process, however that ends. Returns how to release it; null where another process holds it.
 */
export async function acquireLock(folder: string): Promise<(() => void) | null> {
  mkdirSync(folder, { recursive: true });
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(`\0event-ingest-${hash('sha256', realpathSync(folder))}`, resolve);
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null;
    throw error;
  }
  server.unref();
  return () => void server.close();
}
