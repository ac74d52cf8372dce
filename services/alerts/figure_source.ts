// Where figures of alerts come from: trends, rejected events, outcomes of deliveries and the month's use; and whether events that had
// come by a time are stored: figures of an interval are wrong for as long as some are under way.

import { WarehouseError } from '#infra/clickhouse/client.ts';
import { QueryCancelledError, QueryPatternError, QueryTooHeavyError } from '#infra/clickhouse/queries/select_rows.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { RedisUnavailableError } from '#infra/redis/client.ts';
import type { RejectionRecord } from '#infra/redis/edge_reports.ts';
import { figuresOf, questionOf, statementOf } from '#pipelines/alerts/figures.ts';
import type { Figure, SiteAlert } from '#pipelines/alerts/judge.ts';
import { cohortsById } from '#pipelines/analytics/cohorts/cohort.ts';
import { type HealthRow, healthState, healthStatement } from '#pipelines/analytics/delivery_outcomes.ts';
import type { Statement } from '#pipelines/analytics/sql/statement.ts';
import type { TrendRow } from '#pipelines/analytics/trends/query.ts';
import { RETRY_AGE_MAX_MS } from '#pipelines/delivery/retry_topics.ts';
import { rejectionCounts } from '#pipelines/ingestion_warnings/warnings.ts';
import type { SettingsTable } from '#pipelines/settings/table.ts';
import { createStoredMark } from '#services/stage/stored_mark.ts';
import type { FigureSource, Found } from './evaluation.ts';

interface SourceParts {
  settings: Pick<SettingsTable, 'destination' | 'cohorts'>;
  /** Rows of a statement about a site, or about all. @throws QueryTooHeavyError, QueryPatternError, QueryCancelledError, WarehouseError */
  select<Row>(statement: Statement, siteId: string): Promise<Row[]>;
  /** @throws RedisUnavailableError */
  rejections(siteId: string): Promise<RejectionRecord>;
  monthUse: { refresh(accountIds: readonly string[]): Promise<void>; used(accountId: string): number | null };
  allowanceOf(accountId: string): number | null;
  onFailure(error: unknown): void;
  nowMs(): number;
}

const DAY_MS = 86_400_000;
const ALL_SITES = '*';

export function createFigureSource(parts: SourceParts): FigureSource {
  const { select, rejections, nowMs } = parts;

  async function attempt(found: () => Promise<Found>): Promise<Found> {
    try {
      return await found();
    } catch (error) {
      return failed(error, parts.onFailure);
    }
  }

  return {
    ofIntervals: (one, judgedTo, endedBy) =>
      attempt(async () => {
        const { site, alert, calendar } = one;
        const query = questionOf(alert, calendar, judgedTo, nowMs());
        const statement = statementOf(site, query, nowMs(), cohortsById(parts.settings.cohorts(site.site_id)));
        if (statement === null) return { ok: false, problem: 'cohort_unknown', isLasting: true };
        const rows = await select<TrendRow>(statement, site.site_id);
        const figures = figuresOf(alert, query, rows, calendar, endedBy);
        if (alert.kind !== 'rejected_share') return { ok: true, figures, detail: '' };
        return { ok: true, figures: withRejections(figures, await rejections(site.site_id)), detail: '' };
      }),
    async ofStates(some) {
      const allowances = some.filter(({ alert }) => alert.kind === 'allowance');
      if (allowances.length > 0) await parts.monthUse.refresh([...new Set(allowances.map(accountOf))]);
      const failing = some.some(({ alert }) => alert.kind === 'destination_failing') ? await health() : null;
      return some.map((one): Found => {
        if (one.alert.kind === 'allowance') return allowanceFound(one);
        return failing === null || !failing.ok
          ? (failing ?? unknown('query_unavailable'))
          : destinationFound(one, failing.rows);
      });
    },
  };

  function allowanceFound(one: SiteAlert): Found {
    const used = parts.monthUse.used(accountOf(one));
    const allowance = parts.allowanceOf(accountOf(one));
    if (used === null || allowance === null) return unknown('usage_unknown');
    // Of an allowance of nothing all is used as soon as something was sent.
    const share = used === 0 ? 0 : (used / Math.max(1, allowance)) * 100;
    return { ok: true, figures: [look(share, used)], detail: `${used} of ${allowance} events of the month` };
  }

  async function health(): Promise<{ ok: true; rows: HealthRow[] } | Extract<Found, { ok: false }>> {
    const sinceMs = nowMs() - DAY_MS;
    const of = { sinceMs, waitingSinceMs: sinceMs - RETRY_AGE_MAX_MS, siteId: null, destination: null };
    try {
      return { ok: true, rows: await select<HealthRow>(healthStatement(of), ALL_SITES) };
    } catch (error) {
      return failed(error, parts.onFailure);
    }
  }

  /** What is switched off fails nobody. */
  function destinationFound({ site, alert }: SiteAlert, rows: readonly HealthRow[]): Found {
    const failing = rows.filter((row) => {
      const isIt = row.site_id === site.site_id && (alert.destination ?? row.destination) === row.destination;
      const isOn = isIt && parts.settings.destination(row.site_id, row.destination)?.enabled === true;
      return isOn && ['failing', 'waits_for_settings'].includes(healthState(row));
    });
    const named = failing.map((row) => `${row.destination} (${row.latest_reason || healthState(row)})`);
    const detail = failing.length === 0 ? '' : `Not delivering: ${named.join(', ')}`;
    return { ok: true, figures: [look(failing.length, failing.length)], detail };
  }

  function look(value: number, events: number): Figure {
    const at = nowMs();
    return { from: at, to: at, value, base: null, events, baseEvents: 0, hadEvents: true };
  }
}

