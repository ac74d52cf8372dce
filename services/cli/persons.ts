// Commands of one event and one person.
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import type { SplitAnswer, SplitInput } from '#services/control_api/sites.ts';
import { renderTable, renderValue } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  type Outcome,
  option,
  pathInSite,
  repeatableOption,
  requiredOption,
  table,
  UsageError,
} from './command.ts';
import { given, optional } from './read.ts';

const hashOption = (name: string, what: string) =>
  repeatableOption(`${name} <SHA256>`, `hash of ${what} that both have used and that moves with them`);

export const personCommands: Command[] = [
  {
    usage: 'event show <SITE> <EVENT>',
    isDefault: true,
    summary: 'Trace one event, from its acceptance to each destination; the verb may be left out',
    examples: ['event shop order-2001', 'event shop order-2001 --json'],
    run: showEvent,
  },
  {
    usage: 'person split <PERSON>',
    summary: 'Undo a wrong merge: move distinct ids and their rows to a new person, for good',
    subject: 'the id of the person; its oldest distinct id stays',
    options: [
      requiredOption('site <SITE>', 'the site of the person'),
      repeatableOption('distinct-id <ID>', 'a distinct id of another person'),
      hashOption('email', 'an e-mail address'),
      hashOption('phone', 'a phone number'),
      hashOption('external-id', 'an id in the sender’s own system'),
      option('dry-run', 'Change nothing, show what would move'),
    ],
    examples: [
      'person split p_0b7e --site shop --distinct-id till-7 --dry-run',
      'person split p_0b7e --site shop --distinct-id till-7 --distinct-id phone-2',
    ],
    run: splitPerson,
  },
];

/** Without what terminals obey: ids and names are the sender's. */
const plainLine = (text: string): string => text.replace(/\p{C}+/gu, ' ');

async function showEvent({ subjects }: Arguments, { client }: Context): Promise<Outcome> {
  const [siteId = '', eventId = ''] = subjects;
  const trace = await client.event<EventTrace>(siteId, eventId);
  const made = trace.destinations.flatMap(({ destination, attempts }) =>
    attempts.map((attempt) => ({ destination, ...attempt })),
  );
  const attempts = table<(typeof made)[number]>(
    {
      DESTINATION: 'destination',
      ATTEMPT: 'attempt',
      MADE: 'attempted_at',
      OUTCOME: 'outcome',
      REASON: 'reason',
      TOOK: ({ took_ms }) => (took_ms === 0 ? null : `${took_ms} ms`),
      ANSWER: ({ answer }) => (answer === null ? null : `${answer.status} ${renderValue(answer.body)}`),
    },
    made,
  );
  const text = [...trace.status.map(plainLine), ...(attempts === '' ? [] : ['', attempts])].join('\n');
  return { text, json: trace };
}

async function splitPerson(args: Arguments, { client }: Context): Promise<Outcome> {
  const distinct_ids = args.texts('distinct-id');
  if (distinct_ids.length === 0) throw new UsageError('flag_missing', '--distinct-id is missing');
  const identifiers = (['email', 'phone', 'external_id'] as const).flatMap((identifier) =>
    args.texts(identifier.replace('_', '-')).map((sha256) => ({ identifier, sha256 })),
  );
  const dry_run = args.flag('dry-run') ? true : undefined;
  const body = given({ distinct_ids, identifiers: optional(identifiers), dry_run }) as SplitInput;
  const path = pathInSite(args, 'persons', args.subject, 'split');
  const answer = await client.send<SplitAnswer>('POST', path, null, body);
  const rows = [
    ['person', answer.person_id],
    ['new person', answer.new_person_id],
    ['distinct ids moved', String(answer.moved)],
    ['distinct ids left', String(answer.stayed)],
    ['shared identifiers', String(answer.shared_identifiers)],
    ['rows changed', String(answer.rows)],
  ];
  const text = renderTable(['WHAT', 'VALUE'], rows, '');
  return { text: answer.is_done ? text : `${text}\n\nNothing was changed.`, json: answer };
}
