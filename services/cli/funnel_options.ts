import type { FunnelQuery } from '#pipelines/query/shapes.ts';
import { given } from './changes.ts';
import type { Arguments } from './command.ts';
import { optional, readField, readRange, readSelection } from './query_options.ts';
import { UsageError } from './usage_error.ts';
import { readDuration } from './values.ts';

const WINDOW = '7d';

/** The query that the options ask for. What they do not say is left to the service. @throws UsageError */
export function readFunnel(args: Arguments, nowMs: number): FunnelQuery {
  const query = {
    ...readRange(args, nowMs),
    steps: readSteps(args),
    window_ms: readDuration(args.text('window') ?? WINDOW, 'window'),
    order: args.text('order'),
    count_by: args.text('by'),
    exclusions: optional([
      ...args.texts('exclude').map((text) => readSelection(text, 'exclude')),
      ...args.texts('drop').map((text) => ({ ...readSelection(text, 'drop'), ends: 'actor' })),
    ]),
    breakdown: readBreakdown(args),
    trend: args.text('trend') === undefined ? undefined : { interval: args.text('trend') },
  };
  // What a word may be is checked by the service, which says it by name.
  return given(query) as FunnelQuery;
}

function readSteps(args: Arguments): FunnelQuery['steps'] {
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
