import type {
  LetterDetails,
  LetterItem,
  ResendAnswer,
  ResolveAnswer,
} from '#services/control_api/dead_letter_shapes.ts';
import { renderTable, renderTime } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, OptionSpec, Outcome } from './command.ts';
import { UsageError } from './usage_error.ts';
import { pathOf, readMoment, readWhole } from './values.ts';

const FILTERS: Record<string, OptionSpec> = {
  stage: { kind: 'text', value: 'STAGE', help: 'Only of this stage: dedup, identity, warehouse, quota or delivery' },
  reason: { kind: 'text', value: 'CODE', help: 'Only with this reason, such as schema_unknown' },
  state: { kind: 'text', value: 'STATE', help: 'Only of this state: open, resent, resolved or delivered' },
  site: { kind: 'text', value: 'SITE', help: 'Only those with events of this site' },
  destination: { kind: 'text', value: 'NAME', help: 'Only of deliveries to this destination' },
  since: { kind: 'text', value: 'WHEN', help: 'Only from then on: 2027-01-31T08:00Z, or 1h for an hour ago' },
};
const LIMIT = 100;
/** Outcomes of letters with which nothing was done, now or before. */
const FAILURES: ReadonlySet<string> = new Set([
  ...['unknown', 'not_resendable', 'cut', 'unreadable', 'not_resolved'],
  ...['no_destination', 'replay_runs', 'not_known'],
]);
/** What one request may name. */
const IDS_PER_REQUEST = 100;

export const deadCommands: Command[] = [
  {
    noun: 'dead',
    verb: 'list',
    summary: 'List dead letters, by stage and partition, oldest first',
    subject: null,
    options: { ...FILTERS, limit: { kind: 'text', value: 'NUMBER', help: 'How many at the most (100)' } },
    examples: [
      'dead list --state open',
      'dead list --stage dedup --since 1h',
      'dead list --reason schema_unknown --json',
    ],
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
    summary: 'Send dead letters in again, those of deliveries to their destination; each once for ever',
    subject: { name: 'LETTER', help: 'ids of dead letters', many: true },
    options: { ...FILTERS, all: { kind: 'flag', help: 'All that are open and can be; narrowed by the filters' } },
    examples: [
      'dead resend dedup-0-17 dedup-1-4',
      'dead resend --all --site shop --destination webhook --reason http_400',
    ],
    run: resend,
  },
  {
    noun: 'dead',
    verb: 'resolve',
    summary: 'Note why nothing more is to be done about dead letters, so that they are open no more',
    subject: { name: 'LETTER', help: 'ids of dead letters', many: true },
    options: {
      ...FILTERS,
      all: { kind: 'flag', help: 'All that are open; narrowed by the filters' },
      note: { kind: 'text', value: 'TEXT', help: 'why, in up to 500 characters, without personal data' },
    },
    examples: [
      'dead resolve dedup-0-17 --note "A bad import, sent again by hand."',
      'dead resolve --all --stage delivery --since 7d --note "Replayed."',
    ],
    run: resolve,
  },
  {
    noun: 'dead',
    verb: 'reopen',
    summary: 'Make dead letters open again',
    subject: { name: 'LETTER', help: 'ids of dead letters', many: true },
    options: {},
    examples: ['dead reopen dedup-0-17'],
    run: reopen,
  },
];

async function list(args: Arguments, context: Context): Promise<Outcome> {
  const limit = args.text('limit');
  const letters = await find(args, context, limit === undefined ? LIMIT : readWhole(limit, 'limit'), () => true);
  const headings = ['LETTER', 'REASON', 'DIED', 'OF', 'SITE', 'EVENTS', 'BYTES', 'RESENT', 'RESOLVED', 'SINCE'];
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
    state: args.text('state'),
    site_id: args.text('site'),
    destination: args.text('destination'),
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
  const { id, reason, died_at, topic, partition, offset, index, events, bytes_total, resent_at, resolved } = letter;
  const { site_ids, delivery } = letter;
  return [
    id,
    reason,
    renderTime(died_at),
    `${topic} ${partition}:${offset}${index < 0 ? '' : `:${index}`}`,
    site_ids.join(' ') || '-',
    events === null ? '-' : String(events),
    `${bytes_total}${letter.cut ? ' (cut)' : ''}`,
    resent_at === null ? '-' : renderTime(resent_at),
    resolved === null ? '-' : renderTime(resolved.at),
    delivery ?? '-',
  ];
}

