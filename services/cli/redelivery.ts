// Commands of dead letters and replays.
import type {
  DeadLetterItem,
  LetterDetails,
  ReplayItem,
  ResendAnswer,
  ResolveAnswer,
} from '#services/control_api/redelivery.ts';
import { renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  given,
  type OptionSpec,
  type Outcome,
  pathOf,
  readCount,
  readMoment,
  readWhole,
  UsageError,
  withoutMeta,
} from './command.ts';

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

/** Whether nobody did anything about it yet, and its destination has not taken it since. */
const isOpen = ({ resent_at, resolved, delivery }: DeadLetterItem): boolean =>
  resent_at === null && resolved === null && delivery !== 'delivered';

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
    run: listLetters,
  },
  {
    noun: 'dead',
    verb: 'show',
    summary: 'Show a dead letter: whose events it holds, or size and digest of what cannot be read',
    subject: { name: 'LETTER', help: 'the id of the dead letter' },
    options: {},
    examples: ['dead show dedup-0-17'],
    run: showLetter,
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
    run: resendLetters,
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
    run: resolveLetters,
  },
  {
    noun: 'dead',
    verb: 'reopen',
    summary: 'Make dead letters open again',
    subject: { name: 'LETTER', help: 'ids of dead letters', many: true },
    options: {},
    examples: ['dead reopen dedup-0-17'],
    run: reopenLetters,
  },
];

async function listLetters(args: Arguments, context: Context): Promise<Outcome> {
  const limit = args.text('limit');
  const letters = await findLetters(args, context, limit === undefined ? LIMIT : readWhole(limit, 'limit'), () => true);
  const headings = ['LETTER', 'REASON', 'DIED', 'OF', 'SITE', 'EVENTS', 'BYTES', 'RESENT', 'RESOLVED', 'SINCE'];
  return { text: renderTable(headings, letters.map(letterRow), 'There are no dead letters.'), json: letters };
}

interface Page {
  items: DeadLetterItem[];
  next: string | null;
}

/** Up to so many that pass, page by page. */
async function findLetters(
  args: Arguments,
  { client, nowMs }: Context,
  limit: number,
  isWanted: (letter: DeadLetterItem) => boolean,
): Promise<DeadLetterItem[]> {
  const since = args.text('since');
  const filters = given({
    stage: args.text('stage'),
    reason: args.text('reason'),
    state: args.text('state'),
    site_id: args.text('site'),
    destination: args.text('destination'),
    since: since === undefined ? undefined : readMoment(since, 'since', nowMs),
  });
  const found: DeadLetterItem[] = [];
  let after: string | undefined;
  do {
    const page: Page = await client.get('/dead-letters', { ...filters, after });
    found.push(...page.items.filter(isWanted));
    after = page.next ?? undefined;
  } while (after !== undefined && found.length < limit);
  return found.slice(0, limit);
}

