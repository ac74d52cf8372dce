// Connects the control service to Kafka, Redis, ClickHouse and the providers: where its parts are put together.

import { randomBytes } from 'node:crypto';
import { followAlerts } from '#infra/alerts/alert_topic.ts';
import { type AnalystUsers, createAnalystUsers } from '#infra/clickhouse/analysts/analyst_users.ts';
import { createWarehouse, watchWarehouse } from '#infra/clickhouse/client.ts';
import type { Cluster } from '#infra/clickhouse/cluster.ts';
import { type CohortLists, createCohortLists } from '#infra/clickhouse/cohort_members.ts';
import { createRateStore, type RateStore } from '#infra/clickhouse/currency_rates.ts';
import { createParquetWriter } from '#infra/clickhouse/parquet.ts';
import { createRunningQueries, newQueryId, type RunningQueries } from '#infra/clickhouse/queries/running_queries.ts';
import {
  createRowEstimates,
  levelOf,
  QUERY_LIMITS,
  selectRows,
  workloadOf,
} from '#infra/clickhouse/queries/select_rows.ts';
import { createSqlRunner } from '#infra/clickhouse/queries/sql_query.ts';
import { readClickhouseLogin } from '#infra/clickhouse/servers.ts';
import { monotonicMs } from '#infra/concurrency/time_limits.ts';
import type { ControlConfig } from '#infra/config/control_config.ts';
import { createEgress, EGRESS_DEFAULTS } from '#infra/egress/send.ts';
import { createDnsResolver, isAddressAllowed } from '#infra/egress/ssrf_guard.ts';
import type { HttpServer } from '#infra/http/http_server.ts';
import type { KafkaSession } from '#infra/kafka/client.ts';
import type { Logger } from '#infra/log/logger.ts';
import { createProviderClient } from '#infra/oidc/provider_client.ts';
import { createErasureRequests, followErasures } from '#infra/persons/erasure_topic.ts';
import { createPersonData } from '#infra/persons/person_data.ts';
import { createPersonSplits } from '#infra/persons/person_splits.ts';
import { createDeadLetterStore } from '#infra/redelivery/dead_letter_store.ts';
import { followReplays } from '#infra/redelivery/replay_topics.ts';
import { RedisUnavailableError } from '#infra/redis/client.ts';
import { createRedis, type Redis } from '#infra/redis/connection.ts';
import { createKeyUseView, type RejectionRecord, readRejections, readTagRecord } from '#infra/redis/edge_reports.ts';
import { createSharedAnswers, type SharedQueryCache } from '#infra/redis/query_cache.ts';
import { createMonthUseView } from '#infra/redis/quota/quota.ts';
import { createOneTimeNotes, createSessionStore, createSignInLimits } from '#infra/redis/sessions.ts';
import { createShareUse } from '#infra/redis/share_use.ts';
import type { Registry } from '#infra/registry/schema_registry.ts';
import { createPasswords } from '#infra/secrets/password.ts';
import { createRecordSeal, parseKeyRing, sealSecret } from '#infra/secrets/seal.ts';
import { openDataReadLog } from '#infra/settings/data_read_log.ts';
import { openSettingsJournal, watchErasedSites } from '#infra/settings/journal.ts';
import { DESTINATIONS } from '#pipelines/delivery/registry.ts';
import { readSubject } from '#pipelines/erasure/subject.ts';
import { nodeOf, phoneHmac, visitorNode } from '#pipelines/identity/identity.ts';
import { isRole } from '#pipelines/settings/access.ts';
import { createControlApp } from './app.ts';
import { createDataReadAudit, gateDataReads } from './audit/routes.ts';
import type { OwnNames } from './auth.ts';
import type { LoadDashboard } from './dashboard_files.ts';
import { createTestSender } from './destinations/delivery.ts';
import { createStageView } from './operations/routes.ts';
import {
  createQueryAnswers,
  createQueryGate,
  createSqlAnswers,
  type QueryGateLimits,
  type RunQuery,
} from './queries/answers.ts';
import { limitDeadLetterReads } from './redelivery/dead_letter_routes.ts';
import type { ControlOptions } from './request_handler.ts';
import { resealSecrets } from './reseal.ts';
import type { QueryAnswers } from './route.ts';
import { watchDomains } from './sites/domains.ts';
import { logAnalysts } from './users/analysts.ts';
import { ensureFirstUser } from './users/routes.ts';
import { createSessionKeeper, createSignInAudit, createUserSecrets, warnOfUnopened } from './users/sign_in.ts';
import { ensureFirstToken } from './users/tokens.ts';

