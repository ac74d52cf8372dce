// Commands of cohorts beside those of every definition: how many persons they have, a list from a file, and who is in one.

import { csvOf } from '#pipelines/analytics/answer_table.ts';
import { countableGroups } from '#pipelines/analytics/cohorts/cohort.ts';
import { SIZES_MAX } from '#pipelines/analytics/cohorts/questions.ts';
import type { Questions } from '#pipelines/analytics/questions.ts';
import {
  ADDED_MAX,
  type CohortItem,
  kindOf,
  type MemberRefusal,
  type MembersAdded,
  type MembersRemoved,
  REMOVED_MAX,
} from '#services/control_api/cohorts.ts';
import { SUBJECT_NAMES } from '#services/control_api/persons.ts';
import { type Commands, done, option, pathInSite, requiredOption, siteOption, table, UsageError } from './command.ts';
import { nextRecord, splitFields } from './import/csv.ts';
import { readText } from './read.ts';

const PAGE = 1_000;
/** A request has 1 MiB. */
const STEP_CHARACTERS = 700_000;
const REFUSED_SHOWN = 20;
const subject = 'id of the cohort';

type SizesAnswer = Questions['cohorts']['answer'];
type MembersAnswer = Questions['members']['answer'];
type Member = MembersAnswer['members'][number];

export const cohortCommands: Commands = {
  'cohort list': {
    summary: 'List the cohorts of a site, and how many persons each has now',
    options: [siteOption],
    examples: ['cohort list --site shop', 'cohort list --site shop --json'],
    async run(args, { client }) {
      const cohorts = await client.list<CohortItem>(pathInSite(args, 'cohorts'), {});
      const sizes: SizesAnswer['cohorts'] = [];
      for (const group of countableGroups(cohorts, SIZES_MAX)) {
        const of = group.map(({ id }) => ({ cohort: id }));
        sizes.push(...(await client.query<SizesAnswer>(args.required('site'), 'cohorts', { of })).cohorts);
      }
      const items = cohorts.map((one, at) => ({
        id: one.id,
        name: one.name,
        kind: kindOf(one),
        persons: 0,
        listed: null,
        ...sizes[at],
      }));
      const columns = { ID: 'id', NAME: 'name', KIND: 'kind', PERSONS: 'persons', LISTED: 'listed' } as const;
      return { text: table<(typeof items)[number]>(columns, items, 'The site has no cohorts.'), json: items };
    },
  },
  'cohort import <ID>': {
    summary: 'Add the members that a file lists to a cohort; what is none is told by its line',
    subject,
    options: [
      siteOption,
      requiredOption(
        'file <FILE>',
        'CSV whose first line names a column, or with --as a value on each line (- is stdin)',
      ),
      option('as <KIND>', `What the values are: ${SUBJECT_NAMES.join(', ')}; e-mails may be SHA-256`).choices([
        ...SUBJECT_NAMES,
      ]),
      option('replace', 'Take the place of the list, once all are there', 'replace'),
      option('remove', 'Take them out of the list', 'remove'),
    ],
    examples: [
      'cohort import vips --site shop --file vips.csv',
      'cohort import vips --site shop --file emails.txt --as email --replace',
    ],
    async run(args, { client, ...context }) {
      const file = args.required('file');
      const rows = membersIn(Buffer.from(readText(context, file)), args.text('as'), file);
      const path = pathInSite(args, 'cohorts', args.subject, 'members');
      const { replace, remove } = args.fields();
      const replaces = replace === true;
      if (replaces && remove === true) throw new UsageError('flags_conflict', 'give --replace or --remove');
      if (remove === true) {
        const total = { removed: 0, listed: 0 };
        for (let at = 0; at < rows.length; at += REMOVED_MAX) {
          const members = rows.slice(at, at + REMOVED_MAX).map(({ name, value }) => ({ [name]: value }));
          const answer = await client.send<MembersRemoved>('POST', `${path}/remove`, null, { members });
          total.removed += answer.removed;
          total.listed = answer.listed;
        }
        return done(`${total.removed} removed; the list has ${total.listed}.`, total);
      }
      let replacement = replaces ? 'new' : null;
      const total = { taken: 0, refused: 0, listed: 0 };
      const refusals: { line: number; code: MemberRefusal }[] = [];
      for (const step of stepsOf(rows)) {
        const members = step.map(({ name, value }) => ({ [name]: value }));
        const answer = await client.send<MembersAdded>('POST', path, null, {
          members,
          ...(replacement !== null && { replacement }),
        });
        replacement = answer.replacement;
        total.taken += answer.taken;
        total.refused += answer.refused;
        total.listed = answer.listed;
        refusals.push(...answer.refusals.map(({ at, code }) => ({ line: step[at]?.line ?? 0, code })));
      }
      // The list is what it was until all is there.
      if (replaces && rows.length === 0) await client.send('DELETE', path, null);
      else if (replaces) await client.send('PUT', path, null, { replacement });
      const shown = refusals.slice(0, REFUSED_SHOWN).map(({ line, code }) => `line ${line} (${code})`);
      const lines = total.refused === 0 ? '' : ` ${total.refused} were not taken: ${shown.join(', ')}.`;
      return done(`${total.taken} added; the list has ${total.listed}.${lines}`, { ...total, refusals });
    },
  },
  'cohort export <ID>': {
    summary: 'Write who is in a cohort now',
    subject,
    options: [siteOption, option('format <FORMAT>', 'ndjson, or csv').choices(['ndjson', 'csv'])],
    examples: ['cohort export vips --site shop', 'cohort export vips --site shop --format csv'],
    async run(args, { client }) {
      const members: Member[] = [];
      let after: string | null = null;
      do {
        const query = { cohort: args.subject, limit: PAGE, ...(after !== null && { after }) };
        const page: MembersAnswer = await client.query<MembersAnswer>(args.required('site'), 'members', query);
        members.push(...page.members);
        after = page.next;
      } while (after !== null);
      if (args.text('format') !== 'csv') {
        return { text: members.map((one) => JSON.stringify(one)).join('\n'), json: members };
      }
      const columns = ['person_id', 'distinct_id', 'email_sha256', 'events', 'first_seen', 'last_seen'] as const;
      const rows = members.map((one) => columns.map((column) => one[column]));
      return { text: csvOf({ columns: [...columns], rows }).trimEnd(), json: members };
    },
  },
};

