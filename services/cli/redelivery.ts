// Commands of dead letters and replays.
import { pathOf } from '#services/control_api/client.ts';
import type {
  DeadLetterDetails,
  DeadLetterItem,
  ReplayItem,
  ResendAnswer,
  ResolveAnswer,
} from '#services/control_api/redelivery.ts';
import { renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Columns,
  type Command,
  type Commands,
  type Context,
  done,
  list,
  type Outcome,
  option,
  pathIn,
  requiredOption,
  send,
  show,
  table,
  UsageError,
} from './command.ts';
import { readCount, readMoment } from './read.ts';

const FILTERS = [
  option('stage <STAGE>', 'Only of this stage: dedup, identity, warehouse, quota or delivery', 'stage'),
  option('reason <CODE>', 'Only with this reason, such as schema_unknown', 'reason'),
  option('state <STATE>', 'Only of this state: open, resent, resolved or delivered', 'state'),
  option('site <SITE>', 'Only those with events of this site', 'site_id'),
  option('destination <NAME>', 'Only of deliveries to this destination', 'destination'),
  option('since <WHEN>', 'Only from then on: 2027-01-31T08:00Z, or 1h for an hour ago', 'since', readMoment),
];
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

const LETTERS: Columns<DeadLetterItem> = {
  LETTER: 'id',
  REASON: 'reason',
  FAILED: 'died_at',
  SOURCE: sourceOf,
  SITE: ({ site_ids }) => site_ids.join(' '),
  EVENTS: 'events',
  BYTES: ({ bytes_total, cut }) => `${bytes_total}${cut ? ' (cut)' : ''}`,
  RESENT: 'resent_at',
  RESOLVED: ({ resolved }) => (resolved === null ? null : renderTime(resolved.at)),
  DELIVERY: 'delivery',
};

function sourceOf({ topic, partition, offset, index }: DeadLetterItem): string {
  return `${topic} ${partition}:${offset}${index < 0 ? '' : `:${index}`}`;
}

const subject = 'ids of dead letters';

export const deadCommands: Commands = {
  'dead list': {
    summary: 'List dead letters, by stage and partition, oldest first',
    options: [...FILTERS, option('limit <NUMBER>', 'How many at the most (100)')],
    examples: [
      'dead list --state open',
      'dead list --stage dedup --since 1h',
      'dead list --reason schema_unknown --json',
    ],
    async run(args, context) {
      const limit = args.text('limit');
      const deadLetters = await findDeadLetters(
        args,
        context,
        limit === undefined ? LIMIT : readCount(limit, 'limit'),
        () => true,
      );
      return { text: table(LETTERS, deadLetters, 'No dead letters.'), json: deadLetters };
    },
  },
  'dead show <LETTER>': {
    summary: 'Show a dead letter: its events, or size and digest of what cannot be read',
    run: show<DeadLetterDetails>(pathIn('dead-letters'), shownDeadLetter),
  },
  'dead resend [LETTER...]': {
    summary: 'Send dead letters again, those of deliveries to their destination; each only once',
    subject,
    options: [...FILTERS, option('all', 'All open ones that can be sent; narrowed by the filters')],
    examples: [
      'dead resend dedup-0-17 dedup-1-4',
      'dead resend --all --site shop --destination webhook --reason http_400',
    ],
    run: (args, context) =>
      changeDeadLetters('resend', args, context, (deadLetter) => deadLetter.resendable && isOpen(deadLetter)),
  },
  'dead resolve [LETTER...]': {
    summary: 'Mark dead letters as resolved, with a note',
    subject,
    options: [
      ...FILTERS,
      option('all', 'All open ones; narrowed by the filters'),
      requiredOption('note <TEXT>', 'The reason, in up to 500 characters, without personal data'),
    ],
    examples: [
      'dead resolve dedup-0-17 --note "A bad import, sent again by hand."',
      'dead resolve --all --stage delivery --since 7d --note "Replayed."',
    ],
    run: (args, context) => changeDeadLetters('resolve', args, context, isOpen, { note: args.required('note') }),
  },
  'dead reopen [LETTER...]': {
    summary: 'Reopen dead letters',
    subject,
    run: (args, context) => changeDeadLetters('reopen', args, context),
  },
};

interface Page {
  items: DeadLetterItem[];
  next: string | null;
}

async function findDeadLetters(
  args: Arguments,
  { client }: Context,
  limit: number,
  isWanted: (deadLetter: DeadLetterItem) => boolean,
): Promise<DeadLetterItem[]> {
  const found: DeadLetterItem[] = [];
  let after: string | undefined;
  do {
    const page: Page = await client.get('/dead-letters', { ...args.fields(), after });
    found.push(...page.items.filter(isWanted));
    after = page.next ?? undefined;
  } while (after !== undefined && found.length < limit);
  return found.slice(0, limit);
}