/** What a control service is made of; a process and a test each bring their own. */
interface ControlParts {
  config: ControlConfig;
  session: KafkaSession;
  registry: Registry;
  logger: Logger;
  errors: ControlOptions['errors'];
  fatal(error: unknown): void;
  /** Registers what to stop, to be run in reverse order. */
  onStop(task: () => Promise<unknown>): void;
  dashboard: LoadDashboard;
}

const READS_SWEPT_MS = 60_000;
const ERASED_SITES_POLL_MS = 5_000;

/** Connects the control service to its parts; the app that is answered neither listens nor is stopped here. */
export async function openControlApp(parts: ControlParts): Promise<HttpServer> {
  const { config, session, registry, logger, fatal, onStop } = parts;
  const ring = parseKeyRing(config.secretsKeys);
  const identitySecrets = [config.identitySecret, ...config.formerIdentitySecrets];
  const recordSeal = createRecordSeal(ring, randomBytes);
  const journal = await openSettingsJournal(session, registry, logger, fatal);
  onStop(() => journal.close());
  const dataReadLog = await openDataReadLog(session, registry);
  onStop(() => dataReadLog.stop());
  const dataReads = createDataReadAudit(dataReadLog, logger, Date.now);
  const sweeping = setInterval(() => void dataReads.sweep(), READS_SWEPT_MS);
  onStop(() => {
    clearInterval(sweeping);
    return dataReads.stop();
  });
  if (config.firstToken !== null) await ensureFirstToken(journal, config.firstToken, Date.now());
  const userSecrets = createUserSecrets(ring, randomBytes, logger);
  const { userId, passwordHash } = config.firstUser;
  if (userId !== null && passwordHash !== null) {
    await ensureFirstUser(journal, userSecrets, { userId, passwordHash }, Date.now());
  }
  await resealSecrets(journal, ring, randomBytes, logger, Date.now);
  warnOfUnopened(journal.view().table.users(), userSecrets, logger);
  const redis = createRedis(config.parts.redisUrl, logger, config.parts.redisCluster);
  onStop(async () => redis.disconnect());
  const { redisSecondaryUrl } = config.parts;
  const secondary = redisSecondaryUrl === null ? redis : createRedis(redisSecondaryUrl, logger);
  onStop(async () => secondary.disconnect());
  const replays = await followReplays(session, registry, logger, fatal);
  onStop(() => replays.stop());
  const erasures = await followErasures(session, registry, logger, fatal, config.identitySecret);
  onStop(() => erasures.stop());
  const alerts = await followAlerts(session, registry, logger, fatal);
  onStop(() => alerts.stop());
  const personRows = createWarehouse(config.parts.clickhouseUrl);
  onStop(() => personRows.close());
  const persons = createPersonData({
    session,
    registry,
    redis,
    warehouse: personRows,
    identitySecret: config.identitySecret,
  });
  const erasing = {
    session,
    erasures,
    seal: recordSeal,
    identitySecret: config.identitySecret,
    logger,
    nowMs: Date.now,
  };
  onStop(watchErasedSites({ journal, erasures: erasures.all, logger, nowMs: Date.now }, ERASED_SITES_POLL_MS, fatal));
  const queries = openQueries({
    clickhouseUrl: config.parts.clickhouseUrl,
    cluster: config.parts.clickhouseCluster,
    sqlUrl: config.sqlUrl,
    analystsUrl: config.analystsUrl,
    limits: config.queries,
    shared: createSharedAnswers(secondary, monotonicMs),
    logger,
  });
  onStop(() => queries.close());
  const egress = createEgress({
    ...EGRESS_DEFAULTS,
    allowHttp: config.allowLoopback,
    allowLoopback: config.allowLoopback,
  });
  onStop(() => egress.close());
  const dns = createDnsResolver(config.dns);
  const domainRules = { cnameTarget: config.domains.cnameTarget, graceMs: config.domains.graceMs };
  onStop(watchDomains({ journal, dns, rules: domainRules, nowMs: Date.now, logger }, config.domains.checkMs, fatal));
  return createControlApp({
    journal,
    ownNames: ownNames(config),
    trustedProxies: config.trustedProxies,
    sessions: createSessionKeeper(createSessionStore(secondary, recordSeal, Date.now), randomBytes, Date.now),
    limits: createSignInLimits(secondary),
    shareUse: createShareUse(secondary),
    passwords: createPasswords(),
    oidc: {
      providers: config.oidcProviders.map(createProviderClient),
      notes: createOneTimeNotes(secondary, recordSeal, Date.now),
    },
    secondFactorRoles: config.secondFactorRoles.filter(isRole),
    userSecrets,
    signInAudit: createSignInAudit(journal, logger, Date.now),
    adapters: DESTINATIONS,
    alerts,
    queries: queries.answers,
    running: queries.running,
    rates: queries.rates,
    cohortLists: queries.cohortLists,
    analysts: queries.analysts,
    stages: createStageView({ admin: session.admin, groupOf: session.groupOf, nowMs: Date.now }),
    sendTest: createTestSender({ ring, egress, baseUrls: config.deliveryBaseUrls, nowMs: Date.now, monotonicMs }),
    deadLetters: limitDeadLetterReads(createDeadLetterStore(session, registry, logger, Date.now, erasures.list)),
    dataReads: { read: dataReads.read, list: gateDataReads(dataReadLog) },
    replayProgress: (id) => replays.states.get(id),
    replaysNow: replays.readAllNow,
    keyUse: createKeyUseView(redis, logger, monotonicMs),
    readTagRecord: (siteId) => readTagRecord(secondary, siteId),
    readSiteRejections: (siteId) => readRejectionsOf(secondary, siteId),
    monthUse: createMonthUseView(redis, logger, Date.now, monotonicMs),
    phoneHmacs: (siteId, sha256) => identitySecrets.map((secret) => phoneHmac(secret, siteId, sha256)),
    keyedIdentifier: (siteId, identifier, sha256) => nodeOf(config.identitySecret, siteId, identifier, sha256),
    visitorNode: (siteId, distinctId) => visitorNode(config.identitySecret, siteId, distinctId),
    splits: createPersonSplits({
      ...{ session, registry, redis, logger, nowMs: Date.now },
      ...{ warehouse: personRows, cluster: config.parts.clickhouseCluster },
    }),
    readSubject: (typed, site) => readSubject(typed, site, [config.identitySecret, ...config.formerIdentitySecrets]),
    persons,
    erasures: erasures.all,
    isErasedSite: erasures.list.isErasedSite,
    isErasedPerson: erasures.list.isErasedPerson,
    eraseRequests: createErasureRequests(erasing),
    seal: (place, value) => sealSecret(ring, place, value, randomBytes),
    randomBytes,
    dns,
    domainRules,
    edgeUrl: config.edgeUrl === null ? null : new URL(config.edgeUrl).origin,
    isAddressAllowed: (address) => isAddressAllowed(address, config.allowLoopback),
    nowMs: Date.now,
    healthy: () => journal.writable(),
    errors: parts.errors,
    dashboard: parts.dashboard,
  });
}

