import type { FunnelQuery } from '#pipelines/query/shapes.ts';
import { given } from './changes.ts';
import type { Arguments } from './command.ts';
import { optional, readField, readRange, readSelection } from './query_options.ts';
import { readDuration } from './values.ts';

const WINDOW = '7d';

/** The query that the options ask for. What they do not say is left to the service. @throws UsageError */
export function readFunnel(args: Arguments, nowMs: number): FunnelQuery {
  const query = {
    ...readRange(args, nowMs),
    steps: args.texts('step').map((text) => readSelection(text, 'step')),
    window_ms: readDuration(args.text('window') ?? WINDOW, 'window'),
    order: args.text('order'),
    count_by: args.text('by'),
    exclusions: optional(args.texts('exclude').map((text) => readSelection(text, 'exclude'))),
    breakdown: readBreakdown(args),
    trend: args.text('trend') === undefined ? undefined : { interval: args.text('trend') },
  };
  // What a word may be is checked by the service, which says it by name.
  return given(query) as FunnelQuery;
}

function readBreakdown(args: Arguments): FunnelQuery['breakdown'] {
  const text = args.text('breakdown');
  if (text === undefined) return undefined;
  const [name = '', at = 'first_step'] = text.split('@');
  return { field: readField(name), at: at as 'first_step' };
}
