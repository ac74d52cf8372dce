import { expect, test } from 'vitest';
import { WarehouseError } from '#infra/clickhouse/client.ts';
import { insertWithoutRefused } from '#services/warehouse/refused_rows.ts';

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