function shownDeadLetter(deadLetter: DeadLetterDetails): Outcome {
  const { id, reason, detail, died_at, bytes_total, sha256, contents, resent_at, resolved, delivery, attempts } =
    deadLetter;
  const lines = [
    `Dead letter ${id}: ${reason}${detail === '' ? '' : ` (${detail})`}`,
    `  source   ${sourceOf(deadLetter)}`,
    `  failed   ${renderTime(died_at)}`,
    `  size     ${bytes_total} bytes${deadLetter.cut ? ', of which 512 KiB are kept' : ''}`,
    `  sha256   ${sha256}`,
    `  resent   ${resent_at === null ? 'no' : renderTime(resent_at)}`,
    `  resolved ${resolved === null ? 'no' : `${renderTime(resolved.at)} by ${resolved.by}: ${resolved.note}`}`,
    ...(delivery === null ? [] : [`  delivery ${delivery}`]),
    ...(attempts ?? []).map(({ attempt, attempted_at, outcome, reason, answer }) =>
      `  attempt  ${attempt}, ${renderTime(attempted_at)}: ${outcome} ${reason} ${answer === null ? '' : `${answer.status} ${answer.body}`}`.trimEnd(),
    ),
  ];
  const columns = {
    SITE: 'site_id',
    NAME: 'event',
    EVENT: 'event_id',
    'DISTINCT ID': 'distinct_id',
    ARRIVED: 'received_at',
  } as const;
  const events = contents === null ? 'Its events cannot be read.' : table(columns, contents, 'It holds no events.');
  return done([...lines, '', events], deadLetter);
}

/**
 * Does something with letters, as many as one request takes at a time: those that are named or, where some are wanted, with
 * --all those.
 */
async function changeDeadLetters(
  what: 'resend' | 'resolve' | 'reopen',
  args: Arguments,
  context: Context,
  isWanted?: (deadLetter: DeadLetterItem) => boolean,
  more: object = {},
): Promise<Outcome> {
  const isAll = args.flag('all');
  if (isWanted !== undefined && isAll === args.subjects.length > 0) {
    throw new UsageError('argument_missing', 'name dead letters, or give --all, and not both');
  }
  const deadLetters =
    isWanted !== undefined && isAll ? await findDeadLetters(args, context, Number.POSITIVE_INFINITY, isWanted) : [];
  const ids = [...args.subjects, ...deadLetters.map(({ id }) => id)];
  const items: { id: string; outcome: string }[] = [];
  for (let at = 0; at < ids.length; at += IDS_PER_REQUEST) {
    const body = { ids: ids.slice(at, at + IDS_PER_REQUEST), ...more };
    const answer = await context.client.send<ResendAnswer | ResolveAnswer>('POST', `/dead-letters/${what}`, null, body);
    items.push(...answer.items);
  }
  const text = table({ LETTER: 'id', OUTCOME: 'outcome' }, items, `There is nothing to ${what}.`);
  return { text, json: items, isPartial: items.some(({ outcome }) => FAILURES.has(outcome)) };
}

const POLL_MS = 500;
/** States of which nothing more comes by itself. */
const ENDED: ReadonlySet<string> = new Set(['done', 'cancelled', 'failed', 'paused']);

const WAITS_FOR: Record<string, string> = {
  delivery: 'delivery to reach the end of the range, at most 30 s',
  earlier_replay: 'delivery of an earlier replay',
  warehouse: 'all outcomes to be stored in ClickHouse',
};

