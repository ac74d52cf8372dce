// Commands of surveys, promos and forms, and of their results.
import type { EngageQuery, FormResults, PromoResults, SurveyResults } from '#pipelines/analytics/engage_results.ts';
import { ENGAGE_KINDS, type EngageKind } from '#pipelines/engage/definition_fields.ts';
import type { Definitions } from '#pipelines/engage/definition_problems.ts';
import type { Survey } from '#pipelines/engage/survey.ts';
import { ENGAGE_PATHS, type EngageView } from '#services/control_api/engage.ts';
import { renderNumber, renderTable, renderTime, renderValue } from '#services/stage/terminal.ts';
import {
  type Arguments,
  type Command,
  type Context,
  given,
  type OptionSpec,
  type Outcome,
  pathOf,
  readCount,
  readInstant,
  readText,
  UsageError,
  withoutMeta,
} from './command.ts';
import { RANGE_OPTIONS, readRange } from './query_options.ts';

const site: OptionSpec = { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true };
const file: OptionSpec = { kind: 'text', value: 'FILE', help: 'The definition as JSON (- is stdin)', required: true };

const collectionOf = (kind: EngageKind, args: Arguments): string =>
  pathOf('sites', args.text('site') ?? '', ENGAGE_PATHS[kind]);

const pathTo = (kind: EngageKind, args: Arguments): string => `${collectionOf(kind, args)}${pathOf(args.subject)}`;

/** The same five commands for each kind. */
export const engageCommands: Command[] = ENGAGE_KINDS.flatMap(commandsOf);

function commandsOf(kind: EngageKind): Command[] {
  const subject = { name: 'ID', help: `id of the ${kind}` };
  return [
    {
      noun: kind,
      verb: 'list',
      summary: `List the ${ENGAGE_PATHS[kind]} of a site`,
      subject: null,
      options: { site },
      examples: [`${kind} list --site shop`, `${kind} list --site shop --json`],
      run: (args, context) => listItems(kind, args, context),
    },
    {
      noun: kind,
      verb: 'create',
      summary: `Add a ${kind} to a site`,
      subject: null,
      options: { site, file },
      examples: [`${kind} create --site shop --file ${kind}.json`],
      run: (args, context) => createItem(kind, args, context),
    },
    {
      noun: kind,
      verb: 'show',
      summary: `Show a ${kind}, as a file for create and update has it`,
      subject,
      options: { site },
      examples: [`${kind} show ID --site shop`],
      run: (args, context) => showItem(kind, args, context),
    },
    {
      noun: kind,
      verb: 'update',
      summary: `Replace a ${kind}; what the file leaves out is as at first`,
      subject,
      options: { site, file },
      examples: [`${kind} update ID --site shop --file ${kind}.json`],
      run: (args, context) => updateItem(kind, args, context),
    },
    {
      noun: kind,
      verb: 'delete',
      summary: `Remove a ${kind}; its events and results stay`,
      subject,
      options: { site },
      examples: [`${kind} delete ID --site shop`],
      run: (args, context) => deleteItem(kind, args, context),
    },
  ];
}

async function listItems(kind: EngageKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const items = await client.list<EngageView>(collectionOf(kind, args));
  const headings = ['ID', 'NAME', 'STATE', 'REVISION', 'PRIORITY', 'SHARE', 'BEGINS', 'ENDS'];
  const text = renderTable(headings, items.map(row), `The site has no ${ENGAGE_PATHS[kind]}.`);
  return { text, json: items.map(withoutMeta) };
}

function row(item: EngageView): string[] {
  return [
    item.id,
    item.name,
    item.enabled ? 'enabled' : 'disabled',
    String(item.revision),
    String(item.priority),
    `${item.share_percent}%`,
    item.starts_at === null ? '-' : renderTime(item.starts_at),
    item.ends_at === null ? '-' : renderTime(item.ends_at),
  ];
}

async function createItem(kind: EngageKind, args: Arguments, context: Context): Promise<Outcome> {
  const body = readDefinitionFile(args, context);
  return written(kind, await context.client.send('POST', collectionOf(kind, args), null, body), 'created');
}

