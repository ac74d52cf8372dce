import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { processStart } from '#services/local/parts/processes.ts';

/** A process by pid and start time, so that a reused pid is never mistaken for it. */
export interface ProcessMark {
  pid: number;
  start: string;
  command: string;
}

/** All processes that live now and whose environment, as it was at their start, holds `NAME=value`. */
export function processesWith(variable: string, value: string): ProcessMark[] {
  return allPids().flatMap((pid) => (environmentOf(pid).includes(`${variable}=${value}`) ? mark(pid) : []));
}

/** All processes that live now and whose working directory is in a folder, even if that is removed already. */
export function processesIn(folder: string): ProcessMark[] {
  return allPids().flatMap((pid) => (`${directoryOf(pid)}/`.startsWith(`${folder}/`) ? mark(pid) : []));
}

/** All descendants of a process. */
export function descendantsOf(pid: number): ProcessMark[] {
  const parents = new Map(allPids().map((one) => [one, parentOf(one)]));
  const found = new Set<number>([pid]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const [one, parent] of parents) if (parent !== undefined && found.has(parent)) found.add(one);
  }
  found.delete(pid);
  return [...found].flatMap(mark);
}

export function isAlive({ pid, start }: ProcessMark): boolean {
  return processStart(pid) === start;
}

/** The variables a process was started with, as `NAME=value`; none where it is gone or not ours to read. */
function environmentOf(pid: number): string[] {
  return fileOf(pid, 'environ').split('\0');
}

export function mark(pid: number): ProcessMark[] {
  const start = processStart(pid);
  return start === undefined ? [] : [{ pid, start, command: fileOf(pid, 'cmdline').replaceAll('\0', ' ').trim() }];
}

function allPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid: number): number | undefined {
  const stat = fileOf(pid, 'stat');
  if (stat === '') return undefined;
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function directoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
