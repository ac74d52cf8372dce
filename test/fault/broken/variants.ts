import type { Row } from '../row.ts';
import { killedAt } from '../rows/kills.ts';
import { zombie } from '../rows/membership.ts';
import { DESTINATION_OUTAGE } from '../rows/outage.ts';
import { TOKEN_FORGOTTEN } from '../rows/token_forgotten.ts';

/** A mechanism taken out of one process, and the row that must notice. */
export interface BrokenVariant {
  name: string;
  /** The process that runs with it. */
  process: string;
  row: Row;
  /** What the row must say, so that it is not some other failure that is taken for this one. */
  shows: RegExp;
}

export const BROKEN_VARIANTS: readonly BrokenVariant[] = [
  {
    name: 'naive_transaction',
    process: 'dedup',
    row: zombie('dedup', 'stage.before_send'),
    shows: /more than once on events\.unique/,
  },
  {
    name: 'claim_without_coordinate',
    process: 'dedup',
    row: killedAt('dedup', 'dedup.after_claim'),
    shows: /accepted but not stored/,
  },
  {
    name: 'insert_without_token',
    process: 'warehouse',
    // What is taken up is looked for; who stood still while another took it up has nothing but the token.
    row: zombie('warehouse', 'stage.before_send'),
    shows: /more than one (row|outcome)/,
  },
  {
    name: 'believe_the_token',
    process: 'warehouse',
    row: TOKEN_FORGOTTEN,
    shows: /more than one (row|outcome)/,
  },
  {
    name: 'commit_before_retry_record',
    process: 'delivery.webhook',
    row: DESTINATION_OUTAGE,
    shows: /not delivered to webhook/,
  },
  {
    name: 'counter_without_offset',
    process: 'quota',
    row: killedAt('quota', 'quota.after_settle'),
    shows: /quota: \d+ used/,
  },
];

/** Node's option that puts a variant in its place. */
export function preloadOf({ name }: BrokenVariant): string {
  return `--import=${new URL(`./${name}/preload.ts`, import.meta.url).href}`;
}