async function readRejectionsOf(redis: Redis, siteId: string): Promise<RejectionRecord | null> {
  try {
    return await readRejections(redis, siteId);
  } catch (error) {
    if (error instanceof RedisUnavailableError) return null;
    throw error;
  }
}

/** An address to listen on is one to be asked under, unless it stands for every address. */
function ownNames({ publicUrl, hosts, host }: ControlConfig): OwnNames {
  const listened = host === '0.0.0.0' || host === '::' ? [] : [host.includes(':') ? `[${host}]` : host];
  return { publicUrl: publicUrl === null ? null : new URL(publicUrl), hosts: [...hosts, ...listened] };
}

/** Queries of the ClickHouse of an address, with the connections they use. */
interface OpenQueries {
  answers: QueryAnswers;
  running: RunningQueries;
  rates: RateStore;
  cohortLists: CohortLists;
  analysts: AnalystUsers | null;
  close(): Promise<void>;
}

interface QueryParts {
  clickhouseUrl: string;
  cluster: Cluster | null;
  /** The address as the user that SQL is asked as; null: there is none. */
  sqlUrl: string | null;
  /** The address as the user that makes users of analysts; null: there is none. */
  analystsUrl: string | null;
  limits: QueryGateLimits;
  shared: SharedQueryCache | null;
  logger: Logger;
}

