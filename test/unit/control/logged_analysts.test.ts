import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createAnalystUsers } from '#infra/clickhouse/analysts/analyst_users.ts';
import { createWarehouse, WarehouseError } from '#infra/clickhouse/client.ts';
import type { Logger } from '#infra/log/logger.ts';
import { logAnalysts } from '#services/control/users/analysts.ts';

interface Line {
  act: string;
  analyst: string | null;
  err: Error;
}

const waits = { guard: <T>(ask: () => Promise<T>) => ask() };
const silent = new WarehouseError('warehouse_unavailable', 'clickhouse: no answer');
let server: Server | undefined;
afterEach(() => server?.close());

/** Analysts of a ClickHouse that refuses statements which begin so, and what was logged of them. */
async function refusing(begins: string, guard = waits) {
  const answer = (text: string, response: ServerResponse): void => {
    if (!text.startsWith(begins)) return void response.end();
    response.writeHead(500, { 'x-clickhouse-exception-code': '341' });
    response.end(`Code: 341. DB::Exception: In ${text}: not yet. (UNFINISHED) (version 25.8)\n`);
  };
  server = createServer((request, response) => {
    void request.toArray().then((chunks) => answer(Buffer.concat(chunks).toString(), response));
  });
  await new Promise<void>((resolve) => void server?.listen(0, '127.0.0.1', resolve));
  const warehouse = createWarehouse(`http://svc:hidden@127.0.0.1:${(server.address() as AddressInfo).port}/svc`);
  const lines: Line[] = [];
  const logger = { warn: (line: Line) => lines.push(line) } as unknown as Logger;
  return { analysts: logAnalysts(createAnalystUsers(warehouse, 'svc'), guard, logger), lines };
}

const written = ({ err: { message, stack, cause }, ...line }: Line): string =>
  JSON.stringify([line, message, stack, cause]);

test('what ClickHouse answered to a revoke is logged by its code, once, without the statement', async () => {
  const { analysts, lines } = await refusing('DROP USER');
  await expect(analysts.revoke('ada')).rejects.toMatchObject({ code: 'warehouse_unavailable' });
  expect(lines).toEqual([
    { act: 'revoke', analyst: 'ada', err: expect.objectContaining({ message: 'clickhouse: 341 UNFINISHED' }) },
  ]);
  expect(lines.map(written).join()).not.toMatch(/sql_user_|hidden|DROP/);
});

test('it is logged as well where nobody waits for it any more', async () => {
  const gaveUp = { guard: <T>(ask: () => Promise<T>) => Promise.race([ask(), Promise.reject<T>(silent)]) };
  const { analysts, lines } = await refusing('KILL', gaveUp);
  await expect(analysts.revoke('ada')).rejects.toBe(silent);
  await expect.poll(() => lines.length).toBe(2);
  expect(lines.map(({ act, err }) => `${act}: ${err.message}`)).toEqual([
    'revoke: clickhouse: no answer',
    'revoke: clickhouse: 341 UNFINISHED',
  ]);
});

test('a hash of a password is in no line', async () => {
  const { analysts, lines } = await refusing('CREATE USER');
  const wanted = {
    ...{ analystId: 'ada', siteIds: ['shop'], createdMs: 0, createdBy: 'x', expiresMs: null },
    passwordSha256: 'a'.repeat(64),
  };
  await expect(analysts.make(wanted, () => null)).rejects.toThrow('clickhouse: 341');
  expect(lines.map(({ act }) => act)).toEqual(['make']);
  expect(lines.map(written).join()).not.toContain(wanted.passwordSha256);
});