async function show(args: Arguments, { client }: Context): Promise<Outcome> {
  const letter = await client.get<LetterDetails>(`/dead-letters${pathOf(args.subject)}`);
  const { id, reason, detail, died_at, bytes_total, sha256, contents, resent_at, resolved, delivery, attempts } =
    letter;
  const lines = [
    `Dead letter ${id}: ${reason}${detail === '' ? '' : ` (${detail})`}`,
    `  of       ${row(letter)[3]}`,
    `  died     ${renderTime(died_at)}`,
    `  size     ${bytes_total} bytes${letter.cut ? ', of which 512 KiB are kept' : ''}`,
    `  sha256   ${sha256}`,
    `  resent   ${resent_at === null ? 'no' : renderTime(resent_at)}`,
    `  resolved ${resolved === null ? 'no' : `${renderTime(resolved.at)} by ${resolved.by}: ${resolved.note}`}`,
    ...(delivery === null ? [] : [`  since    ${delivery}`]),
    ...(attempts ?? []).map(({ attempt, attempted_at, outcome, reason, answer }) =>
      `  attempt  ${attempt}, ${renderTime(attempted_at)}: ${outcome} ${reason} ${answer === null ? '' : `${answer.status} ${answer.body}`}`.trimEnd(),
    ),
  ];
  const headings = ['SITE', 'NAME', 'EVENT', 'DISTINCT ID', 'ARRIVED'];
  const rows = (contents ?? []).map((one) => [
    one.site_id,
    one.event,
    one.event_id,
    one.distinct_id,
    renderTime(one.received_at),
  ]);
  const events = contents === null ? 'Its events cannot be read.' : renderTable(headings, rows, 'It holds no events.');
  return { text: [...lines, '', events].join('\n'), json: letter };
}

async function resend(args: Arguments, context: Context): Promise<Outcome> {
  const ids = await chosen(args, context, (letter) => letter.resendable && isOpen(letter));
  const send = (body: object) => context.client.send<ResendAnswer>('POST', '/dead-letters/resend', null, body);
  const items = await inPortions(ids, async (portion) => (await send({ ids: portion })).items);
  return told(items, 'There is nothing to send.');
}

async function resolve(args: Arguments, context: Context): Promise<Outcome> {
  const note = args.text('note');
  if (note === undefined) throw new UsageError('flag_missing', '--note is missing: it says why');
  const ids = await chosen(args, context, isOpen);
  return mark('resolve', ids, { note }, context);
}

function reopen(args: Arguments, context: Context): Promise<Outcome> {
  return mark('reopen', args.subjects, {}, context);
}

async function mark(what: string, ids: readonly string[], more: object, { client }: Context): Promise<Outcome> {
  const send = (body: object) => client.send<ResolveAnswer>('POST', `/dead-letters/${what}`, null, body);
  const items = await inPortions(ids, async (portion) => (await send({ ids: portion, ...more })).items);
  return told(items, `There is nothing to ${what}.`);
}

/** The letters that are named, or with --all those that pass. */
async function chosen(
  args: Arguments,
  context: Context,
  isWanted: (letter: LetterItem) => boolean,
): Promise<readonly string[]> {
  const isAll = args.flag('all');
  if (isAll === args.subjects.length > 0) {
    throw new UsageError('argument_missing', 'name dead letters, or give --all, and not both');
  }
  if (!isAll) return args.subjects;
  return (await find(args, context, Number.POSITIVE_INFINITY, isWanted)).map(({ id }) => id);
}

/** Does something with as many as one request takes at a time. */
async function inPortions<Item>(
  ids: readonly string[],
  act: (portion: readonly string[]) => Promise<Item[]>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_REQUEST)
    items.push(...(await act(ids.slice(at, at + IDS_PER_REQUEST))));
  return items;
}

function told(items: readonly { id: string; outcome: string }[], none: string): Outcome {
  const table = renderTable(
    ['LETTER', 'OUTCOME'],
    items.map(({ id, outcome }) => [id, outcome]),
    none,
  );
  return { text: table, json: items, isPartial: items.some(({ outcome }) => FAILURES.has(outcome)) };
}

/** Whether nobody did anything about it yet, and its destination has not taken it since. */
const isOpen = ({ resent_at, resolved, delivery }: LetterItem): boolean =>
  resent_at === null && resolved === null && delivery !== 'delivered';
