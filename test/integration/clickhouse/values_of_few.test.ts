import { describe, expect, test } from 'vitest';
import { insertBlock } from '#infra/clickhouse/client.ts';
import type { Field, Filter } from '#pipelines/analytics/filters.ts';
import {
  type CorrelationRow,
  correlationPlan,
  correlationStatement,
} from '#pipelines/analytics/funnels/correlation.ts';
import { type FunnelRow, funnelPlan } from '#pipelines/analytics/funnels/query.ts';
import { funnelStatement } from '#pipelines/analytics/funnels/sql.ts';
import { type PathRow, pathsPlan, pathsStatement } from '#pipelines/analytics/paths.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import { type TopRow, topAnswer, topStatement } from '#pipelines/analytics/top.ts';
import { type TrendRow, type TrendsQuery, trendsPlan } from '#pipelines/analytics/trends/query.ts';
import { trendsStatement } from '#pipelines/analytics/trends/sql.ts';
import { eventRow } from '#test/harness/event_row.ts';
import { uniqueName } from '#test/harness/kafka.ts';
import { sampleEvent } from '#test/unit/schemas/sample_event.ts';
import { type Database, useClickhouse } from './warehouse_world.ts';

const create = useClickhouse();
const SITE = 'shop';
const NOW_MS = Date.UTC(2026, 5, 1);

const byText = <Row>(rows: readonly Row[]): Row[] => rows.toSorted((a, b) => (String(a) < String(b) ? -1 : 1));

describe('values of fewer than five persons', () => {
  const range = { from: 0, to: Date.UTC(2100, 0, 1) };
  const seat = { property: ['seat'] };

  /** Values that one, four and five persons have, at two steps each. */
  async function filled(): Promise<Database> {
    const database = await create.migrated();
    const rows = [1, 4, 5].flatMap((persons) =>
      Array.from({ length: persons }, (_, at) =>
        ['seen', 'bought'].map((event, step) => {
          const properties = JSON.stringify({ seat: `of ${persons}`, $current_url: `https://a.example/${persons}?x` });
          const event_id = `${persons} ${at} ${event}`;
          return eventRow({
            coordinate: { partition: 0, offset: persons, index: at * 2 + step },
            person: { person_id: `p_${persons}_${at}`, identifiers: null },
            event: sampleEvent({ site_id: SITE, event, event_id, properties, timestamp: NOW_MS + step * 1_000 }),
          });
        }),
      ),
    );
    await insertBlock(database.warehouse, 'event_rows', uniqueName('few'), rows.flat());
    return database;
  }
  async function rowsOf<Row>(database: Database, { sql, parameters }: Statement): Promise<Row[]> {
    const query_params = parameters;
    return (await database.warehouse.query({ query: sql, query_params, format: 'JSONEachRow' })).json<Row>();
  }

  test('stand with the rest of the commonest values, pages as well, and hosts do not', async () => {
    const database = await filled();
    const told = async (field: Field, minPersons: number): Promise<[string, boolean, number][]> => {
      const query = { ...range, field, limit: 9 };
      const rows = await rowsOf<TopRow>(database, topStatement(SITE, query, minPersons));
      return topAnswer(query, rows).values.map(({ value, events }) => [value, false, events]);
    };
    expect((await told(seat, 1)).map(([value]) => value)).toEqual(['of 5', 'of 4', 'of 1']);
    expect((await told(seat, 5)).map(([value]) => value)).toEqual(['of 5']);
    const url = { property: ['$current_url'] };
    expect(await told({ ...url, part: 'page' }, 5)).toHaveLength(1);
    expect(await told({ ...url, part: 'host' }, 5)).toHaveLength(1);
    expect((await told({ column: 'event' }, 5)).map(([value]) => value).sort()).toEqual(['bought', 'seen']);
  });

  test('stand with the rest of the values of trends', async () => {
    const database = await filled();
    const query: TrendsQuery = { ...range, interval: 'month', series: [{}], breakdown: { fields: [seat], limit: 9 } };
    const told = async (minPersons: number) => {
      const rows = await rowsOf<TrendRow>(database, trendsStatement(SITE, trendsPlan(query), minPersons));
      return rows
        .filter(({ kind }) => kind === 'value')
        .map(({ parts, rest, events }) => [parts, rest, Number(events)]);
    };
    expect(await told(1)).toHaveLength(3);
    expect(byText(await told(5))).toEqual([
      [[], 1, 10],
      [['of 5'], 0, 10],
    ]);
  });

  test('stand with the rest of the values of a funnel, and are none of what goes with converting', async () => {
    const database = await filled();
    const steps = [{ events: ['seen'] }, { events: ['bought'] }];
    const plan = funnelPlan({
      ...range,
      steps,
      window_ms: 60_000,
      breakdown: { field: seat, at: 'first_step', limit: 9 },
    });
    const told = async (minPersons: number) => {
      const rows = await rowsOf<FunnelRow>(database, funnelStatement(SITE, plan, minPersons));
      return rows.filter(({ kind }) => kind !== 'all').map(({ kind, text, texts }) => [kind, text, Number(texts)]);
    };
    expect(await told(1)).toHaveLength(3);
    expect(byText(await told(5))).toEqual([
      ['other', '', 2],
      ['value', 'of 5', 1],
    ]);
    const compared = correlationPlan({ ...range, steps, window_ms: 60_000, fields: [seat], actors_min: 1 });
    const candidates = async (minPersons: number) =>
      (await rowsOf<CorrelationRow>(database, correlationStatement(SITE, compared, minPersons)))
        .filter(({ isAll }) => !isAll)
        .map(({ text }) => text);
    expect(await candidates(1)).toEqual(['of 5', 'of 4', 'of 1']);
    expect(await candidates(5)).toEqual(['of 5']);
  });

  test('are those among the events that a question asks about', async () => {
    const database = await filled();
    const filters: Filter[] = [{ field: { property: ['$current_url'], part: 'page' }, is: 'not_equal', to: ['x'] }];
    const one: Filter[] = [{ field: { column: 'person_id' }, is: 'equal', to: ['p_5_0'] }];
    const steps = [{ events: ['seen'] }, { events: ['bought'] }];
    for (const [asked, value] of [
      [filters, 'of 5'],
      [one, ''],
    ] as const) {
      const breakdown = { field: seat, at: 'first_step', limit: 9 } as const;
      const plan = funnelPlan({ ...range, steps, window_ms: 60_000, breakdown, filters: asked });
      const rows = await rowsOf<FunnelRow>(database, funnelStatement(SITE, plan, 5));
      expect(rows.filter(({ kind }) => kind === 'value').map(({ text }) => text)).toEqual(value === '' ? [] : [value]);
      const paths = pathsPlan({ ...range, by: seat, filters: asked });
      const entered = await rowsOf<PathRow>(database, pathsStatement(SITE, paths, 5));
      expect(entered.some(({ to_text }) => to_text === 'of 5')).toBe(value !== '');
    }
  });

  test('stand with all others at each place of paths', async () => {
    const database = await filled();
    const plan = pathsPlan({ ...range, by: seat });
    const told = async (minPersons: number) => {
      const rows = await rowsOf<PathRow>(database, pathsStatement(SITE, plan, minPersons));
      return rows
        .filter(({ to_kind }) => to_kind !== 'none')
        .map(({ to_kind, to_text, paths }) => [to_kind, to_text, Number(paths)]);
    };
    expect(await told(1)).toHaveLength(3);
    expect(byText(await told(5))).toEqual([
      ['other', '', 5],
      ['value', 'of 5', 5],
    ]);
  });
});
