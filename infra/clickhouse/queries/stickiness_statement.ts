import type { StickinessPlan } from '#pipelines/query/stickiness.ts';
import { conditionOf, selects } from './conditions.ts';
import { firstRowsSql, SPILLED } from './first_rows.ts';
import { askedSpan, calendarSql, differentPlaces, intervalsUntil } from './interval_starts.ts';
import { createBinder, type Statement } from './statement.ts';

/** The statement of stickiness. Rows: StickinessRow. */
export function stickinessStatement(siteId: string, plan: StickinessPlan): Statement {
  const binder = createBinder();
  const span = askedSpan(plan, binder);
  const isOne = plan.series.length === 1;
  const conditions = plan.series.map((series) => selects(series, binder));
  const filters = plan.filters.map((filter) => conditionOf(filter, binder));
  const place = intervalsUntil(plan.interval, { from: span.from, to: 'timestamp' }, plan.timeZone, binder);
  const events = firstRowsSql(
    {
      siteId,
      span,
      selections: plan.series,
      conditions: [...filters, `(${conditions.join(' OR ')})`],
      columns: {
        person: 'actor',
        place,
        // Of one series all events are: a list of those that each is of would take longer than reading it.
        ...(isOne ? {} : { matched: `[${conditions.map((condition) => `toBool(${condition})`).join(', ')}]` }),
      },
    },
    binder,
  );
  const eachOf = isOne
    ? `(SELECT toUInt32(1) AS series, * FROM (${events}))`
    : `(${events}) ARRAY JOIN arrayEnumerate(matched) AS series WHERE matched[series]`;
  const persons = `SELECT series, length(${differentPlaces(plan, 0)}) AS active FROM ${eachOf} GROUP BY series, person`;
  return binder.statement(`SELECT * FROM (SELECT series, active, count() AS persons FROM (${persons}) GROUP BY series, active
UNION ALL SELECT 0, count(), 0 FROM (${calendarSql(span, plan, binder)}))
${SPILLED}`);
}
