// How `svc password rotate` asks `npm start` for new passwords: files in the folder of everything local.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { LOGIN_PARTS, type LoginPart } from '#infra/rights/logins.ts';

/** What is asked for: who takes it, or takes it back, takes the file away. One at a time. */
export interface RotationRequest {
  id: string;
  part: LoginPart;
}

/** How far what was asked for is. */
export interface LocalRotation extends RotationRequest {
  state: 'running' | 'done' | 'failed';
  /** What is done now, or why it failed. */
  says: string;
  /** Users may have an old and a new password: nothing else is begun before it is done. */
  isHalf: boolean;
}

export const requestPath = (folder: string): string => join(folder, 'rotation.asked.json');
export const statePath = (folder: string): string => join(folder, 'rotation.json');

const REQUEST = { id: Type.String(), part: Type.Enum([...LOGIN_PARTS]) };
const REQUEST_FILE = Type.Object(REQUEST);
const STATE_FILE = Type.Object({
  ...REQUEST,
  state: Type.Enum(['running', 'done', 'failed']),
  says: Type.String(),
  isHalf: Type.Boolean(),
});

/** A file of a rotation is none: what it holds, which may be a password, is not quoted. */
export class RotationFileError extends Error {
  readonly code = 'rotation_file_broken';
}

/** @throws RotationFileError */
export const readRequest = (path: string): RotationRequest =>
  readJson(path, (value) => Value.Parse(REQUEST_FILE, value));

/** Null where none was asked for yet. @throws RotationFileError */
export const readState = (folder: string): LocalRotation | null =>
  existsSync(statePath(folder)) ? readJson(statePath(folder), (value) => Value.Parse(STATE_FILE, value)) : null;

/** @throws RotationFileError, which names the file; what reading it at all throws */
export function readJson<T>(path: string, parse: (value: unknown) => T, todo = 'take it away'): T {
  const text = readFileSync(path, 'utf8');
  try {
    return parse(JSON.parse(text));
  } catch {
    throw new RotationFileError(`${path} is broken: ${todo}`);
  }
}
