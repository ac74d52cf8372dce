import type { SplitAnswer, SplitInput } from '#services/control_api/split_shapes.ts';
import { renderTable } from '#services/render.ts';
import { given } from './changes.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { optional } from './query_options.ts';
import { UsageError } from './usage_error.ts';
import { pathOf } from './values.ts';

const hashes = (what: string) =>
  ({
    kind: 'texts',
    value: 'SHA256',
    help: `hash of ${what} that both have said and that goes with them (repeatable)`,
  }) as const;

export const personSplitCommand: Command = {
  noun: 'person',
  verb: 'split',
  summary: 'Take distinct ids out of a person whom they were joined to wrongly, with their rows, for good',
  subject: { name: 'PERSON', help: 'the id of the person; its oldest distinct id stays' },
  options: {
    site: { kind: 'text', value: 'SITE', help: 'the site of the person', required: true },
    'distinct-id': { kind: 'texts', value: 'ID', help: 'a distinct id that is somebody else (repeatable)' },
    email: hashes('an e-mail address'),
    phone: hashes('a phone number'),
    'external-id': hashes('an id in the sender’s own system'),
    'dry-run': { kind: 'flag', help: 'Change nothing, and say what would move' },
  },
  examples: [
    'person split p_0b7e --site shop --distinct-id till-7 --dry-run',
    'person split p_0b7e --site shop --distinct-id till-7 --distinct-id phone-2',
  ],
  run: splitPerson,
};

async function splitPerson(args: Arguments, { client }: Context): Promise<Outcome> {
  const distinct_ids = args.texts('distinct-id');
  if (distinct_ids.length === 0) throw new UsageError('flag_missing', '--distinct-id is missing: who is to be moved');
  const named = [
    ['email', 'email'],
    ['phone', 'phone'],
    ['external-id', 'external_id'],
  ] as const;
  const body = given({
    distinct_ids,
    identifiers: optional(
      named.flatMap(([option, identifier]) => args.texts(option).map((sha256) => ({ identifier, sha256 }))),
    ),
    dry_run: args.flag('dry-run') ? true : undefined,
  }) as SplitInput;
  const path = pathOf('sites', args.text('site') ?? '', 'persons', args.subject, 'split');
  const answer = await client.send<SplitAnswer>('POST', path, null, body);
  const table = renderTable(
    ['WHAT', 'VALUE'],
    [
      ['stays', answer.person_id],
      ['is taken out', answer.new_person_id],
      ['distinct ids that are moved', String(answer.moved)],
      ['distinct ids that stay', String(answer.stayed)],
      ['identifiers that both had', String(answer.shared_identifiers)],
      ['rows that change', String(answer.rows)],
    ],
    '',
  );
  return { text: answer.is_done ? table : `${table}\n\nNothing was changed.`, json: answer };
}
