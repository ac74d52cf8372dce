import { openSync, readFileSync } from 'node:fs';
import ffi from 'ffi-rs';

const { DataType, load, open } = ffi;
const LIBRARY = 'libc';
const O_RDWR = 2;
const O_NOCTTY = 0o400;

/** The C library is loaded already; an empty path stands for the process itself. */
export function openLibc(): void {
  open({ library: LIBRARY, path: '' });
}

/** Makes the standard input a terminal. */
export function takeTerminal(): void {
  const master = callLibc('posix_openpt', O_RDWR);
  callLibc('grantpt', master);
  callLibc('unlockpt', master);
  const slave = openSync(`/dev/pts/${terminalIndex(master)}`, O_RDWR | O_NOCTTY);
  callLibc('dup2', slave, 0);
}

/** Makes a named pipe that only its owner can read. */
export function makeFifo(path: string): void {
  callLibc('mkfifo', path, 0o600);
}

/** Exits at once: the library's own clean-up at exit crashes while its threads run. */
export function exitNow(code: number): never {
  callLibc('_exit', code);
  throw new Error('_exit returned');
}

function terminalIndex(master: number): string {
  const index = readFileSync(`/proc/self/fdinfo/${master}`, 'utf8').match(/tty-index:\s*(\d+)/)?.[1];
  if (index === undefined) throw new Error('the terminal has no index');
  return index;
}

function callLibc(name: string, ...values: (number | string)[]): number {
  const result = load({
    library: LIBRARY,
    funcName: name,
    retType: DataType.I32,
    paramsType: values.map((value) => (typeof value === 'string' ? DataType.String : DataType.I32)),
    paramsValue: values,
  });
  if (result < 0) throw new Error(`${name} failed`);
  return result;
}
