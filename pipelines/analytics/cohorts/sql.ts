// SQL of who is in a cohort: a condition over event_rows, by the same rules for persons and repeated events as questions have.
import type { Condition } from '../filters.ts';
import type { Selection } from '../question.ts';
import { firstRowsSql, querySpan } from '../sql/event_rows.ts';
import type { Binder } from '../sql/statement.ts';
import type { CohortRule, DidRule } from './cohort.ts';

/** How conditions on events are written (sql/expressions.ts, which writes those on cohorts by this file). */
interface EventConditions {
  selects(selection: Selection, binder: Binder): string;
  conditionOf(condition: Condition, binder: Binder): string;
}

/**
 * The condition that the person of a row is in a cohort, never NULL. All that persons have to have done is one set of them, as
 * ClickHouse analyses each condition as often as a question is told apart by it. Nobody has to be found who did nothing: where that
 * is enough, those are looked for of whom it is not so.
 */
export function isInCohort(rule: CohortRule, binder: Binder, sql: EventConditions): string {
  if ('list' in rule) return isAmong(listedSql(rule, binder), binder);
  const dids = rule.parts.filter((part) => 'did' in part);
  const others = rule.parts.flatMap((part) => ('did' in part ? [] : [sql.conditionOf(part, binder)]));
  const isOfAll = rule.match === 'all';
  if (dids.length === 0) return `(${others.join(isOfAll ? ' AND ' : ' OR ')})`;
  const isSoOfNobody = isOfAll ? dids.every(isOfNobody) : dids.some(isOfNobody);
  // Whatever else has to be so of whom is found is asked of them, and not of each row.
  const isAsked = isOfAll && !isSoOfNobody;
  const counted = { dids, isOfAll, isSoOfNobody, others: isAsked ? others : [] };
  const found = `actor GLOBAL IN (SELECT arrayJoin(${binder.scalar(countedSql(rule.siteId, counted, binder, sql))}))`;
  const beside = isAsked ? [] : others;
  return `(${[isSoOfNobody ? `NOT ${found}` : found, ...beside].join(isOfAll ? ' AND ' : ' OR ')})`;
}

/** Whether it holds of whom no such event is stored. */
const isOfNobody = ({ is, times }: DidRule): boolean => is === 'at_most' || times === 0;

const isAmong = (actors: string, binder: Binder): string =>
  `actor GLOBAL IN (SELECT arrayJoin(${binder.scalar(`SELECT groupArray(actor) FROM (${actors})`)}))`;

interface Counted {
  dids: readonly DidRule[];
  isOfAll: boolean;
  isSoOfNobody: boolean;
  /** Conditions over `actor` that have to hold as well. */
  others: readonly string[];
}

/** An array of whom it is so or, where it is so of whom there is no event, is not so. Events are read once for all conditions. */
function countedSql(
  siteId: string,
  { dids, isOfAll, isSoOfNobody, others }: Counted,
  outer: Binder,
  { selects }: EventConditions,
): string {
  const binder = outer.inside();
  const flags = dids.map(({ did, from, to }) => {
    const span = `timestamp >= ${binder.time(from)} AND timestamp < ${binder.time(to)}`;
    return binder.name(`(${span} AND ${selects(did, binder)})`);
  });
  const rows = firstRowsSql(
    {
      siteId,
      span: querySpan(
        { from: Math.min(...dids.map(({ from }) => from)), to: Math.max(...dids.map(({ to }) => to)) },
        binder,
      ),
      selections: dids.map(({ did }) => did),
      conditions: [`(${flags.join(' OR ')})`],
      columns: {
        actor: 'actor',
        ...Object.fromEntries(flags.map((flag, index) => [`times${index}`, `countIf(${flag})`])),
      },
    },
    binder,
  );
  const holds = dids.map((did, index) => `times${index} ${COMPARISONS[did.is]} ${binder.bind(did.times, 'Int64')}`);
  const all = `(${[...holds, ...others].join(isOfAll ? ' AND ' : ' OR ')})`;
  return `SELECT groupArrayIf(actor, ${isSoOfNobody ? `NOT ${all}` : all}) FROM (${rows} GROUP BY actor)`;
}

const COMPARISONS = { at_least: '>=', at_most: '<=', exactly: '=' } as const;

/**
 * `actor` of whom a list has: persons as they are merged now, and who has an event that says one of its identifiers. Where it has none
 * of these, ClickHouse knows before it reads that no event does.
 */
function listedSql({ siteId, list }: { siteId: string; list: string }, binder: Binder): string {
  const site = `site_id = ${binder.bind(siteId, 'String')}`;
  const members = `FROM cohort_members WHERE ${site} AND list = ${binder.bind(list, 'String')} AND kind`;
  const identifiers = binder.shared(`SELECT value ${members} != 'person'`);
  const count = binder.scalar(`SELECT count() FROM (${identifiers})`);
  const says = ['email_sha256', 'phone_hmac', 'external_id_sha256'].map(
    (column) => `${column} GLOBAL IN (${identifiers})`,
  );
  return `SELECT actor ${members} = 'person'
  UNION ALL SELECT DISTINCT actor FROM event_rows WHERE ${site} AND ${count} > 0 AND (${says.join(' OR ')})`;
}
