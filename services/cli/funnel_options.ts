import { type FunnelQuery, STEPS_MIN } from '#pipelines/query/shapes.ts';
import { given } from './changes.ts';
import type { Arguments, OptionSpec } from './command.ts';
import { optional, readField, readRange, readSelection } from './query_options.ts';
import { UsageError } from './usage_error.ts';
import { readDuration } from './values.ts';

const WINDOW = '7d';

/** The query that the options ask for. What they do not say is left to the service. @throws UsageError */
export function readFunnel(args: Arguments, nowMs: number): FunnelQuery {
  const query = {
    ...readSteps(args, nowMs),
    count_by: args.text('by'),
    breakdown: readBreakdown(args),
    trend: args.text('trend') === undefined ? undefined : { interval: args.text('trend') },
  };
  // What a word may be is checked by the service, which says it by name.
  return given(query) as FunnelQuery;
}

/** The options of a funnel that say what is converting. */
export const STEP_OPTIONS: Record<string, OptionSpec> = {
  step: {
    kind: 'texts',
    value: 'STEP',
    help: 'EVENT[,EVENT][?FIELD=VALUE&...], * for any event (2 to 10 of them)',
  },
  window: { kind: 'text', value: 'TIME', help: 'Longest time from the first step to the last: 7d, 12h, 30m (7d)' },
  order: { kind: 'text', value: 'ORDER', help: 'ordered, strict (nothing between) or any (ordered)' },
  optional: { kind: 'texts', value: 'N', help: 'The number of a step that may be left out (repeatable)' },
  exclude: { kind: 'texts', value: 'STEP', help: 'Events that end the way when they lie between (repeatable)' },
  drop: { kind: 'texts', value: 'STEP', help: 'Events that drop who has them between (repeatable)' },
};

/** What the options of STEP_OPTIONS and RANGE_OPTIONS ask for. @throws UsageError */
export function readSteps(args: Arguments, nowMs: number) {
  if (args.texts('step').length < STEPS_MIN) {
    throw new UsageError('flag_missing', '--step is missing: a funnel has at least two');
  }
  return {
    ...readRange(args, nowMs),
    steps: readOptionalSteps(args),
    window_ms: readDuration(args.text('window') ?? WINDOW, 'window'),
    order: args.text('order'),
    exclusions: optional([
      ...args.texts('exclude').map((text) => readSelection(text, 'exclude')),
      ...args.texts('drop').map((text) => ({ ...readSelection(text, 'drop'), ends: 'actor' })),
    ]),
  };
}

function readOptionalSteps(args: Arguments): FunnelQuery['steps'] {
  const steps = args.texts('step').map((text) => readSelection(text, 'step'));
  const left = new Set(args.texts('optional'));
  const unknown = [...left].find((number) => !steps.some((_, index) => String(index + 1) === number));
  if (unknown !== undefined)
    throw new UsageError('step_malformed', `--optional ${unknown} is not the number of a step`);
  return steps.map((step, index) => (left.has(String(index + 1)) ? { ...step, optional: true } : step));
}

function readBreakdown(args: Arguments): FunnelQuery['breakdown'] {
  const text = args.text('breakdown');
  if (text === undefined) return undefined;
  const [name = '', at = 'first_step'] = text.split('@');
  if (/^\d+$/.test(at)) return { field: readField(name), at: 'step', step: Number(at) };
  return { field: readField(name), at: at as 'first_step' };
}
