// New passwords of a part that runs here, which `npm start` is asked for.

import { randomUUID } from 'node:crypto';
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import type { Environment } from '#infra/config/environment.ts';
import type { LoginPart } from '#infra/rights/logins.ts';
import {
  type LocalRotation,
  type RotationRequest,
  readRequest,
  readState,
  requestPath,
} from '#services/stage/local_rotation.ts';
import { UsageError } from '../command.ts';
import { localFolder, readReadyFile } from '../local_folder.ts';

interface Ports {
  env: Environment;
  clock: Clock;
  say(line: string): void;
}

/** Of time that only goes forward. */
export interface Clock {
  elapsedMs(): number;
  sleep(ms: number): Promise<void>;
}

/** What was asked for is sound, and was not done. */
class RotationError extends Error {
  readonly code: 'rotation_failed' | 'rotation_late';

  constructor(code: RotationError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const POLL_MS = 200;
/** The start looks twice a second. */
const TAKEN_MS_MAX = 20_000;
const DONE_MS_MAX = 1_200_000;

/**
 * Asks `npm start`, which goes on also without this command once it has begun.
 *
 * @throws UsageError `not_running` where nobody takes what was asked for, which is then taken back
 */
export async function rotateHere(part: LoginPart, { env, clock, say }: Ports): Promise<string[]> {
  const folder = localFolder(env);
  if (readReadyFile(env) === null)
    throw new UsageError('not_running', 'nothing runs here: npm start; for parts elsewhere --environment FOLDER');
  const id = joined(part, readState(folder)) ?? ask(folder, part);
  const startMs = clock.elapsedMs();
  for (let said = ''; clock.elapsedMs() - startMs < DONE_MS_MAX; await clock.sleep(POLL_MS)) {
    const rotation = readState(folder);
    if (rotation?.id !== id) {
      if (clock.elapsedMs() - startMs >= TAKEN_MS_MAX) await takeBack(folder, id, clock);
      continue;
    }
    if (rotation.state === 'done') return [`The users of ${part} have new passwords; the old ones are refused.`];
    if (rotation.state === 'failed') throw new RotationError('rotation_failed', rotation.says);
    if (rotation.says !== said) say(rotation.says);
    said = rotation.says;
  }
  throw new RotationError('rotation_late', 'npm start has not done it: see what it says');
}

/** That which is under way for the part. @throws UsageError where another part's is not over */
function joined(part: LoginPart, state: LocalRotation | null): string | null {
  if (state === null || (state.state !== 'running' && !state.isHalf)) return null;
  if (state.part !== part)
    throw new UsageError('rotation_unfinished', `the passwords of ${state.part} are being changed, or half changed`);
  return state.state === 'running' ? state.id : null;
}

function ask(folder: string, part: LoginPart): string {
  const request: RotationRequest = { id: randomUUID(), part };
  const draft = `${requestPath(folder)}.${request.id}`;
  writeFileSync(draft, JSON.stringify(request), { flag: 'wx', mode: 0o600 });
  try {
    // Whole from the beginning, and of one command only.
    linkSync(draft, requestPath(folder));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw new UsageError(
      'rotation_unfinished',
      `another command has asked; if none runs, take ${requestPath(folder)} away`,
    );
  } finally {
    rmSync(draft);
  }
  return request.id;
}

async function takeBack(folder: string, id: string, clock: Clock): Promise<void> {
  const path = requestPath(folder);
  try {
    if (readRequest(path).id === id) rmSync(path);
  } catch (error) {
    // Taken.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  // It may have been taken right before.
  await clock.sleep(POLL_MS);
  if (readState(folder)?.id !== id)
    throw new UsageError('not_running', 'npm start does not take it, and will not: it does not run, or has just begun');
}