function letterRow(letter: DeadLetterItem): string[] {
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

async function showLetter(args: Arguments, { client }: Context): Promise<Outcome> {
  const letter = await client.get<LetterDetails>(`/dead-letters${pathOf(args.subject)}`);
  const { id, reason, detail, died_at, bytes_total, sha256, contents, resent_at, resolved, delivery, attempts } =
    letter;
  const lines = [
    `Dead letter ${id}: ${reason}${detail === '' ? '' : ` (${detail})`}`,
    `  of       ${letterRow(letter)[3]}`,
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

async function resendLetters(args: Arguments, context: Context): Promise<Outcome> {
  const ids = await chosen(args, context, (letter) => letter.resendable && isOpen(letter));
  const send = (body: object) => context.client.send<ResendAnswer>('POST', '/dead-letters/resend', null, body);
  const items = await inPortions(ids, async (portion) => (await send({ ids: portion })).items);
  return told(items, 'There is nothing to send.');
}

async function resolveLetters(args: Arguments, context: Context): Promise<Outcome> {
  const note = args.text('note');
  if (note === undefined) throw new UsageError('flag_missing', '--note is missing: it says why');
  const ids = await chosen(args, context, isOpen);
  return markLetters('resolve', ids, { note }, context);
}

function reopenLetters(args: Arguments, context: Context): Promise<Outcome> {
  return markLetters('reopen', args.subjects, {}, context);
}

async function markLetters(what: string, ids: readonly string[], more: object, { client }: Context): Promise<Outcome> {
  const send = (body: object) => client.send<ResolveAnswer>('POST', `/dead-letters/${what}`, null, body);
  const items = await inPortions(ids, async (portion) => (await send({ ids: portion, ...more })).items);
  return told(items, `There is nothing to ${what}.`);
}

/** The letters that are named, or with --all those that pass. */
async function chosen(
  args: Arguments,
  context: Context,
  isWanted: (letter: DeadLetterItem) => boolean,
): Promise<readonly string[]> {
  const isAll = args.flag('all');
  if (isAll === args.subjects.length > 0) {
    throw new UsageError('argument_missing', 'name dead letters, or give --all, and not both');
  }
  if (!isAll) return args.subjects;
  return (await findLetters(args, context, Number.POSITIVE_INFINITY, isWanted)).map(({ id }) => id);
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

const replaySubject = { name: 'REPLAY', help: 'the id of the replay' };
const START_OPTIONS: Record<string, OptionSpec> = {
  destination: { kind: 'text', value: 'NAME', help: 'The kind of destination, such as meta', required: true },
  site: { kind: 'text', value: 'SITE', help: 'Only events of this site (every site)' },
  from: { kind: 'text', value: 'WHEN', help: 'From when on: 2027-01-31T08:00Z, or 1h for an hour ago', required: true },
  to: { kind: 'text', value: 'WHEN', help: 'Until when: as above, or now', required: true },
  dead: { kind: 'flag', help: 'Take the dead letters of the destination, by when they died' },
  'dry-run': { kind: 'flag', help: 'Only count' },
  rate: { kind: 'text', value: 'NUMBER', help: 'Events per second at the most (500)' },
  force: { kind: 'flag', help: 'Send also what is known as delivered or waits on a lane' },
  detach: { kind: 'flag', help: 'Do not wait for its end' },
};

const POLL_MS = 500;

/** What a replay waits for, by its code. */
const WAITS_FOR: Record<string, string> = {
  delivery: 'delivery to come to the end of the range by itself, at most 30 s',
  earlier_replay: 'delivery to take what an earlier replay has written',
  warehouse: 'every outcome to be in ClickHouse',
};

export const replayCommands: Command[] = [
  {
    noun: 'replay',
    verb: 'start',
    summary: 'Send again what a destination has not taken; the verb may be left out',
    subject: null,
    options: START_OPTIONS,
    examples: [
      'replay --destination meta --from 3h --to 1h --dry-run',
      'replay --destination webhook --site shop --from 2027-01-31T08:00Z --to 2027-01-31T12:00Z --rate 200',
      'replay --destination meta --dead --from 7d --to now',
    ],
    run: startReplay,
  },
  {
    noun: 'replay',
    verb: 'list',
    summary: 'List replays with how far they are',
    subject: null,
    options: { destination: { kind: 'text', value: 'NAME', help: 'Only replays of this kind of destination' } },
    examples: ['replay list', 'replay list --destination meta --json'],
    run: listReplays,
  },
  {
    noun: 'replay',
    verb: 'show',
    summary: 'Show how far a replay is',
    subject: replaySubject,
    options: { wait: { kind: 'flag', help: 'Wait for its end' } },
    examples: ['replay show rmd0x1-4f6k2v --wait'],
    run: async (args, context) =>
      args.flag('wait')
        ? await watchReplay(await readReplay(args.subject, context), context)
        : shownReplay(await readReplay(args.subject, context)),
  },
  changeCommand('pause', 'Stop a replay where it is', 'paused'),
  changeCommand('resume', 'Carry a paused replay on', 'running'),
  changeCommand('cancel', 'End a replay; what it has written already is delivered', 'cancelled'),
];

function changeCommand(verb: string, summary: string, wanted: ReplayItem['wanted']): Command {
  return {
    noun: 'replay',
    verb,
    summary,
    subject: replaySubject,
    options: {},
    examples: [`replay ${verb} rmd0x1-4f6k2v`],
    run: async (args, { client }) =>
      shownReplay(await client.send<ReplayItem>('PATCH', pathOf('replays', args.subject), null, { wanted })),
  };
}

async function startReplay(args: Arguments, context: Context): Promise<Outcome> {
  const body = {
    destination: args.text('destination'),
    ...given({ site_id: args.text('site'), rate: readCount(args, 'rate') }),
    source: args.flag('dead') ? 'dead_letters' : 'events',
    from: readMoment(args.text('from') ?? '', 'from', context.nowMs),
    to: readMoment(args.text('to') ?? '', 'to', context.nowMs),
    dry_run: args.flag('dry-run'),
    force: args.flag('force'),
  };
  const replay = await context.client.send<ReplayItem>('POST', '/replays', null, body);
  if (args.flag('detach')) return shownReplay(replay);
  context.watch.say(`Replay ${replay.replay_id}. It goes on if this ends: replay show, pause, cancel take its id.`);
  return watchReplay(replay, context);
}

/** Says how it goes until it has ended, or is paused. */
async function watchReplay(first: ReplayItem, context: Context): Promise<Outcome> {
  let said = '';
  for (let replay = first; ; replay = await readReplay(first.replay_id, context)) {
    if (hasEnded(replay)) return shownReplay(replay);
    const line = replayLine(replay);
    if (line !== said) context.watch.say(line);
    said = line;
    await context.watch.sleep(POLL_MS);
  }
}

function readReplay(replayId: string, { client }: Context): Promise<ReplayItem> {
  return client.get<ReplayItem>(pathOf('replays', replayId));
}

function shownReplay(replay: ReplayItem): Outcome {
  return { text: replayDetails(replay), json: withoutMeta(replay) };
}

async function listReplays(args: Arguments, { client }: Context): Promise<Outcome> {
  const replays = await client.list<ReplayItem>('/replays', given({ destination: args.text('destination') }));
  const headings = ['REPLAY', 'DESTINATION', 'SITE', 'OF', 'FROM', 'TO', 'STATE', 'SENT'];
  return {
    text: renderTable(headings, replays.map(replayRow), 'There are no replays.'),
    json: replays.map(withoutMeta),
  };
}

function replayRow(replay: ReplayItem): string[] {
  const sent = replay.state === 'counting' || replay.dry_run ? '-' : `${replay.chosen}/${replay.to_send ?? '?'}`;
  return [
    replay.replay_id,
    replay.destination,
    replay.site_id ?? '(all)',
    replay.source === 'events' ? 'events' : 'dead letters',
    renderTime(replay.from),
    renderTime(replay.to),
    replay.dry_run ? `${replay.state} (dry run)` : replay.state,
    sent,
  ];
}

/** Whether nothing more comes of it by itself. */
function hasEnded({ state }: ReplayItem): boolean {
  return state === 'done' || state === 'cancelled' || state === 'failed' || state === 'paused';
}

/** One line of progress. */
function replayLine(replay: ReplayItem): string {
  const { state, detail, share_read, chosen, to_send } = replay;
  const percent = `${Math.floor((share_read ?? 0) * 100)} %`;
  switch (state) {
    case 'waiting':
      return `waiting${detail === '' ? '' : ` for ${WAITS_FOR[detail] ?? detail}`}`;
    case 'counting':
      return `counting: ${percent} read, ${chosen} to send`;
    case 'sending':
      return `sending: ${chosen} of ${to_send ?? '?'}, ${durationOf(replay.estimate_ms)} left`;
    case 'draining':
      return `${chosen} written, delivery takes them`;
    case 'paused':
    case 'done':
    case 'cancelled':
    case 'failed':
      return state;
  }
}

/** Everything of a replay that an operator asks for. */
function replayDetails(replay: ReplayItem): string {
  const { replay_id, destination, state, detail } = replay;
  const lines = [`Replay ${replay_id} to ${destination}: ${state}${detail === '' ? '' : ` (${detail})`}`];
  if (replay.share_read === null) return lines.join('\n');
  lines.push(
    `  events looked at     ${replay.seen}`,
    `  delivered already    ${replay.delivered}`,
    `  waiting on a lane    ${replay.pending}`,
    `  cannot be read       ${replay.unreadable}`,
    `  to send              ${replay.to_send ?? replay.chosen}`,
  );
  if (replay.skipped_before > 0) {
    lines.push(`  of these             ${replay.skipped_before} were skipped before, and are decided anew`);
  }
  if (replay.dry_run) lines.push(`  would take about     ${durationOf(replay.estimate_ms)} at ${replay.rate} a second`);
  else lines.push(`  written for delivery ${replay.to_send === null ? 0 : replay.chosen}`);
  if (replay.not_reached > 0) lines.push(`  left to delivery     ${replay.not_reached} offsets it has yet to reach`);
  return lines.join('\n');
}

function durationOf(ms: number | null): string {
  if (ms === null) return 'an unknown time';
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
