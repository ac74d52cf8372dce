// Commands of queries: any query of the API, a saved one, those that run, what arrived last, one event, one person.

import { type TSchema, Type } from 'typebox';
import {
  type AnswerTable,
  answerTable,
  type Cell,
  csvOf,
  type SqlAnswer,
  sqlTable,
} from '#pipelines/analytics/answer_table.ts';
import type { Listing } from '#pipelines/analytics/event_lists.ts';
import type { EventTrace } from '#pipelines/analytics/event_trace/answer.ts';
import { COLUMNS, type Filter, type PersonField, type ValueField } from '#pipelines/analytics/filters.ts';
import { QUESTIONS } from '#pipelines/analytics/questions.ts';
import { VISIT_VALUES } from '#pipelines/visits/arrival.ts';
import type { RunningQueryItem } from '#services/control_api/operations.ts';
import type { SplitAnswer } from '#services/control_api/sites.ts';
import { renderNumber, renderTable, renderTime, renderValue } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Columns,
  type Commands,
  type Context,
  done,
  list,
  type Outcome,
  option,
  pathIn,
  pathInSite,
  repeatableOption,
  requiredOption,
  send,
  siteOption,
  table,
  UsageError,
} from './command.ts';
import { lengthOf, readCount, readMoment, readObject, readPair, readText } from './read.ts';

/** The request of each kind of query. */
const SCHEMAS = new Map<string, TSchema>([
  ...QUESTIONS.map(({ kind, schema }) => [kind, schema] as const),
  ['sql', Type.Object({ sql: Type.String() })],
]);

const DAY_MS = 86_400_000;
const SINCE = '30d';

const formatOption = option('format <FORMAT>', 'How to print the answer; a table without it').choices([
  'table',
  'json',
  'csv',
]);
const CONDITION = 'FIELD=A|B, cohort=ID, !=, >=, <, ~ (contains), ^=, $=, or FIELD';

const RUNNING: Columns<RunningQueryItem> = {
  QUERY: 'id',
  SITE: ({ site_id }) => site_id ?? 'all',
  KIND: 'kind',
  BY: 'asked_by',
  SECONDS: ({ running_ms }) => (running_ms / 1_000).toFixed(1),
  'ROWS READ': 'rows_read',
  MIB: ({ memory_bytes }) => (memory_bytes / 1024 ** 2).toFixed(0),
};

