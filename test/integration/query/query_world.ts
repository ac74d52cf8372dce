import { insertBlock } from '#infra/clickhouse/client.ts';
import { createCohortLists } from '#infra/clickhouse/cohort_members.ts';
import { createParquetWriter } from '#infra/clickhouse/parquet.ts';
import { reloadPersons } from '#infra/clickhouse/person_dictionaries.ts';
import { QUERY_LIMITS, selectRows } from '#infra/clickhouse/queries/select_rows.ts';
import type { EventRow } from '#pipelines/warehouse/block.ts';
import type { IdentityLink } from '#schemas/records.ts';
import type { PageRules } from '#schemas/setting.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { type Control, control } from '#test/unit/control/harness.ts';
import { type Database, rowsOf, useClickhouse } from '../clickhouse/warehouse_world.ts';

export { rowsOf };

/** A control service with a ClickHouse of its own behind it. */
export interface QueryWorld {
  database: Database;
  control: Control;
  store(blocks: readonly EventRow[][]): Promise<void>;
  link(links: readonly IdentityLink[]): Promise<void>;
  /** Gives the site `shop` rules of pages. */
  setPages(pages: Partial<PageRules>): Promise<void>;
  /** The answer to a query of the site `shop`, without its time. @throws where the status is not 200 */
  ask<Answer>(name: string, query: object): Promise<Answer>;
}

/** Answers are compared here and not timed, also on a machine that is busy with something else. */
const LIMITS = { ...QUERY_LIMITS, seconds: 120 };

/** A block whose token a table has seen would be dropped, and the tables have seen those of other files. */
const token = uniqueName('block');
let block = 0;

/** Makes worlds for the tests of one file. */
export function useQueryWorld(): () => Promise<QueryWorld> {
  const create = useClickhouse();
  return async () => {
    const database = await create.migrated();
    let failure: unknown;
    const service = await control(
      'tester',
      (statement) =>
        selectRows(database.warehouse, statement, LIMITS).catch((error: unknown) => {
          failure = error;
          throw error;
        }),
      createParquetWriter(database.warehouse),
      undefined,
      createCohortLists(database.warehouse, database.cluster),
    );
    await service.call('POST', 'accounts', { body: { account_id: 'acme', monthly_allowance: 1000 } });
    await service.call('POST', 'sites', { body: { site_id: 'shop', account_id: 'acme' } });
    return {
      database,
      control: service,
      async store(blocks) {
        for (const rows of blocks) await insertBlock(database.warehouse, 'event_rows', `${token}-${block++}`, rows);
      },
      async link(links) {
        const rows = links.map(({ kind: _kind, ...row }) => row);
        await insertBlock(database.warehouse, 'person_links', `${token}-links-${block++}`, rows);
        await reloadPersons(database.warehouse, database.cluster);
      },
      async setPages(pages) {
        const { status, body } = await service.call('PATCH', 'sites/shop', { ifMatch: '*', body: { pages } });
        if (status !== 200) throw new Error(`rules are answered ${status}: ${JSON.stringify(body)}`);
      },
      async ask<Answer>(name: string, query: object) {
        const { status, body } = await service.call('POST', `/v1/query/shop/${name}`, { body: query });
        if (status !== 200) {
          throw new Error(`${name} is answered ${status}: ${JSON.stringify(body)}`, { cause: failure });
        }
        const { as_of: _asOf, ...answer } = body as { as_of: number };
        return answer as Answer;
      },
    };
  };
}
