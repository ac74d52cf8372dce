import type { LetterDetails, LetterItem, ResendAnswer } from '#services/control_api/dead_letter_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { UsageError } from './usage_error.ts';
import { pathOf, readMoment, readWhole } from './values.ts';

const FILTERS: Record<string, OptionSpec> = {
  stage: { kind: 'text', value: 'STAGE', help: 'Only of this stage: dedup, identity, warehouse, quota or delivery' },
  reason: { kind: 'text', value: 'CODE', help: 'Only with this reason, such as schema_unknown' },
  since: { kind: 'text', value: 'WHEN', help: 'Only from then on: 2027-01-31T08:00Z, or 1h for an hour ago' },
};
const LIMIT = 100;
/** Outcomes of letters that were not sent in and were not before. */
const FAILURES: ReadonlySet<string> = new Set(['unknown', 'not_resendable', 'cut', 'unreadable']);
/** What one request may send again. */
const IDS_PER_REQUEST = 100;

export const deadCommands: Command[] = [
  {
    noun: 'dead',
    verb: 'list',
    summary: 'List dead letters, by stage and partition, oldest first',
    subject: null,
    options: { ...FILTERS, limit: { kind: 'text', value: 'NUMBER', help: 'How many at the most (100)' } },
    examples: ['dead list', 'dead list --stage dedup --since 1h', 'dead list --reason schema_unknown --json'],
    run: list,
  },
  {
    noun: 'dead',
    verb: 'show',
    summary: 'Show a dead letter: whose events it holds, or size and digest of what cannot be read',
    subject: { name: 'LETTER', help: 'the id of the dead letter' },
    options: {},
    examples: ['dead show dedup-0-17'],
    run: show,
  },
  {
    noun: 'dead',
    verb: 'resend',
    summary: 'Send dead letters of dedup, identity or warehouse in again, each once for ever',
    subject: { name: 'LETTER', help: 'ids of dead letters', many: true },
    options: { ...FILTERS, all: { kind: 'flag', help: 'All that were not yet, and can be; narrowed by the filters' } },
    examples: ['dead resend dedup-0-17 dedup-1-4', 'dead resend --all --stage dedup --reason schema_unknown'],
    run: resend,
  },
];

async function list(args: Arguments, context: Context): Promise<Outcome> {
  const limit = args.text('limit');
  const letters = await find(args, context, limit === undefined ? LIMIT : readWhole(limit, 'limit'), () => true);
  const headings = ['LETTER', 'REASON', 'DIED', 'OF', 'EVENTS', 'BYTES', 'RESENT'];
  return { text: renderTable(headings, letters.map(row), 'There are no dead letters.'), json: letters };
}

interface Page {
  items: LetterItem[];
  next: string | null;
}

/** Up to so many that pass, page by page. */
async function find(
  args: Arguments,
  { client, nowMs }: Context,
  limit: number,
  isWanted: (letter: LetterItem) => boolean,
): Promise<LetterItem[]> {
  const since = args.text('since');
  const filters = given({
    stage: args.text('stage'),
    reason: args.text('reason'),
    since: since === undefined ? undefined : readMoment(since, 'since', nowMs),
  });
  const found: LetterItem[] = [];
  let after: string | undefined;
  do {
    const page: Page = await client.get('/dead-letters', { ...filters, after });
    found.push(...page.items.filter(isWanted));
    after = page.next ?? undefined;
  } while (after !== undefined && found.length < limit);
  return found.slice(0, limit);
}

function row(letter: LetterItem): string[] {
  const { id, reason, died_at, topic, partition, offset, index, events, bytes_total, resent_at } = letter;
  return [
    id,
    reason,
    renderTime(died_at),
    `${topic} ${partition}:${offset}${index < 0 ? '' : `:${index}`}`,
    events === null ? '-' : String(events),
    `${bytes_total}${letter.cut ? ' (cut)' : ''}`,
    resent_at === null ? '-' : renderTime(resent_at),
  ];
}

async function show(args: Arguments, { client }: Context): Promise<Outcome> {
  const letter = await client.get<LetterDetails>(`/dead-letters${pathOf(args.subject)}`);
  const { id, reason, detail, died_at, bytes_total, sha256, contents, resent_at } = letter;
  const lines = [
    `Dead letter ${id}: ${reason}${detail === '' ? '' : ` (${detail})`}`,
    `  of       ${row(letter)[3]}`,
    `  died     ${renderTime(died_at)}`,
    `  size     ${bytes_total} bytes${letter.cut ? ', of which 64 KiB are kept' : ''}`,
    `  sha256   ${sha256}`,
    `  resent   ${resent_at === null ? 'no' : renderTime(resent_at)}`,
  ];
  const headings = ['SITE', 'EVENT', 'DISTINCT ID', 'ARRIVED'];
  const rows = (contents ?? []).map((one) => [one.site_id, one.event_id, one.distinct_id, renderTime(one.received_at)]);
  const unread = isOfDelivery(id) ? REPLAYED : 'Its events cannot be read.';
  const events = contents === null ? unread : renderTable(headings, rows, 'It holds no events.');
  return { text: [...lines, '', events].join('\n'), json: letter };
}

async function resend(args: Arguments, context: Context): Promise<Outcome> {
  const isAll = args.flag('all');
  if (isAll === args.subjects.length > 0) {
    throw new UsageError('argument_missing', 'name dead letters, or give --all, and not both');
  }
  const ids = isAll ? (await find(args, context, Number.POSITIVE_INFINITY, isOpen)).map(({ id }) => id) : args.subjects;
  const items: ResendAnswer['items'] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_REQUEST) {
    const body = { ids: ids.slice(at, at + IDS_PER_REQUEST) };
    items.push(...(await context.client.send<ResendAnswer>('POST', '/dead-letters/resend', null, body)).items);
  }
  const rows = items.map(({ id, outcome }) => [id, outcome]);
  const table = renderTable(['LETTER', 'OUTCOME'], rows, 'There is nothing to send.');
  const text = ids.some(isOfDelivery) ? `${table}\n\n${REPLAYED}` : table;
  return { text, json: items, isPartial: items.some(({ outcome }) => FAILURES.has(outcome)) };
}

/** A delivery's letters belong to its destination, and go there again by a replay. */
const isOfDelivery = (id: string): boolean => id.startsWith('delivery-');
const REPLAYED =
  "A delivery's dead letters go to their destination again by: npm run svc -- replay --destination NAME --dead --from 7d --to now";

/** Whether it can be sent in again and was not yet. */
function isOpen({ resendable, resent_at }: LetterItem): boolean {
  return resendable && resent_at === null;
}