interface Row {
  line: number;
  name: string;
  value: string;
}

/** Values of one column, each with the line that it begins on; empty ones are left out. @throws UsageError */
function membersIn(bytes: Buffer, as: string | undefined, file: string): Row[] {
  const rows: Row[] = [];
  let [column, name] = [0, as];
  let line = 1;
  for (let start = 0; start < bytes.length; ) {
    const record = nextRecord(bytes, start, 0x2c, true);
    if (record === null) break;
    if (record.problem !== null) throw new UsageError('row_malformed', `${file}, line ${line}: ${record.problem}`);
    const fields = splitFields(bytes.toString('utf8', record.start, record.end), ',').map((field) =>
      field.replace(/^\uFEFF/, '').trim(),
    );
    if (name === undefined) {
      column = fields.findIndex((field) => (SUBJECT_NAMES as string[]).includes(field));
      name = fields[column];
      if (name === undefined) {
        throw new UsageError(
          'column_missing',
          `${file}: its first line names none of ${SUBJECT_NAMES.join(', ')}; or give --as`,
        );
      }
    } else {
      const value = fields[column] ?? '';
      if (value !== '' && value !== name) rows.push({ line, name, value });
    }
    line += record.lines;
    start = record.next;
  }
  return rows;
}

/** As many at once as a request may have. */
function* stepsOf(rows: readonly Row[]): Generator<Row[]> {
  let step: Row[] = [];
  let characters = 0;
  for (const row of rows) {
    const size = JSON.stringify(row.value).length + row.name.length + 8;
    if (step.length === ADDED_MAX || (step.length > 0 && characters + size > STEP_CHARACTERS)) {
      yield step;
      [step, characters] = [[], 0];
    }
    step.push(row);
    characters += size;
  }
  if (step.length > 0) yield step;
}