async function showItem(kind: EngageKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const definition = definitionOf(await client.get<EngageView>(pathTo(kind, args)));
  return { text: JSON.stringify(definition, null, 2), json: definition };
}

async function updateItem(kind: EngageKind, args: Arguments, context: Context): Promise<Outcome> {
  const body = readDefinitionFile(args, context);
  const before = await context.client.get<EngageView>(pathTo(kind, args));
  return written(kind, await context.client.send('PUT', pathTo(kind, args), before.version, body), 'changed');
}

async function deleteItem(kind: EngageKind, args: Arguments, { client }: Context): Promise<Outcome> {
  const before = await client.get<EngageView>(pathTo(kind, args));
  return written(kind, await client.send('DELETE', pathTo(kind, args), before.version), 'deleted');
}

function written(kind: EngageKind, item: EngageView, done: string): Outcome {
  return { text: `The ${kind} ${item.id} ${done} (revision ${item.revision}).`, json: withoutMeta(item) };
}

function definitionOf(item: EngageView): object {
  const { revision: _revision, ...definition } = withoutMeta(item);
  return definition;
}

/** @throws UsageError when the file holds no JSON object; what is wrong within is for the service to say. */
function readDefinitionFile(args: Arguments, context: Context): object {
  const path = args.text('file') ?? '';
  const body = parsed(readText(context, path), path);
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return withTimes(body);
  throw new UsageError('engage_definition_malformed', `${path} does not hold a JSON object`);
}

function parsed(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // The engine says line and column.
    throw new UsageError('engage_definition_malformed', `${path} is no JSON: ${error.message}`);
  }
}

/** With `starts_at` and `ends_at` in milliseconds, where the file has them as people write dates. */
function withTimes(body: object): object {
  const times = ['starts_at', 'ends_at'].flatMap((name): [string, number][] => {
    const value: unknown = Reflect.get(body, name);
    return typeof value === 'string' ? [[name, readInstant(value, name)]] : [];
  });
  return { ...body, ...Object.fromEntries(times) };
}

interface Results {
  survey: SurveyResults;
  promo: PromoResults;
  form: FormResults;
}

const SUMMARIES: Record<EngageKind, string> = {
  survey: 'Show how a survey was answered, question by question',
  promo: 'Show how often a promo was seen, clicked and redeemed',
  form: 'Show how often a form was sent, and where its leads came from',
};

const percent = (share: number | null): string => (share === null ? '-' : `${(share * 100).toFixed(1)} %`);

const counted = ({ times, persons }: Reached): string[] => [renderNumber(times), renderNumber(persons)];

const DRAWN: { [Kind in EngageKind]: (results: Results[Kind], definition?: Definitions[Kind]) => string } = {
  survey: surveyText,
  promo: promoText,
  form: formText,
};

export const engageResultCommands: Command[] = [
  resultsCommand('survey'),
  resultsCommand('promo'),
  resultsCommand('form'),
];

function resultsCommand<Kind extends EngageKind>(kind: Kind): Command {
  return {
    noun: kind,
    verb: 'results',
    summary: SUMMARIES[kind],
    subject: { name: 'ID', help: `id of the ${kind}` },
    options: {
      site: { kind: 'text', value: 'SITE', help: 'The site it belongs to', required: true },
      limit: { kind: 'text', value: 'COUNT', help: 'How many values of each question, or sources (50)' },
      ...RANGE_OPTIONS,
    },
    examples: [`${kind} results ID --site shop`, `${kind} results ID --site shop --since 7d --json`],
    async run(args: Arguments, { client, nowMs }: Context): Promise<Outcome> {
      const query = given({
        ...readRange(args, nowMs),
        id: args.subject,
        limit: readCount(args, 'limit'),
      }) as EngageQuery;
      const site = args.text('site') ?? '';
      const results = await client.query<Results[Kind]>(site, kind, query);
      // One that was removed has results all the same.
      const definition = await client.find<Definitions[Kind]>(pathOf('sites', site, ENGAGE_PATHS[kind], args.subject));
      return { text: DRAWN[kind](results, definition), json: results };
    },
  };
}

