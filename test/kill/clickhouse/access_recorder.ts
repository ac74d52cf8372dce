import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { UserPlan } from '#services/local/parts/clickhouse/users.ts';

/**
 * Stands before a ClickHouse that has no place to store users in. The server parses every statement and checks the rights of
 * who sends it; what fails only because nothing can be stored, or because what it names was not stored, is remembered.
 */
export interface AccessRecorder {
  url: string;
  /** Statements that are still to be carried out, in their order. */
  remembered: string[];
  close(): Promise<void>;
}

/** No storage to write to; a storage that is read only; an unknown user, or role. */
const NOT_STORED = new Set(['514', '495', '192', '511']);

export async function recordAccess(clickhouseUrl: string): Promise<AccessRecorder> {
  const remembered: string[] = [];
  const target = new URL(clickhouseUrl);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const answered = await fetch(new URL(request.url ?? '/', target.origin), {
      method: request.method ?? 'GET',
      headers: headersOf(request),
      ...(body === '' ? {} : { body }),
    });
    const code = answered.headers.get('x-clickhouse-exception-code');
    if (code !== null && NOT_STORED.has(code)) {
      remembered.push(body);
      response.writeHead(200).end();
      return;
    }
    const headers = Object.fromEntries([...answered.headers].filter(([name]) => !HOP.has(name)));
    response.writeHead(answered.status, headers).end(Buffer.from(await answered.arrayBuffer()));
  };
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = new URL(clickhouseUrl);
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, remembered, close: () => closed(server) };
}

const HOP = new Set(['connection', 'content-encoding', 'content-length', 'keep-alive', 'transfer-encoding']);

function headersOf({ headers }: IncomingMessage): Record<string, string> {
  const own = ['authorization', 'content-type', 'x-clickhouse-user', 'x-clickhouse-key', 'x-clickhouse-database'];
  return Object.fromEntries(
    own.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])),
  );
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((done) => server.close(() => done()));
}

/** The users that statements make, as the server's own file has users, and the statements that make something else. */
export function usersOf(statements: readonly string[]): { users: UserPlan[]; others: string[] } {
  const users = new Map<string, UserPlan>();
  const others: string[] = [];
  for (const statement of statements) {
    const [, name = '', rest = ''] = /^CREATE USER `([^`]+)` (.+)$/.exec(statement) ?? [];
    const [, table = '', condition = '', reader = ''] =
      /^CREATE ROW POLICY `[^`]+` ON svc\.(\w+) FOR SELECT USING (.+) TO `([^`]+)`$/.exec(statement) ?? [];
    const [, grant = '', grantee = ''] = /^GRANT (.+) TO `([^`]+)`$/.exec(statement) ?? [];
    const planned = users.get(reader === '' ? grantee : reader);
    // The server's own file has one quota for all.
    if (statement.startsWith('CREATE QUOTA ')) continue;
    if (name !== '') users.set(name, userOf(name, rest));
    else if (planned === undefined) others.push(statement);
    else if (table !== '') planned.rows = { ...planned.rows, [table]: condition };
    else planned.grants?.push(grant);
  }
  return { users: [...users.values()], others };
}

function userOf(name: string, rest: string): UserPlan {
  if (rest === 'NOT IDENTIFIED HOST NONE') return { name, isReader: true, grants: [] };
  const [, database = '', settings = ''] = /DEFAULT DATABASE `([^`]+)` SETTINGS (.+)$/.exec(rest) ?? [];
  const pairs = [...settings.matchAll(/(\w+) = (\S+) READONLY/g)].map(([, key = '', value = '']) => [key, value]);
  return { name, database, grants: [], settings: Object.fromEntries(pairs) };
}
