// Commands of access to what is known of persons, and of its erasure.

import { noticeSentence } from '#pipelines/erasure/notices.ts';
import { pathOf } from '#services/control_api/client.ts';
import type { ErasureItem, PersonExport, PersonFound } from '#services/control_api/persons.ts';
import { renderNumber, renderTable, renderTime } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Commands,
  type Context,
  done,
  list,
  type Outcome,
  option,
  pathInSite,
  requiredOption,
  siteOption,
  UsageError,
} from './command.ts';
import { readCount } from './read.ts';

const TYPED = {
  'distinct-id': 'A distinct id of the person',
  'person-id': 'The id of the person: p_ and 32 hex digits',
  email: 'An e-mail address of the person',
  phone: 'A phone number of the person',
  'external-id': 'The person’s id in the sender’s own system',
} as const;
const NAMES = Object.keys(TYPED) as (keyof typeof TYPED)[];

const SUBJECT = [
  siteOption,
  ...NAMES.map((name) => option(`${name} <VALUE>`, `${TYPED[name]}; - reads it from standard input`)),
];

/** What names the person. What was typed in stays out of logs; from standard input it stays out of the shell's history too. */
function subjectOf(args: Arguments, context: Context): Record<string, string> {
  const [name, ...others] = NAMES.filter((each) => args.text(each) !== undefined);
  if (name === undefined || others.length > 0) {
    throw new UsageError('person_unnamed', `name the person by one of ${NAMES.map((each) => `--${each}`).join(', ')}`);
  }
  const typed = args.required(name);
  return { [name.replace('-', '_')]: typed === '-' ? context.readStdin().trim() : typed };
}

const POLL_MS = 500;
const COLUMNS = {
  PHASE: 'phase',
  'WAITS FOR': 'detail',
  BY: 'asked_by',
  ASKED: 'asked_at',
  DONE: 'done_at',
} as const;

export const accessCommands: Commands = {
  'person find': {
    summary: 'Show where data of a person is stored, and how much, without the data',
    options: SUBJECT,
    examples: ['person find --site shop --email jane@example.com', 'person find --site shop --distinct-id till-7'],
    async run(args, context) {
      const body = subjectOf(args, context);
      return shownFound(
        await context.client.send<PersonFound>('POST', pathInSite(args, 'persons', 'find'), null, body),
      );
    },
  },
  'person export': {
    summary: 'Write all events of a person and their links as lines of JSON (GDPR, article 15)',
    options: SUBJECT,
    examples: ['person export --site shop --email -'],
    async run(args, context) {
      const body = subjectOf(args, context);
      const lines: object[] = [];
      let after: string | undefined;
      do {
        const page: PersonExport = await context.client.send('POST', pathInSite(args, 'persons', 'export'), null, {
          ...body,
          ...(after === undefined ? {} : { after }),
        });
        lines.push(...page.links.map((link) => ({ link })), ...page.events.map((event) => ({ event })));
        after = page.next ?? undefined;
      } while (after !== undefined);
      return { text: lines.map((line) => JSON.stringify(line)).join('\n'), json: lines };
    },
  },
  'person erase': {
    summary: 'Erase a person everywhere, for good, and drop what still comes of them (GDPR, article 17)',
    options: [
      ...SUBJECT,
      option('distinct-ids-max <NUMBER>', 'Refuse a person of more distinct ids (20)', 'distinct_ids_max', readCount),
      option('detach', 'Do not wait for its end'),
    ],
    examples: ['person erase --site shop --email -', 'person erase --site shop --distinct-id user-12 --detach'],
    async run(args, context) {
      const body = { ...args.fields(), ...subjectOf(args, context) };
      const erasure = await context.client.send<ErasureItem>('POST', pathInSite(args, 'persons', 'erase'), null, body);
      if (args.flag('detach')) return shownErasure(erasure);
      context.watch.say(`Erasure ${erasure.erasure_id}. It goes on if this ends: erasure show takes its id.`);
      return watchErasure(erasure, pathInSite(args, 'erasures', erasure.erasure_id), context);
    },
  },
  'erasure list': list<ErasureItem>({
    summary: 'List erasures of a site and their receipts',
    path: (args) => pathInSite(args, 'erasures'),
    options: [siteOption],
    columns: { ERASURE: 'erasure_id', ...COLUMNS },
    whenEmpty: 'Nobody was erased.',
  }),
  'erasure show <ERASURE>': {
    summary: 'Show how far an erasure is, or its receipt',
    options: [
      option('site <SITE>', 'The site of the person; not given: a whole site is erased'),
      option('wait', 'Wait for its end'),
    ],
    examples: ['erasure show emd0x1-4f6k2v --site shop --wait', 'erasure show emd0x1-4f6k2v'],
    async run(args, context) {
      const isOfSite = args.text('site') === undefined;
      const path = isOfSite ? pathOf('site-erasures', args.subject) : pathInSite(args, 'erasures', args.subject);
      const erasure = await context.client.get<ErasureItem>(path);
      return args.flag('wait') ? watchErasure(erasure, path, context) : shownErasure(erasure);
    },
  },
  'site erase <SITE>': {
    summary: 'Erase a whole site for good: events, persons, keys and settings, and drop what still comes of it',
    options: [
      requiredOption('confirm <SITE>', 'The id of the site, once more', 'confirm'),
      option('detach', 'Do not wait for its end'),
    ],
    examples: ['site erase old-shop --confirm old-shop'],
    async run(args, context) {
      const erasure = await context.client.send<ErasureItem>(
        'POST',
        pathOf('sites', args.subject, 'erase'),
        null,
        args.fields(),
      );
      if (args.flag('detach')) return shownErasure(erasure);
      context.watch.say(`Erasure ${erasure.erasure_id}. It goes on if this ends: erasure show takes its id.`);
      return watchErasure(erasure, pathOf('site-erasures', erasure.erasure_id), context);
    },
  },
  'site erasures': list<ErasureItem>({
    summary: 'List erasures of whole sites and their receipts',
    path: '/site-erasures',
    columns: { ERASURE: 'erasure_id', SITE: 'site_id', ...COLUMNS },
    whenEmpty: 'No site was erased.',
  }),
};