type Reached = { times: number; persons: number };

function stages(rows: readonly (readonly [name: string, reached: Reached])[]): string {
  const cells = rows.map(([name, reached]) => [name, ...counted(reached)]);
  return renderTable(['', 'TIMES', 'PERSONS'], cells, '');
}

/** Amounts, each with its currency: those of several are not added up. */
function amounts(sums: FormResults['submitted']['sums']): string {
  return sums.map(({ currency, sum }) => `${renderNumber(sum)} ${renderValue(currency)}`).join(', ') || '0';
}

/** @param survey As it is now, for the order of its questions and what they are called; undefined: it was removed. */
export function surveyText(results: SurveyResults, survey?: Survey): string {
  const { shown, answered, completed, dismissed, completion, nps, questions } = results;
  const table = stages([
    ['shown', shown],
    ['answered', answered],
    ['completed', completed],
    ['dismissed', dismissed],
  ]);
  const score = nps === null ? [] : [`Net promoter score: ${nps.score.toFixed(0)}`];
  const asked = (survey?.questions ?? []).map(({ id }) => id);
  // Those that the survey no longer asks come last.
  const placeOf = (id: string): number => (asked.includes(id) ? asked.indexOf(id) : asked.length);
  const inOrder = questions.toSorted((one, other) => placeOf(one.id) - placeOf(other.id));
  const answers = inOrder.flatMap((question) => ['', questionText(question, survey)]);
  const none = questions.length === 0 ? ['', 'Nobody has answered a question.'] : [];
  return [table, '', `Completed of those shown: ${percent(completion)}`, ...score, ...answers, ...none].join('\n');
}

type QuestionResults = SurveyResults['questions'][number];

function questionText({ id, respondents, average, values, more_values }: QuestionResults, survey?: Survey): string {
  const question = survey?.questions.find((one) => one.id === id);
  const heading = question === undefined ? id : `${id}: ${renderValue(question.text)}`;
  const mean = average === null ? '' : `, on average ${average.toFixed(2)}`;
  const answered = `Answered ${renderNumber(respondents.times)} times by ${renderNumber(respondents.persons)} persons${mean}`;
  // Steps of a rating are read in their order, other answers the commonest first.
  const inOrder = average === null ? values : values.toSorted((one, other) => Number(one.value) - Number(other.value));
  const labelOf = (value: string): string => {
    const label = question?.choices.find((choice) => choice.id === value)?.label;
    return label === undefined ? renderValue(value) : `${renderValue(label)} (${value})`;
  };
  const rows = inOrder.map(({ value, ...reached }) => [labelOf(value), ...counted(reached)]);
  const table = renderTable(['ANSWER', 'TIMES', 'PERSONS'], [...rows, ...(more_values ? [['…']] : [])], '');
  return [heading, answered, table].join('\n');
}

export function promoText({ viewed, clicked, dismissed, code_copied, redeemed, conversion }: PromoResults): string {
  const table = stages([
    ['viewed', viewed],
    ['clicked', clicked],
    ['dismissed', dismissed],
    ['code copied', code_copied],
    ['redeemed', redeemed],
  ]);
  return [table, '', `Clicked of those viewed: ${percent(conversion)}`, `Redeemed: ${amounts(redeemed.sums)}`].join(
    '\n',
  );
}

export function formText({ shown, submitted, unshown, dismissed, conversion, sources }: FormResults): string {
  const table = stages([
    ['shown', shown],
    ['submitted', submitted],
    ['dismissed', dismissed],
  ]);
  const rows = sources.map(({ value, sums, ...reached }) => [renderValue(value), ...counted(reached), amounts(sums)]);
  const from = renderTable(['SOURCE', 'LEADS', 'PERSONS', 'WORTH'], rows, 'There are no leads in this time.');
  const plain = unshown === 0 ? [] : [`Sent without being shown, as plain forms: ${renderNumber(unshown)}`];
  const worth = submitted.sums.length === 0 ? [] : [`Worth: ${amounts(submitted.sums)}`];
  return [table, '', `Sent of those shown: ${percent(conversion)}`, ...plain, ...worth, '', from].join('\n');
}
