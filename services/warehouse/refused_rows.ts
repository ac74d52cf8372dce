import { WarehouseError } from '#infra/clickhouse/client.ts';
import { isolate, type PoisonPill } from '#pipelines/isolate.ts';
import type { Row } from './tables.ts';

interface PlacedRow {
  row: Row;
  /** Its place in the block. */
  at: number;
}

/**
 * Inserts a block once. Where ClickHouse says that it will never take it, the rows are halved until those are found that
 * are to blame, and the others are in. A part of a block has a token of its own, which means the same rows each time the
 * block is formed again.
 *
 * More rows than can be bad by themselves, or several that are all there is and are all refused for one reason, say that
 * the table is at fault: `warehouse_mismatch`. Of the latter `blamesAll` may say that the rows are.
 */
export async function insertWithoutRefused(
  rows: readonly Row[],
  token: string,
  insert: (token: string, rows: readonly Row[]) => Promise<void>,
  blamesAll: (reason: string) => boolean = () => false,
): Promise<PoisonPill<Row>[]> {
  const placed = rows.map((row, at): PlacedRow => ({ row, at }));
  const work = (some: readonly PlacedRow[]): Promise<void> =>
    insert(
      some.length === rows.length ? token : partToken(token, some),
      some.map(({ row }) => row),
    );
  const { poisonPills } = await isolate(placed, work, isRefusal).catch((error: unknown) => {
    throw isRefusal(error) ? new WarehouseError('warehouse_mismatch', error.message) : error;
  });
  const [reason, ...others] = new Set(poisonPills.map(({ error }) => (error as WarehouseError).message));
  const isOfAll = poisonPills.length === rows.length && rows.length > 1 && others.length === 0;
  if (reason !== undefined && isOfAll && !blamesAll(reason)) throw new WarehouseError('warehouse_mismatch', reason);
  return poisonPills.map(({ item, error }) => ({ item: item.row, error }));
}

function partToken(token: string, some: readonly PlacedRow[]): string {
  return `${token}/rows ${some[0]?.at}-${some.at(-1)?.at}`;
}

function isRefusal(error: unknown): error is WarehouseError {
  return error instanceof WarehouseError && error.code === 'warehouse_refused';
}
