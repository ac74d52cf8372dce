import { followAlerts } from '#infra/alerts/alert_topic.ts';
import { createWarehouse, watchWarehouse } from '#infra/clickhouse/client.ts';
import { newQueryId } from '#infra/clickhouse/queries/running_queries.ts';
import { QUERY_LIMITS, SQL_WORKLOAD, selectRows } from '#infra/clickhouse/queries/select_rows.ts';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import { alertsConfig } from '#infra/config/stage_config.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import { TOPICS } from '#infra/kafka/topics.ts';
import { createMailer } from '#infra/mail/smtp.ts';
import { readRejections } from '#infra/redis/edge_reports.ts';
import { createMonthUseView } from '#infra/redis/quota/quota.ts';
import { parseKeyRing } from '#infra/secrets/seal.ts';
import { openRedis, openSecondaryRedis, openSettings, runProcess } from '#services/stage/runtime.ts';
import { joinLeaderElection } from '#services/stage/stage.ts';
import { createEvaluation } from './evaluation.ts';
import { createFigureSource, createStoredEvents } from './figure_source.ts';
import { openAlertLog, runAlerts } from './leader.ts';
import { createTell, sendDue } from './sending.ts';

/** Settings and figures of ClickHouse and Redis -> states and firings on the topic alerts -> webhooks, Slack and e-mail. */
runProcess('alerts', alertsConfig, async (runtime, config) => {
  const { session, registry, logger, metrics, fatal, onStop, parts } = runtime;
  const { redis, probe } = openRedis(runtime, config.parts);
  parts.uses('redis', probe.isAlive);
  const secondary = openSecondaryRedis(runtime, config.parts, redis);
  const warehouse = createWarehouse(config.parts.clickhouseUrl);
  onStop(() => warehouse.close());
  const clickhouse = watchWarehouse(config.parts.clickhouseUrl);
  onStop(() => clickhouse.stop());
  parts.needs('clickhouse', clickhouse.isAlive);
  const { table: settings } = await openSettings(runtime);
  const topic = await followAlerts(session, registry, logger, fatal);
  onStop(() => topic.stop());
  const loopback = config.allowLoopback;
  const egress = createEgress({ ...EGRESS_DEFAULTS, allowHttp: loopback, allowLoopback: loopback });
  onStop(() => egress.close());
  const { smtpUrl, mailFrom } = config.mail;
  const mailer = smtpUrl === null || mailFrom === null ? null : createMailer(smtpUrl, mailFrom);
  onStop(async () => mailer?.close());
  const evaluated = metrics.counter('svc_alert_evaluations_total', 'Alerts that were judged, or could not be', [
    'outcome',
  ]);
  const sends = metrics.counter('svc_alert_sends_total', 'What came of telling channels', ['kind', 'outcome']);
  const evaluation = createEvaluation({
    settings,
    source: createFigureSource({
      settings,
      // It gives way to whoever looks at the dashboard.
      select: (statement, siteId) =>
        clickhouse.guard(() =>
          selectRows(warehouse, statement, QUERY_LIMITS, {
            queryId: newQueryId({ siteId, kind: 'alert', askedBy: 'alerts' }),
            workload: SQL_WORKLOAD,
          }),
        ),
      rejections: (siteId) => readRejections(secondary, siteId),
      monthUse: createMonthUseView(redis, logger, Date.now, monotonicMs),
      allowanceOf: (accountId) => settings.account(accountId)?.monthly_allowance ?? null,
      onFailure: (error) => logger.warn({ err: error }, 'an alert was not judged'),
      nowMs: Date.now,
    }),
    isStored: createStoredEvents(session, Date.now),
    evaluated: (outcome) => evaluated.inc({ outcome }),
    logger,
    nowMs: Date.now,
  });
  metrics.read('svc_alerts_overdue_seconds', 'How long ago the alert was due that waits longest', [], () => [
    [{}, evaluation.overdueMs() / 1_000],
  ]);
  const sending = {
    settings,
    tell: createTell({
      ...{ ring: parseKeyRing(config.secretsKeys), egress, mailer, nowMs: Date.now },
      dashboardUrl: config.dashboardUrl === null ? null : new URL(config.dashboardUrl).origin,
    }),
    told: (kind: string, outcome: string) => sends.inc({ kind, outcome }),
    ...{ logger, nowMs: Date.now, random: Math.random },
  };
  const election = await joinLeaderElection({ session, logger, fatal }, 'alerts', TOPICS.alerts);
  const stop = runAlerts(
    {
      ...{ openLog: () => openAlertLog(session, topic), evaluation, election, logger },
      sendDue: (log) => sendDue(sending, log),
    },
    fatal,
  );
  onStop(stop);
  runtime.ready();
});
