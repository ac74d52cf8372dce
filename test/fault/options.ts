import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { CLUSTER, type Layout, SINGLE } from './world/layout.ts';

/** What `npm run fault -- …` or `npm run drill -- NAME …` was asked for. */
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
  layout: Layout;
  /** The version before, as git calls it; null for the last that was released. */
  from: string | null;
  /** The drill that has its own load and its own account. */
  rolling: RollingOptions | null;
}

export interface RollingOptions {
  /** Events a second. */
  rate: number;
  minutes: number;
  brokers: 1 | 3;
}

const SEED_MAX = 2 ** 31;
const SEED = 1;
const EVENTS = 2_000;
const MINUTES = 3;
const ROLLING = 'rolling';
const ROLLING_RATE = 10_000;
const ROLLING_MINUTES = 10;

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;

/** What operators try before they do it: rows by a name of their own, and one that is no row. */
const DRILLS: Readonly<Record<string, readonly string[]>> = { upgrade: ['upgrade.'], [ROLLING]: [] };

/** Reads the words of the command line; `--seed random` draws a seed. Throws TypeError for words it does not know. */
export function faultOptions(words: readonly string[]): FaultOptions {
  const { values, positionals } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: {
      ...{ seed: text, only: text, events: text, minutes: text, rate: text, brokers: text, from: text },
      ...{ smoke: flag, broken: flag, list: flag, cluster: flag },
    },
  });
  const layout = layoutOf(values.brokers, values.cluster ?? false);
  const isRolling = positionals.includes(ROLLING);
  if (isRolling && positionals.length > 1) throw new TypeError(`the drill ${ROLLING} is run by itself`);
  if (!isRolling && values.rate !== undefined) throw new TypeError(`--rate is of the drill ${ROLLING}`);
  const minutes = values.minutes === undefined ? undefined : whole('minutes', values.minutes);
  const rate = values.rate === undefined ? ROLLING_RATE : whole('rate', values.rate);
  return {
    seed: values.seed === 'random' ? randomInt(SEED_MAX) : whole('seed', values.seed ?? String(SEED)),
    only: positionals.length > 0 ? positionals.flatMap(drillOf) : (values.only?.split(',') ?? null),
    events: values.events === undefined ? EVENTS : whole('events', values.events),
    minutes: minutes ?? MINUTES,
    smoke: values.smoke ?? false,
    broken: values.broken ?? false,
    list: values.list ?? false,
    from: values.from ?? null,
    layout,
    rolling: isRolling ? { rate, minutes: minutes ?? ROLLING_MINUTES, brokers: layout.brokers } : null,
  };
}

function drillOf(name: string): readonly string[] {
  const rows = DRILLS[name];
  if (rows === undefined) throw new TypeError(`no drill is called ${name}: ${Object.keys(DRILLS).join(', ')}`);
  return rows;
}

function layoutOf(brokers: string | undefined, cluster: boolean): Layout {
  if (brokers !== undefined && !['1', '3'].includes(brokers)) throw new TypeError('--brokers must be 1 or 3');
  if (cluster && brokers === '1') throw new TypeError('--cluster has three brokers');
  return cluster ? CLUSTER : { ...SINGLE, brokers: brokers === '3' ? 3 : 1 };
}

function whole(name: string, value: string): number {
  if (!/^\d{1,10}$/.test(value)) throw new TypeError(`--${name} must be a whole number`);
  return Number(value);
}

/** Whether a name is among those asked for. */
export function isWanted({ only }: Pick<FaultOptions, 'only'>, name: string): boolean {
  return only === null || only.some((beginning) => name.startsWith(beginning));
}