export const replayCommands: Commands = {
  'replay start': {
    isDefault: true,
    summary: 'Send again what was not delivered to a destination; the verb may be left out',
    options: [
      requiredOption('destination <NAME>', 'Its id, such as meta or webhook-crm', 'destination'),
      option('site <SITE>', 'Only events of this site (every site)', 'site_id'),
      requiredOption('from <WHEN>', 'From when on: 2027-01-31T08:00Z, or 1h for an hour ago', 'from', readMoment),
      requiredOption('to <WHEN>', 'Until when: as above, or now', 'to', readMoment),
      option(
        'dead',
        'Replay the dead letters of the destination, by when they were written',
        'source',
        () => 'dead_letters',
      ),
      option('dry-run', 'Only count', 'dry_run'),
      option('rate <NUMBER>', 'Events per second at the most (500)', 'rate', readCount),
      option('force', 'Send also what was delivered or waits for a retry', 'force'),
      option('detach', 'Do not wait for its end'),
    ],
    examples: [
      'replay --destination meta --from 3h --to 1h --dry-run',
      'replay --destination webhook --site shop --from 2027-01-31T08:00Z --to 2027-01-31T12:00Z --rate 200',
      'replay --destination meta --dead --from 7d --to now',
    ],
    async run(args, context) {
      const replay = await context.client.send<ReplayItem>('POST', '/replays', null, args.fields());
      if (args.flag('detach')) return shownReplay(replay);
      context.watch.say(`Replay ${replay.replay_id}. It goes on if this ends: replay show, pause, cancel take its id.`);
      return watchReplay(replay, context);
    },
  },
  'replay list': list<ReplayItem>({
    summary: 'List replays with their progress',
    path: '/replays',
    options: [option('destination <NAME>', 'Only replays to destinations with this id', 'destination')],
    columns: {
      REPLAY: 'replay_id',
      DESTINATION: 'destination',
      SITE: ({ site_id }) => site_id ?? '(all)',
      OF: ({ source }) => (source === 'events' ? 'events' : 'dead letters'),
      FROM: 'from',
      TO: 'to',
      STATE: ({ state, dry_run }) => (dry_run ? `${state} (dry run)` : state),
      SENT: ({ state, dry_run, chosen, to_send }) =>
        state === 'counting' || dry_run ? null : `${chosen}/${to_send ?? '?'}`,
    },
    whenEmpty: 'There are no replays.',
  }),
  'replay show <REPLAY>': {
    summary: 'Show the progress of a replay',
    options: [option('wait', 'Wait for its end')],
    examples: ['replay show rmd0x1-4f6k2v --wait'],
    async run(args, context) {
      const replay = await readReplay(args.subject, context);
      return args.flag('wait') ? watchReplay(replay, context) : shownReplay(replay);
    },
  },
  'replay pause <REPLAY>': changeCommand('Pause a replay', 'paused'),
  'replay resume <REPLAY>': changeCommand('Resume a paused replay', 'running'),
  'replay cancel <REPLAY>': changeCommand('Cancel a replay; what it has written already is delivered', 'cancelled'),
};

function changeCommand(summary: string, wanted: ReplayItem['wanted']): Command {
  return { summary, run: send<ReplayItem>('PATCH', pathIn('replays'), shownReplay, () => ({ wanted })) };
}

/** Says how it goes until it has ended, or is paused. */
async function watchReplay(first: ReplayItem, context: Context): Promise<Outcome> {
  let said = '';
  for (let replay = first; ; replay = await readReplay(first.replay_id, context)) {
    if (ENDED.has(replay.state)) return shownReplay(replay);
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
  return done(replayDetails(replay), replay);
}

function replayLine(replay: ReplayItem): string {
  const { state, detail, share_read, chosen, to_send } = replay;
  const percent = `${Math.floor((share_read ?? 0) * 100)} %`;
  if (state === 'waiting') return `waiting${detail === '' ? '' : ` for ${WAITS_FOR[detail] ?? detail}`}`;
  if (state === 'counting') return `counting: ${percent} read, ${chosen} to send`;
  if (state === 'sending') return `sending: ${chosen} of ${to_send ?? '?'}, ${durationOf(replay.estimate_ms)} left`;
  return state === 'draining' ? `${chosen} written, delivery sends them` : state;
}

function replayDetails(replay: ReplayItem): string {
  const { replay_id, destination, state, detail } = replay;
  const lines = [`Replay ${replay_id} to ${destination}: ${state}${detail === '' ? '' : ` (${detail})`}`];
  if (replay.share_read === null) return lines.join('\n');
  lines.push(
    `  events read          ${replay.seen}`,
    `  delivered already    ${replay.delivered}`,
    `  waiting for a retry  ${replay.pending}`,
    `  cannot be read       ${replay.unreadable}`,
    `  to send              ${replay.to_send ?? replay.chosen}`,
  );
  if (replay.skipped_before > 0) {
    lines.push(`  of these             ${replay.skipped_before} were skipped before, and are tried again`);
  }
  if (replay.dry_run) lines.push(`  would take about     ${durationOf(replay.estimate_ms)} at ${replay.rate} a second`);
  else lines.push(`  written for delivery ${replay.to_send === null ? 0 : replay.chosen}`);
  if (replay.not_reached > 0)
    lines.push(`  left to delivery     ${replay.not_reached} offsets that it has not reached`);
  return lines.join('\n');
}

function durationOf(ms: number | null): string {
  if (ms === null) return 'an unknown time';
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.ceil(minutes / 60)} h`;
}
