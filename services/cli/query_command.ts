import { answerTable } from '#pipelines/query/answer_table.ts';
import { csvOf } from '#pipelines/query/csv.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { readText } from './inputs.ts';
import { UsageError } from './usage_error.ts';

export const queryCommand: Command = {
  noun: 'query',
  verb: 'ask',
  summary: 'Ask any question of the query API, and print the answer as JSON or CSV',
  subject: { name: 'SITE', help: 'the site whose events it is about' },
  options: {
    name: { kind: 'text', value: 'NAME', help: 'funnel, trends, retention, top, ...: see /docs', required: true },
    file: { kind: 'text', value: 'FILE', help: 'The question as JSON; - is standard input', required: true },
    csv: { kind: 'flag', help: 'Print CSV for spreadsheets: docs/analytics.md says how its rows are made' },
  },
  examples: ['query ask shop --name funnel --file question.json --csv'],
  run: askQuestion,
};

async function askQuestion(args: Arguments, context: Context): Promise<Outcome> {
  const name = args.text('name') ?? '';
  if (!/^[a-z_-]+$/.test(name)) throw new UsageError('query_malformed', `--name ${name} is not the name of a query`);
  const question = readQuestion(readText(context, args.text('file') ?? ''));
  const answer = await context.client.query<object>(args.subject, name, question);
  const text = args.flag('csv') ? csvOf(answerTable(answer)).trimEnd() : JSON.stringify(answer, null, 2);
  return { text, json: answer };
}

function readQuestion(text: string): object {
  try {
    const question: unknown = JSON.parse(text);
    if (typeof question === 'object' && question !== null) return question;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new UsageError('query_malformed', '--file is not a JSON object');
}