export const queryCommands: Commands = {
  'query run <KIND> <SITE>': {
    isDefault: true,
    summary: 'Run a query with the request of the API, which /docs describes; the verb may be left out',
    subject: [...SCHEMAS.keys()].join(', '),
    options: [
      option('body <BODY>', 'The request: a file, - (standard input) or JSON'),
      repeatableOption('set <PATH=VALUE>', 'A field of it, as JSON or as text: limit=5, field.column=country'),
      option('since <WHEN>', `From when on: a date, a time, or 30d, 12h before the end (${SINCE})`),
      option('until <WHEN>', 'The end, which is not part of it (the end of today, UTC)'),
      option('zone <ZONE>', "Time zone in which intervals begin, such as Europe/Berlin (the site's)", 'time_zone'),
      option('interval <INTERVAL>', 'hour, day, week or month (day)', 'interval'),
      repeatableOption('where <CONDITION>', CONDITION),
      option('fresh', 'Take no cached answer', 'fresh'),
      formatOption,
    ],
    examples: [
      'query top shop --set field.property.0=utm_campaign --where event=purchase --set limit=5 --since 7d',
      `query trends shop --set 'series=[{"events":["page_view"]},{"events":["purchase"]}]' --set 'formulas=["B / A"]'`,
      `query funnel shop --set 'steps=[{"events":["page_view"]},{"events":["purchase"]}]' --set window_ms=604800000`,
      `query retention shop --set 'start={"events":["page_view"]}' --set back={} --interval week --since 60d --format csv`,
    ],
    async run(args, context) {
      const [kind = '', site = ''] = args.subjects;
      return shown(await context.client.query<object>(site, kind, readQuery(kind, args, context)), args);
    },
  },
  'query list': list<RunningQueryItem>({
    summary: 'List running queries, the longest first',
    path: '/queries',
    isWhole: true,
    options: [option('site <SITE>', 'Only queries about this site', 'site_id')],
    examples: ['query list', 'query list --site shop --json'],
    columns: RUNNING,
    whenEmpty: 'No query is running.',
  }),
  'query cancel <QUERY>': {
    summary: 'Cancel a running query',
    subject: 'as query list shows it',
    run: send<RunningQueryItem>('DELETE', pathIn('queries'), (query) => done(table(RUNNING, [query]), query)),
  },
  'question ask <ID>': {
    summary: 'Run a saved question',
    subject: 'id of the question',
    options: [siteOption, formatOption],
    examples: ['question ask countries --site shop --format csv'],
    run: async (args, { client }) => shown(await client.answerOf<object>(args.required('site'), args.subject), args),
  },
  'live show <SITE>': {
    isDefault: true,
    summary: 'Show the latest events, newest first; the verb may be left out',
    options: [
      repeatableOption('event <EVENT>', 'Only events of these names', 'events'),
      repeatableOption('where <CONDITION>', CONDITION, 'filters', readFilter),
      option('limit <COUNT>', 'How many, up to 1000 (50)', 'limit', readCount),
    ],
    examples: ['live shop', 'live shop --event purchase --where "value>=100" --limit 10'],
    async run(args, { client }) {
      const answer = await client.query<Listing>(args.subject, 'live', args.fields());
      return done(table(LIVE, answer.events, 'Nothing arrived in the last hour.'), answer);
    },
  },
};

const LIVE: Columns<Listing['events'][number]> = {
  ARRIVED: 'received_at',
  EVENT: ({ event }) => renderValue(event),
  SOURCE: 'action_source',
  VALUE: ({ value, currency }) => (value === null ? null : `${renderNumber(value)} ${currency}`.trim()),
  'DISTINCT ID': ({ distinct_id }) => renderValue(distinct_id),
  PERSON: 'person_id',
};

/** The request: what --body has, with the fields that other options give. What it may be is checked by the service. */
function readQuery(kind: string, args: Arguments, context: Context): object {
  const schema = SCHEMAS.get(kind);
  if (schema === undefined) {
    throw new UsageError('query_unknown', `${kind} is none of ${[...SCHEMAS.keys()].join(', ')}`);
  }
  const [object] = Type.IsUnion(schema) ? schema.anyOf : [schema];
  const fields = object !== undefined && Type.IsObject(object) ? object.properties : {};
  const range = readRange(args, context.nowMs);
  const isTimed = (args.text('since') ?? args.text('until')) !== undefined;
  const body: Record<string, unknown> = {
    ...('from' in fields ? range : {}),
    ...('interval' in fields ? { interval: 'day' } : {}),
    ...readBody(args, context),
    ...(isTimed ? range : {}),
    ...args.fields(),
  };
  for (const pair of args.texts('set')) {
    const [path, text] = readPair(pair, 'set');
    setField(body, path, fields[path] !== undefined && Type.IsString(fields[path]) ? text : jsonOrText(text));
  }
  const conditions = args.texts('where').map(readFilter);
  if (conditions.length > 0) body['filters'] = [...((body['filters'] as Filter[] | undefined) ?? []), ...conditions];
  return body;
}

function readBody(args: Arguments, context: Context): object {
  const body = args.text('body') ?? '{}';
  const isInline = body.startsWith('{');
  return readObject(isInline ? body : readText(context, body), 'query_malformed', isInline ? '--body' : body);
}