const accountOf = ({ site }: SiteAlert): string => site.account_id;

const unknown = (problem: string): Extract<Found, { ok: false }> => ({ ok: false, problem, isLasting: false });

/** Shares of what came, in percent. Since when nothing was counted, as after Redis lost what it had, cannot be said. */
function withRejections(figures: readonly Figure[], { sinceMs, hours }: RejectionRecord): Figure[] {
  const shares = figures.map((figure) => {
    const { from, to, events } = figure;
    const { totals } = rejectionCounts(hours, { from, to, interval: 'hour' });
    const rejected = totals.reduce((sum, { kind, count }) => sum + (kind === 'rejected' ? count : 0), 0);
    const all = rejected + events;
    const isKnown = sinceMs !== null && sinceMs <= from;
    return { ...figure, events: all, value: isKnown ? (all === 0 ? 0 : (rejected / all) * 100) : null };
  });
  return shares.map((share, at) => {
    const before = shares[at - 1];
    // Only with the interval before can it be compared: more is not kept.
    return { ...share, base: before?.value ?? null, baseEvents: before?.events ?? 0 };
  });
}

function failed(error: unknown, onFailure: (error: unknown) => void): Extract<Found, { ok: false }> {
  if (error instanceof QueryTooHeavyError || error instanceof QueryPatternError) {
    return { ok: false, problem: error.code, isLasting: true };
  }
  if (error instanceof QueryCancelledError) return unknown(error.code);
  onFailure(error);
  const isAway = error instanceof WarehouseError || error instanceof RedisUnavailableError;
  // One alert that cannot be judged must not hold up the others.
  return isAway ? unknown('query_unavailable') : { ok: false, problem: 'internal', isLasting: true };
}

/** What events pass through, in its order. */
const WAY = [
  ['dedup', [TOPICS.raw]],
  ['identity', [TOPICS.unique]],
  ['warehouse', [TOPICS.identified]],
] as const;
const LOOK_MS = 1_000;

/** Follows marks along the way of events, one after the other, and only while somebody asks. */
export function createStoredEvents(session: KafkaSession, nowMs: () => number) {
  const advance = createStoredMark(session, WAY, nowMs);
  let storedToMs = Number.NEGATIVE_INFINITY;
  let lookedMs = Number.NEGATIVE_INFINITY;
  return async (byMs: number): Promise<boolean> => {
    if (storedToMs >= byMs) return true;
    if (nowMs() - lookedMs < LOOK_MS) return false;
    lookedMs = nowMs();
    const mark = await advance();
    if (mark.isStored) storedToMs = mark.beganMs;
    return storedToMs >= byMs;
  };
}
