// SQL of who is in a cohort: a condition over event_rows, by the same rules for persons and repeated events as questions have.
import type { Condition } from '../filters.ts';
import type { Selection } from '../question.ts';
import { firstRowsSql } from '../sql/event_rows.ts';
import type { Binder } from '../sql/statement.ts';
import type { CohortRule, DidRule } from './cohort.ts';

/** How conditions on events are written (sql/expressions.ts, which writes those on cohorts by this file). */
interface EventConditions {
  selects(selection: Selection, binder: Binder): string;
  conditionOf(condition: Condition, binder: Binder): string;
}

/**
 * The condition that the person of a row is in a cohort, never NULL. Nobody has to be found who did nothing: of conditions that hold
 * for whom no event is counted, those are looked for of whom they do not.
 */
export function isInCohort(rule: CohortRule, binder: Binder, sql: EventConditions): string {
  if ('list' in rule) return isAmong(listedSql(rule, binder), binder);
  const dids = rule.parts.filter((part) => 'did' in part);
  const counted = dids.length === 0 ? '' : binder.scalar(countedSql(rule.siteId, dids, binder, sql));
  const conditions = rule.parts.map((part) => {
    if (!('did' in part)) return sql.conditionOf(part, binder);
    const found = `actor GLOBAL IN (SELECT arrayJoin(tupleElement(${counted}, ${dids.indexOf(part) + 1})))`;
    return isOfNobody(part) ? `NOT ${found}` : found;
  });
  return `(${conditions.join(rule.match === 'all' ? ' AND ' : ' OR ')})`;
}

/** Whether it holds of whom no such event is stored. */
const isOfNobody = ({ is, times }: DidRule): boolean => is === 'at_most' || times === 0;

const isAmong = (actors: string, binder: Binder): string =>
  `actor GLOBAL IN (SELECT arrayJoin(${binder.scalar(`SELECT groupArray(actor) FROM (${actors})`)}))`;

/** For each condition an array of whom it is so or, where it holds of whom there is no event, is not so. Events are read once for all. */
function countedSql(siteId: string, dids: readonly DidRule[], outer: Binder, { selects }: EventConditions): string {
  const binder = outer.inside();
  const flags = dids.map(({ did, from, to }) => {
    const span = `timestamp >= ${binder.time(from)} AND timestamp < ${binder.time(to)}`;
    return `(${span} AND ${selects(did, binder)})`;
  });
  const rows = firstRowsSql(
    {
      siteId,
      span: {
        from: binder.time(Math.min(...dids.map(({ from }) => from))),
        to: binder.time(Math.max(...dids.map(({ to }) => to))),
      },
      selections: dids.map(({ did }) => did),
      conditions: [`(${flags.join(' OR ')})`],
      columns: { person: 'actor', ...Object.fromEntries(flags.map((flag, index) => [`did${index}`, flag])) },
    },
    binder,
  );
  const counts = dids.map((_, index) => `countIf(did${index}) AS times${index}`);
  const found = dids.map((did, index) => `groupArrayIf(person, times${index} ${comparisonOf(did, binder)})`);
  return `SELECT tuple(${found.join(', ')}) FROM (SELECT person, ${counts.join(', ')} FROM (${rows}) GROUP BY person)`;
}

function comparisonOf(did: DidRule, binder: Binder): string {
  const times = binder.bind(did.times, 'Int64');
  if (isOfNobody(did)) return `> ${times}`;
  return did.is === 'exactly' ? `= ${times}` : `>= ${times}`;
}

/**
 * `actor` of whom a list has: persons as they are merged now, and who has an event that says one of its identifiers. Where it has none
 * of these, ClickHouse knows before it reads that no event does.
 */
function listedSql({ siteId, list }: { siteId: string; list: string }, binder: Binder): string {
  const site = `site_id = ${binder.bind(siteId, 'String')}`;
  const members = `FROM cohort_members WHERE ${site} AND list = ${binder.bind(list, 'String')} AND kind`;
  const identifiers = binder.shared(`SELECT value ${members} != 'person'`);
  const count = binder.scalar(`SELECT count() ${members} != 'person'`);
  const says = ['email_sha256', 'phone_hmac', 'external_id_sha256'].map(
    (column) => `${column} GLOBAL IN (${identifiers})`,
  );
  return `SELECT actor ${members} = 'person'
  UNION ALL SELECT DISTINCT actor FROM event_rows WHERE ${site} AND ${count} > 0 AND (${says.join(' OR ')})`;
}
