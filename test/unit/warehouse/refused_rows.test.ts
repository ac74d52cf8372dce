import { expect, test } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import { insertWithoutRefused } from '#services/warehouse/insert.ts';

const rows = Array.from({ length: 9 }, (_, id) => ({ id }));

/** A table that knows the tokens it took, and refuses a block with a bad row. */
function table(bad: ReadonlySet<number>) {
  const taken = new Map<string, string>();
  return {
    rows: () => [...taken.values()].flatMap((text) => JSON.parse(text) as { id: number }[]),
    async insert(token: string, some: readonly object[]) {
      if (some.some((row) => bad.has((row as { id: number }).id))) {
        throw new WarehouseError('warehouse_refused', 'clickhouse: 53');
      }
      const text = JSON.stringify(some);
      expect(taken.get(token) ?? text).toBe(text);
      taken.set(token, text);
    },
  };
}

test('a refused row is left out and the others are in, once, however often the block is formed again', async () => {
  const { insert, rows: found } = table(new Set([3, 8]));
  for (let times = 0; times < 3; times++) {
    const poisonPills = await insertWithoutRefused(rows, 'block', insert);
    expect(poisonPills.map(({ item }) => item)).toEqual([{ id: 3 }, { id: 8 }]);
    expect(found()).toEqual(rows.filter(({ id }) => id !== 3 && id !== 8));
  }
});

test('a block that is taken whole has the token it was announced with', async () => {
  const tokens: string[] = [];
  await insertWithoutRefused(rows, 'block', async (token) => void tokens.push(token));
  expect(tokens).toEqual(['block']);
});

test('a ClickHouse that does not answer is no row’s fault', async () => {
  const away = new WarehouseError('warehouse_unavailable', 'clickhouse: away');
  const insert = async (): Promise<never> => {
    throw away;
  };
  await expect(insertWithoutRefused(rows, 'block', insert)).rejects.toBe(away);
});

const refuses =
  (message: (row: { id: number }) => string) =>
  async (_token: string, some: readonly object[]): Promise<never> => {
    throw new WarehouseError('warehouse_refused', message(some[0] as { id: number }));
  };

test('where every row of a block is refused for the same reason the table is at fault, until that was waited for', async () => {
  const insert = refuses(() => 'clickhouse: 53 TYPE_MISMATCH');
  const asked: string[] = [];
  const soon = insertWithoutRefused(rows, 'block', insert, (reason) => {
    asked.push(reason);
    return false;
  });
  await expect(soon).rejects.toMatchObject({ code: 'warehouse_mismatch', recovery: 'wait' });
  expect(asked).toEqual(['clickhouse: 53 TYPE_MISMATCH']);
  const later = await insertWithoutRefused(rows, 'block', insert, () => true);
  expect(later.map(({ item }) => item)).toEqual(rows);
});

test('rows that are all refused, each for a reason of its own, and a row that is alone, are to blame', async () => {
  const apart = refuses(({ id }) => `clickhouse: ${id}`);
  expect(await insertWithoutRefused(rows, 'block', apart, () => false)).toHaveLength(rows.length);
  const alone = refuses(() => 'clickhouse: 53');
  expect(await insertWithoutRefused(rows.slice(0, 1), 'block', alone, () => false)).toHaveLength(1);
});

test('a block with more refused rows than can be bad by themselves waits', async () => {
  const many = Array.from({ length: 40 }, (_, id) => ({ id }));
  const insert = refuses(({ id }) => `clickhouse: ${id % 2}`);
  const inserting = insertWithoutRefused(many, 'block', insert, () => false);
  await expect(inserting).rejects.toMatchObject({ code: 'warehouse_mismatch', recovery: 'wait' });
});