/** Sets `series.0.events` and the like; what is missing on the way is made, as a list where a number follows. */
function setField(body: object, path: string, value: unknown): void {
  const names = path.split('.');
  let place: object = body;
  for (const [index, name] of names.slice(0, -1).entries()) {
    const inner: unknown = Object.hasOwn(place, name) ? Reflect.get(place, name) : undefined;
    const next: object =
      typeof inner === 'object' && inner !== null ? inner : /^\d+$/.test(names[index + 1] ?? '') ? [] : {};
    Reflect.set(place, name, next);
    place = next;
  }
  Reflect.set(place, names.at(-1) ?? '', value);
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Whole days, so that the same words on one day are the same query, and today with them. */
function readRange(args: Arguments, nowMs: number): { from: number; to: number } {
  const until = args.text('until');
  const to = until === undefined ? nowMs - (nowMs % DAY_MS) + DAY_MS : readMoment(until, 'until', nowMs);
  const since = args.text('since') ?? SINCE;
  const length = lengthOf(since);
  return { from: length === null ? readMoment(since, 'since', nowMs) : to - length, to };
}

const NUMBERS = { '>': 'above', '>=': 'at_least', '<': 'below', '<=': 'at_most' } as const;
const TEXTS = { '~': 'containing', '!~': 'not_containing', '^=': 'starting_with', '$=': 'ending_with' } as const;

/** `country=DE|AT`, `plan!=free`, `cohort=regulars`, `value>=20`, `url~pricing`, `url^=https`, or a field alone, which must be set. */
function readFilter(text: string): Filter {
  const [, name = '', sign = '', value = ''] = /^([^=!<>~^$]+)(!=|>=|<=|!~|\^=|\$=|=|>|<|~)?(.*)$/s.exec(text) ?? [];
  if (name === '') throw new UsageError('condition_malformed', '--where has a condition without a field');
  if (name === 'cohort' && (sign === '=' || sign === '!=')) {
    return { field: { cohort: value }, is: sign === '=' ? 'in' : 'not_in' };
  }
  const field = readField(name);
  if (sign === '') return { field, is: 'set' };
  if (sign === '=' || sign === '!=') {
    return { field, is: sign === '=' ? 'equal' : 'not_equal', to: value.split('|') };
  }
  if (sign in TEXTS) return { field, is: TEXTS[sign as keyof typeof TEXTS], to: value };
  const number = Number(value);
  if (value.trim() === '' || Number.isNaN(number)) {
    throw new UsageError('condition_malformed', `--where: ${name}${sign} takes a number`);
  }
  return { field, is: NUMBERS[sign as keyof typeof NUMBERS], to: number };
}

/**
 * A column by its name; a value of the visit, or of the person's first or last event that has one, behind `visit.`, `first.` or
 * `last.`; anything else is a path into the properties, also where `properties.` stands before it.
 */
function readField(text: string): ValueField {
  const visit = VISIT_VALUES.find((name) => `visit.${name}` === text);
  if (visit !== undefined) return { visit };
  const [, seen, of = ''] = /^(first|last)\.(.+)$/s.exec(text) ?? [];
  if (seen !== undefined) return { person: readField(of) as PersonField['person'], seen: seen as PersonField['seen'] };
  const column = COLUMNS.find((name) => name === text);
  return column === undefined ? { property: text.replace(/^properties\./, '').split('.') } : { column };
}

function shown(answer: object, args: Arguments): Outcome {
  const format = args.text('format') ?? 'table';
  if (format === 'json') return { text: JSON.stringify(answer, null, 2), json: answer };
  const isSql = 'columns' in answer;
  const rows = isSql ? sqlTable(answer as SqlAnswer) : answerTable(answer);
  if (format === 'csv') return { text: csvOf(rows).trimEnd(), json: answer };
  return { text: isSql ? renderAnswer(rows) : tablesOf(rows), json: answer };
}

function renderAnswer({ columns, rows }: AnswerTable): string {
  return renderTable(
    columns,
    rows.map((row) => row.map((value, at) => cellOf(value, columns[at] ?? ''))),
    'There are no rows.',
  );
}

/** A table for each part of an answer. Of the elements that a part is inside of, only their numbers are repeated. */
function tablesOf({ columns, rows }: AnswerTable): string {
  const parts = Map.groupBy(rows, ([part]) => String(part));
  const tables = [...parts].map(([part, of]) => {
    const names = part.split('.');
    const outer = names.slice(1).map((_, index) => `${names.slice(0, index + 1).join('.')}.`);
    const isOwn = (column: string): boolean =>
      outer.every((prefix) => !column.startsWith(prefix)) || outer.some((prefix) => column === `${prefix}number`);
    const shownAt = [...columns.keys()].filter(
      (at) => at > 0 && isOwn(columns[at] ?? '') && of.some((row) => row[at] !== null),
    );
    const cut = <Item>(row: readonly Item[]): Item[] => row.filter((_, at) => shownAt.includes(at));
    return `${part}\n${renderAnswer({ columns: cut(columns), rows: of.map(cut) })}`;
  });
  return tables.join('\n\n');
}

const TIME_COLUMN = /(?:^|\.)(?:from|to|timestamp|as_of|\w+_at)$/;

function cellOf(value: Cell, column: string): string {
  if (typeof value === 'number') return TIME_COLUMN.test(column) ? renderTime(value) : renderNumber(value);
  return value === null ? '-' : renderValue(String(value));
}

const IDENTIFIERS = {
  email: 'an e-mail address',
  phone: 'a phone number',
  external_id: 'an id in the sender’s own system',
} as const;
const flagOf = (identifier: string): string => identifier.replace('_', '-');

export const personCommands: Commands = {
  'event show <SITE> <EVENT>': {
    isDefault: true,
    summary: 'Trace one event, from its acceptance to each destination; the verb may be left out',
    examples: ['event shop order-2001', 'event shop order-2001 --json'],
    async run({ subjects: [siteId = '', eventId = ''] }, { client }) {
      return shownTrace(await client.event<EventTrace>(siteId, eventId));
    },
  },
  'person split <PERSON>': {
    summary: 'Undo a wrong merge: move distinct ids and their rows to a new person, for good',
    subject: 'the id of the person; its oldest distinct id stays',
    options: [
      requiredOption('site <SITE>', 'the site of the person'),
      repeatableOption('distinct-id <ID>', 'a distinct id of another person', 'distinct_ids'),
      ...Object.entries(IDENTIFIERS).map(([identifier, what]) =>
        repeatableOption(
          `${flagOf(identifier)} <SHA256>`,
          `hash of ${what} that both have used and that moves with them`,
        ),
      ),
      option('dry-run', 'Change nothing, show what would move', 'dry_run'),
    ],
    examples: [
      'person split p_0b7e --site shop --distinct-id till-7 --dry-run',
      'person split p_0b7e --site shop --distinct-id till-7 --distinct-id phone-2',
    ],
    run: send<SplitAnswer>(
      'POST',
      (args) => pathInSite(args, 'persons', args.subject, 'split'),
      shownSplit,
      (args) => {
        if (!args.flag('distinct-id')) throw new UsageError('flag_missing', '--distinct-id is missing');
        const identifiers = Object.keys(IDENTIFIERS).flatMap((identifier) =>
          args.texts(flagOf(identifier)).map((sha256) => ({ identifier, sha256 })),
        );
        return identifiers.length === 0 ? {} : { identifiers };
      },
    ),
  },
};

/** Without what terminals obey: ids and names are the sender's. */
const plainLine = (text: string): string => text.replace(/\p{C}+/gu, ' ');

function shownTrace(trace: EventTrace): Outcome {
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
  return done([...trace.status.map(plainLine), ...(attempts === '' ? [] : ['', attempts])], trace);
}

function shownSplit(answer: SplitAnswer): Outcome {
  const rows = [
    ['person', answer.person_id],
    ['new person', answer.new_person_id],
    ['distinct ids moved', String(answer.moved)],
    ['distinct ids left', String(answer.stayed)],
    ['shared identifiers', String(answer.shared_identifiers)],
    ['rows changed', String(answer.rows)],
  ];
  const lines = answer.is_done ? [] : ['', 'Nothing was changed.'];
  return done([renderTable(['WHAT', 'VALUE'], rows, ''), ...lines], answer);
}
