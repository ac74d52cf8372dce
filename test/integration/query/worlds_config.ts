import { drawnSeed } from '#test/harness/environment.ts';

/** How many worlds of how many events: `WORLDS=20 WORLD_EVENTS=100000 WORLD_QUESTIONS=20` for the longest run. */
const WORLDS = Number(process.env['WORLDS'] ?? 1);
const FIRST = drawnSeed() ?? 0;
/** Which generators' worlds, with the seed of each: one of the uneven ones beside the others. */
export const SEEDS = [
  ...Array.from({ length: WORLDS }, (_, at) => ({ kind: 'even', seed: FIRST + at }) as const),
  { kind: 'uneven', seed: FIRST } as const,
];
export type WorldSeed = (typeof SEEDS)[number];
export const WORLD_EVENTS = Number(process.env['WORLD_EVENTS'] ?? 5_000);
/** Questions of each kind that a world is asked. */
export const QUESTIONS = Number(process.env['WORLD_QUESTIONS'] ?? 3);
/** The same where each question brings others: each part of its chart is asked for its actors. */
export const CHART_QUESTIONS = Number(process.env['WORLD_QUESTIONS'] ?? 2);