export function openQueries({
  clickhouseUrl,
  cluster,
  sqlUrl,
  analystsUrl,
  limits,
  shared,
  logger,
}: QueryParts): OpenQueries {
  const warehouse = createWarehouse(clickhouseUrl);
  // Of its own connections: long questions take all of the other one's.
  const adminClient = createWarehouse(clickhouseUrl);
  const probe = watchWarehouse(clickhouseUrl);
  const gate = createQueryGate(limits);
  const writeParquet = createParquetWriter(adminClient);
  const estimate = createRowEstimates(adminClient, cluster, monotonicMs);
  const running = createRunningQueries(adminClient, cluster);
  const rates = createRateStore(adminClient);
  const lists = createCohortLists(adminClient, cluster);
  const sql = sqlUrl === null ? null : createSqlRunner(sqlUrl);
  const access = analystsUrl === null ? null : createWarehouse(analystsUrl);
  const analysts = access && createAnalystUsers(access, readClickhouseLogin(clickhouseUrl).database);
  const onQueryError = (error: unknown): void => logger.warn({ err: error }, 'query not answered');

  const ask: RunQuery = (statement, { siteId, about, reads }, { label, signal }) =>
    gate.pass(siteId, signal, () =>
      probe.guard(async () => {
        const rows = reads === null ? 0 : await estimate(siteId, reads);
        const queryId = newQueryId({ siteId, kind: about, askedBy: label });
        return selectRows(warehouse, statement, QUERY_LIMITS, { queryId, signal, workload: workloadOf(levelOf(rows)) });
      }),
    );
  return {
    answers: createQueryAnswers(
      ask,
      Date.now,
      onQueryError,
      (table) => probe.guard(() => writeParquet(table)),
      createSqlAnswers(
        sql &&
          ((siteId, text, format, asker) =>
            gate.pass(siteId, asker.signal, () => probe.guard(() => sql.ask(siteId, text, format, asker)))),
        Date.now,
        onQueryError,
      ),
      shared,
    ),
    running: {
      list: () => probe.guard(() => running.list()),
      cancel: (id) => probe.guard(() => running.cancel(id)),
    },
    rates: {
      read: () => probe.guard(() => rates.read()),
      write: (base, some) => probe.guard(() => rates.write(base, some)),
      clear: () => probe.guard(() => rates.clear()),
    },
    cohortLists: {
      add: (...of) => probe.guard(() => lists.add(...of)),
      copy: (...of) => probe.guard(() => lists.copy(...of)),
      count: (...of) => probe.guard(() => lists.count(...of)),
      forget: (...of) => probe.guard(() => lists.forget(...of)),
    },
    analysts: analysts && logAnalysts(analysts, probe, logger),
    async close() {
      await probe.stop();
      await warehouse.close();
      await adminClient.close();
      await sql?.close();
      await access?.close();
    },
  };
}
