import { analystName } from '#infra/clickhouse/analyst.ts';
import { ANALYST_SITE } from '#infra/local/clickhouse/users.ts';
import { renderTable } from '#services/render.ts';
import type { Arguments, Command, Context, Outcome } from './command.ts';
import { UsageError } from './usage_error.ts';

export const analystCommand: Command = {
  noun: 'analyst',
  verb: 'show',
  summary: 'Show how the local analyst signs in to ClickHouse, with the password',
  subject: null,
  options: {},
  examples: ['analyst show', 'analyst show --json'],
  run: showAnalyst,
};

/** The password goes to whoever may read its file already; no log and no other command has it. */
async function showAnalyst(_args: Arguments, { readLocal }: Context): Promise<Outcome> {
  const user = analystName(ANALYST_SITE);
  const address = textIn(readLocal('ready.json'), 'clickhouse');
  const password = textIn(readLocal('clickhouse/credentials.json'), user);
  if (address === null) throw new UsageError('not_running', 'nothing runs here: npm start writes what runs where');
  if (password === null) {
    throw new UsageError(
      'analyst_unknown',
      'the ClickHouse in use is not the local one: who runs it makes its analysts',
    );
  }
  const url = new URL(address).origin;
  const json = { url, database: user, user, password, site: ANALYST_SITE };
  const query = `curl -sS '${url}/?database=${user}' --user '${user}:${password}' -d 'SELECT count() FROM events'`;
  return { text: [renderTable(['WHAT', 'VALUE'], Object.entries(json), ''), '', query].join('\n'), json };
}

function textIn(file: string | null, name: string): string | null {
  const value: unknown = file === null ? undefined : Reflect.get(JSON.parse(file) as object, name);
  return typeof value === 'string' ? value : null;
}
