import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { searchPath, toolEnvironment } from './environment.ts';
import { LocalError } from './errors.ts';
import { ensureReaper, registerChild } from './reaper.ts';

const OUTPUT_CHARS_MAX = 16_384;

export interface ToolOptions {
  cwd?: string;
  onOutput?(chunk: string): void;
}

/** Runs a command to its end and returns what it printed (the last 16 KiB of both streams). */
export function runTool(command: string, args: string[], options: ToolOptions = {}): Promise<string> {
  ensureReaper();
  const child = spawn(command, args, {
    cwd: options.cwd,
    detached: true,
    env: toolEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid !== undefined) registerChild(child.pid, 'part');
  let output = '';
  const take = (chunk: string) => {
    output = (output + chunk).slice(-OUTPUT_CHARS_MAX);
    options.onOutput?.(chunk);
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => reject(missing(command, cause)));
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(failed(command, args, code, output));
    });
  });
}

/** The path of a command that is on PATH. */
export function findOnPath(command: string): string | undefined {
  return searchPath()
    .map((folder) => join(folder, command))
    .find(isExecutable);
}

/** Whether a file is executable. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function missing(command: string, cause: Error): LocalError {
  return new LocalError('local_tool_missing', `${command} cannot be run (${cause.message}): install it`, { cause });
}

function failed(command: string, args: string[], code: number | null, output: string): LocalError {
  const end = output.trimEnd().split('\n').slice(-15).join('\n');
  return new LocalError('local_tool_failed', `${command} ${args.join(' ')} ended with ${code}:\n${end}`);
}