async function watchErasure(first: ErasureItem, path: string, context: Context): Promise<Outcome> {
  let said = '';
  for (let now = first; ; now = await context.client.get<ErasureItem>(path)) {
    if (now.phase === 'done') return shownErasure(now);
    const line = `${now.phase}${now.detail === '' ? '' : ` (${now.detail})`}`;
    if (line !== said) context.watch.say(line);
    said = line;
    await context.watch.sleep(POLL_MS);
  }
}

function shownFound(found: PersonFound): Outcome {
  const rows = [
    ['distinct ids', renderNumber(found.distinct_ids)],
    ['identifiers', renderNumber(found.identifiers)],
    ...found.tables.map(({ table, rows: count }) => [table, `${renderNumber(count)} rows`]),
    ['identity.links', `${renderNumber(found.links)} records`],
    ...found.topics.map(({ topic, days }) => [topic, `for ${days} days at most`]),
    ...found.destinations.map(({ name, to_do }) => [`at ${name}`, to_do]),
  ];
  return done(renderTable(['WHERE', 'WHAT'], rows, ''), found);
}

function shownErasure(erasure: ErasureItem): Outcome {
  const { erasure_id, phase, detail, asked_by, asked_at, done_at, suppressed_until, erased, left, destinations } =
    erasure;
  const lines = [
    `Erasure ${erasure_id}: ${phase}${detail === '' ? '' : ` (${detail})`}`,
    `  asked for ${renderTime(asked_at)} by ${asked_by}`,
    ...(done_at === null ? [] : [`  done      ${renderTime(done_at)}`]),
    ...(suppressed_until === null ? [] : [`  events are dropped until ${renderTime(suppressed_until)}`]),
  ];
  const rows = [
    ...erased.map(({ place, count }) => [place, `${renderNumber(count)} erased`]),
    ...left.map(({ place, until }) => [
      place,
      until === null ? 'expires by itself' : `expires by ${renderTime(until)}`,
    ]),
    ...destinations.map((one) => [`at ${one.name}`, noticeSentence(one)]),
  ];
  return done([...lines, '', renderTable(['WHERE', 'WHAT'], rows, '')], erasure);
}
