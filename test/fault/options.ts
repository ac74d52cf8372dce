import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

/** What `npm run fault -- …` was asked for. */
export interface FaultOptions {
  seed: number;
  /** Beginnings of rows' names, or of variants' with `broken`; null for all. */
  only: readonly string[] | null;
  /** New events a row, at the least. */
  events: number;
  /** How long events wait in rows where that is open. */
  minutes: number;
  smoke: boolean;
  broken: boolean;
  list: boolean;
}

const SEED_MAX = 2 ** 31;
const SEED = 1;
const EVENTS = 2_000;
const MINUTES = 3;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

/** Reads the words of the command line; `--seed random` draws a seed. Throws TypeError for words it does not know. */
export function faultOptions(words: readonly string[]): FaultOptions {
  const { values } = parseArgs({
    args: [...words],
    options: { seed: text, only: text, events: text, minutes: text, smoke: flag, broken: flag, list: flag },
  });
  return {
    seed: values.seed === 'random' ? randomInt(SEED_MAX) : whole('seed', values.seed ?? String(SEED)),
    only: values.only?.split(',') ?? null,
    events: values.events === undefined ? EVENTS : whole('events', values.events),
    minutes: values.minutes === undefined ? MINUTES : whole('minutes', values.minutes),
    smoke: values.smoke ?? false,
    broken: values.broken ?? false,
    list: values.list ?? false,
  };
}

function whole(name: string, value: string): number {
  if (!/^\d{1,10}$/.test(value)) throw new TypeError(`--${name} must be a whole number`);
  return Number(value);
}

/** Whether a name is among those asked for. */
export function isWanted({ only }: Pick<FaultOptions, 'only'>, name: string): boolean {
  return only === null || only.some((beginning) => name.startsWith(beginning));
}
